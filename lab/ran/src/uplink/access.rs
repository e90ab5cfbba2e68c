//! Uplink of one UE by scheduling request, grant and buffer status report.
//!
//! The UE has a queue a bearer; the gNB grants what it knows of them. A packet leaves when the block with
//! its last byte is decoded and all blocks before it are.

mod moving;

use std::collections::{BTreeMap, VecDeque};

use super::bsr;
use super::queues::{Channels, Part, Queued};
use crate::error::{ConfigError, ensure};
use crate::mac::prioritisation::LogicalChannel;
use crate::numerology::Duplexing;
use crate::phy::Reception;
use crate::rlc::BearerIndex;
use crate::rlc::am::StatusPdu;
pub(crate) use moving::KeptPacket;

/// Smallest block that carries a short report and a segment.
pub(crate) const SMALLEST_BLOCK_BYTES: u32 =
    bsr::SHORT_BYTES + super::queues::SMALLEST_SEGMENT_BYTES;

/// Uplink access of one UE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UplinkConfig {
    /// Period of the scheduling request opportunities (38.331 `SchedulingRequestResourceConfig`).
    pub sr_period_us: u32,
    /// First opportunity after the start of a period.
    pub sr_offset_us: u32,
    /// Time from a scheduling request to the earliest PUSCH granted for it: decoding, scheduling,
    /// PDCCH and K2.
    pub sr_to_pusch_us: u32,
    /// Time from a PUSCH with a buffer status report to the earliest PUSCH granted for it.
    pub bsr_to_pusch_us: u32,
    /// PRBs of a PUSCH that a scheduling request is answered with, when the gNB knows no buffer.
    pub sr_grant_prb: u16,
    /// How long after a block with data the gNB grants `sr_grant_prb` PRBs in each slot, of those that
    /// nobody else needs, without knowing of a buffer (prescheduling); the UE leaves grants unused that it
    /// has no data for (38.321 §5.4.3.1.3, `skipUplinkTxDynamic`). 0 does not.
    pub preschedule_us: u32,
    /// Time from the end of the PUSCH until the packet leaves the gNB's PDCP.
    pub decode_us: u32,
    /// MCS of the PUSCH; that of the downlink if `None`, or by the SNR of the uplink where there is one.
    pub mcs: Option<u8>,
    /// SNR of a single PRB at the UE's full power, over that of the downlink.
    pub snr_offset_db: f64,
    /// SNR in each PRB that power control aims at (38.213 §7.1.1); the UE's power divides among its PRBs
    /// where it does not suffice.
    pub target_snr_db: f64,
    /// Most packets in the UE's queue of a bearer; further ones are dropped.
    pub limit_packets: u32,
    /// Most bytes in the UE's queue of a bearer; a packet beyond is dropped.
    pub limit_bytes: u32,
}

impl UplinkConfig {
    /// The cell of irazabal2024, 106 PRB, whose delay without load is about 10 ms: requests in the
    /// first U slot of each pattern of 5 ms, grants in the next pattern.
    ///
    /// Power: 23 dBm of a UE in one PRB against 49 dBm in 106 of the gNB's, noise figures of 5 and 9 dB
    /// and twice the receiving antennas leave 23 - 28.7 + 4 + 3 = 1.3 dB; a target of 20 dB carries 64QAM.
    pub fn nr_n78() -> Self {
        Self {
            sr_period_us: 5000,
            sr_offset_us: 4000,
            sr_to_pusch_us: 4000,
            bsr_to_pusch_us: 4000,
            sr_grant_prb: 5,
            preschedule_us: 0,
            decode_us: 500,
            mcs: None,
            snr_offset_db: 1.3,
            target_snr_db: 20.0,
            limit_packets: 10_000,
            limit_bytes: u32::MAX,
        }
    }

