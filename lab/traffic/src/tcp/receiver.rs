//! The receiver of a bulk transfer.

use super::accecn::MarkCounter;
use super::ack_thinning::{AckThinning, Urgency};
use super::ranges::RangeSet;
use super::segment::{MAX_SACK_BLOCKS, MAX_SACK_BLOCKS_WITH_ACCECN, SackBlocks, TcpSegment};
use crate::endpoint::Endpoint;
use crate::ip::Ecn;
use crate::packet::{Body, FlowId, Packet};
use crate::stats::Arrivals;
use crate::tcp::config::{EcnMode, TcpConfig};

/// RFC 5681 §4.2: an acknowledgement for at least every second full-sized segment.
const ACK_EVERY_SEGMENTS: u32 = 2;
/// Linux acknowledges the first segments of a connection one by one (`TCP_MAX_QUICKACKS`), to not delay
/// the slow start of the peer.
const QUICK_ACKS: u32 = 16;

/// Blocks of which one acknowledgement is expected to report the changes (`TCP_SACK_BLOCKS_EXPECTED`).
const SACK_BLOCKS_EXPECTED: usize = 2;

/// Reassembles, acknowledges, echoes congestion marks.
///
/// The application reads at once, so the advertised window is always the whole buffer.
#[derive(Debug, Clone)]
pub struct TcpReceiver {
    flow: FlowId,
    dscp: u8,
    ecn: EcnMode,
    accecn_option: bool,
    marks: MarkCounter,
    window_bytes: u32,
    delayed_ack_us: u64,

    rcv_next: u64,
    out_of_order: RangeSet,
    /// An offset in each of the out-of-order ranges that changed last, latest first.
    recent: [u64; MAX_SACK_BLOCKS],
    recent_len: usize,
    /// The duplicate to report in the next acknowledgement.
    duplicate: Option<(u64, u64)>,

    last_ack_sent: u64,
    ts_recent: u32,
    unacked_segments: u32,
    quick_acks: u32,
    ack_deadline_us: Option<u64>,
    /// Merging and compression of a Linux receiver; `None` acknowledges by RFC 5681.
    thinning: Option<AckThinning>,
    /// RFC 3168 §6.1.3: echo until the sender sets CWR.
    echo_ce: bool,

    arrivals: Arrivals,
    acks_sent: u64,
}

impl TcpReceiver {
    pub(crate) fn new(flow: FlowId, dscp: u8, config: &TcpConfig) -> Self {
        Self {
            flow,
            dscp,
            ecn: config.ecn_mode(),
            accecn_option: config.accecn_option,
            marks: MarkCounter::default(),
            window_bytes: u32::try_from(config.receive_window_bytes).unwrap_or(u32::MAX),
            delayed_ack_us: config.delayed_ack_us,
            rcv_next: 0,
            out_of_order: RangeSet::default(),
            recent: [0; MAX_SACK_BLOCKS],
            recent_len: 0,
            duplicate: None,
            last_ack_sent: 0,
            ts_recent: 0,
            unacked_segments: 0,
            quick_acks: QUICK_ACKS,
            ack_deadline_us: None,
            thinning: config.ack_thinning.then(AckThinning::default),
            echo_ce: false,
            arrivals: Arrivals::default(),
            acks_sent: 0,
        }
    }

    /// Arrived packets, delay, goodput.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Bytes delivered to the application.
    pub fn delivered_bytes(&self) -> u64 {
        self.rcv_next
    }

    /// Acknowledgements sent.
    pub fn acks_sent(&self) -> u64 {
        self.acks_sent
    }

    fn on_segment(&mut self, segment: &TcpSegment, ecn: Ecn, now_us: u64) -> Urgency {
        let ecn_changed = self.on_ecn(segment, ecn);
        // RFC 7323 §4.3: the segment at the edge of the last acknowledgement sets the echo.
        if segment.seq <= self.last_ack_sent
            && (segment.ts_val.wrapping_sub(self.ts_recent) as i32) >= 0
        {
            self.ts_recent = segment.ts_val;
        }
        let (seq, end) = (segment.seq, segment.end());
        if end <= self.rcv_next {
            self.duplicate = Some((seq, end));
            return Urgency::Now;
        }
        if seq > self.rcv_next {
            // RFC 5681 §4.2: an out-of-order segment is acknowledged at once.
            self.on_out_of_order(seq, end);
            return Urgency::OutOfOrder;
        }
        let filled_gap = !self.out_of_order.is_empty();
        let before = self.rcv_next;
        self.rcv_next = end;
        if filled_gap {
            self.rcv_next = self.out_of_order.containing(end).map_or(end, |(_, e)| e);
            self.out_of_order.remove_below(self.rcv_next);
        }
        self.arrivals.on_delivered(self.rcv_next - before, now_us);
        self.unacked_segments += 1;
        if filled_gap
            || ecn_changed
            || self.quick_acks > 0
            || self.unacked_segments >= ACK_EVERY_SEGMENTS
        {
            Urgency::Now
        } else {
            Urgency::Delayed
        }
    }

    /// Returns whether the feedback is due at once.
    fn on_ecn(&mut self, segment: &TcpSegment, ecn: Ecn) -> bool {
        match self.ecn {
            EcnMode::Off => return false,
            EcnMode::Accurate => return self.marks.on_packet(ecn, segment.payload_bytes),
            EcnMode::Classic => {}
        }
        // RFC 3168 §6.1.3.
        let before = self.echo_ce;
        if segment.cwr {
            self.echo_ce = false;
        }
        if ecn == Ecn::Ce {
            self.echo_ce = true;
        }
        self.echo_ce != before
    }

