//! One bearer: the queue in front of its pipeline, the pipeline, and what a panic leaves of it.
//!
//! Two of the gNB's threads meet here: one brings packets, one builds transport blocks. Neither may
//! wait for E2 or for configuration, so both only *try* for the pipeline, for no longer than
//! [`TRY_SPINS`]. A packet that finds it in use stays in the queue in front (`inbox`), which whoever
//! has the pipeline next empties first, so that order is kept; a question of the MAC is answered with
//! what was true last.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crossbeam_queue::ArrayQueue;
use e2sm_tc::v1::{BearerId, Pacer, Pipeline, UeId};
use tc_rf::{BlockRoom, NextBlock, RlcStatus, TrafficControl};

use crate::counts::Counts;
use crate::events::{Event, Happening};
use crate::gnb::Address;
use crate::sdu::Sdu;
use crate::sink::Sink;
use crate::surroundings::Surroundings;

/// Packets that may wait for the pipeline while a control is applied: 10 ms at 100 000 packets/s.
const INBOX_PACKETS: usize = 1024;
/// Longest wait of a real-time thread for the pipeline, some 10 µs: the other real-time thread has it
/// for about 1 µs per packet.
const TRY_SPINS: u32 = 256;
/// MAC subheader with 16 bits of length (38.321 §6.1.2).
const MAC_HEADER_BYTES: u32 = 3;
/// RLC header of an AM PDU with 18 bits of sequence number (38.322 §6.2.2.4), the longest of a whole SDU.
const RLC_HEADER_BYTES: u32 = 3;
/// PDCP header with 18 bits of sequence number (38.323 §6.2.2.3), until the first SDU shows what it is.
const PDCP_HEADER_BYTES: u32 = 3;
/// Less room than this in a block is left to padding: it would carry headers more than data.
const MIN_SEGMENT_BYTES: u32 = 32;
/// What is known about the UE's RNTI when nothing is.
pub(crate) const NO_RNTI: u32 = u32::MAX;
const NEVER: u64 = u64::MAX;

struct Arrival {
    sdu: Sdu,
    at_us: u64,
}

/// A data radio bearer of a UE.
pub(crate) struct Bearer {
    pub(crate) ue: u64,
    pub(crate) drb: u8,
    pub(crate) sdap_header: bool,
    /// RNTI of the UE, or [`NO_RNTI`].
    rnti: AtomicU32,
    inbox: ArrayQueue<Arrival>,
    work: Mutex<Work>,
    /// The pipeline's pacer holds packets back, so the MAC's questions matter.
    paced: AtomicBool,
    /// Bytes to add to the RLC's buffer status, as of the last question that was answered.
    pullable_bytes: AtomicU32,
    /// Nothing passes the pipeline any more: it panicked, or the bearer is gone.
    pub(crate) bypassed: AtomicBool,
    retired: AtomicBool,
    asked_us: AtomicU64,
    /// Time of the radio at the last question, or [`NEVER`].
    asked_radio_us: AtomicU64,
    pub(crate) counts: Counts,
    #[cfg(test)]
    pub(crate) panic_next: AtomicBool,
}

/// What belongs to whoever has the bearer.
struct Work {
    control: Option<TrafficControl<Sdu>>,
    named: u32,
    now_us: u64,
    /// No packet may enter the pipeline with an earlier time.
    floor_us: u64,
    pdcp_header_bytes: u32,
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bearer")
            .field("ue", &self.ue)
            .field("drb", &self.drb)
            .finish_non_exhaustive()
    }
}

impl Bearer {
    pub(crate) fn new(
        ue: u64,
        drb: u8,
        sdap_header: bool,
        initial: Pipeline,
        seed: u64,
    ) -> Result<Self, tc_rf::PipelineError> {
        let paced = initial.pacer != Pacer::None;
        let control = TrafficControl::new(bearer_id(0, drb), initial, seed)?;
        Ok(Self {
            ue,
            drb,
            sdap_header,
            rnti: AtomicU32::new(NO_RNTI),
            inbox: ArrayQueue::new(INBOX_PACKETS),
            work: Mutex::new(Work {
                control: Some(control),
                named: NO_RNTI,
                now_us: 0,
                floor_us: 0,
                pdcp_header_bytes: PDCP_HEADER_BYTES,
            }),
            paced: AtomicBool::new(paced),
            pullable_bytes: AtomicU32::new(0),
            bypassed: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            asked_us: AtomicU64::new(0),
            asked_radio_us: AtomicU64::new(NEVER),
            counts: Counts::default(),
            #[cfg(test)]
            panic_next: AtomicBool::new(false),
        })
    }