    /// The cell of irazabal2021, whose minimum RTT is 20 ms: requests every 10 ms, 4 ms each to
    /// grant and PUSCH (36.213 §8.0), 3 ms of decoding.
    pub fn lte_fdd() -> Self {
        Self {
            sr_period_us: 10_000,
            sr_offset_us: 0,
            sr_to_pusch_us: 8000,
            bsr_to_pusch_us: 8000,
            decode_us: 3000,
            ..Self::nr_n78()
        }
    }

    pub(crate) fn validate(&self, duplexing: &Duplexing, max_mcs: u8) -> Result<(), ConfigError> {
        let Self { sr_period_us, sr_offset_us, sr_grant_prb, mcs, .. } = *self;
        ensure(sr_period_us > 0, "uplink.sr_period_us", sr_period_us, "1 or more")?;
        let expected = format!("less than sr_period_us = {sr_period_us}");
        ensure(sr_offset_us < sr_period_us, "uplink.sr_offset_us", sr_offset_us, expected)?;
        ensure(sr_grant_prb > 0, "uplink.sr_grant_prb", sr_grant_prb, "1 or more")?;
        if let Some(mcs) = mcs {
            ensure(mcs <= max_mcs, "uplink.mcs", mcs, format!("MCS 0 to {max_mcs}"))?;
        }
        for (field, value) in
            [("snr_offset_db", self.snr_offset_db), ("target_snr_db", self.target_snr_db)]
        {
            let expected = "-50 to 80 dB";
            ensure((-50.0..=80.0).contains(&value), format!("uplink.{field}"), value, expected)?;
        }
        ensure(self.limit_packets > 0, "uplink.limit_packets", 0, "1 or more")?;
        ensure(self.limit_bytes > 0, "uplink.limit_bytes", 0, "1 or more")?;
        let path = "duplexing.tdd.pattern";
        ensure(duplexing.has_uplink(), path, "no uplink slot", "at least one U")
    }

    /// SNR in each of `n_prb` PRBs where that of the downlink is `downlink_db`.
    pub(crate) fn snr_db(&self, downlink_db: f64, n_prb: u16) -> f64 {
        let divided_db = 10.0 * libm::log10(f64::from(n_prb.max(1)));
        (downlink_db + self.snr_offset_db - divided_db).min(self.target_snr_db)
    }
}

/// What became of a packet of the UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkArrival {
    /// Its bearer.
    pub bearer: BearerIndex,
    /// What the sender named it.
    pub tag: u64,
    /// Time at which it leaves the gNB's PDCP; `None` if the radio lost it.
    pub leaves_us: Option<u64>,
}

/// A status report of RLC-AM on its way.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) bearer: BearerIndex,
    pub(crate) pdu: StatusPdu,
    pub(crate) bytes: u32,
}

/// State of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockState {
    /// Transmission again in an uplink slot from this time on.
    Due(u64),
    /// Decoded at this time.
    Decoded(u64),
    /// Failed in all transmissions.
    Lost,
}

/// A transport block of the UE, from its first transmission until its packets have left.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) n_prb: u16,
    bytes: u32,
    left_bytes: Option<u32>,
    pub(crate) transmissions: u8,
    pub(crate) reception: Option<Reception>,
    pub(crate) statuses: Vec<Status>,
    parts: Vec<Part>,
    state: BlockState,
}

/// What a gNB grants a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// So many bytes that the UE has reported.
    Reported(u64),
    /// A first block that answers a request.
    Requested,
    /// A block without knowing of a buffer, if there is room.
    Prescheduled,
}

/// What the UE puts into a block.
#[derive(Debug)]
pub(crate) struct Filled {
    parts: Vec<Part>,
}

