//! Messages over TCP: each arrives once, complete and in order, whatever the network does.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use proptest::prelude::*;
use traffic::stream::{RequestClient, RequestServer, StreamEnd};
use traffic::{Body, Endpoint, Packet, TcpConfig};

use crate::pair::coin;

const ONE_WAY_US: u64 = 10_000;

fn n(bytes: u32) -> NonZeroU32 {
    NonZeroU32::new(bytes).unwrap()
}

/// Packets on a path of fixed delay that loses some, by number.
#[derive(Default)]
struct Path {
    on_the_way: VecDeque<(u64, Packet)>,
    offered: u64,
    loss_per_million: u64,
}

impl Path {
    fn carry(&mut self, sent: &mut Vec<Packet>, now_us: u64) {
        for packet in sent.drain(..) {
            self.offered += 1;
            if !coin(self.offered, self.loss_per_million) {
                self.on_the_way.push_back((now_us + ONE_WAY_US, packet));
            }
        }
    }

    fn pop_due(&mut self, now_us: u64) -> Option<Packet> {
        let (at_us, _) = self.on_the_way.front()?;
        if *at_us <= now_us { self.on_the_way.pop_front().map(|(_, packet)| packet) } else { None }
    }

    fn next_us(&self) -> Option<u64> {
        self.on_the_way.front().map(|(at_us, _)| *at_us)
    }
}

fn lossy(loss_per_million: u64) -> Path {
    Path { loss_per_million, ..Path::default() }
}

/// Sends messages of these sizes from one end; gives the words in the order read.
fn words_read(sizes: &[u32], loss_per_million: u64) -> (Vec<u32>, StreamEnd) {
    let config = TcpConfig::default();
    let (mut speaker, mut listener) =
        (StreamEnd::new(1, 0, &config, 1), StreamEnd::new(1, 0, &config, 1));
    let (mut there, mut back) = (lossy(loss_per_million), lossy(loss_per_million / 2));
    let (mut out, mut now_us, mut read) = (Vec::new(), 0, Vec::new());
    for (word, size) in (1..).zip(sizes) {
        speaker.write(n(*size), Some(n(word)), now_us, &mut out);
    }
    there.carry(&mut out, now_us);
    while let Some(next_us) =
        [there.next_us(), back.next_us(), speaker.next_deadline_us(), listener.next_deadline_us()]
            .into_iter()
            .flatten()
            .min()
    {
        now_us = now_us.max(next_us);
        while let Some(packet) = there.pop_due(now_us) {
            listener.on_packet(&packet, now_us, &mut out);
            back.carry(&mut out, now_us);
            read.extend(std::iter::from_fn(|| listener.read()).map(NonZeroU32::get));
        }
        while let Some(packet) = back.pop_due(now_us) {
            speaker.on_packet(&packet, now_us, &mut out);
            there.carry(&mut out, now_us);
        }
        speaker.poll(now_us, &mut out);
        there.carry(&mut out, now_us);
        listener.poll(now_us, &mut out);
        back.carry(&mut out, now_us);
    }
    (read, speaker)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_message_is_read_once_and_in_order(
        sizes in prop::collection::vec(1_u32..20_000, 1..12),
        loss_per_million in 0_u64..150_000,
    ) {
        let (read, speaker) = words_read(&sizes, loss_per_million);
        prop_assert!(read.windows(2).all(|pair| pair[0] < pair[1]), "{read:?}");
        // Of messages that end in the same segment the first is heard.
        if sizes.iter().all(|size| *size >= 1448) {
            prop_assert_eq!(read.len(), sizes.len());
        }
        let total: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
        prop_assert_eq!(speaker.acked_bytes(), total);
    }
}

#[test]
fn an_answer_takes_a_round_trip_and_its_slow_start() {
    let config = TcpConfig::default();
    let mut client = RequestClient::new(5, 2, 0, n(350), &config, 1);
    let mut server = RequestServer::new(5, 2, 0, &config, 1);
    let (mut down, mut up, mut out, mut now_us) = (lossy(0), lossy(0), Vec::new(), 0);
    assert!(client.ask(1, n(20_000), 0, &mut out));
    assert!(!client.ask(1, n(1), 0, &mut out), "one at a time on a connection");
    assert!(!client.ask(2, n(1), 0, &mut out), "there is no such connection");
    assert_eq!(client.idle_connection(), Some(0));
    up.carry(&mut out, 0);
    let mut completed = None;
    while completed.is_none() {
        now_us =
            [down.next_us(), up.next_us(), client.next_deadline_us(), server.next_deadline_us()]
                .into_iter()
                .flatten()
                .min()
                .unwrap();
        while let Some(packet) = up.pop_due(now_us) {
            assert_eq!(packet.flow, 6);
            server.on_packet(&packet, now_us, &mut out);
            down.carry(&mut out, now_us);
        }
        while let Some(packet) = down.pop_due(now_us) {
            completed = completed.or(client.on_packet(&packet, now_us, &mut out));
            up.carry(&mut out, now_us);
        }
        server.poll(now_us, &mut out);
        down.carry(&mut out, now_us);
        client.poll(now_us, &mut out);
        up.carry(&mut out, now_us);
    }
    // The request and ten segments in one round trip, the other four in a second.
    assert_eq!(now_us, 4 * ONE_WAY_US);
    let completed = completed.unwrap();
    assert_eq!((completed.connection, completed.bytes, completed.asked_us), (1, n(20_000), 0));
    assert_eq!(client.arrivals().goodput().total_bytes(), 20_000);
}

#[test]
fn a_connection_that_was_idle_starts_again_from_the_restart_window() {
    let config = TcpConfig::default();
    let mut server = RequestServer::new(0, 1, 0, &config, 1);
    let mut client = RequestClient::new(0, 1, 0, n(100), &config, 1);
    let (mut down, mut up, mut out, mut now_us) = (lossy(0), lossy(0), Vec::new(), 0);
    let mut burst = |idle_us: u64| {
        now_us += idle_us;
        assert!(client.ask(0, n(2_000_000), now_us, &mut out));
        up.carry(&mut out, now_us);
        let mut first = None;
        // Until the last acknowledgement is in.
        while let Some(next_us) =
            [down.next_us(), up.next_us(), client.next_deadline_us(), server.next_deadline_us()]
                .into_iter()
                .flatten()
                .min()
        {
            now_us = now_us.max(next_us);
            while let Some(packet) = up.pop_due(now_us) {
                server.on_packet(&packet, now_us, &mut out);
                if matches!(&packet.body, Body::Tcp(segment) if segment.message.is_some()) {
                    first.get_or_insert(out.len());
                }
                down.carry(&mut out, now_us);
            }
            while let Some(packet) = down.pop_due(now_us) {
                client.on_packet(&packet, now_us, &mut out);
                up.carry(&mut out, now_us);
            }
            server.poll(now_us, &mut out);
            down.carry(&mut out, now_us);
            client.poll(now_us, &mut out);
            up.carry(&mut out, now_us);
        }
        assert_eq!(client.idle_connection(), Some(0), "the answer is complete");
        first.unwrap()
    };
    // Data segments in the first burst of an answer, beside the acknowledgement of the request.
    assert_eq!(burst(0), 11);
    assert!(burst(50_000) > 100, "the window is kept over less than a time-out");
    assert_eq!(burst(10_000_000), 11, "RFC 5681 §4.1");
}
