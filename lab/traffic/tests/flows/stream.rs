//! Messages over TCP: each arrives once, complete and in order, whatever the network does.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use proptest::prelude::*;
use traffic::stream::{Completed, Connections, RequestClient, RequestServer, StreamEnd};
use traffic::{Body, Endpoint, HttpConfig, Packet, TcpConfig};

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

/// Sends messages of these sizes from one end; returns the words in the order read, and that end.
fn words_read(sizes: &[u32], loss_per_million: u64) -> (Vec<u32>, StreamEnd) {
    let config = TcpConfig::default();
    let (mut sender, mut receiver) =
        (StreamEnd::new(1, 0, &config, 1), StreamEnd::new(1, 0, &config, 1));
    let (mut there, mut back) = (lossy(loss_per_million), lossy(loss_per_million / 2));
    let (mut out, mut now_us, mut read) = (Vec::new(), 0, Vec::new());
    for (word, size) in (1..).zip(sizes) {
        sender.write(n(*size), Some(n(word)), now_us, &mut out);
    }
    there.carry(&mut out, now_us);
    while let Some(next_us) =
        [there.next_us(), back.next_us(), sender.next_deadline_us(), receiver.next_deadline_us()]
            .into_iter()
            .flatten()
            .min()
    {
        now_us = now_us.max(next_us);
        while let Some(packet) = there.pop_due(now_us) {
            receiver.on_packet(&packet, now_us, &mut out);
            back.carry(&mut out, now_us);
            read.extend(std::iter::from_fn(|| receiver.read()).map(NonZeroU32::get));
        }
        while let Some(packet) = back.pop_due(now_us) {
            sender.on_packet(&packet, now_us, &mut out);
            there.carry(&mut out, now_us);
        }
        sender.poll(now_us, &mut out);
        there.carry(&mut out, now_us);
        receiver.poll(now_us, &mut out);
        back.carry(&mut out, now_us);
    }
    (read, sender)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_message_is_read_once_and_in_order(
        sizes in prop::collection::vec(1_u32..20_000, 1..12),
        loss_per_million in 0_u64..150_000,
    ) {
        let (read, sender) = words_read(&sizes, loss_per_million);
        prop_assert!(read.windows(2).all(|pair| pair[0] < pair[1]), "{read:?}");
        // Of messages that end in the same segment only the first is delivered.
        if sizes.iter().all(|size| *size >= 1448) {
            prop_assert_eq!(read.len(), sizes.len());
        }
        let total: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
        prop_assert_eq!(sender.acked_bytes(), total);
    }
}

/// A client and a server on a path without loss.
struct Http {
    client: RequestClient,
    server: RequestServer,
    up: Path,
    down: Path,
    out: Vec<Packet>,
    now_us: u64,
    /// Packets that the server sends at once for a request, the acknowledgement included.
    first_burst: Option<usize>,
}

impl Http {
    fn new(first_flow: u32, count: u16) -> Self {
        let tcp = TcpConfig::default();
        let connections = Connections {
            first_flow,
            count,
            dscp: 0,
            tcp: &tcp,
            http: HttpConfig::default(),
            stop_us: None,
            seed: 1,
        };
        Self {
            client: RequestClient::new(connections, 350),
            server: RequestServer::new(connections),
            up: lossy(0),
            down: lossy(0),
            out: Vec::new(),
            now_us: 0,
            first_burst: None,
        }
    }

    fn request(&mut self, connection: usize, bytes: u32) -> bool {
        let is_accepted = self.client.request(connection, n(bytes), self.now_us, &mut self.out);
        self.up.carry(&mut self.out, self.now_us);
        is_accepted
    }

    /// Runs until no event is left, or until the first response; returns the last response with the
    /// time of its completion.
    fn run(&mut self, first_response: bool) -> Option<(Completed, u64)> {
        let Self { client, server, up, down, out, now_us, first_burst } = self;
        let mut completed = None;
        while let Some(next_us) =
            [down.next_us(), up.next_us(), client.next_deadline_us(), server.next_deadline_us()]
                .into_iter()
                .flatten()
                .min()
            && !(first_response && completed.is_some())
        {
            *now_us = next_us.max(*now_us);
            while let Some(packet) = up.pop_due(*now_us) {
                server.on_packet(&packet, *now_us, out);
                if matches!(&packet.body, Body::Tcp(segment) if segment.message.is_some()) {
                    first_burst.get_or_insert(out.len());
                }
                down.carry(out, *now_us);
            }
            while let Some(packet) = down.pop_due(*now_us) {
                client.on_packet(&packet, *now_us, out);
                completed = client.completed().map(|response| (response, *now_us)).or(completed);
                up.carry(out, *now_us);
            }
            server.poll(*now_us, out);
            down.carry(out, *now_us);
            client.poll(*now_us, out);
            up.carry(out, *now_us);
        }
        completed
    }
}

#[test]
fn a_response_takes_a_round_trip_and_its_slow_start() {
    let mut http = Http::new(5, 2);
    assert!(http.request(1, 20_000));
    assert!(!http.request(1, 1), "one at a time on a connection");
    assert!(!http.request(2, 1), "there is no such connection");
    assert_eq!(http.client.idle_connection(), Some(0));
    assert!(http.up.on_the_way.iter().all(|(_, packet)| packet.flow == 6));
    let (completed, at_us) = http.run(true).unwrap();
    // The request and ten segments in one round trip, the other four in a second.
    assert_eq!(at_us, 4 * ONE_WAY_US);
    assert_eq!(completed, Completed { connection: 1, bytes: n(20_000), requested_us: 0 });
    assert_eq!(http.client.arrivals().goodput().total_bytes(), 20_000);
}

#[test]
fn a_connection_that_was_idle_starts_again_from_the_restart_window() {
    let mut http = Http::new(0, 1);
    let mut burst = |idle_us: u64| {
        http.now_us += idle_us;
        http.first_burst = None;
        assert!(http.request(0, 2_000_000));
        // Until the last acknowledgement has arrived.
        http.run(false).unwrap();
        assert_eq!(http.client.idle_connection(), Some(0), "the response is complete");
        http.first_burst.unwrap()
    };
    // Data segments in the first burst of a response, beside the acknowledgement of the request.
    assert_eq!(burst(0), 11);
    assert!(burst(50_000) > 100, "the window is kept over less than a time-out");
    assert_eq!(burst(10_000_000), 11, "RFC 5681 §4.1");
}
