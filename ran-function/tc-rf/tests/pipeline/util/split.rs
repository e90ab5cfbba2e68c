//! A CU and a DU with F1-U between them, on virtual time.

use std::collections::VecDeque;

use e2sm_tc::v1::BearerForecast;
use tc_rf::{RlcStatus, SduDelays, TrafficControl};

use super::{TestPacket, egress};

/// RLC-UM in a DU `way_us` away from the CU; each TTI pulls up to `capacity`.
pub(crate) struct Split<C> {
    pub(crate) way_us: u64,
    pub(crate) tti_us: u64,
    pub(crate) capacity: C,
    /// Whether the DU reports what it received.
    pub(crate) tells_received: bool,
    /// Period and phase of the statuses; each TTI by default.
    pub(crate) status_us: (u64, u64),
    down: VecDeque<(u64, u32)>,
    up: VecDeque<(u64, RlcStatus)>,
    /// SDUs in the RLC: when they came, and what of them is left.
    rlc: VecDeque<(u64, u32)>,
    received_bytes: u64,
    removed: SduDelays,
    pub(crate) drained_bytes: u64,
    pub(crate) offered_bytes: u64,
    pub(crate) peak_bytes: u32,
    /// TTIs that could have carried more than the RLC had.
    pub(crate) starved_ttis: u64,
}

impl<C: FnMut(u64) -> u32> Split<C> {
    pub(crate) fn new(way_us: u64, capacity: C) -> Self {
        Self {
            way_us,
            tti_us: 1_000,
            capacity,
            tells_received: true,
            status_us: (1, 0),
            down: VecDeque::new(),
            up: VecDeque::new(),
            rlc: VecDeque::new(),
            received_bytes: 0,
            removed: SduDelays::default(),
            drained_bytes: 0,
            offered_bytes: 0,
            peak_bytes: 0,
            starved_ttis: 0,
        }
    }

    pub(crate) fn occupancy_bytes(&self) -> u32 {
        self.rlc.iter().map(|(_, bytes)| bytes).sum()
    }

    pub(crate) fn clear_counts(&mut self) {
        (self.drained_bytes, self.offered_bytes, self.starved_ttis) = (0, 0, 0);
        self.peak_bytes = 0;
    }

    fn tti(&mut self, now_us: u64) -> RlcStatus {
        self.peak_bytes = self.peak_bytes.max(self.occupancy_bytes());
        let offered_bytes = (self.capacity)(now_us);
        let mut left = offered_bytes;
        while let Some((arrived_us, bytes)) = self.rlc.front_mut() {
            let pulled = left.min(*bytes);
            left -= pulled;
            *bytes -= pulled;
            if *bytes > 0 {
                break;
            }
            self.removed.add(now_us - *arrived_us);
            self.rlc.pop_front();
        }
        self.drained_bytes += u64::from(offered_bytes - left);
        self.offered_bytes += u64::from(offered_bytes);
        self.starved_ttis += u64::from(left > 0);
        RlcStatus {
            at_us: now_us,
            occupancy_bytes: self.occupancy_bytes(),
            occupancy_packets: self.rlc.len() as u32,
            capacity_bytes_per_tti: offered_bytes,
            tti_us: self.tti_us as u32,
            dl_opportunity: offered_bytes > 0,
            removed: std::mem::take(&mut self.removed),
            received_bytes: self.tells_received.then_some(self.received_bytes),
            ..RlcStatus::default()
        }
    }

    /// Runs from one TTI to another; `feed` may hand the CU a forecast each TTI.
    pub(crate) fn run(
        &mut self,
        tc: &mut TrafficControl<TestPacket>,
        (from_us, to_us): (u64, u64),
        mut arrivals: impl FnMut(&mut TrafficControl<TestPacket>, u64),
        mut feed: impl FnMut(u64) -> Option<BearerForecast>,
    ) {
        for now_us in (from_us..to_us).step_by(100) {
            while self.down.front().is_some_and(|(at_us, _)| *at_us <= now_us) {
                let (at_us, bytes) = self.down.pop_front().expect("there is one");
                self.received_bytes += u64::from(bytes);
                self.rlc.push_back((at_us, bytes));
            }
            if now_us % self.tti_us == 0 {
                let status = self.tti(now_us);
                let (period_us, phase_us) = self.status_us;
                if now_us % period_us == phase_us {
                    self.up.push_back((now_us + self.way_us, status));
                }
                arrivals(tc, now_us);
                if let Some(forecast) = feed(now_us) {
                    tc.feed_forecast(&forecast, now_us).expect("a sound forecast");
                }
            }
            while self.up.front().is_some_and(|(at_us, _)| *at_us <= now_us) {
                let (_, status) = self.up.pop_front().expect("there is one");
                tc.rlc_status(&status, now_us);
            }
            for packet in egress(tc, now_us) {
                self.down.push_back((now_us + self.way_us, packet.len_bytes));
                if self.way_us == 0 {
                    let (at_us, bytes) = self.down.pop_front().expect("just pushed");
                    self.received_bytes += u64::from(bytes);
                    self.rlc.push_back((at_us, bytes));
                }
            }
        }
    }
}
