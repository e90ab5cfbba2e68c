//! Threads of packets and of the MAC allocate nothing in steady state.

use crate::fake::*;
use sojourn_gnb::{Address, Gnb, Host, Settings};

/// Takes SDUs and forgets them.
struct Sink;

impl Gnb for Sink {
    fn forward(&self, _bearer: Address, sdu: &[u8]) -> Option<u32> {
        Some(sdu.len() as u32 + 3)
    }
}

fn traffic(host: &Host, packets: &[Vec<u8>], from: u64, to: u64) {
    for n in from..to {
        let now_us = n * 500;
        for packet in packets {
            host.packet_in(UE, DRB, packet, now_us + 50);
        }
        host.status_asked(RNTI, LCID, SLOT_US, 0, now_us + 200);
        host.block_pulled(RNTI, LCID, SLOT_US, 4_000, 0, now_us + 210);
    }
}

fn allocates_nothing(pipeline: &str) {
    let settings = Settings { pipeline: pipeline.to_owned(), ..Settings::default() };
    let host = Host::new(Box::new(Sink), settings).expect("usable settings");
    attach(&host, UE, RNTI);
    let packets: Vec<_> = (0..6).map(|flow| packet(flow, 0, 1_300)).collect();
    traffic(&host, &packets, 0, 4_000);
    let measured = allocation_counter::measure(|| traffic(&host, &packets, 4_000, 12_000));
    assert_eq!(measured.count_total, 0, "{pipeline}");
    assert_eq!(host.status(0).bearers[0].counts.taken_packets, 72_000);
    assert_eq!(host.status(0).oversize_packets, 0);
}

#[test]
fn packets_and_blocks_cost_no_allocation() {
    for pipeline in ["transparent", "low_latency", "fq_codel", "bdp_only", "l4s"] {
        allocates_nothing(pipeline);
    }
}