/// The uplink of one UE.
#[derive(Debug, Clone)]
pub(crate) struct ScheduledUplink {
    pub(crate) config: UplinkConfig,
    channels: Channels,
    /// Whether a status report of RLC-AM waits for a block.
    pub(crate) wants_control: bool,
    /// Time from which the gNB can answer a scheduling request.
    requested_us: Option<u64>,
    /// Time until which the gNB grants without a report.
    prescheduled_until_us: u64,
    /// Bytes that the gNB knows of and has not granted.
    known_bytes: u64,
    /// Reports under way: when they count, the slot that they describe, and their bytes.
    reports: VecDeque<(u64, u64, u64)>,
    /// Grants since the oldest report under way: slot and bytes.
    grants: VecDeque<(u64, u64)>,
    /// Blocks whose packets have not left, oldest first.
    blocks: VecDeque<Block>,
    /// Time at which the last packet of each bearer left.
    left_us: BTreeMap<BearerIndex, u64>,
    /// Packets of which the radio has lost a part that was not the last.
    damaged: Vec<u64>,
    /// The first granted slot, and PRBs granted since.
    used: Option<(u64, u64)>,
    /// The last slot with a retransmission, and its PRBs.
    resent: (u64, u16),
    /// Slots with all PRBs that the carrier and the UE's power allow, and data left.
    full_slots: u64,
}

impl ScheduledUplink {
    /// An idle uplink with a valid configuration.
    pub(crate) fn new(config: UplinkConfig) -> Self {
        Self {
            config,
            channels: Channels::default(),
            wants_control: false,
            requested_us: None,
            prescheduled_until_us: 0,
            known_bytes: 0,
            reports: VecDeque::new(),
            grants: VecDeque::new(),
            blocks: VecDeque::new(),
            left_us: BTreeMap::new(),
            damaged: Vec::new(),
            used: None,
            resent: (0, 0),
            full_slots: 0,
        }
    }

    /// Queues a packet of a bearer, of `len_bytes` that take `block_bytes` of transport blocks; `false` if
    /// its queue is full.
    pub(crate) fn send(
        &mut self,
        (bearer, channel): (BearerIndex, &LogicalChannel),
        tag: u64,
        len_bytes: u32,
        block_bytes: u32,
        now_us: u64,
    ) -> bool {
        let limits = (self.config.limit_packets, self.config.limit_bytes);
        let packet = Queued { tag, len_bytes, left_bytes: block_bytes };
        let is_taken = self.channels.push((bearer, channel), packet, limits, now_us);
        if is_taken {
            self.request_if_unknown(now_us);
        }
        is_taken
    }

    /// A status report waits for a block.
    pub(crate) fn want_control(&mut self, now_us: u64) {
        self.wants_control = true;
        self.request_if_unknown(now_us);
    }

    /// Sends a scheduling request unless the gNB will grant a block anyway.
    fn request_if_unknown(&mut self, now_us: u64) {
        let will_be_granted = self.requested_us.is_some()
            || self.known_bytes > 0
            || self.reports.iter().any(|(_, _, bytes)| *bytes > 0);
        if will_be_granted {
            return;
        }
        let period_us = u64::from(self.config.sr_period_us);
        let offset_us = u64::from(self.config.sr_offset_us);
        let sr_us = offset_us + now_us.saturating_sub(offset_us).div_ceil(period_us) * period_us;
        self.requested_us = Some(sr_us + u64::from(self.config.sr_to_pusch_us));
    }

    /// Whether it takes part in the scheduling of uplink slots.
    pub(crate) fn is_active(&self) -> bool {
        self.requested_us.is_some()
            || self.known_bytes > 0
            || !self.reports.is_empty()
            || !self.blocks.is_empty()
    }

    /// Whether data or a status report waits.
    fn has_content(&self) -> bool {
        self.channels.demand_bytes() > 0 || self.wants_control
    }

    /// What the gNB grants in a slot that begins at `now_us`; `None` for nothing.
    pub(crate) fn wanted(&mut self, now_us: u64) -> Option<Wanted> {
        while let Some((_, slot, bytes)) =
            self.reports.front().filter(|(at_us, ..)| *at_us <= now_us).copied()
        {
            self.reports.pop_front();
            // What was granted since the report is under way.
            while self.grants.front().is_some_and(|(granted, _)| *granted <= slot) {
                self.grants.pop_front();
            }
            let granted: u64 = self.grants.iter().map(|(_, bytes)| bytes).sum();
            self.known_bytes = bytes.saturating_sub(granted);
        }
        if self.known_bytes > 0 {
            return Some(Wanted::Reported(self.known_bytes));
        }
        if self.requested_us.is_some_and(|at_us| at_us <= now_us) {
            return Some(Wanted::Requested);
        }
        let is_early = self.has_content() && now_us < self.prescheduled_until_us;
        is_early.then_some(Wanted::Prescheduled)
    }

