//! Counters of the whole gNB for monitoring: delays of packets by the part that caused them, drops by
//! cause, marks. Delay distributions have the names of 3GPP TS 28.552 clause 5.1.3.3 in comments.

use super::World;
use super::packet_kind::{ByKind, PacketKind};

/// Upper edges of the bins of a [`DelayDistribution`], inclusive; the last bin has none.
pub const DELAY_EDGES_US: [u64; 8] =
    [5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

/// Packets by delay, cumulative over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayDistribution {
    /// Packets in each bin.
    pub bins: [u64; DELAY_EDGES_US.len() + 1],
    /// Sum of the delays.
    pub sum_us: u64,
}

impl DelayDistribution {
    pub(crate) fn record(&mut self, delay_us: u64) {
        self.sum_us += delay_us;
        // From the shortest on: nearly all parts of a delay are in the first bins.
        let bin = DELAY_EDGES_US.iter().position(|edge_us| delay_us <= *edge_us);
        self.bins[bin.unwrap_or(DELAY_EDGES_US.len())] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.sum_us += other.sum_us;
        self.bins.iter_mut().zip(other.bins).for_each(|(bin, packets)| *bin += packets);
    }

    /// Packets in all bins.
    pub fn packets(&self) -> u64 {
        self.bins.iter().sum()
    }
}

/// Delays of downlink packets whose last byte went to the MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DownlinkDelays {
    /// CU-UP, SDAP and TC pipeline included: `DRB.PdcpSduDelayDlDist`.
    pub pdcp: DelayDistribution,
    /// F1-U: `DRB.GtpF1DelayDlDist`.
    pub f1: DelayDistribution,
    /// gNB-DU: `DRB.RlcSduDelayDlDist`.
    pub rlc: DelayDistribution,
    /// Their sum.
    pub sojourn: DelayDistribution,
}

impl DownlinkDelays {
    pub(crate) fn record(&mut self, pdcp_us: u64, f1_us: u64, rlc_us: u64) {
        self.pdcp.record(pdcp_us);
        self.f1.record(f1_us);
        self.rlc.record(rlc_us);
        self.sojourn.record(pdcp_us + f1_us + rlc_us);
    }
}

/// Counters of the gNB since virtual time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GnbCounters {
    /// Delays of delivered packets.
    pub delays: DownlinkDelays,
    /// Their sum by kind of packet, of the seconds that have ended.
    pub by_kind: ByKind<DelayDistribution>,
    /// Packets dropped by queue disciplines of TC pipelines.
    pub aqm_dropped: u64,
    /// Packets dropped at limits of queues and buffers of TC pipelines.
    pub overflow_dropped: u64,
    /// Packets dropped by policers.
    pub policer_dropped: u64,
    /// Packets dropped by the RLC: full buffer, or an AQM in its place.
    pub rlc_dropped: u64,
    /// Packets that came from the core network for a UE that was not attached.
    pub unattached_dropped: u64,
    /// Packets that were in the gNB or on the air when their UE left.
    pub released_dropped: u64,
    /// Packets marked CE by TC pipelines.
    pub marked: u64,
}

impl World {
    /// Counters of the gNB; walks the bearers.
    pub fn gnb_counters(&self) -> GnbCounters {
        let mut counters = GnbCounters { delays: self.delays, ..GnbCounters::default() };
        for bearer in self.bearers.iter() {
            let by_kind = bearer.measured.by_kind.distributions(self.now_us);
            for kind in PacketKind::ALL {
                counters.by_kind.of_mut(kind).add(by_kind.of(kind));
            }
            let tally = &bearer.tally;
            counters.aqm_dropped += tally.aqm_dropped;
            counters.policer_dropped += tally.policer_dropped;
            counters.overflow_dropped +=
                tally.dropped.packets - tally.aqm_dropped - tally.policer_dropped;
            counters.rlc_dropped += bearer.rlc_dropped_packets();
            counters.unattached_dropped += bearer.measured.unattached_packets;
            counters.released_dropped += bearer.released_packets();
            counters.marked += tally.marked_packets;
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_belong_to_the_bin_below() {
        let mut delays = DelayDistribution::default();
        for delay_us in [0, 5_000, 5_001, 1_000_000, 1_000_001, 60_000_000] {
            delays.record(delay_us);
        }
        assert_eq!(delays.bins, [2, 1, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!((delays.packets(), delays.sum_us), (6, 62_010_002));
    }
}