    pub(crate) fn rnti(&self) -> Option<u16> {
        u16::try_from(self.rnti.load(Ordering::Relaxed)).ok()
    }

    /// The new RNTI is what the service model calls the bearer by from the next use on. Takes no lock.
    pub(crate) fn set_rnti(&self, rnti: Option<u16>) {
        self.rnti.store(rnti.map_or(NO_RNTI, u32::from), Ordering::Relaxed);
    }

    pub(crate) fn id(&self) -> BearerId {
        bearer_id(self.rnti().unwrap_or(0), self.drb)
    }

    pub(crate) fn address(&self) -> Address {
        Address { ue: self.ue, rnti: self.rnti(), drb: self.drb }
    }

    /// Takes a packet of the thread that brings packets.
    pub(crate) fn packet_in(&self, sdu: Sdu, around: &Surroundings, now_us: u64) {
        self.counts.taken.add(1);
        if self.inbox.push(Arrival { sdu, at_us: now_us }).is_err() {
            self.counts.dropped_full.add(1);
            return;
        }
        let Some(mut work) = self.try_work() else { return };
        self.contained(&mut work, around, now_us, |work, sink| {
            self.forward_due(work, around, sink)
        });
    }

    /// Answers the MAC's question for the RLC's buffer status: bytes to add to it.
    pub(crate) fn status_asked(
        &self,
        around: &Surroundings,
        rlc_bytes: u32,
        tti_us: u32,
        now_us: u64,
    ) -> u32 {
        self.asked_us.store(now_us, Ordering::Relaxed);
        self.asked_radio_us.store(around.radio_us().unwrap_or(NEVER), Ordering::Relaxed);
        self.counts.rlc_bytes.store(rlc_bytes, Ordering::Relaxed);
        let idle = !self.paced.load(Ordering::Relaxed)
            && self.inbox.is_empty()
            && self.counts.waiting_packets.load(Ordering::Relaxed) == 0;
        if idle || self.bypassed.load(Ordering::Relaxed) {
            return 0;
        }
        let Some(mut work) = self.try_work() else {
            self.counts.lock_missed.add(1);
            return self.pullable_bytes.load(Ordering::Relaxed);
        };
        let block_bytes = self.counts.block_bytes.load(Ordering::Relaxed);
        let status = RlcStatus {
            at_us: now_us,
            occupancy_bytes: rlc_bytes,
            // OAI does not say how many; of a bearer with traffic most are full-sized.
            occupancy_packets: rlc_bytes.div_ceil(1500),
            capacity_bytes_per_tti: block_bytes,
            tti_us,
            // The MAC asks when it schedules a slot with downlink.
            dl_opportunity: true,
            ..RlcStatus::default()
        };
        let answer = self.contained(&mut work, around, now_us, |work, sink| {
            if let Some(control) = &mut work.control {
                control.rlc_status(&status, work.now_us);
            }
            let before = sink.forwarded_bytes;
            self.forward_due(work, around, sink);
            let Some(control) = &mut work.control else { return 0 };
            let waiting = control.buffer_status(work.now_us, sink);
            let headers =
                u64::from(waiting.packets) * u64::from(work.pdcp_header_bytes + RLC_HEADER_BYTES);
            let bytes = waiting.bytes + headers + (sink.forwarded_bytes - before);
            u32::try_from(bytes).unwrap_or(u32::MAX)
        });
        let bytes = answer.unwrap_or(0);
        self.pullable_bytes.store(bytes, Ordering::Relaxed);
        bytes
    }

