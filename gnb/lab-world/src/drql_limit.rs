//! DRQL's limit as the DU keeps it: "the RLC layer, enabling it to dynamically adjust the limits of its
//! queues based on the incoming packet volume" (stolidis2024 §IV-A).
//!
//! A CU apart that lives on forecasts does not run DRQL, but what is forecast is DRQL's limit. The rule
//! is that of §II, by what the DU alone can see: the MAC pulled "a full RLC buffer" when no further MTU
//! had fitted below the limit.

use tc_rf::RlcStatus;

use super::World;

/// What DRQL leaves in the buffer (irazabal2021 §V-D).
const MTU_BYTES: u64 = 1_500;

/// What a DU reports of a bearer's RLC for forecasts (stolidis2024 §IV-B: "the RLC's queue limits and
/// actual sizes"), as the last TTI left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcSample {
    /// When it was taken, virtual µs.
    pub time_us: u64,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Bytes left in the RLC buffer.
    pub occupancy_bytes: u32,
    /// DRQL's limit up to which it may be filled now, bytes.
    pub limit_bytes: u32,
    /// Bytes that the MAC has pulled since the samples began.
    pub drained_bytes: u64,
}

/// The limit of one bearer.
#[derive(Clone, Debug)]
pub(crate) struct DrqlLimit {
    limit_bytes: u64,
    /// In the RLC after the last TTI.
    left_bytes: u64,
    /// That and what it took since.
    held_bytes: u64,
    /// Whether something came since that would not have fitted any more, or only just did.
    was_full: bool,
    /// Pulled since it is kept.
    drained_bytes: u64,
    /// Whether what does not fit is dropped.
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

    /// The limit, where the RLC drops by it.
    pub(crate) fn in_force_bytes(&self) -> Option<u32> {
        self.drops.then(|| narrow(self.limit_bytes))
    }

    /// A packet arrives; whether the RLC takes it. An empty one does.
    pub(crate) fn takes(&mut self, len_bytes: u64) -> bool {
        let fits = self.held_bytes == 0 || self.held_bytes + len_bytes <= self.limit_bytes;
        self.was_full |= !fits;
        if fits || !self.drops {
            self.held_bytes += len_bytes;
            return true;
        }
        false
    }

    /// The MAC pulled for a TTI.
    pub(crate) fn tti(&mut self, status: &RlcStatus) {
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
    /// Has each DU keep DRQL's limit from now on, or no longer; see
    /// [`rlc_samples`](Self::rlc_samples). An RLC that drops by it keeps it in any case.
    pub fn keep_drql_limits(&mut self, wanted: bool) {
        for bearer in self.bearers.iter_mut() {
            if !bearer.drql_limit.as_ref().is_some_and(|limit| limit.drops) {
                bearer.drql_limit = wanted.then(|| DrqlLimit::new(false));
            }
        }
    }

    /// Occupancy and limit of each bearer that is here, as the last TTI left them; none while limits
    /// are not [kept](Self::keep_drql_limits).
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

    /// So many packets offered before each TTI, of which so much is pulled; how many were dropped.
    fn run(limit: &mut DrqlLimit, ttis: u32, packets: u64, capacity: u64) -> u64 {
        let mut dropped = 0;
        for _ in 0..ttis {
            dropped += (0..packets).filter(|_| !limit.takes(MTU_BYTES)).count() as u64;
            let left = limit.held_bytes.saturating_sub(capacity);
            limit.tti(&status(left, true));
        }
        dropped
    }

    #[test]
    fn finds_what_a_tti_pulls_and_an_mtu_more() {
        let mut limit = DrqlLimit::new(true);
        run(&mut limit, 200, 20, 6_000);
        assert!((6_000..=9_000).contains(&limit.limit_bytes), "{}", limit.limit_bytes);
        run(&mut limit, 200, 20, 1_000);
        assert!((1_500..=4_000).contains(&limit.limit_bytes), "{}", limit.limit_bytes);
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_no_more() {
        let mut limit = DrqlLimit::new(true);
        run(&mut limit, 200, 20, 6_000);
        // Four packets are pulled of each TTI; the fifth has no place.
        let dropped = run(&mut limit, 1_000, 5, 6_000);
        assert!((990..=1_010).contains(&dropped), "{dropped}");
        assert_eq!(run(&mut limit, 1_000, 4, 6_000), 0);
        let mut watched = DrqlLimit::new(false);
        assert_eq!(run(&mut watched, 200, 20, 6_000), 0, "watched alone, it drops nothing");
    }

    #[test]
    fn neither_idleness_nor_uplink_slots_nor_other_ues_move_it() {
        let mut limit = DrqlLimit::new(true);
        run(&mut limit, 200, 20, 6_000);
        let found = limit.limit_bytes;
        limit.tti(&status(50_000, false));
        assert_eq!(limit.limit_bytes, found, "uplink");
        limit.tti(&status(50_000, true));
        assert_eq!(limit.limit_bytes, found, "nothing was pulled");
        limit.tti(&status(0, false));
        for _ in 0..100 {
            assert!(limit.takes(100));
            limit.tti(&status(0, true));
        }
        assert_eq!(limit.limit_bytes, found, "100 bytes are no full buffer");
    }
}
