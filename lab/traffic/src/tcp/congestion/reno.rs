//! NewReno: RFC 5681 with HyStart++ (RFC 9406), which counts an acknowledgement as one segment at most.
//! Linux has no HyStart for it and counts the segments acknowledged (`tcp_slow_start` and
//! `tcp_cong_avoid_ai` since 4.0), as appropriate byte counting (RFC 3465) does.

use super::hystart::{Growth, HyStart, growth};
use super::{
    AckEvent, CongestionController, CongestionSignal, ConnectionConfig, Form,
    MIN_SSTHRESH_SEGMENTS, RestartEvent, slow_start_limit_segments,
};

/// Additive increase of one segment per round trip, multiplicative decrease by a half.
#[derive(Debug, Clone)]
pub struct Reno {
    mss_bytes: u64,
    initial_window_bytes: u64,
    slow_start_limit_bytes: u64,
    cwnd_bytes: u64,
    ssthresh_bytes: Option<u64>,
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    acked_bytes: u64,
    /// An acknowledgement counts as one segment at most.
    counts_acks: bool,
    hystart: Option<HyStart>,
}

impl Reno {
    /// The state in slow start with the initial window.
    pub fn new(form: Form, connection: &ConnectionConfig) -> Self {
        let mss_bytes = u64::from(connection.mss_bytes);
        Self {
            mss_bytes,
            initial_window_bytes: u64::from(connection.initial_window_segments) * mss_bytes,
            slow_start_limit_bytes: slow_start_limit_segments(form, connection) * mss_bytes,
            cwnd_bytes: u64::from(connection.initial_window_segments) * mss_bytes,
            ssthresh_bytes: None,
            acked_bytes: 0,
            counts_acks: form == Form::Rfc,
            hystart: (connection.hystart && form == Form::Rfc).then(HyStart::new),
        }
    }

    /// Payload of a full segment.
    pub(super) fn mss_bytes(&self) -> u64 {
        self.mss_bytes
    }

    /// ssthresh has not been reached.
    pub(super) fn is_in_slow_start(&self) -> bool {
        self.ssthresh_bytes.is_none_or(|ssthresh| self.cwnd_bytes < ssthresh)
    }

    /// Sets ssthresh, at least two segments, and limits the window to it.
    pub(super) fn reduce_to(&mut self, ssthresh_bytes: u64) {
        let ssthresh = ssthresh_bytes.max(MIN_SSTHRESH_SEGMENTS * self.mss_bytes);
        self.ssthresh_bytes = Some(ssthresh);
        self.cwnd_bytes = self.cwnd_bytes.min(ssthresh);
        self.acked_bytes = 0;
    }

    /// Sets the window, at least two segments.
    pub(super) fn set_window(&mut self, bytes: u64) {
        self.cwnd_bytes = bytes.max(MIN_SSTHRESH_SEGMENTS * self.mss_bytes);
    }

    /// Slow start; returns the acknowledged bytes left for congestion avoidance.
    fn slow_start(&mut self, ack: &AckEvent) -> u64 {
        let acked = ack.delivered_bytes.min(self.slow_start_limit_bytes);
        let is_initial = self.ssthresh_bytes.is_none();
        let Growth::DividedBy(divisor) = growth(&mut self.hystart, is_initial, ack) else {
            self.ssthresh_bytes = Some(self.cwnd_bytes);
            return ack.delivered_bytes;
        };
        let room = self.ssthresh_bytes.map_or(u64::MAX, |it| it.saturating_sub(self.cwnd_bytes));
        let growth = (acked / divisor).min(room);
        self.cwnd_bytes += growth;
        if growth == room { ack.delivered_bytes.saturating_sub(growth) } else { 0 }
    }
}

