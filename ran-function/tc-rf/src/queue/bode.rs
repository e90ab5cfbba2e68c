//! BoDe, bounded delay (abbasloo2019 §V-C).
//!
//! Arrival times are stamped at ingress by the pipeline (step 1). Two places where the paper can be
//! read in two ways, decided by its other statements:
//! - Step 2 serves a packet whose sojourn is "smaller than" the bound and promises that none served
//!   "experiences queuing delay more than" it; a sojourn that equals the bound is served.
//! - Step 3 spares a packet when the queue is "smaller than 3 packets"; as BoDe "always transmits
//!   the last 3 queued packets" (§VI-A), enough for three duplicate acknowledgements (footnote 2),
//!   the length is that behind the packet taken out to be served.

use crate::DropReason;
use crate::rng::Rng;

use super::aqm::{Aqm, AqmQueue, Head, StateValue};

/// Fewest packets behind the one at the egress for it to be dropped (abbasloo2019 §V-C step 3).
pub const BODE_MIN_PACKETS: u32 = 3;

/// Parameters of BoDe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodeParams {
    /// `BoundedDelay`.
    pub bound_us: u64,
    /// Ours: with fewer bytes behind it a packet is not dropped either, until each packet that left
    /// for `bound_us` was late. In a queue per flow it spares sparse flows after an outage: what ages
    /// then is all they sent, and is gone soon. A queue that stays late is a standing one, however few
    /// its bytes: 15 kB are 2 s of a share of 60 kbit/s.
    pub spare_bytes: u64,
}

/// State of BoDe for one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bode {
    /// Time at which the first of the packets left that have all been late since.
    late_since_us: Option<u64>,
}

impl Bode {
    /// Whether few bytes spare a late packet.
    fn spares(&mut self, params: &BodeParams, behind_bytes: u64, now_us: u64) -> bool {
        let late_since_us = *self.late_since_us.get_or_insert(now_us);
        behind_bytes < params.spare_bytes && now_us.saturating_sub(late_since_us) < params.bound_us
    }
}

impl Aqm for Bode {
    type Params = BodeParams;
    const ADMITS: bool = true;

    fn new(_: Rng) -> Self {
        Self::default()
    }

    fn found_empty(&mut self, _: &BodeParams, _: u64) {
        self.late_since_us = None;
    }

    #[inline]
    fn passes(&mut self, params: &BodeParams, head: &Head, _: u64) -> bool {
        let passes = head.sojourn_us <= params.bound_us;
        if passes {
            self.late_since_us = None;
        }
        passes
    }

    fn dequeue<Q: AqmQueue>(
        &mut self,
        params: &BodeParams,
        now_us: u64,
        queue: &mut Q,
    ) -> Option<Q::Item> {
        loop {
            let item = queue.pop()?;
            let sojourn_us = queue.sojourn_us(&item);
            if sojourn_us <= params.bound_us {
                self.late_since_us = None;
                return Some(item);
            }
            let spared = self.spares(params, queue.bytes(), now_us);
            if spared || !drops(params.bound_us, sojourn_us, queue.packets()) {
                return Some(item);
            }
            queue.drop(item, DropReason::Discipline("bode"));
        }
    }

    fn report(&self, params: &BodeParams) -> Vec<(&'static str, StateValue)> {
        vec![("bound_us", params.bound_us.into()), ("spare_bytes", params.spare_bytes.into())]
    }
}

/// Whether the packet taken out at egress is dropped; `behind_packets` are still queued.
fn drops(bound_us: u64, sojourn_us: u64, behind_packets: u32) -> bool {
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
