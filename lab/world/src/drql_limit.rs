//! DRQL's limit computed in the DU: "the RLC layer, enabling it to dynamically adjust the limits of its
//! queues based on the incoming packet volume" (stolidis2024 §IV-A).
//!
//! A CU that paces by forecasts does not run DRQL, but the forecast quantity is DRQL's limit. The rule is
//! that of §II with what the DU observes: the MAC pulled "a full RLC buffer" if no further MTU fitted
//! below the limit.

use tc_rf::RlcStatus;

use super::World;

/// Bytes that DRQL leaves in the buffer (irazabal2021 §V-D).
const MTU_BYTES: u64 = 1_500;

/// State of a bearer's RLC after the last TTI, which the DU reports for forecasts (stolidis2024 §IV-B:
/// "the RLC's queue limits and actual sizes").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcSample {
    /// Virtual time, µs.
    pub time_us: u64,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Bytes left in the RLC buffer.
    pub occupancy_bytes: u32,
    /// DRQL's limit, bytes.
    pub limit_bytes: u32,
    /// Bytes pulled by the MAC since recording started.
    pub drained_bytes: u64,
}

/// The limit of one bearer.
#[derive(Clone, Debug)]
pub(crate) struct DrqlLimit {
    limit_bytes: u64,
    /// Bytes in the RLC after the last TTI.
    left_bytes: u64,
    /// `left_bytes` and bytes admitted since.
    held_bytes: u64,
    /// Whether a packet has arrived since that did not fit.
    was_full: bool,
    /// Bytes pulled since recording started.
    drained_bytes: u64,
    /// Whether packets beyond the limit are dropped.
    drops: bool,
}

impl DrqlLimit {
    pub(crate) fn new(drops: bool) -> Self {
        Self {
            limit_bytes: MTU_BYTES,
            left_bytes: 0,
            held_bytes: 0,
            was_full: false,
            drained_bytes: 0,
            drops,
        }
    }

    /// The same limit in another DU, where it begins anew.
    pub(crate) fn anew(&self) -> Self {
        Self { drained_bytes: self.drained_bytes, ..Self::new(self.drops) }
    }

    /// The limit if the RLC enforces it.
    pub(crate) fn in_force_bytes(&self) -> Option<u32> {
        self.drops.then(|| narrow(self.limit_bytes))
    }

    /// Whether the RLC admits an arriving packet; an empty RLC admits any.
    pub(crate) fn admit(&mut self, len_bytes: u64) -> bool {
        let fits = self.held_bytes == 0 || self.held_bytes + len_bytes <= self.limit_bytes;
        self.was_full |= !fits;
        if fits || !self.drops {
            self.held_bytes += len_bytes;
            return true;
        }
        false
    }

    /// Updates the limit after the MAC pulled for a TTI.
    pub(crate) fn on_tti(&mut self, status: &RlcStatus) {
        let held_bytes = self.held_bytes;
        self.left_bytes = u64::from(status.occupancy_bytes);
        self.drained_bytes += held_bytes.saturating_sub(self.left_bytes);
        self.held_bytes = self.left_bytes;
        if !status.dl_opportunity {
            return;
        }
        let was_full = self.was_full || held_bytes + MTU_BYTES > self.limit_bytes;
        self.was_full = false;
        if self.left_bytes < MTU_BYTES && was_full {
            self.limit_bytes += MTU_BYTES - self.left_bytes;
        } else if self.left_bytes > MTU_BYTES && self.left_bytes < held_bytes {
            let excess_bytes = self.left_bytes - MTU_BYTES;
            self.limit_bytes = self.limit_bytes.saturating_sub(excess_bytes).max(MTU_BYTES);
        }
    }
}

impl World {
    /// Starts or stops computing DRQL's limit in the DU; see [`rlc_samples`](Self::rlc_samples). An RLC
    /// that enforces it always computes it.
    pub fn record_drql_limits(&mut self, enabled: bool) {
        for bearer in self.bearers.iter_mut() {
            if !bearer.drql_limit.as_ref().is_some_and(|limit| limit.drops) {
                bearer.drql_limit = enabled.then(|| DrqlLimit::new(false));
            }
        }
    }

    /// RLC occupancy and limit of each attached bearer after the last TTI; empty unless
    /// [recorded](Self::record_drql_limits).
    pub fn rlc_samples(&self) -> impl Iterator<Item = RlcSample> + '_ {
        self.bearers.iter().filter(|bearer| bearer.cell.is_some()).filter_map(move |bearer| {
            let limit = bearer.drql_limit.as_ref()?;
            Some(RlcSample {
                time_us: self.now_us,
                rnti: bearer.rnti,
                drb: bearer.drb,
                occupancy_bytes: narrow(limit.left_bytes),
                limit_bytes: narrow(limit.limit_bytes),
                drained_bytes: limit.drained_bytes,
            })
        })
    }
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(occupancy_bytes: u64, dl_opportunity: bool) -> RlcStatus {
        let occupancy_bytes = occupancy_bytes as u32;
        RlcStatus { occupancy_bytes, dl_opportunity, ..RlcStatus::default() }
    }

    /// Offers `packets` before each TTI, which pulls up to `capacity` bytes; returns the drops.
    fn run(limit: &mut DrqlLimit, ttis: u32, packets: u64, capacity: u64) -> u64 {
        let mut dropped = 0;
        for _ in 0..ttis {
            dropped += (0..packets).filter(|_| !limit.admit(MTU_BYTES)).count() as u64;
            let left = limit.held_bytes.saturating_sub(capacity);
            limit.on_tti(&status(left, true));
        }
        dropped
    }

    #[test]
    fn the_limit_converges_to_the_bytes_of_a_tti_and_one_mtu() {
        let mut limit = DrqlLimit::new(true);
        run(&mut limit, 200, 20, 6_000);
        assert!((6_000..=9_000).contains(&limit.limit_bytes), "{}", limit.limit_bytes);
        run(&mut limit, 200, 20, 1_000);
        assert!((1_500..=4_000).contains(&limit.limit_bytes), "{}", limit.limit_bytes);
    }

    #[test]
    fn only_packets_beyond_the_limit_are_dropped() {
        let mut limit = DrqlLimit::new(true);
        run(&mut limit, 200, 20, 6_000);
        // A TTI pulls four packets; the fifth does not fit.
        let dropped = run(&mut limit, 1_000, 5, 6_000);
        assert!((990..=1_010).contains(&dropped), "{dropped}");
        assert_eq!(run(&mut limit, 1_000, 4, 6_000), 0);
        let mut recorded = DrqlLimit::new(false);
        assert_eq!(run(&mut recorded, 200, 20, 6_000), 0, "without enforcement nothing is dropped");
    }

    #[test]
    fn idle_ttis_uplink_slots_and_other_ues_do_not_change_the_limit() {
        let mut limit = DrqlLimit::new(true);
        run(&mut limit, 200, 20, 6_000);
        let found = limit.limit_bytes;
        limit.on_tti(&status(50_000, false));
        assert_eq!(limit.limit_bytes, found, "uplink");
        limit.on_tti(&status(50_000, true));
        assert_eq!(limit.limit_bytes, found, "nothing was pulled");
        limit.on_tti(&status(0, false));
        for _ in 0..100 {
            assert!(limit.admit(100));
            limit.on_tti(&status(0, true));
        }
        assert_eq!(limit.limit_bytes, found, "100 bytes are not a full buffer");
    }
}
