//! Google Congestion Control at the sender: from packets sent and reports to a rate.

use std::collections::VecDeque;

use super::CallConfig;
use super::MediaFeedback;
use super::arrival::{Grouping, Kalman};
use super::detector::{Detector, Usage};
use super::loss::LossRate;
use super::rate::DelayRate;

/// Window of R̂ (draft-ietf-rmcat-gcc-02 §5.5: 0.5 s), µs.
const INCOMING_WINDOW_US: u64 = 500_000;
/// Maximum number of packets without a report; older ones are dropped as lost.
const MAX_HISTORY: usize = 20_000;

#[derive(Debug, Clone, Copy)]
struct Sent {
    seq: u64,
    at_us: u64,
    bytes: u32,
}

/// The controller of a call.
#[derive(Debug, Clone)]
pub(super) struct Gcc {
    range_bps: (f64, f64),
    history: VecDeque<Sent>,
    grouping: Grouping,
    kalman: Kalman,
    detector: Detector,
    delay_rate: DelayRate,
    loss_rate: LossRate,
    /// Arrival time and size of the packets within the window of R̂.
    incoming: VecDeque<(u64, u32)>,
    incoming_bytes: u64,
    first_arrival_us: Option<u64>,
}

impl Gcc {
    pub(super) fn new(config: &CallConfig) -> Self {
        let start_bps = config.start_bps as f64;
        Self {
            range_bps: (config.min_bps as f64, config.max_bps as f64),
            history: VecDeque::new(),
            grouping: Grouping::default(),
            kalman: Kalman::default(),
            detector: Detector::default(),
            delay_rate: DelayRate::new(start_bps, f64::from(config.frames_per_s)),
            loss_rate: LossRate::new(config.max_bps as f64),
            incoming: VecDeque::new(),
            incoming_bytes: 0,
            first_arrival_us: None,
        }
    }

    /// The rate to send at, bit/s: the lower of both bounds (§4).
    pub(super) fn target_bps(&self) -> f64 {
        self.delay_rate.bps().min(self.loss_rate.bps()).clamp(self.range_bps.0, self.range_bps.1)
    }

    /// Latest signal of the detector.
    pub(super) fn usage(&self) -> Usage {
        self.detector.usage()
    }

    /// Records a packet that is sent.
    pub(super) fn on_sent(&mut self, seq: u64, bytes: u32, now_us: u64) {
        if self.history.len() == MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Sent { seq, at_us: now_us, bytes });
    }

    /// Processes a report.
    pub(super) fn on_feedback(&mut self, feedback: &MediaFeedback, now_us: u64) {
        let mut arrivals = feedback.arrivals.clone();
        arrivals.sort_unstable();
        let (mut received, mut lost, mut rtt_ms) = (0, 0, 0.0);
        let mut worst = None;
        for (seq, arrived_us) in arrivals {
            // Skipped numbers were lost: the path preserves the order of a flow.
            while self.history.front().is_some_and(|sent| sent.seq < seq) {
                self.history.pop_front();
                lost += 1;
            }
            if self.history.front().is_none_or(|sent| sent.seq != seq) {
                continue;
            }
            let Some(sent) = self.history.pop_front() else { continue };
            received += 1;
            rtt_ms = now_us.saturating_sub(sent.at_us) as f64 / 1e3;
            self.note_incoming(arrived_us, sent.bytes);
            if let Some(variation) = self.grouping.on_packet(sent.at_us, arrived_us) {
                let m_hat = self.kalman.update(&variation);
                let usage = self.detector.detect(
                    m_hat,
                    self.kalman.groups(),
                    variation.sent_delta_ms,
                    variation.arrived_us,
                );
                if worst != Some(Usage::Over) {
                    worst = Some(usage);
                }
            }
        }
        if received == 0 {
            return;
        }
        let in_force_bps = self.target_bps();
        self.loss_rate.update(received, lost, in_force_bps, now_us);
        if let Some(usage) = worst {
            self.delay_rate.update(usage, self.incoming_bps(), rtt_ms, now_us);
        }
        self.loss_rate.limit(self.range_bps);
        self.delay_rate.limit(self.range_bps);
    }

    fn note_incoming(&mut self, arrived_us: u64, bytes: u32) {
        self.first_arrival_us.get_or_insert(arrived_us);
        self.incoming.push_back((arrived_us, bytes));
        self.incoming_bytes += u64::from(bytes);
        while self.incoming.front().is_some_and(|(at, _)| at + INCOMING_WINDOW_US <= arrived_us) {
            let Some((_, bytes)) = self.incoming.pop_front() else { break };
            self.incoming_bytes -= u64::from(bytes);
        }
    }

    /// R̂, once there is a window of arrivals.
    fn incoming_bps(&self) -> Option<f64> {
        let (last_us, _) = self.incoming.back()?;
        let spans = last_us.saturating_sub(self.first_arrival_us?) >= INCOMING_WINDOW_US;
        spans.then(|| self.incoming_bytes as f64 * 8e6 / INCOMING_WINDOW_US as f64)
    }
}