    /// Since when a block is due for another transmission, by `now_us`.
    pub(crate) fn due_since_us(&self, now_us: u64) -> Option<u64> {
        self.blocks.iter().find_map(|block| match block.state {
            BlockState::Due(at_us) if at_us <= now_us => Some(at_us),
            _ => None,
        })
    }

    /// Whether a scheduling request is pending (38.321 §5.4.4).
    pub(crate) fn is_requesting(&self, now_us: u64) -> bool {
        let until_us = u64::from(self.config.sr_to_pusch_us);
        self.requested_us.is_some_and(|at_us| at_us <= now_us + until_us)
    }

    /// The block that is due for another transmission first, at `now_us`.
    pub(crate) fn due_block(&mut self, now_us: u64) -> Option<&mut Block> {
        let is_due =
            |block: &&mut Block| matches!(block.state, BlockState::Due(at_us) if at_us <= now_us);
        self.blocks.iter_mut().find(is_due)
    }

    /// The block that was sent last.
    pub(crate) fn newest_block(&mut self) -> Option<&mut Block> {
        self.blocks.back_mut()
    }

    /// Room that is left for data and control in a block of `tbs_bytes`: the report takes some.
    pub(crate) fn room_bytes(&self, tbs_bytes: u32, groups: u32) -> u32 {
        let report = if groups > 1 { bsr::long_bytes(groups) } else { bsr::SHORT_BYTES };
        tbs_bytes.saturating_sub(report)
    }

    /// Fills `room_bytes` of a block of `tbs_bytes` over `n_prb` PRBs in slot `slot`, which begins at
    /// `now_us`; the block reports what is left of the queue, of `groups` logical channel groups.
    pub(crate) fn fill(
        &mut self,
        (slot, now_us): (u64, u64),
        (tbs_bytes, n_prb): (u32, u16),
        room_bytes: u32,
        groups: u32,
    ) -> Filled {
        let mut parts = Vec::new();
        self.channels.fill(room_bytes, now_us, &mut parts);
        self.requested_us = None;
        self.wants_control = false;
        self.prescheduled_until_us = now_us + u64::from(self.config.preschedule_us);
        self.known_bytes = self.known_bytes.saturating_sub(u64::from(tbs_bytes));
        self.grants.push_back((slot, u64::from(tbs_bytes)));
        let reported = self.channels.reported_bytes(groups);
        self.reports.push_back((now_us + u64::from(self.config.bsr_to_pusch_us), slot, reported));
        let (first, used_prb) = self.used.unwrap_or((slot, 0));
        self.used = Some((first, used_prb + u64::from(n_prb)));
        Filled { parts }
    }

    /// A filled block was sent for the first time: it is decoded at a time, or due again at one.
    pub(crate) fn sent(
        &mut self,
        filled: Filled,
        (bytes, n_prb): (u32, u16),
        reception: Option<Reception>,
        statuses: Vec<Status>,
        decoded_us: Result<u64, u64>,
    ) {
        let state = match decoded_us {
            Ok(at_us) => BlockState::Decoded(at_us),
            Err(due_us) => BlockState::Due(due_us),
        };
        self.blocks.push_back(Block {
            n_prb,
            bytes,
            left_bytes: None,
            transmissions: 1,
            reception,
            statuses,
            parts: filled.parts,
            state,
        });
    }

    /// Counts PRBs of a further transmission in `slot`.
    pub(crate) fn count_prb(&mut self, slot: u64, n_prb: u16) {
        self.resent = (slot, n_prb);
        if let Some((_, used_prb)) = &mut self.used {
            *used_prb += u64::from(n_prb);
        }
    }

