//! Which flows a bearer carries: a bounded table, eight entries searched per packet.
//!
//! Rates are over the last second, in slots of 125 ms. When a set of the table is full, the flow
//! that sent least in the window makes room; a heavy flow is therefore never pushed out by light
//! ones (the idea of Space-Saving, Metwally et al. 2005).

use e2sm_tc::v1::{BearerId, Ecn, FlowInventory, FlowRecord, Inelastic, QueueId};

use crate::{FiveTuple, Packet};

/// Entries searched for one flow.
const WAYS: usize = 8;
/// Sets of the table.
const SETS: usize = 32;
/// Slots of the window.
const SLOTS: usize = 8;
const SLOT_US: u64 = 125_000;
/// Most flows in one report.
const MAX_TOP: usize = 256;

/// A flow's entry, for packets to find it again; it becomes stale when the entry is reused for another
/// flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowRef {
    index: u32,
    /// 0: no entry.
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    generation: u32,
    flow: FiveTuple,
    qfi: Option<u8>,
    dscp: u8,
    ecn: Ecn,
    /// ECT codepoints it has arrived with.
    seen_ect0: bool,
    seen_ect1: bool,
    queue: QueueId,
    backlog_bytes: u64,
    /// Slot the window ends with: `now / SLOT_US` of the last packet.
    slot: u64,
    bytes: [u32; SLOTS],
    packets: [u32; SLOTS],
    /// Sum of `bytes`.
    total_bytes: u64,
}

impl Entry {
    /// Clears the slots that time has passed over.
    #[inline]
    fn advance(&mut self, slot: u64) {
        if slot > self.slot {
            self.pass_to(slot);
        }
    }

    #[inline(never)]
    fn pass_to(&mut self, slot: u64) {
        let passed = (slot - self.slot).min(SLOTS as u64);
        for step in 1..=passed {
            let index = ((self.slot + step) % SLOTS as u64) as usize;
            self.total_bytes -= u64::from(std::mem::take(&mut self.bytes[index]));
            self.packets[index] = 0;
        }
        self.slot = slot;
    }

    /// Bytes in the window that ends at `slot`.
    fn window_bytes(&self, slot: u64) -> u64 {
        self.sum(&self.bytes, slot)
    }

