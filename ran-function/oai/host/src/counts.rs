//! What happened to a bearer's packets, counted where it happens and read from any thread.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::Serialize;

/// A count that grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Packets of one bearer. `taken` = `forwarded` + all drops + what waits.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) taken: Count,
    pub(crate) forwarded: Count,
    pub(crate) forwarded_bytes: Count,
    pub(crate) dropped_by_pipeline: Count,
    pub(crate) dropped_full: Count,
    pub(crate) dropped_removed: Count,
    pub(crate) refused_by_pdcp: Count,
    pub(crate) marked: Count,
    pub(crate) blocks: Count,
    pub(crate) lock_missed: Count,
    /// Present values, not counts.
    pub(crate) waiting_packets: AtomicU32,
    pub(crate) waiting_bytes: AtomicU64,
    pub(crate) block_bytes: AtomicU32,
    pub(crate) rlc_bytes: AtomicU32,
}

/// The same, read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BearerCounts {
    /// SDUs that the host took from the gNB.
    pub taken_packets: u64,
    /// SDUs handed to PDCP.
    pub forwarded_packets: u64,
    /// Bytes of those.
    pub forwarded_bytes: u64,
    /// SDUs dropped by policer, queue limit or discipline.
    pub dropped_by_pipeline_packets: u64,
    /// SDUs that found no buffer, or the queue in front of the pipeline full.
    pub dropped_full_packets: u64,
    /// SDUs that waited when their bearer was removed.
    pub dropped_removed_packets: u64,
    /// SDUs that PDCP did not take; they count as forwarded.
    pub refused_by_pdcp_packets: u64,
    /// SDUs marked CE.
    pub marked_packets: u64,
    /// SDUs in the pipeline.
    pub waiting_packets: u32,
    /// Bytes of those.
    pub waiting_bytes: u64,
    /// Transport blocks that the MAC built for the bearer.
    pub blocks: u64,
    /// Size of the last of them, bytes.
    pub block_bytes: u32,
    /// RLC buffer at the MAC's last question, bytes.
    pub rlc_bytes: u32,
    /// Questions of the MAC that found the bearer in use for longer than a slot may wait.
    pub lock_missed: u64,
}

impl Counts {
    pub(crate) fn read(&self) -> BearerCounts {
        BearerCounts {
            taken_packets: self.taken.get(),
            forwarded_packets: self.forwarded.get(),
            forwarded_bytes: self.forwarded_bytes.get(),
            dropped_by_pipeline_packets: self.dropped_by_pipeline.get(),
            dropped_full_packets: self.dropped_full.get(),
            dropped_removed_packets: self.dropped_removed.get(),
            refused_by_pdcp_packets: self.refused_by_pdcp.get(),
            marked_packets: self.marked.get(),
            waiting_packets: self.waiting_packets.load(Ordering::Relaxed),
            waiting_bytes: self.waiting_bytes.load(Ordering::Relaxed),
            blocks: self.blocks.get(),
            block_bytes: self.block_bytes.load(Ordering::Relaxed),
            rlc_bytes: self.rlc_bytes.load(Ordering::Relaxed),
            lock_missed: self.lock_missed.get(),
        }
    }
}
