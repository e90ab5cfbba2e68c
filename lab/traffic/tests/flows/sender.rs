//! A sender alone, with constructed acknowledgements.

use proptest::prelude::*;
use traffic::tcp::congestion::{CongestionController, CongestionSignal};
use traffic::tcp::{SackBlocks, TcpSegment, TcpSender};
use traffic::{Body, Ecn, Endpoint, Packet, TcpConfig};

const MSS: u64 = 1448;

/// An acknowledgement of `bytes` with this receive window.
fn ack(window_segments: u32, bytes: u64, ts_ecr: u32, sack: SackBlocks) -> Packet {
    Packet {
        sent_us: 0,
        flow: 1,
        len_bytes: 52,
        ecn: Ecn::NotEct,
        dscp: 0,
        body: Body::Tcp(TcpSegment {
            ack: bytes,
            window_bytes: window_segments * MSS as u32,
            ts_val: 1,
            ts_ecr,
            sack,
            ..TcpSegment::default()
        }),
    }
}

fn seq(packet: &Packet) -> u64 {
    match &packet.body {
        Body::Tcp(segment) => segment.seq / MSS,
        other => panic!("{other:?}"),
    }
}

/// Fixed window and pacing rate.
#[derive(Debug, Clone)]
struct Fixed {
    window_bytes: u64,
    rate_bps: Option<u64>,
    reductions: u64,
}

impl CongestionController for Fixed {
    fn on_congestion_event(&mut self, _now_us: u64, _signal: CongestionSignal) {
        self.reductions += 1;
    }
    fn on_retransmission_timeout(&mut self, _now_us: u64) {}
    fn window_bytes(&self) -> u64 {
        self.window_bytes
    }
    fn ssthresh_bytes(&self) -> Option<u64> {
        Some(self.reductions)
    }
    fn pacing_rate_bps(&self) -> Option<u64> {
        self.rate_bps
    }
}

fn sender(window_segments: u64, receive_window_segments: u64, rate_bps: Option<u64>) -> TcpSender {
    let config =
        TcpConfig { receive_window_bytes: receive_window_segments * MSS, ..TcpConfig::default() };
    let controller = Fixed { window_bytes: window_segments * MSS, rate_bps, reductions: 0 };
    TcpSender::with_controller(1, 0, &config, 0, None, Box::new(controller))
}

#[test]
fn a_pacing_controller_spaces_its_datagrams() {
    // 1500 B at 12 Mbit/s are 1 ms.
    let mut sender = sender(100, 1_000, Some(12_000_000));
    let mut out = Vec::new();
    for _ in 0..20 {
        let now_us = sender.next_deadline_us().unwrap();
        sender.poll(now_us, &mut out);
    }
    let times: Vec<u64> = out.iter().map(|packet| packet.sent_us).collect();
    assert_eq!(times, (0..20).map(|n| n * 1_000).collect::<Vec<_>>());
}

/// The pacing deadline is before the stop, but the window opens after it: a deadline in the past would
/// stop virtual time.
#[test]
fn a_sender_whose_window_opens_after_its_stop_has_no_deadline() {
    let stop_us = 10_000;
    let controller = Fixed { window_bytes: 2 * MSS, rate_bps: Some(12_000_000), reductions: 0 };
    let config = TcpConfig::default();
    let stop = Some(stop_us);
    let mut sender = TcpSender::with_controller(1, 0, &config, 0, stop, Box::new(controller));
    let mut out = Vec::new();
    sender.poll(0, &mut out);
    sender.poll(1_000, &mut out);
    assert_eq!(out.len(), 2);
    sender.on_packet(&ack(100, 2 * MSS, 0, SackBlocks::default()), stop_us + 500, &mut out);
    assert_eq!(out.len(), 2);
    let next_us = sender.next_deadline_us();
    assert!(next_us.is_none_or(|at_us| at_us > stop_us + 500), "{next_us:?}");
}

/// RFC 8985 §7.4.2: if data sent after a retransmitted probe is acknowledged without a reported duplicate,
/// the probe repaired a loss, which reduces the window.
#[test]
fn a_probe_that_repaired_a_loss_reduces_the_window() {
    for (duplicate, reductions) in [(false, 1), (true, 0)] {
        let mut sender = sender(100, 10, None);
        let mut out = Vec::new();
        sender.poll(0, &mut out);
        assert_eq!(out.len(), 10, "the receive window is full");
        sender.on_packet(&ack(10, 9 * MSS, 0, SackBlocks::default()), 40_000, &mut out);
        // The receive window moved by nine; the tenth is outstanding with nine new segments.
        sender.on_packet(&ack(10, 9 * MSS, 0, SackBlocks::default()), 41_000, &mut out);
        out.clear();
        let now_us = sender.next_deadline_us().unwrap();
        sender.poll(now_us, &mut out);
        assert_eq!(out.iter().map(seq).collect::<Vec<_>>(), [18], "the tail again");
        out.clear();
        let mut sack = SackBlocks::default();
        if duplicate {
            sack.push(18 * MSS, 19 * MSS);
        }
        let now_us = now_us + 40_000;
        sender.on_packet(&ack(10, 19 * MSS, now_us as u32, sack), now_us, &mut out);
        let now_us = now_us + 40_000;
        sender.on_packet(
            &ack(10, 21 * MSS, now_us as u32, SackBlocks::default()),
            now_us,
            &mut out,
        );
        assert_eq!(sender.stats().ssthresh_bytes, Some(reductions), "duplicate: {duplicate}");
    }
}

