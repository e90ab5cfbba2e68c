//! Westwood+: Mascolo, Grieco, Ferorelli, Camarda, Piscitelli, "Performance evaluation of Westwood+
//! TCP congestion control" (Performance Evaluation 55, 2004).

use super::path;
use super::reno::Reno;
use super::{AckEvent, CongestionController, CongestionSignal, DeliveryEvent, RestartEvent};
use crate::tcp::config::TcpConfig;

/// Least interval over which bandwidth is sampled: §2 of the paper takes a sample each RTT; Linux
/// (`TCP_WESTWOOD_RTT_MIN`) at least 50 ms apart, so that bursts on short paths average out.
const MIN_INTERVAL_US: u64 = 50_000;
/// Weight of a sample in each of the two cascaded filters: 1/8, the paper's 0.9/0.1 in Linux's
/// powers of two.
const WEIGHT: u64 = 8;

/// Grows like Reno; after a loss the window is what the measured bandwidth needs at the least RTT,
/// so that a loss that is not congestion costs little.
#[derive(Debug, Clone)]
pub struct Westwood {
    reno: Reno,
    /// Filtered once.
    bandwidth_once_bps: Option<u64>,
    /// Filtered twice: BWE.
    bandwidth_bps: u64,
    min_rtt_us: Option<u64>,
    /// The sampling interval under way: when it began and what it has brought.
    interval_start_us: Option<u64>,
    interval_bytes: u64,
}

impl Westwood {
    /// In slow start with the initial window.
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            reno: Reno::new(config),
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
    fn pipe_bytes(&self) -> Option<u64> {
        self.bandwidth_once_bps?;
        Some(path::bytes_in(self.bandwidth_bps, self.min_rtt_us?))
    }
}

impl CongestionController for Westwood {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.reno.on_ack(ack);
    }

    /// Counts what is acknowledged in every phase, duplicates' worth included (AckCount of §2).
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
        match self.pipe_bytes() {
            Some(pipe_bytes) => self.reno.reduce_to(pipe_bytes),
            None => self.reno.on_congestion_event(now_us, signal),
        }
    }

    fn on_retransmission_timeout(&mut self, now_us: u64) {
        self.reno.on_retransmission_timeout(now_us);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        // A pause is no sample of the bandwidth.
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

    fn clone_box(&self) -> Box<dyn CongestionController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::SenderPhase;

    #[test]
    fn a_loss_takes_the_window_to_bandwidth_times_least_rtt() {
        let mut westwood = Westwood::new(&TcpConfig::default());
        westwood.reno.set_window(400 * 1448);
        // 10 Mbit/s, 100 ms of which half is queue: 1250 B each ms.
        for ms in 0..5_000 {
            westwood.on_delivery(&DeliveryEvent {
                now_us: ms * 1_000,
                newly_delivered_bytes: 1_250,
                newly_lost_bytes: 0,
                newly_ce_bytes: 0,
                total_delivered_bytes: ms * 1_250,
                prior_in_flight_bytes: 0,
                in_flight_bytes: 0,
                rtt_us: Some(if ms == 0 { 50_000 } else { 100_000 }),
                srtt_us: 100_000,
                rate: None,
                is_window_limited: true,
                phase: SenderPhase::Open,
                una: 0,
                next: 0,
            });
        }
        westwood.on_congestion_event(5_000_000, CongestionSignal::Loss);
        let window = westwood.window_bytes();
        assert!(window.abs_diff(62_500) < 200, "{window}");
    }

    #[test]
    fn before_a_sample_it_halves() {
        let mut westwood = Westwood::new(&TcpConfig::default());
        westwood.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(westwood.window_bytes(), 5 * 1448);
    }
}
