//! What the host adds to a packet and to a slot of the MAC, in nanoseconds: `cargo bench -p gnb-host`.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for people")]

use std::hint::black_box;
use std::time::Instant;

use sojourn_gnb::{Address, Gnb, Host, Settings};

struct Sink;

impl Gnb for Sink {
    fn forward(&self, _bearer: Address, sdu: &[u8]) -> Option<u32> {
        black_box(sdu);
        Some(sdu.len() as u32 + 3)
    }
}

const SLOTS: usize = 20_000;
const SLOT_US: u32 = 500;
/// A block of 106 PRB at a high MCS carries seven SDUs of 1500 B.
const PACKETS: usize = 7;
const BLOCK_BYTES: u32 = 10_600;

fn host(pipeline: &str, ues: u16) -> Host {
    let settings = Settings { pipeline: pipeline.to_owned(), ..Settings::default() };
    let host = Host::new(Box::new(Sink), settings).expect("usable settings");
    for ue in 0..ues {
        host.ue_is(u64::from(ue), ue, 0);
        host.bearer_up(u64::from(ue), 1, false, 0).expect("a DRB identity");
        host.channel_up(ue, 4, 1);
    }
    host
}

/// Median and 99th percentile of what `act` takes, ns.
fn measure(mut act: impl FnMut(u64)) -> (u128, u128) {
    let mut taken: Vec<_> = (0..SLOTS as u64)
        .map(|slot| {
            let started = Instant::now();
            act(slot * 500);
            started.elapsed().as_nanos()
        })
        .collect();
    taken.sort_unstable();
    (taken[SLOTS / 2], taken[SLOTS * 99 / 100])
}

fn main() {
    let mut sdu = vec![0x45, 0, 0x05, 0xdc, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 1, 10, 0, 1, 2];
    sdu.resize(1_500, 7);
    println!("| | median | 99 % |\n|---|---|---|");
    let print = |what: String, (median, p99): (u128, u128)| {
        println!("| {what} | {median} ns | {p99} ns |");
    };
    for pipeline in ["transparent", "fq_codel", "low_latency"] {
        let host = host(pipeline, 1);
        let packet = measure(|now_us| {
            host.packet_in(0, 1, &sdu, now_us);
            if now_us % 3_500 == 0 {
                host.status_asked(0, 4, SLOT_US, 0, now_us);
                host.block_pulled(0, 4, SLOT_US, BLOCK_BYTES, 0, now_us);
            }
        });
        print(format!("a packet, {pipeline}"), packet);
        let mut slot = Vec::with_capacity(SLOTS);
        for n in 0..SLOTS as u64 {
            let now_us = 40_000_000 + n * 500;
            for _ in 0..PACKETS {
                host.packet_in(0, 1, &sdu, now_us);
            }
            let started = Instant::now();
            host.status_asked(0, 4, SLOT_US, 0, now_us + 100);
            host.block_pulled(0, 4, SLOT_US, BLOCK_BYTES, 0, now_us + 110);
            slot.push(started.elapsed().as_nanos());
        }
        slot.sort_unstable();
        let percentiles = (slot[SLOTS / 2], slot[SLOTS * 99 / 100]);
        print(format!("question and block of {PACKETS} packets, {pipeline}"), percentiles);
    }
    let host = host("low_latency", 64);
    let idle = measure(|now_us| {
        for ue in 0..64 {
            black_box(host.status_asked(ue, 4, SLOT_US, 0, now_us));
        }
    });
    print("questions about 64 idle UEs, low_latency".to_owned(), idle);
}
