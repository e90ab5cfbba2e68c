//! Queues above the RLC: grants are those of a full RLC, and the RLC holds at most the rest of an SDU.

use std::collections::VecDeque;

use crate::common::{Packet, bytes_of, cell_with, saturate, ue};
use ran::{
    AmConfig, BearerConfig, BearerIndex, BlockRoom, BufferStatus, Cell, CellConfig, Channel,
    Delivery, UpperLayer,
};

const RUN_US: u64 = 2_000_000;

/// Endless packets for some bearers.
struct Source {
    bearers: Vec<BearerIndex>,
    len: u32,
    next_id: u64,
    /// Times of the first query of each slot.
    queried_us: VecDeque<u64>,
}

impl Source {
    fn of(bearers: &[BearerIndex]) -> Self {
        Self { bearers: bearers.to_vec(), len: 1_500, next_id: 0, queried_us: VecDeque::new() }
    }
}

impl UpperLayer<Packet> for Source {
    fn buffer_status(&mut self, bearer: BearerIndex, now_us: u64) -> BufferStatus {
        if self.queried_us.back() != Some(&now_us) {
            self.queried_us.push_back(now_us);
        }
        if !self.bearers.contains(&bearer) {
            return BufferStatus::default();
        }
        BufferStatus { bytes: 100 * u64::from(self.len), packets: 100 }
    }

    fn pull(&mut self, bearer: BearerIndex, room: &BlockRoom, now_us: u64) -> Option<Packet> {
        assert!(self.bearers.contains(&bearer));
        assert!(room.next_block.is_none_or(|next| next.at_us > now_us));
        self.next_id += 1;
        Some(Packet { id: self.next_id, len: self.len })
    }

    fn refused(&mut self, bearer: BearerIndex, sdu: Packet) {
        panic!("the RLC of {bearer} refused {sdu:?}");
    }
}

fn run(cell: &mut Cell<Packet>, source: &mut Source) -> Vec<Delivery<Packet>> {
    let mut out = Vec::new();
    while cell.next_slot_us() < RUN_US {
        let now_us = cell.next_slot_us();
        cell.slot_from(source, now_us, &mut out);
        for bearer in &source.bearers {
            let occupancy_bytes = cell.bearer_status(*bearer).unwrap().occupancy_bytes;
            assert!(
                occupancy_bytes < source.len + 3,
                "{occupancy_bytes} B in the RLC at {now_us} µs"
            );
        }
    }
    out
}

fn channels() -> Vec<Channel> {
    [27, 11, 4].map(Channel::FixedMcs).to_vec()
}

#[test]
fn ues_share_the_slots_as_with_a_full_rlc() {
    let (mut full, bearers) = cell_with(CellConfig::lte_5mhz(), &channels());
    let of_full = saturate(&mut full, &bearers, RUN_US);
    let (mut pulled, bearers) = cell_with(CellConfig::lte_5mhz(), &channels());
    let of_pulled = run(&mut pulled, &mut Source::of(&bearers));
    assert_eq!(pulled.totals().used_prb, full.totals().used_prb);
    assert!(pulled.totals().used_prb_pct() > 99.9);
    for bearer in bearers {
        let (full, pulled) = (bytes_of(&of_full, bearer), bytes_of(&of_pulled, bearer));
        assert!(full.abs_diff(pulled) * 1_000 <= full, "{full} and {pulled} B of {bearer}");
        assert!(full > 0);
    }
}

#[test]
fn an_am_bearer_holds_at_most_the_rest_of_an_sdu() {
    let mut cell: Cell<Packet> = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(20))).unwrap();
    let bearer = cell.add_bearer(1, BearerConfig::am(1, AmConfig::lte())).unwrap();
    let out = run(&mut cell, &mut Source::of(&[bearer]));
    assert!(cell.totals().used_prb_pct() > 99.9);
    let ids: Vec<u64> = out.iter().map(|delivery| delivery.sdu.id).collect();
    assert!(ids.len() > 1_000 && (1..).zip(&ids).all(|(id, got)| id == *got), "in order, no gap");
}

/// Status reports each 500 ms: a window of 2048 SDUs of 100 bytes lasts for a fifth of that.
fn stalling() -> BearerConfig {
    let (t_status_prohibit_us, t_poll_retransmit_us) = (500_000, 1_000_000);
    let am = AmConfig { t_status_prohibit_us, t_poll_retransmit_us, ..AmConfig::lte() };
    BearerConfig::am(1, am)
}

fn run_one(config: BearerConfig, len: u32) -> (Cell<Packet>, Vec<Delivery<Packet>>) {
    let mut cell: Cell<Packet> = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(20))).unwrap();
    let bearer = cell.add_bearer(1, config).unwrap();
    let out = run(&mut cell, &mut Source { len, ..Source::of(&[bearer]) });
    (cell, out)
}

#[test]
fn a_stalled_window_takes_no_sdus_and_no_blocks() {
    let (cell, out) = run_one(stalling(), 100);
    // 2048 for each status report, of which the first comes at once.
    assert!((4 * 2_048..=5 * 2_048 + 100).contains(&out.len()), "{}", out.len());
    let used_pct = cell.totals().used_prb_pct();
    assert!(
        (10.0..60.0).contains(&used_pct),
        "{used_pct} % of the blocks for SDUs that cannot be sent"
    );
}

#[test]
fn a_full_rlc_buffer_refuses_no_sdu() {
    for (limit_packets, limit_bytes) in [(50, 10_000_000), (u32::MAX, 100_000), (u32::MAX, 2_000)] {
        for config in [stalling(), BearerConfig::um(1)] {
            let (_, out) = run_one(BearerConfig { limit_packets, limit_bytes, ..config }, 1_500);
            assert!(out.len() > 4, "{limit_packets} SDUs or {limit_bytes} B: {}", out.len());
        }
    }
}

#[test]
fn a_stalled_window_has_no_room_for_a_queue_in_the_rlc() {
    let mut cell: Cell<Packet> = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(20))).unwrap();
    let bearer = cell.add_bearer(1, stalling()).unwrap();
    let mut out = Vec::new();
    for id in 0..20_000 {
        let now_us = cell.next_slot_us();
        if cell.room_in_slot_bytes(bearer, cell.coming_slot_bytes(bearer)) > 0 {
            cell.enqueue(bearer, Packet { id, len: 100 }, now_us).unwrap();
        } else {
            cell.slot(now_us, &mut out);
        }
        let occupancy = cell.bearer_status(bearer).unwrap().occupancy_bytes;
        assert!(occupancy < 6_000, "{occupancy} B wait for a window of 2048 SDUs");
    }
    assert!(out.len() > 2 * 2_048, "{}", out.len());
}

#[test]
fn a_slot_without_data_queries_no_buffer_status() {
    // DDDDDDDMUU, two D slots of which carry no user data.
    let config = CellConfig::nr_n78_106prb();
    let (mut cell, bearers) = cell_with(config, &channels()[..1]);
    let mut source = Source::of(&bearers);
    run(&mut cell, &mut source);
    let slots = cell.totals().slots as usize;
    assert_eq!(source.queried_us.len(), slots / 10 * 6);
}

#[test]
fn a_bearer_without_upper_layer_is_served_from_its_rlc() {
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &channels()[..2]);
    let mut source = Source::of(&bearers[..1]);
    cell.enqueue(bearers[1], Packet { id: 0, len: 700 }, 0).unwrap();
    let out = run(&mut cell, &mut source);
    assert_eq!(bytes_of(&out, bearers[1]), 700);
}
