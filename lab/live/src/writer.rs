//! What leaves the world, to the kernels.

use std::io::IoSlice;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::net::Tun;
use crate::offload::Coalescer;

/// Writes packets to a device, those in sequence joined.
#[derive(Debug)]
pub(crate) struct Writer {
    tun: Arc<Tun>,
    coalescer: Coalescer,
    counts: WriteCounts,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct WriteCounts {
    pub(crate) packets: u64,
    /// Writes, each of one packet or of several joined.
    pub(crate) writes: u64,
    /// Packets that the kernel refused.
    pub(crate) refused_packets: u64,
}

impl Writer {
    /// A writer of packets whose checksums may be wrong if `checks`.
    pub(crate) fn new(tun: Arc<Tun>, checks: bool) -> Self {
        let coalescer = if checks { Coalescer::checking() } else { Coalescer::default() };
        Self { tun, coalescer, counts: WriteCounts::default() }
    }

    /// Adds a packet; it is written by the next [`flush`](Self::flush) at the latest.
    pub(crate) fn push(&mut self, packet: Bytes) {
        let Self { tun, coalescer, counts } = self;
        coalescer.push(packet, &mut |frame| counts.write(tun, &frame));
    }

    /// Writes what is open.
    pub(crate) fn flush(&mut self) {
        let Self { tun, coalescer, counts } = self;
        coalescer.flush(&mut |frame| counts.write(tun, &frame));
    }

    pub(crate) fn counts(&self) -> WriteCounts {
        self.counts
    }
}

impl WriteCounts {
    fn write(&mut self, tun: &Tun, frame: &crate::offload::Frame<'_>) {
        let mut parts = Vec::with_capacity(1 + frame.payloads.len());
        parts.push(IoSlice::new(frame.head));
        parts.extend(frame.payloads.iter().map(|payload| IoSlice::new(payload)));
        self.writes += 1;
        let packets = frame.packets as u64;
        match tun.write(&parts) {
            Ok(()) => self.packets += packets,
            Err(error) => {
                tracing::debug!(%error, packets, "the kernel refused packets");
                self.refused_packets += packets;
            }
        }
    }
}
