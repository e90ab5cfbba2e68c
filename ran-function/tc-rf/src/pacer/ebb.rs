//! EBB: the enhanced bearer buffer, DynRLC's successor by the same authors ([23] of irazabal2021),
//! as far as irazabal2021 §III-A.2 describes it: "These methods estimate the available bandwidth
//! measuring the packet's sojourn time. If the sojourn time increases, the allowed size of the
//! buffer, which is defined as the maximum number of SDUs, decreases [...]. If on the contrary, the
//! sojourn time decreases, the buffer capacity limit of the RLC is augmented."
//!
//! What that leaves open, decided here:
//! - The bandwidth is estimated by Little's law: SDUs that stay τ̄ on average in a buffer that holds
//!   N of them leave at N/τ̄. The limit that makes them stay the target time is N · target/τ̄.
//! - N is what was allowed, the limit; a limit that held no SDU back is not raised.
//! - The limit is updated when as many SDUs have left as it allows, so that those that tell of
//!   it came in under it, and no sooner than after the target time. It at most doubles, and at most
//!   halves.
//! - It begins with 10 SDUs (the most that irazabal2021 §V-D allows DynRLC) and stays within 1 to
//!   65 535.
//! - What is on F1-U counts as in the buffer.

use super::held_sdus::HeldSdus;
use super::{Algorithm, ReceivedStatus, SduDelays};

/// Initial limit, SDUs.
const INITIAL_SDUS: f64 = 10.0;
const MIN_SDUS: f64 = 1.0;
const MAX_SDUS: f64 = 65_535.0;
/// The limit changes by at most this factor at once.
const LARGEST_STEP: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Ebb {
    target_us: f64,
    /// SDUs.
    limit: f64,
    /// Samples since the limit was set.
    samples: SduDelays,
    set_us: Option<u64>,
    held: HeldSdus,
    /// Whether the limit held an SDU back since it was set.
    limited: bool,
}

impl Ebb {
    pub(super) fn new(target_us: u32, received: Option<&ReceivedStatus>) -> Self {
        Self {
            target_us: f64::from(target_us.max(1)),
            limit: INITIAL_SDUS,
            samples: SduDelays::default(),
            set_us: received.map(|received| received.status.at_us),
            held: HeldSdus::of(received),
            limited: false,
        }
    }

    fn limit_packets(&self) -> u64 {
        self.limit.round() as u64
    }

    fn set_limit(&mut self, now_us: u64) {
        let set_us = *self.set_us.get_or_insert(now_us);
        if now_us < set_us {
            // The clock went back.
            self.set_us = Some(now_us);
            return;
        }
        let elapsed_us = (now_us - set_us) as f64;
        if u64::from(self.samples.count) < self.limit_packets() || elapsed_us < self.target_us {
            return;
        }
        if let Some(mean_us) = self.samples.mean_us() {
            let most = if self.limited { LARGEST_STEP } else { 1.0 };
            let factor = (self.target_us / mean_us.max(1.0)).clamp(1.0 / LARGEST_STEP, most);
            self.limit = (self.limit * factor).clamp(MIN_SDUS, MAX_SDUS);
        }
        self.samples = SduDelays::default();
        self.set_us = Some(now_us);
        self.limited = false;
    }
}

impl Algorithm for Ebb {
    fn status(&mut self, received: &ReceivedStatus) {
        self.samples.merge(&received.status.removed);
        self.set_limit(received.status.at_us);
        self.held = HeldSdus::of(Some(received));
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.held.sent(len_bytes);
    }

    fn may_send(&mut self, _len_bytes: u64, _now_us: u64) -> bool {
        let fits = self.held.packets() < self.limit_packets();
        self.limited |= !fits;
        fits
    }

    /// The limit in packets of the size that is held now.
    fn limit_bytes(&self) -> u64 {
        self.held.bytes_of(self.limit_packets())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{received, removed};
    use super::*;

    fn pacer() -> Ebb {
        Ebb::new(5_000, Some(&received(0, 0)))
    }

    #[test]
    fn the_limit_is_what_littles_law_gives_for_the_target() {
        let mut pacer = pacer();
        // Ten SDUs that stayed 8 ms: 1.25 SDUs/ms, of which 5 ms hold 6.25.
        pacer.status(&removed(received(8_000, 0), &[8; 10]));
        assert!((pacer.limit - 6.25).abs() < 1e-9, "{}", pacer.limit);
        // 6 SDUs fit: stayed 4.8 ms.
        while pacer.may_send(1500, 9_000) {
            pacer.sent(1500, 9_000);
        }
        assert_eq!(pacer.held.packets(), 6);
        pacer.status(&removed(received(14_000, 0), &[4, 5, 5, 5, 5, 5]));
        assert!((pacer.limit - 6.25 * 5_000.0 / (29_000.0 / 6.0)).abs() < 1e-9);
    }

    #[test]
    fn a_limit_that_kept_nothing_back_does_not_grow() {
        let mut pacer = pacer();
        pacer.status(&removed(received(20_000, 0), &[1; 10]));
        assert_eq!(pacer.limit, 10.0);
        while pacer.may_send(1500, 21_000) {
            pacer.sent(1500, 21_000);
        }
        pacer.status(&removed(received(40_000, 0), &[1; 10]));
        assert_eq!(pacer.limit, 20.0, "at most twice");
    }

    #[test]
    fn a_limit_is_judged_by_sdus_that_came_in_under_it() {
        let mut pacer = pacer();
        pacer.status(&removed(received(6_000, 0), &[50; 9]));
        assert_eq!(pacer.limit, 10.0, "nine of ten have left");
        pacer.status(&removed(received(6_500, 0), &[50]));
        assert_eq!(pacer.limit, 5.0, "at most halved");
        pacer.status(&removed(received(7_000, 0), &[50; 20]));
        assert_eq!(pacer.limit, 5.0, "half a millisecond after the last");
    }

    #[test]
    fn it_always_takes_one_sdu() {
        let mut pacer = pacer();
        for ms in 1..1_000 {
            pacer.status(&removed(received(ms * 10_000, 0), &[100_000; 20]));
        }
        assert_eq!(pacer.limit, 1.0);
        assert!(pacer.may_send(9_000, 0));
    }
}
