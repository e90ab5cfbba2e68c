//! Westwood+: Mascolo, Grieco, Ferorelli, Camarda, Piscitelli, "Performance evaluation of Westwood+
//! TCP congestion control" (Performance Evaluation 55, 2004).

use super::path;
use super::reno::Reno;
use super::{
    AckEvent, CongestionController, CongestionSignal, ConnectionConfig, DeliveryEvent, Form,
    RestartEvent,
};

/// Minimum sampling interval of the bandwidth. §2 of the paper samples once per RTT; Linux
/// (`TCP_WESTWOOD_RTT_MIN`) at least 50 ms apart, to average out bursts on short paths.
const MIN_INTERVAL_US: u64 = 50_000;
/// Weight of a sample in each of the two cascaded filters: 1/8, Linux's power of two for the paper's
/// 0.9/0.1.
const WEIGHT: u64 = 8;

/// Grows like Reno; after a loss the window is the measured bandwidth times the minimum RTT, so that a
/// loss without congestion costs little.
#[derive(Debug, Clone)]
pub struct Westwood {
    reno: Reno,
    /// Filtered once.
    bandwidth_once_bps: Option<u64>,
    /// Filtered twice: BWE.
    bandwidth_bps: u64,
    min_rtt_us: Option<u64>,
    /// Start of the sampling interval and bytes delivered in it.
    interval_start_us: Option<u64>,
    interval_bytes: u64,
}

impl Westwood {
    /// The state in slow start with the initial window.
    pub fn new(form: Form, connection: &ConnectionConfig) -> Self {
        Self {
            reno: Reno::new(form, connection),
            bandwidth_once_bps: None,
            bandwidth_bps: 0,
            min_rtt_us: None,
            interval_start_us: None,
            interval_bytes: 0,
        }
    }

    fn filter(&mut self, sample_bps: u64) {
        let smooth = |average: u64, sample: u64| average - average / WEIGHT + sample / WEIGHT;
        match self.bandwidth_once_bps {
            None => {
                self.bandwidth_once_bps = Some(sample_bps);
                self.bandwidth_bps = sample_bps;
            }
            Some(once_bps) => {
                let once_bps = smooth(once_bps, sample_bps);
                self.bandwidth_once_bps = Some(once_bps);
                self.bandwidth_bps = smooth(self.bandwidth_bps, once_bps);
            }
        }
    }

    /// BWE · RTTmin; `None` before both are known.
    fn bdp_bytes(&self) -> Option<u64> {
        self.bandwidth_once_bps?;
        Some(path::bytes_in(self.bandwidth_bps, self.min_rtt_us?))
    }
}

impl CongestionController for Westwood {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.reno.on_ack(ack);
    }

    /// Counts delivered data in every phase, by SACK included (AckCount of §2).
    fn on_delivery(&mut self, event: &DeliveryEvent) {
        if let Some(rtt_us) = event.rtt_us {
            self.min_rtt_us = Some(self.min_rtt_us.map_or(rtt_us, |it| it.min(rtt_us)).max(1));
        }
        let start_us = *self.interval_start_us.get_or_insert(event.now_us);
        let elapsed_us = event.now_us.saturating_sub(start_us);
        if event.srtt_us > 0 && elapsed_us >= event.srtt_us.max(MIN_INTERVAL_US) {
            self.filter(path::rate_bps(self.interval_bytes, elapsed_us));
            self.interval_start_us = Some(event.now_us);
            self.interval_bytes = 0;
        }
        self.interval_bytes += event.newly_delivered_bytes;
    }

    /// §2: ssthresh = max(2, BWE · RTTmin / segment size).
    fn on_congestion_event(&mut self, now_us: u64, signal: CongestionSignal) {
        match self.bdp_bytes() {
            Some(bdp_bytes) => self.reno.reduce_to(bdp_bytes),
            None => self.reno.on_congestion_event(now_us, signal),
        }
    }

    fn on_retransmission_timeout(&mut self, now_us: u64) {
        self.reno.on_retransmission_timeout(now_us);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        // An idle period is not a bandwidth sample.
        self.interval_start_us = None;
        self.interval_bytes = 0;
        self.reno.on_restart(event);
    }

    fn limit_window(&mut self, bytes: u64) {
        self.reno.limit_window(bytes);
    }

    fn window_bytes(&self) -> u64 {
        self.reno.window_bytes()
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.reno.ssthresh_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_reduces_the_window_to_bandwidth_times_minimum_rtt() {
        let mut westwood = Westwood::new(Form::Linux, &ConnectionConfig::default());
        westwood.reno.set_window(400 * 1448);
        // 10 Mbit/s, 100 ms of which half is queue: 1250 B each ms.
        for ms in 0..5_000 {
            westwood.on_delivery(&DeliveryEvent {
                now_us: ms * 1_000,
                newly_delivered_bytes: 1_250,
                rtt_us: Some(if ms == 0 { 50_000 } else { 100_000 }),
                srtt_us: 100_000,
                ..DeliveryEvent::default()
            });
        }
        westwood.on_congestion_event(5_000_000, CongestionSignal::Loss);
        let window = westwood.window_bytes();
        assert!(window.abs_diff(62_500) < 200, "{window}");
    }

    #[test]
    fn without_a_bandwidth_sample_a_loss_halves_the_window() {
        let mut westwood = Westwood::new(Form::Linux, &ConnectionConfig::default());
        westwood.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(westwood.window_bytes(), 5 * 1448);
    }
}
