//! BoDe, bounded delay (abbasloo2019 §V-C).
//!
//! Arrival times are stamped at ingress by the pipeline (step 1). Two places where the paper can be
//! read in two ways, settled by what else it says:
//! - Step 2 serves a packet whose sojourn is "smaller than" the bound and promises that none served
//!   "experiences queuing delay more than" it; a sojourn that equals the bound is served.
//! - Step 3 spares a packet when the queue is "smaller than 3 packets"; as BoDe "always transmits
//!   the last 3 queued packets" (§VI-A), enough for three duplicate acknowledgements (footnote 2),
//!   the length is that behind the packet taken out to be served.

/// Fewest packets behind the one at the egress for it to be dropped (abbasloo2019 §V-C step 3).
pub const BODE_MIN_PACKETS: u32 = 3;

/// Whether the packet taken out at egress is dropped; `behind_packets` are still queued.
pub(crate) fn drops(bound_us: u64, sojourn_us: u64, behind_packets: u32) -> bool {
    sojourn_us > bound_us && behind_packets >= BODE_MIN_PACKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_what_is_late_unless_it_is_among_the_last_three() {
        assert!(!drops(20_000, 20_000, 100));
        assert!(drops(20_000, 20_001, 100));
        assert!(drops(20_000, 20_001, 3));
        assert!(!drops(20_000, u64::MAX, 2));
    }
}