    /// Passes on the packets of decoded and lost blocks, those of a bearer in order.
    pub(crate) fn release(&mut self, mut out: impl FnMut(UplinkArrival)) {
        let Self { blocks, left_us, damaged, .. } = self;
        // Bearers of which an earlier block is not decoded.
        let mut waiting: Vec<BearerIndex> = Vec::new();
        for block in blocks.iter_mut() {
            let decoded_us = match block.state {
                BlockState::Due(_) => {
                    waiting.extend(block.parts.iter().map(|part| part.bearer));
                    continue;
                }
                BlockState::Decoded(at_us) => Some(at_us),
                BlockState::Lost => None,
            };
            block.parts.retain(|part| {
                if waiting.contains(&part.bearer) {
                    return true;
                }
                let Part { bearer, tag, is_last, .. } = *part;
                match (is_last, decoded_us) {
                    (false, Some(_)) => {}
                    (false, None) => damaged.push(tag),
                    (true, _) => {
                        let place = damaged.iter().position(|other| *other == tag);
                        if let Some(at) = place {
                            damaged.swap_remove(at);
                        }
                        let leaves_us = decoded_us.filter(|_| place.is_none()).map(|at_us| {
                            let last_us = left_us.entry(bearer).or_default();
                            *last_us = at_us.max(*last_us);
                            *last_us
                        });
                        out(UplinkArrival { bearer, tag, leaves_us });
                    }
                }
                false
            });
        }
        blocks.retain(|block| matches!(block.state, BlockState::Due(_)) || !block.parts.is_empty());
    }

    /// Ends everything: the UE leaves, and its packets are lost.
    pub(crate) fn abandon(&mut self, mut out: impl FnMut(UplinkArrival)) {
        let in_blocks = self.blocks.drain(..).flat_map(|block| block.parts);
        let in_blocks = in_blocks.filter(|part| part.is_last).map(|part| (part.bearer, part.tag));
        let queued = self.channels.packets();
        for (bearer, tag) in in_blocks.chain(queued) {
            out(UplinkArrival { bearer, tag, leaves_us: None });
        }
        *self = Self::new(self.config);
    }

    /// Counts `slot`, in which a new block over `n_prb` PRBs was filled, if that and a retransmission have all of the
    /// `most_prb` PRBs that the UE can have, and data is left.
    pub(crate) fn count_full(&mut self, slot: u64, n_prb: u16, most_prb: u16) {
        let resent_prb = if self.resent.0 == slot { self.resent.1 } else { 0 };
        let is_full = n_prb.saturating_add(resent_prb) >= most_prb && self.demand_bytes() > 0;
        self.full_slots += u64::from(is_full);
    }

    /// Number of those slots.
    pub(crate) fn full_slots(&self) -> u64 {
        self.full_slots
    }

    /// First granted slot and the PRBs granted since.
    pub(crate) fn used(&self) -> Option<(u64, u64)> {
        self.used
    }

    /// Bytes that wait, as transport blocks carry them.
    pub(crate) fn demand_bytes(&self) -> u64 {
        self.channels.demand_bytes()
    }
}

