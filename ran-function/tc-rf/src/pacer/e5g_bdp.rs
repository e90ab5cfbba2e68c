//! e5G-BDP (irazabal2021 §IV-A, Algorithms 1–3).
//!
//! What the paper leaves open, decided here:
//! - The weight of the newest sample in the EWMA is 1/4: one TTI with HARQ or with the resources
//!   given to another UE moves the estimate by a quarter, and a new rate is estimated within about
//!   ten TTIs. The first sample is taken as it is.
//! - `reduce_const` is 0.5. It must be below 1/1.33, else Algorithm 1 line 9 alone, which does not
//!   look at the RLC buffer, would hand down more than drains.
//! - Bytes are whole, as in the paper's example (1500/7 is 214): an estimate below one byte per
//!   TTI is the zero that Algorithm 3 tests for, else the average of nothing would never be zero
//!   and a slow bearer would starve.
//! - `elapsed` stops at one TTI. While no downlink comes (uplink slots, late reports) the bearer
//!   has earned what the next downlink TTI can carry and not more.

use super::{Algorithm, ReceivedStatus, RlcStatus};

/// MTU of the paper's examples, bytes.
const MTU: u64 = 1500;
const EWMA_WEIGHT: f64 = 0.25;
const REDUCE_CONST: f64 = 0.5;

/// State of Algorithms 1–3; names are the paper's.
#[derive(Clone, Debug)]
pub(super) struct E5gBdp {
    /// The status that set `update_flag`.
    update: Option<RlcStatus>,
    /// SDAP-RLC submitted bytes since the last TTI.
    srs_bytes: u64,
    last_acc_bytes: u64,
    /// Bytes per TTI; absent before the first sample.
    bandwidth: Option<f64>,
    max_bytes: Option<u64>,
    last_tti_us: u64,
    tti_us: u64,
}

impl E5gBdp {
    pub(super) fn new(received: Option<&ReceivedStatus>) -> Self {
        let mut this = Self {
            update: None,
            srs_bytes: 0,
            last_acc_bytes: 0,
            bandwidth: None,
            max_bytes: None,
            last_tti_us: 0,
            tti_us: 1000,
        };
        if let Some(ReceivedStatus { status, .. }) = received {
            this.last_acc_bytes = u64::from(status.occupancy_bytes);
            this.set_tti(status);
        }
        this
    }

    fn set_tti(&mut self, status: &RlcStatus) {
        self.last_tti_us = status.at_us;
        self.tti_us = u64::from(status.tti_us.max(1));
        // "The maximum capacity under the current MCS"; before it is known there is no limit.
        let capacity_bytes = u64::from(status.capacity_bytes_per_tti);
        self.max_bytes = (capacity_bytes > 0).then_some(capacity_bytes).or(self.max_bytes);
    }

    /// Algorithm 1.
    fn limit_reached(&mut self, data_size: u64, now_us: u64) -> bool {
        // Lines 1–4.
        if let Some(status) = self.update.take() {
            self.update_bw_est(&status);
        }
        // Lines 5–7.
        if self.max_bytes.is_some_and(|max| self.srs_bytes + self.last_acc_bytes > max) {
            return true;
        }
        // Line 8.
        let paced_bytes = self.calculate_paced_bytes(now_us);
        // Lines 9–11.
        if paced_bytes * REDUCE_CONST > (data_size + self.srs_bytes) as f64 {
            return false;
        }
        // Lines 12–15.
        let extra_bytes = if self.srs_bytes != 0 && self.last_acc_bytes != 0 {
            data_size / 3
        } else {
            data_size / 5
        };
        // Lines 16–19.
        (self.srs_bytes + self.last_acc_bytes + extra_bytes) as f64 > paced_bytes
    }

    /// Algorithm 2.
    fn update_bw_est(&mut self, status: &RlcStatus) {
        // Line 1.
        let acc_bytes = u64::from(status.occupancy_bytes);
        // Line 2; below zero when headers added on the way outweigh what was pulled.
        let rms_bytes = (self.srs_bytes + self.last_acc_bytes).saturating_sub(acc_bytes) as f64;
        // Line 3.
        self.bandwidth = Some(
            self.bandwidth
                .map_or(rms_bytes, |bandwidth| bandwidth + EWMA_WEIGHT * (rms_bytes - bandwidth)),
        );
        // Lines 4–6.
        self.srs_bytes = 0;
        self.last_acc_bytes = acc_bytes;
        self.set_tti(status);
    }

    /// Algorithm 3.
    fn calculate_paced_bytes(&self, now_us: u64) -> f64 {
        // Line 1.
        let elapsed_us = now_us.saturating_sub(self.last_tti_us).min(self.tti_us);
        let elapsed = elapsed_us as f64 / self.tti_us as f64;
        // Line 2. The paper's example takes 1.2 at one half, too.
        let incr = if elapsed <= 0.5 { 1.2 } else { 1.33 };
        let bandwidth = self.bandwidth.unwrap_or(0.0);
        if bandwidth >= 1.0 {
            // Lines 4–5.
            incr * elapsed * bandwidth + (MTU / 7) as f64
        } else if self.last_acc_bytes == 0 && elapsed > 0.5 {
            // Lines 6–7.
            (MTU / 4) as f64
        } else {
            // Line 3.
            0.0
        }
    }
}

