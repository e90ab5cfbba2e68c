//! Input of the pacers from the DU: the state of a bearer's RLC, and the room in a transport block.

/// State of the bearer's RLC buffer as the DU took it, right after the MAC pulled for a TTI.
///
/// The first six fields are what every pacer needs. The others serve some of the pacers and stay
/// at their defaults where a DU does not have them; each pacer documents its behaviour then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcStatus {
    /// Time at which the DU took it.
    pub at_us: u64,
    /// Bytes left in the RLC buffer: what the MAC has still to pull, retransmissions of RLC-AM
    /// included, what waits for an acknowledgement not.
    pub occupancy_bytes: u32,
    /// SDUs left in the RLC buffer, counted likewise.
    pub occupancy_packets: u32,
    /// What the MAC could pull per TTI at the present MCS; 0 when unknown.
    pub capacity_bytes_per_tti: u32,
    /// Length of a TTI (slot).
    pub tti_us: u32,
    /// Whether this TTI carried downlink for the cell: not in an uplink slot of TDD, nor in a
    /// millisecond without a transmission opportunity of a recorded channel.
    pub dl_opportunity: bool,
    /// RLC-AM: SDUs of which everything was sent and that wait for the status PDU that acknowledges
    /// them (38.322 §5.2.3.1.1); 0 in RLC-UM.
    pub unacknowledged_packets: u32,
    /// Bytes of those SDUs.
    pub unacknowledged_bytes: u32,
    /// SDUs removed from the RLC since the previous status, and how long they had been in it.
    pub removed: SduDelays,
    /// RLC-AM: when the newest status PDU of the UE reached the DU; absent before the first, and in
    /// RLC-UM.
    pub status_pdu_at_us: Option<u64>,
    /// Bytes of all SDUs of the bearer, from its first, up to the newest that reached the DU.
    /// Counted as the CU counts packets it forwards; those lost on F1-U before the newest (the "lost
    /// NR-U sequence numbers" of 38.425 §5.4.2.1) and those refused by a full RLC are counted too.
    /// What the CU forwarded beyond is still on F1-U. Absent if the DU does not report it.
    pub received_bytes: Option<u64>,
}

/// Delays of SDUs in the RLC SDU buffer: "the difference between the time of removal of the SDU
/// from the buffer and the time of its arrival" (kumar2018 §III). In RLC-UM an SDU is removed when
/// its last byte went to the MAC, in RLC-AM when a status PDU acknowledged it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SduDelays {
    /// SDUs removed.
    pub count: u32,
    /// Sum of their delays.
    pub sum_us: u64,
    /// Shortest delay; undefined without samples.
    pub min_us: u32,
    /// Longest delay.
    pub max_us: u32,
}

impl SduDelays {
    /// Takes in one SDU.
    pub fn add(&mut self, delay_us: u64) {
        let clamped_us = u32::try_from(delay_us).unwrap_or(u32::MAX);
        self.merge(&Self {
            count: 1,
            sum_us: u64::from(clamped_us),
            min_us: clamped_us,
            max_us: clamped_us,
        });
    }

    /// Takes in what another interval had.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min_us = if self.count == 0 { other.min_us } else { self.min_us.min(other.min_us) };
        self.max_us = self.max_us.max(other.max_us);
        self.count = self.count.saturating_add(other.count);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    /// Mean delay; absent when no SDU was removed.
    pub fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_us as f64 / f64::from(self.count))
    }
}

/// Room that a transport block has left for a bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRoom {
    /// The longest IP packet that would leave whole in it, in bytes; headers of PDCP, RLC and MAC are
    /// taken off.
    pub bytes: u32,
    /// The block after it, if known.
    pub next_block: Option<NextBlock>,
}

/// A transport block to come: that of the next downlink slot, at the present MCS and with the same share
/// of PRBs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextBlock {
    /// Time at which the MAC will build it.
    pub at_us: u64,
    /// The longest IP packet that would leave whole in it, in bytes.
    pub bytes: u32,
}

/// Packets that can be pulled at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// Bytes of IP packets.
    pub bytes: u64,
    /// Packets.
    pub packets: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_of_two_intervals_are_those_of_both() {
        let mut all = SduDelays::default();
        assert_eq!(all.mean_us(), None);
        let mut later = SduDelays::default();
        [3_000, 1_000].into_iter().for_each(|delay_us| all.add(delay_us));
        [5_000, u64::MAX].into_iter().for_each(|delay_us| later.add(delay_us));
        assert_eq!((all.count, all.min_us, all.max_us), (2, 1_000, 3_000));
        assert_eq!(all.mean_us(), Some(2_000.0));
        all.merge(&SduDelays::default());
        all.merge(&later);
        assert_eq!((all.count, all.min_us, all.max_us), (4, 1_000, u32::MAX));
        assert_eq!(all.sum_us, 9_000 + u64::from(u32::MAX));
    }
}