    fn on_out_of_order(&mut self, seq: u64, end: u64) {
        if self.out_of_order.contains(seq, end) {
            self.duplicate = Some((seq, end));
        } else {
            self.out_of_order.insert(seq, end, |_, _| {});
        }
        // RFC 2018 §4: the block that changed last comes first.
        let Some(range) = self.out_of_order.containing(seq) else { return };
        let mut recent = [seq; MAX_SACK_BLOCKS];
        let mut len = 1;
        for &offset in &self.recent[..self.recent_len] {
            let in_range = (range.0..range.1).contains(&offset);
            if !in_range && offset >= self.rcv_next && len < MAX_SACK_BLOCKS {
                recent[len] = offset;
                len += 1;
            }
        }
        (self.recent, self.recent_len) = (recent, len);
    }

    /// Acknowledges now or sets a time for it.
    fn acknowledge(&mut self, urgency: Urgency, now_us: u64, out: &mut Vec<Packet>) {
        let compressed_us = match (urgency, &mut self.thinning) {
            (Urgency::OutOfOrder, Some(thinning)) => thinning.compress(self.rcv_next),
            (Urgency::Delayed, _) => Some(self.delayed_ack_us),
            _ => None,
        };
        let Some(delay_us) = compressed_us else { return self.send_ack(now_us, out) };
        let at_us = now_us + delay_us;
        self.ack_deadline_us = Some(self.ack_deadline_us.map_or(at_us, |set| set.min(at_us)));
    }

    /// Whether a block that an acknowledgement held back would report is no longer among the first ones once
    /// `segment` is (Linux 5.8, `tcp_sack_new_ofo_skb`).
    fn would_hide_sack(&self, segment: &TcpSegment) -> bool {
        let compresses = self.thinning.as_ref().is_some_and(AckThinning::holds_back);
        if !compresses || segment.seq <= self.rcv_next {
            return false;
        }
        let extends = |offset: &u64| {
            let range = self.out_of_order.containing(*offset);
            range.is_some_and(|(start, end)| segment.seq <= end && segment.end() >= start)
        };
        let recent = &self.recent[..self.recent_len];
        recent.iter().position(extends).unwrap_or(recent.len()) >= SACK_BLOCKS_EXPECTED
    }

    fn sack(&mut self) -> SackBlocks {
        let mut sack = SackBlocks::default();
        if let Some((start, end)) = self.duplicate.take() {
            // RFC 2883 §4: the duplicate is the first block.
            sack.push(start, end);
        }
        if self.out_of_order.is_empty() {
            self.recent_len = 0;
            return sack;
        }
        for &offset in &self.recent[..self.recent_len] {
            if let Some((start, end)) = self.out_of_order.containing(offset)
                && !sack.push(start, end)
            {
                break;
            }
        }
        sack
    }

    fn send_ack(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let sack = self.sack();
        // RFC 9768 §3.2.3.3: the option may be omitted if others need the room; SACK does.
        let with_option = self.accecn_option && sack.len() <= MAX_SACK_BLOCKS_WITH_ACCECN;
        let accecn = (self.ecn == EcnMode::Accurate).then(|| self.marks.feedback(with_option));
        let segment = TcpSegment {
            ack: self.rcv_next,
            window_bytes: self.window_bytes,
            ts_val: now_us as u32,
            ts_ecr: self.ts_recent,
            sack,
            accecn,
            ece: self.echo_ce,
            ..TcpSegment::default()
        };
        self.last_ack_sent = self.rcv_next;
        self.unacked_segments = 0;
        self.ack_deadline_us = None;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        self.acks_sent += 1;
        if let Some(thinning) = &mut self.thinning {
            thinning.sent();
        }
        out.push(Packet {
            sent_us: now_us,
            flow: self.flow,
            len_bytes: segment.datagram_bytes(),
            // RFC 3168 §6.1.4: pure acknowledgements are not ECN-capable.
            ecn: Ecn::NotEct,
            dscp: self.dscp,
            body: Body::Tcp(segment),
        });
    }
}

impl Endpoint for TcpReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::Tcp(segment) = &packet.body else { return };
        if segment.payload_bytes == 0 {
            return;
        }
        self.arrivals.on_packet(packet, now_us);
        let ecn = packet.ecn;
        let thinning = self.thinning.as_mut();
        if let Some(urgency) = thinning.and_then(|one| one.ended_by(segment, ecn, now_us)) {
            self.acknowledge(urgency, now_us, out);
        }
        if self.would_hide_sack(segment) {
            self.send_ack(now_us, out);
        }
        let urgency = self.on_segment(segment, ecn, now_us);
        match &mut self.thinning {
            Some(thinning) => thinning.add(segment, ecn, urgency, now_us),
            None => self.acknowledge(urgency, now_us, out),
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let thinning = self.thinning.as_mut();
        if let Some(urgency) = thinning.and_then(AckThinning::end_burst) {
            self.acknowledge(urgency, now_us, out);
        }
        if self.ack_deadline_us.is_some_and(|deadline_us| deadline_us <= now_us) {
            self.send_ack(now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let burst_us = self.thinning.as_ref().and_then(AckThinning::burst_us);
        burst_us.into_iter().chain(self.ack_deadline_us).min()
    }
}