#[test]
fn an_acknowledgement_of_unsent_data_is_ignored() {
    let mut sender = sender(10, 100, None);
    let mut out = Vec::new();
    sender.poll(0, &mut out);
    let before = sender.stats();
    sender.on_packet(&ack(100, 11 * MSS, 0, SackBlocks::default()), 40_000, &mut out);
    assert_eq!(sender.stats(), before);
}

#[test]
fn invalid_sack_blocks_do_not_change_the_data_in_flight() {
    let mut sender = sender(10, 100, None);
    let mut out = Vec::new();
    sender.poll(0, &mut out);
    for (start, end) in
        [(5 * MSS, 4 * MSS), (3 * MSS, 3 * MSS), (50 * MSS, 60 * MSS), (10, 90), (MSS + 1, 3 * MSS)]
    {
        let mut sack = SackBlocks::default();
        sack.push(start, end);
        sender.on_packet(&ack(100, 0, 0, sack), 40_000, &mut out);
    }
    // Only the last block covers a whole segment, the third.
    assert_eq!(sender.stats().in_flight_bytes, 10 * MSS);
    assert_eq!(out.len(), 11, "one more segment");
    sender.on_packet(&ack(100, 11 * MSS, 0, SackBlocks::default()), 80_000, &mut out);
    assert_eq!(sender.stats().in_flight_bytes, 10 * MSS);
    assert_eq!(sender.stats().acked_bytes, 11 * MSS);
}

/// RFC 6298 §5.5.
#[test]
fn the_time_out_doubles_until_an_acknowledgement() {
    let mut sender = sender(1, 100, None);
    let mut out = Vec::new();
    sender.poll(0, &mut out);
    sender.on_packet(&ack(100, MSS, 0, SackBlocks::default()), 100_000, &mut out);
    let mut times = Vec::new();
    for _ in 0..6 {
        let now_us = sender.next_deadline_us().unwrap();
        sender.poll(now_us, &mut out);
        times.push(now_us);
    }
    // A probe first (new data is not blocked by the window), then time-outs at RTO, 2 RTO, 4 RTO …
    assert_eq!(sender.stats().tail_loss_probes, 1);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [300_000, 600_000, 1_200_000, 2_400_000, 4_800_000]);
    let now_us = times[5] + 100_000;
    let acknowledgement = ack(100, 2 * MSS, now_us as u32 - 100_000, SackBlocks::default());
    sender.on_packet(&acknowledgement, now_us, &mut out);
    assert!(sender.stats().rto_us < 400_000, "{}", sender.stats().rto_us);
}

proptest! {
    /// Arbitrary acknowledgements do not stop the sender, which exceeds its window by at most a
    /// probe and a forced retransmission.
    #[test]
    fn arbitrary_acknowledgements_do_not_break_the_window(
        acks in prop::collection::vec(
            (
                0_u64..120_000,
                any::<u32>(),
                prop::collection::vec((0_u64..150_000, 0_u64..150_000), 0..4),
                0_u64..300_000,
                any::<bool>(),
                0_u32..200,
            ),
            1..150,
        )
    ) {
        let mut sender = sender(20, 100, None);
        let (mut now_us, mut out) = (0, Vec::new());
        sender.poll(0, &mut out);
        for (cumulative, echo, blocks, wait_us, ece, window_segments) in acks {
            now_us += wait_us;
            while let Some(at_us) = sender.next_deadline_us().filter(|&at_us| at_us <= now_us) {
                sender.poll(at_us, &mut out);
                prop_assert!(sender.next_deadline_us().is_none_or(|next| next > at_us));
            }
            let mut sack = SackBlocks::default();
            for (start, end) in blocks {
                sack.push(start, end);
            }
            let mut packet = ack(window_segments, cumulative, echo, sack);
            if let Body::Tcp(segment) = &mut packet.body {
                segment.ece = ece;
            }
            sender.on_packet(&packet, now_us, &mut out);
            prop_assert!(sender.stats().in_flight_bytes <= 40 * MSS, "{:?}", sender.stats());
        }
    }
}