    fn sum(&self, slots: &[u32; SLOTS], slot: u64) -> u64 {
        (0..SLOTS as u64)
            .filter_map(|back| self.slot.checked_sub(back))
            .filter(|s| s + SLOTS as u64 > slot)
            .map(|s| u64::from(slots[(s % SLOTS as u64) as usize]))
            .sum()
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct Inventory {
    /// Hash of each entry's flow, separate so that a search reads one cache line.
    hashes: Vec<u64>,
    entries: Vec<Option<Entry>>,
    generation: u32,
}

impl Default for Inventory {
    fn default() -> Self {
        Self { hashes: vec![0; SETS * WAYS], entries: vec![None; SETS * WAYS], generation: 0 }
    }
}

impl Inventory {
    /// An arriving packet.
    pub(crate) fn record(&mut self, packet: &impl Packet, hash: u64, now_us: u64) -> FlowRef {
        let slot = now_us / SLOT_US;
        let index = self.find(packet, hash, slot);
        let Some(entry) = &mut self.entries[index] else { return FlowRef::default() };
        entry.advance(slot);
        let current = (entry.slot % SLOTS as u64) as usize;
        let len_bytes = packet.len_bytes();
        let slot_bytes = entry.bytes[current].saturating_add(len_bytes);
        entry.total_bytes += u64::from(slot_bytes - entry.bytes[current]);
        entry.bytes[current] = slot_bytes;
        entry.packets[current] = entry.packets[current].saturating_add(1);
        entry.qfi = packet.qfi();
        entry.dscp = packet.dscp();
        entry.ecn = packet.ecn();
        entry.seen_ect0 |= entry.ecn == Ecn::Ect0;
        entry.seen_ect1 |= entry.ecn == Ecn::Ect1;
        entry.backlog_bytes += u64::from(len_bytes);
        FlowRef { index: index as u32, generation: entry.generation }
    }

    /// A packet that comes back: it is queued again, but did not arrive again.
    pub(crate) fn returned(&mut self, packet: &impl Packet, hash: u64, now_us: u64) -> FlowRef {
        let index = self.find(packet, hash, now_us / SLOT_US);
        let Some(entry) = &mut self.entries[index] else { return FlowRef::default() };
        entry.backlog_bytes += u64::from(packet.len_bytes());
        FlowRef { index: index as u32, generation: entry.generation }
    }

    /// The flow's entry; otherwise a free one or the least.
    fn find(&mut self, packet: &impl Packet, hash: u64, slot: u64) -> usize {
        // The low bits choose the set: the classifier uses the high ones.
        let set = (hash as usize % SETS) * WAYS;
        let taken = |way: usize| self.entries[set + way].is_some();
        let hashes = &self.hashes[set..set + WAYS];
        if let Some(way) = (0..WAYS).find(|&way| hashes[way] == hash && taken(way)) {
            return set + way;
        }
        let way = (0..WAYS).min_by_key(|&way| self.weight(set + way, slot)).unwrap_or(0);
        self.generation = self.generation.wrapping_add(1).max(1);
        self.hashes[set + way] = hash;
        self.entries[set + way] = Some(Entry {
            generation: self.generation,
            flow: packet.flow(),
            qfi: None,
            dscp: 0,
            ecn: Ecn::NotEct,
            seen_ect0: false,
            seen_ect1: false,
            queue: 0,
            backlog_bytes: 0,
            slot,
            bytes: [0; SLOTS],
            packets: [0; SLOTS],
            total_bytes: 0,
        });
        set + way
    }

    /// How much an entry is worth keeping.
    fn weight(&self, index: usize, slot: u64) -> (u64, u64) {
        let Some(entry) = &self.entries[index] else { return (0, 0) };
        let silent = entry.slot + SLOTS as u64 <= slot;
        let window_bytes = if silent { 0 } else { entry.total_bytes };
        (window_bytes + entry.backlog_bytes + 1, entry.slot)
    }

    #[inline]
    fn get_mut(&mut self, flow: FlowRef) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(flow.index as usize)?.as_mut()?;
        (entry.generation == flow.generation).then_some(entry)
    }

    /// Whether all ECT packets of the flow have been ECT(0), as far as this table remembers, and
    /// there was one (RFC 9331 §5.3).
    #[inline]
    pub(crate) fn is_classic(&self, flow: FlowRef) -> bool {
        let entry = self.entries.get(flow.index as usize).and_then(Option::as_ref);
        entry.is_some_and(|entry| {
            entry.generation == flow.generation && entry.seen_ect0 && !entry.seen_ect1
        })
    }

    /// Records the queue that the flow's packet went to.
    #[inline]
    pub(crate) fn set_queue(&mut self, flow: FlowRef, queue: QueueId) {
        if let Some(entry) = self.get_mut(flow) {
            entry.queue = queue;
        }
    }

    /// A packet left the pipeline, forwarded or dropped.
    #[inline]
    pub(crate) fn left(&mut self, flow: FlowRef, len_bytes: u32) {
        if let Some(entry) = self.get_mut(flow) {
            entry.backlog_bytes = entry.backlog_bytes.saturating_sub(u64::from(len_bytes));
        }
    }

    /// The `top` flows by bytes in the window; `inelastic` says what was decided about a queue.
    pub(crate) fn report(
        &self,
        bearer: BearerId,
        top: u16,
        now_us: u64,
        inelastic: impl Fn(QueueId) -> Option<Inelastic>,
    ) -> FlowInventory {
        let slot = now_us / SLOT_US;
        let mut active: Vec<(u64, &Entry)> = self
            .entries
            .iter()
            .flatten()
            .map(|entry| (entry.window_bytes(slot), entry))
            .filter(|(bytes, entry)| *bytes > 0 || entry.backlog_bytes > 0)
            .collect();
        active.sort_unstable_by_key(|(bytes, entry)| (std::cmp::Reverse(*bytes), entry.flow));
        FlowInventory {
            bearer,
            active_flows: active.len() as u32,
            window_ms: (SLOT_US * SLOTS as u64 / 1000) as u32,
            flows: active
                .iter()
                .take(usize::from(top).min(MAX_TOP))
                .map(|(bytes, entry)| FlowRecord {
                    inelastic: inelastic(entry.queue),
                    ..record(entry, *bytes, now_us)
                })
                .collect(),
        }
    }
}

fn record(entry: &Entry, bytes: u64, now_us: u64) -> FlowRecord {
    let packets = entry.sum(&entry.packets, now_us / SLOT_US);
    // The last slot is not over: the window is that much shorter than a second.
    let window_us = SLOT_US * (SLOTS as u64 - 1) + now_us % SLOT_US;
    let rate_kbps = bytes.saturating_mul(8_000) / window_us;
    let mean = bytes.checked_div(packets).unwrap_or(0);
    FlowRecord {
        flow: entry.flow,
        qfi: entry.qfi,
        dscp: entry.dscp,
        ecn: entry.ecn,
        rate_kbps: u32::try_from(rate_kbps).unwrap_or(u32::MAX),
        mean_packet_bytes: u16::try_from(mean).unwrap_or(u16::MAX),
        backlog_bytes: u32::try_from(entry.backlog_bytes).unwrap_or(u32::MAX),
        queue: entry.queue,
        inelastic: None,
    }
}