    /// Fills a transport block: hands SDUs down until the RLC has what the block carries.
    pub(crate) fn block(
        &self,
        around: &Surroundings,
        block_bytes: u32,
        rlc_bytes: u32,
        tti_us: u32,
        now_us: u64,
    ) {
        self.counts.blocks.add(1);
        self.counts.block_bytes.store(block_bytes, Ordering::Relaxed);
        if !self.paced.load(Ordering::Relaxed) || self.bypassed.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut work) = self.try_work() else {
            self.counts.lock_missed.add(1);
            return;
        };
        self.contained(&mut work, around, now_us, |work, sink| {
            self.take_in(work, sink);
            let in_rlc = if rlc_bytes == 0 { 0 } else { rlc_bytes + MAC_HEADER_BYTES };
            let mut room_bytes = block_bytes.saturating_sub(in_rlc);
            loop {
                let headers = MAC_HEADER_BYTES + RLC_HEADER_BYTES + work.pdcp_header_bytes;
                let Some(bytes) = room_bytes.checked_sub(headers) else { return };
                if bytes < MIN_SEGMENT_BYTES {
                    return;
                }
                let next = NextBlock {
                    at_us: work.now_us + u64::from(tti_us),
                    bytes: block_bytes.saturating_sub(headers),
                };
                let room = BlockRoom { bytes, next_block: Some(next) };
                let Some(control) = &mut work.control else { return };
                let Some(sdu) = control.pull(&room, work.now_us, sink) else { return };
                let in_rlc = self.hand_down(work, sink, &sdu);
                room_bytes = room_bytes
                    .saturating_sub(in_rlc.saturating_add(MAC_HEADER_BYTES + RLC_HEADER_BYTES));
            }
        });
    }

    /// Forwards what is due for a bearer that the MAC has not asked about for `silence_us`: its UE is
    /// not connected or not scheduled, and leases and shapers go on.
    pub(crate) fn poll(&self, around: &Surroundings, silence_us: u64, now_us: u64) {
        let asked_us = self.asked_us.load(Ordering::Relaxed);
        if now_us.saturating_sub(asked_us) < silence_us || self.bypassed.load(Ordering::Relaxed) {
            return;
        }
        let Some(mut work) = self.try_work() else { return };
        self.contained(&mut work, around, now_us, |work, sink| {
            self.forward_due(work, around, sink)
        });
    }

    /// Something of E2 or configuration, which may wait for the pipeline. None if the bearer has none
    /// any more.
    pub(crate) fn configure<R>(
        &self,
        around: &Surroundings,
        now_us: u64,
        act: impl FnOnce(&mut TrafficControl<Sdu>, u64, &mut Sink<'_>) -> R,
    ) -> Option<R> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.contained(&mut work, around, now_us, |work, sink| {
            let control = work.control.as_mut()?;
            let done = act(control, work.now_us, sink);
            self.paced.store(control.pipeline().pacer != Pacer::None, Ordering::Relaxed);
            Some(done)
        });
        done.flatten()
    }

    /// The bearer is gone; takes no lock. [`Self::bury`] returns what waits.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
        self.bypassed.store(true, Ordering::Relaxed);
    }

    /// Drops what waits for a bearer that is gone.
    pub(crate) fn bury(&self) {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut control) = work.control.take() {
            // A pipeline that cannot even be emptied is forgotten with its packets.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                control.drain(&mut |_| self.counts.dropped_removed.add(1));
            }));
        }
        while self.inbox.pop().is_some() {
            self.counts.dropped_removed.add(1);
        }
        self.publish(&work);
    }

    /// The pipeline, if it is free or soon will be.
    fn try_work(&self) -> Option<MutexGuard<'_, Work>> {
        for _ in 0..TRY_SPINS {
            match self.work.try_lock() {
                Ok(work) => return Some(work),
                Err(TryLockError::Poisoned(work)) => return Some(work.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }

    /// Does something with the pipeline. A panic in it ends here: the bearer becomes transparent, what
    /// waited is handed down in order, and an event says so.
    fn contained<R>(
        &self,
        work: &mut Work,
        around: &Surroundings,
        now_us: u64,
        act: impl FnOnce(&mut Work, &mut Sink<'_>) -> R,
    ) -> Option<R> {
        // Threads read the clock before they wait for each other.
        work.floor_us = work.now_us;
        work.now_us = work.now_us.max(now_us);
        let mut sink = Sink::new(around, &self.counts, self.address(), work.now_us);
        let rnti = self.rnti.load(Ordering::Relaxed);
        let done = catch_unwind(AssertUnwindSafe(|| {
            #[cfg(test)]
            assert!(!self.panic_next.swap(false, Ordering::Relaxed), "a defect, for a test");
            if work.named != rnti {
                work.named = rnti;
                if let Some(control) = &mut work.control {
                    control.rename(self.id());
                }
            }
            act(work, &mut sink)
        }));
        let done = match done {
            Ok(done) => Some(done),
            Err(_) => {
                self.fail_open(work, around);
                None
            }
        };
        self.publish(work);
        done
    }

    fn fail_open(&self, work: &mut Work, around: &Surroundings) {
        self.bypassed.store(true, Ordering::Relaxed);
        around.events.push(Event {
            at_us: work.now_us,
            bearer: self.address(),
            what: Happening::PipelineFailed,
        });
        let mut sink = Sink::new(around, &self.counts, self.address(), work.now_us);
        if let Some(mut control) = work.control.take() {
            let _ = catch_unwind(AssertUnwindSafe(|| {
                control.drain(&mut |sdu| {
                    self.hand_down(work, &mut sink, &sdu);
                });
            }));
        }
        self.empty_inbox(work, &mut sink);
    }

    fn publish(&self, work: &Work) {
        let (packets, bytes) = work
            .control
            .as_ref()
            .map_or((0, 0), |control| (control.backlog_packets(), control.backlog_bytes()));
        self.counts.waiting_packets.store(packets, Ordering::Relaxed);
        self.counts.waiting_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Takes in what the inbox has, in order of arrival.
    fn take_in(&self, work: &mut Work, sink: &mut Sink<'_>) {
        let Some(control) = &mut work.control else {
            self.empty_inbox(work, sink);
            return;
        };
        while let Some(Arrival { sdu, at_us }) = self.inbox.pop() {
            // What came while another thread had the pipeline counts from when that one was done.
            work.floor_us = at_us.clamp(work.floor_us, work.now_us);
            control.ingress(sdu, work.floor_us, sink);
        }
    }

    /// Passes the inbox on without a pipeline, or drops it with its bearer.
    fn empty_inbox(&self, work: &mut Work, sink: &mut Sink<'_>) {
        while let Some(Arrival { sdu, .. }) = self.inbox.pop() {
            if self.retired.load(Ordering::Relaxed) {
                self.counts.dropped_removed.add(1);
            } else {
                self.hand_down(work, sink, &sdu);
            }
        }
    }

    /// Takes in what arrived and hands down what scheduler, shapers and pacer release.
    fn forward_due(&self, work: &mut Work, around: &Surroundings, sink: &mut Sink<'_>) {
        self.take_in(work, sink);
        if let (Some(age_us), Some(control)) = (self.question_age_us(around), &mut work.control) {
            control.rlc_status_age(age_us, work.now_us);
        }
        loop {
            let Some(control) = &mut work.control else { return };
            let Some(sdu) = control.egress_one(work.now_us, sink) else { return };
            self.hand_down(work, sink, &sdu);
        }
    }

    /// What has passed of the radio's time since the MAC's last question; none without question or slots.
    fn question_age_us(&self, around: &Surroundings) -> Option<u64> {
        let asked_us =
            Some(self.asked_radio_us.load(Ordering::Relaxed)).filter(|at| *at != NEVER)?;
        Some(around.radio_us()?.saturating_sub(asked_us))
    }

    /// Hands an SDU to PDCP; returns the bytes that the RLC got.
    fn hand_down(&self, work: &mut Work, sink: &mut Sink<'_>, sdu: &Sdu) -> u32 {
        let bytes = sdu.as_bytes();
        let in_rlc = sink.forward(bytes);
        if let Some(header) = in_rlc.and_then(|in_rlc| in_rlc.checked_sub(bytes.len() as u32)) {
            // Without compression it is the header, with integrity protection also the MAC-I.
            work.pdcp_header_bytes = header;
        }
        in_rlc.unwrap_or(0)
    }
}

fn bearer_id(rnti: u16, drb: u8) -> BearerId {
    BearerId { ue: UeId::Rnti(rnti), drb }
}

#[cfg(test)]
mod tests;