impl Block {
    /// Bearers of the packets in it.
    pub(crate) fn bearers(&self) -> impl Iterator<Item = BearerIndex> + '_ {
        self.parts.iter().map(|part| part.bearer)
    }

    /// Bytes that RLC-AM still has to send again, in blocks of their own; `None` while HARQ goes on.
    pub(crate) fn left_bytes(&self) -> Option<u32> {
        self.left_bytes
    }

    /// HARQ has ended without success: RLC-AM sends the content again from `due_us` on. Its own status
    /// reports are made anew.
    pub(crate) fn leave_to_rlc(&mut self, due_us: u64) {
        self.left_bytes = Some(self.bytes);
        self.statuses.clear();
        self.state = BlockState::Due(due_us);
    }

    /// RLC-AM has sent `carried_bytes` of the rest, received at `at_us`; what is left is due at `due_us`.
    pub(crate) fn carried(&mut self, carried_bytes: u32, at_us: u64, due_us: u64) {
        let left_bytes = self.left_bytes.unwrap_or(0).saturating_sub(carried_bytes);
        self.left_bytes = Some(left_bytes);
        self.state =
            if left_bytes == 0 { BlockState::Decoded(at_us) } else { BlockState::Due(due_us) };
    }

    /// The block was sent again: it is decoded at a time, due again at one, or lost.
    pub(crate) fn sent_again(&mut self, decoded_us: Result<u64, Option<u64>>) {
        self.state = match decoded_us {
            Ok(at_us) => BlockState::Decoded(at_us),
            Err(Some(due_us)) => BlockState::Due(due_us),
            Err(None) => BlockState::Lost,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: (BearerIndex, &LogicalChannel) = (0, &LogicalChannel::STRICT);

    fn uplink() -> ScheduledUplink {
        ScheduledUplink::new(UplinkConfig::nr_n78())
    }

    /// Sends one block of `tbs_bytes` in `slot` of 500 µs; returns what left.
    fn send_block(
        uplink: &mut ScheduledUplink,
        slot: u64,
        tbs_bytes: u32,
        decoded_us: Result<u64, u64>,
    ) {
        let filled =
            uplink.fill((slot, slot * 500), (tbs_bytes, 5), uplink.room_bytes(tbs_bytes, 1), 1);
        uplink.sent(filled, (tbs_bytes, 5), None, Vec::new(), decoded_us);
    }

    fn arrivals(uplink: &mut ScheduledUplink) -> Vec<(u64, Option<u64>)> {
        let mut all = Vec::new();
        uplink.release(|arrival| all.push((arrival.tag, arrival.leaves_us)));
        all
    }

    #[test]
    fn a_request_waits_for_its_opportunity_and_a_report_asks_for_the_rest() {
        let mut uplink = uplink();
        assert!(!uplink.is_active());
        assert!(uplink.send(FIRST, 7, 1500, 1510, 100));
        // Request at 4 ms, grants from 8 ms on.
        assert_eq!(uplink.wanted(7_999), None);
        assert_eq!(uplink.wanted(8_000), Some(Wanted::Requested));
        send_block(&mut uplink, 18, 200, Ok(10_000));
        assert_eq!(arrivals(&mut uplink), [], "no last byte yet");
        assert_eq!(uplink.wanted(12_999), None, "the report is under way");
        // 1510 - 198 + 5 = 1317 bytes are reported as 1446.
        assert_eq!(uplink.wanted(13_000), Some(Wanted::Reported(1446)));
        send_block(&mut uplink, 26, 1500, Ok(14_000));
        assert_eq!(arrivals(&mut uplink), [(7, Some(14_000))]);
        assert_eq!(uplink.wanted(20_000), None);
        assert!(!uplink.is_active());
    }

    #[test]
    fn grants_after_a_report_are_not_granted_again() {
        let mut uplink = uplink();
        for tag in 0..10 {
            assert!(uplink.send(FIRST, tag, 1000, 1010, 0));
        }
        send_block(&mut uplink, 16, 2002, Ok(9_000));
        send_block(&mut uplink, 17, 2002, Ok(9_500));
        // 8100 left after the first block, reported as 10570; 2002 were granted since.
        assert_eq!(uplink.wanted(12_000), Some(Wanted::Reported(10_570 - 2_002)));
    }

    #[test]
    fn for_a_while_after_data_the_gnb_grants_unasked() {
        let config = UplinkConfig { preschedule_us: 20_000, ..UplinkConfig::nr_n78() };
        let mut uplink = ScheduledUplink::new(config);
        assert!(uplink.send(FIRST, 1, 90, 100, 0));
        send_block(&mut uplink, 16, 202, Ok(9_000));
        assert_eq!(uplink.wanted(12_000), None, "nothing to send");
        assert!(uplink.send(FIRST, 2, 90, 100, 12_100));
        assert_eq!(uplink.wanted(12_500), Some(Wanted::Prescheduled));
        // Nobody has room: its request of 14 ms is answered.
        assert_eq!(uplink.wanted(17_999), Some(Wanted::Prescheduled));
        assert_eq!(uplink.wanted(18_000), Some(Wanted::Requested));
    }

    #[test]
    fn packets_leave_in_order_behind_a_block_that_is_sent_again() {
        let mut uplink = uplink();
        for tag in 0..4 {
            assert!(uplink.send(FIRST, tag, 90, 100, 0));
        }
        send_block(&mut uplink, 16, 202, Err(13_000));
        send_block(&mut uplink, 17, 202, Ok(9_500));
        assert_eq!(arrivals(&mut uplink), []);
        assert!(uplink.due_block(12_999).is_none());
        uplink.due_block(13_000).unwrap().sent_again(Ok(14_000));
        let all = arrivals(&mut uplink);
        assert_eq!(all, [0, 1, 2, 3].map(|tag| (tag, Some(14_000))));
    }

    #[test]
    fn a_lost_block_takes_every_packet_of_which_it_had_a_part() {
        let mut uplink = uplink();
        for tag in 0..4 {
            assert!(uplink.send(FIRST, tag, 140, 150, 0));
        }
        send_block(&mut uplink, 16, 202, Ok(9_000));
        send_block(&mut uplink, 17, 202, Err(13_000));
        send_block(&mut uplink, 18, 500, Ok(10_000));
        uplink.due_block(13_000).unwrap().sent_again(Err(None));
        // The second block had the end of packet 1 and the begin of packet 2.
        let lost = [(0, Some(9_000)), (1, None), (2, None), (3, Some(10_000))];
        assert_eq!(arrivals(&mut uplink), lost);
    }

    #[test]
    fn a_full_queue_drops_by_packets_and_by_bytes_and_a_ue_that_leaves_loses_all() {
        let config =
            UplinkConfig { limit_packets: 3, limit_bytes: 2_500, ..UplinkConfig::nr_n78() };
        let mut uplink = ScheduledUplink::new(config);
        let taken = [1000, 1000, 1000, 400, 50].map(|len| uplink.send(FIRST, 1, len, len + 10, 0));
        assert_eq!(taken, [true, true, false, true, false]);
        let mut lost = 0;
        uplink.abandon(|arrival| lost += u32::from(arrival.leaves_us.is_none()));
        assert_eq!(lost, 3);
        assert!(!uplink.is_active());
    }

    #[test]
    fn power_divides_among_prbs_below_the_target() {
        let config = UplinkConfig::nr_n78();
        assert_eq!(config.snr_db(40.0, 1), 20.0);
        let edge = |n_prb| config.snr_db(5.0, n_prb);
        assert!((edge(1) - 6.3).abs() < 0.01);
        assert!((edge(1) - edge(10) - 10.0).abs() < 0.01);
    }

    #[test]
    fn a_pattern_without_uplink_and_invalid_values_are_refused() {
        let down = Duplexing::Tdd(crate::numerology::TddPattern::parse("D", 0, 0).unwrap());
        let config = UplinkConfig::nr_n78();
        for (config, duplexing, part) in [
            (config, &down, "at least one U"),
            (UplinkConfig { sr_grant_prb: 0, ..config }, &Duplexing::Fdd, "sr_grant_prb: 0"),
            (UplinkConfig { sr_period_us: 0, ..config }, &Duplexing::Fdd, "sr_period_us: 0"),
            (UplinkConfig { sr_offset_us: 5000, ..config }, &Duplexing::Fdd, "sr_offset_us: 5000"),
            (UplinkConfig { mcs: Some(28), ..config }, &Duplexing::Fdd, "uplink.mcs: 28"),
            (UplinkConfig { limit_packets: 0, ..config }, &Duplexing::Fdd, "limit_packets: 0"),
        ] {
            let error = config.validate(duplexing, 27).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