impl CongestionController for Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        let counted = if self.counts_acks {
            // RFC 5681 §3.1, equations 2 and 3: at most a segment for each acknowledgement.
            AckEvent { delivered_bytes: ack.delivered_bytes.min(self.mss_bytes), ..*ack }
        } else {
            *ack
        };
        let mut acked = counted.delivered_bytes;
        if self.is_in_slow_start() {
            acked = self.slow_start(&counted);
        }
        // RFC 3465 §2.1: one segment for each window of bytes acknowledged.
        self.acked_bytes += acked;
        while self.acked_bytes >= self.cwnd_bytes {
            self.acked_bytes -= self.cwnd_bytes;
            self.cwnd_bytes += self.mss_bytes;
        }
    }

    fn on_congestion_event(&mut self, _now_us: u64, _signal: CongestionSignal) {
        // RFC 5681 §3.1 halves the flight size, to exclude an unused window. Here the window grows
        // only in use, and the sender limits it to the used part before it calls.
        self.reduce_to(self.cwnd_bytes / 2);
    }

    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.cwnd_bytes = self.mss_bytes;
        self.acked_bytes = 0;
    }

    /// RFC 5681 §4.1: after an RTO without sending the window is the restart window.
    fn on_restart(&mut self, event: &RestartEvent) {
        if event.idle_us > event.rto_us && self.cwnd_bytes > self.initial_window_bytes {
            // RFC 7661 §4.4.3: ssthresh stores the part of the window that was used.
            self.ssthresh_bytes =
                self.ssthresh_bytes.map(|it| it.max(self.cwnd_bytes - self.cwnd_bytes / 4));
            self.cwnd_bytes = self.initial_window_bytes;
            self.acked_bytes = 0;
        }
    }

    fn limit_window(&mut self, bytes: u64) {
        let limit = bytes.max(self.mss_bytes);
        if limit < self.cwnd_bytes {
            self.ssthresh_bytes = self.ssthresh_bytes.map(|it| it.max(self.cwnd_bytes));
            self.cwnd_bytes = limit;
            self.acked_bytes = 0;
        }
    }

    fn window_bytes(&self) -> u64 {
        self.cwnd_bytes
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn ack(bytes: u64) -> AckEvent {
        AckEvent { delivered_bytes: bytes, srtt_us: 10_000, ..AckEvent::default() }
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_per_round() {
        let mut reno = Reno::new(Form::Linux, &ConnectionConfig::default());
        for _ in 0..5 {
            reno.on_ack(&ack(2 * MSS));
        }
        assert_eq!(reno.window_bytes(), 20 * MSS);
        reno.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(reno.window_bytes(), 10 * MSS);
        for _ in 0..10 {
            reno.on_ack(&ack(MSS));
        }
        assert_eq!(reno.window_bytes(), 11 * MSS);
    }

    /// RFC 5681 §3.1: an acknowledgement of two segments counts as one.
    #[test]
    fn counted_acknowledgements_grow_the_window_by_a_segment_each_at_most() {
        let connection = ConnectionConfig { hystart: false, ..ConnectionConfig::default() };
        let mut reno = Reno::new(Form::Rfc, &connection);
        for _ in 0..5 {
            reno.on_ack(&ack(2 * MSS));
        }
        assert_eq!(reno.window_bytes(), 15 * MSS);
        reno.on_ack(&ack(MSS / 2));
        assert_eq!(reno.window_bytes(), 15 * MSS + MSS / 2);
        reno.reduce_to(10 * MSS);
        for _ in 0..9 {
            reno.on_ack(&ack(2 * MSS));
        }
        assert_eq!(reno.window_bytes(), 10 * MSS);
        reno.on_ack(&ack(2 * MSS));
        assert_eq!(reno.window_bytes(), 11 * MSS);
    }

    #[test]
    fn a_stretch_acknowledgement_grows_slow_start_by_all_that_it_acknowledges_in_linux_alone() {
        let grown = |form| {
            let mut reno = Reno::new(form, &ConnectionConfig::default());
            reno.on_ack(&ack(100 * MSS));
            reno.window_bytes() / MSS
        };
        assert_eq!((grown(Form::Linux), grown(Form::Rfc)), (110, 11));
    }

    #[test]
    fn a_limited_window_grows_back_by_slow_start() {
        let mut reno = Reno::new(Form::Linux, &ConnectionConfig::default());
        reno.cwnd_bytes = 100 * MSS;
        reno.on_congestion_event(0, CongestionSignal::Loss);
        reno.limit_window(20 * MSS);
        assert_eq!((reno.window_bytes(), reno.ssthresh_bytes()), (20 * MSS, Some(50 * MSS)));
        reno.on_ack(&ack(8 * MSS));
        assert_eq!(reno.window_bytes(), 28 * MSS);
    }

    #[test]
    fn after_a_time_out_slow_start_grows_from_one_segment_to_half_the_window() {
        let mut reno = Reno::new(Form::Linux, &ConnectionConfig::default());
        reno.on_congestion_event(0, CongestionSignal::Loss);
        reno.on_retransmission_timeout(0);
        assert_eq!(reno.window_bytes(), MSS);
        for _ in 0..4 {
            reno.on_ack(&ack(MSS));
        }
        assert_eq!(reno.window_bytes(), 5 * MSS);
        assert_eq!(reno.ssthresh_bytes(), Some(5 * MSS));
    }

    #[test]
    fn ssthresh_never_falls_below_two_segments() {
        let mut reno = Reno::new(Form::Linux, &ConnectionConfig::default());
        for _ in 0..10 {
            reno.on_congestion_event(0, CongestionSignal::Ecn);
        }
        assert_eq!(reno.window_bytes(), 2 * MSS);
    }
}