impl Algorithm for E5gBdp {
    /// "The update_flag is set [...] by the MAC sublayer, after the packets from the RLC sublayer
    /// are received."
    fn status(&mut self, received: &ReceivedStatus) {
        if received.status.dl_opportunity {
            self.update = Some(received.status);
        }
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.srs_bytes += len_bytes;
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        !self.limit_reached(len_bytes, now_us)
    }

    /// Time makes `paced_bytes` grow for one TTI.
    fn grows_until_us(&self) -> u64 {
        let (last_tti_us, tti_us) = self.update.map_or((self.last_tti_us, self.tti_us), |status| {
            (status.at_us, u64::from(status.tti_us.max(1)))
        });
        last_tti_us.saturating_add(tti_us)
    }

    fn limit_bytes(&self) -> u64 {
        self.calculate_paced_bytes(u64::MAX) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;

    /// The setting of irazabal2021 Fig. 3: 600 bytes left from the last TTI, 1000 bytes/TTI.
    fn figure_3() -> E5gBdp {
        E5gBdp {
            update: None,
            srs_bytes: 0,
            last_acc_bytes: 600,
            bandwidth: Some(1000.0),
            max_bytes: Some(2289),
            last_tti_us: 10_000,
            tti_us: 1000,
        }
    }

    #[test]
    fn paced_bytes_are_those_of_figure_3() {
        let pacer = figure_3();
        for (elapsed_us, paced_bytes) in [(250, 514.0), (500, 814.0), (750, 1211.5), (1000, 1544.0)]
        {
            let got = pacer.calculate_paced_bytes(10_000 + elapsed_us);
            assert!((got - paced_bytes).abs() < 1e-9, "at {elapsed_us} µs: {got}");
        }
    }

    #[test]
    fn decides_as_in_figure_3() {
        let mut pacer = figure_3();
        assert!(pacer.limit_reached(1500, 10_250), "the large packet is kept at t = 1/4");
        assert!(pacer.limit_reached(1500, 10_500), "and at t = 1/2");
        assert!(!pacer.limit_reached(200, 10_750), "the small one goes at t = 3/4");
        pacer.sent(200, 10_750);
        assert!(pacer.limit_reached(1500, 10_750), "the large one still does not");
        assert!(!pacer.limit_reached(1500, 11_000), "it goes at the end of the TTI");
    }

    #[test]
    fn the_bandwidth_is_what_was_pulled() {
        let mut pacer = E5gBdp::new(None);
        pacer.sent(3000, 0);
        pacer.update_bw_est(&received(1_000, 1000).status);
        assert_eq!(pacer.bandwidth, Some(2000.0), "the first sample is taken as it is");
        pacer.sent(1500, 0);
        pacer.update_bw_est(&received(2_000, 1500).status);
        // 1000 bytes were pulled: 2000 + (1000 − 2000)/4.
        assert_eq!(pacer.bandwidth, Some(1750.0));
        assert_eq!((pacer.srs_bytes, pacer.last_acc_bytes), (0, 1500));
    }

    fn full_carrier(at_us: u64, occupancy_bytes: u32) -> ReceivedStatus {
        let mut received = received(at_us, occupancy_bytes);
        received.status.capacity_bytes_per_tti = 2289;
        received
    }

    #[test]
    fn full_capacity_in_the_rlc_stops_it() {
        let mut pacer = E5gBdp::new(None);
        pacer.status(&full_carrier(1_000, 2290));
        assert!(pacer.limit_reached(40, 2_000));
        pacer.status(&full_carrier(2_000, 0));
        assert!(!pacer.limit_reached(40, 3_000));
    }

    #[test]
    fn an_idle_bearer_sends_one_packet_in_the_second_half_of_a_tti() {
        let mut pacer = E5gBdp::new(Some(&received(1_000, 0)));
        assert!(pacer.limit_reached(1500, 1_500));
        assert!(!pacer.limit_reached(1500, 1_501));
        pacer.sent(1500, 0);
        assert!(pacer.limit_reached(1500, 1_999));
    }

    #[test]
    fn a_slow_bearer_does_not_starve() {
        // 60 bytes per TTI: MTU/7 and the pace never cover a fifth of a packet (Algorithm 1
        // line 16), so it lives from the estimate's return to zero.
        let mut pacer = E5gBdp::new(Some(&received(0, 0)));
        let (mut rlc, mut forwarded) = (0u64, 0u64);
        for tti in 0..10_000u64 {
            if !pacer.limit_reached(1500, tti * 1000 + 800) {
                pacer.sent(1500, 0);
                rlc += 1500;
                forwarded += 1500;
            }
            rlc = rlc.saturating_sub(60);
            pacer.status(&received((tti + 1) * 1000, rlc as u32));
        }
        assert!(forwarded > 10_000 * 60 / 2, "{forwarded} of 600000 bytes");
        assert!(rlc <= 3000);
    }
}
