//! A UE that moves between two cells: what RLC-AM and RLC-UM keep, and what they lose.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ran::{
    AmConfig, AtEnd, BearerConfig, BearerIndex, BlockErrors, Cell, CellConfig, Channel, Delivery,
    SnrProbe, SnrSeries, UeConfig, UplinkArrival,
};

use crate::common::{Packet, ue, with_errors};

/// A radio of 20 dB on which blocks fail as configured.
fn radio() -> Channel {
    let series = SnrSeries::new(1_000_000, [20.0], AtEnd::Hold).unwrap();
    Channel::Ideal(Box::new(Channel::SnrSeries(series)))
}

fn am() -> BearerConfig {
    BearerConfig { t_reordering_us: 10_000_000, ..BearerConfig::am(1, AmConfig::default()) }
}

/// Two cells of 10 % block errors, a UE in one of them, and what has become of its packets.
struct Moving {
    cells: [Cell<Packet>; 2],
    probes: [SnrProbe; 2],
    at: usize,
    rnti: u16,
    bearer: BearerIndex,
    config: UeConfig,
    next_id: u64,
    delivered: Vec<Delivery<Packet>>,
    uplink: Vec<UplinkArrival>,
    duplicates: u64,
    lost: u64,
}

impl Moving {
    fn new(bearer: BearerConfig, bler: f64) -> Self {
        let errors = BlockErrors { bler, ..CellConfig::nr_n78_106prb().harq.errors };
        let cell = |seed| {
            let base =
                CellConfig { seed, n_prb: 24, reserved: None, ..CellConfig::nr_n78_106prb() };
            Cell::new(with_errors(base, errors, 2)).unwrap()
        };
        let mut cells = [cell(1), cell(2)];
        let config = ue(1, radio());
        let probe = |cell: &Cell<Packet>| cell.probe(&config.channel, 1).unwrap().unwrap();
        let probes = [probe(&cells[0]), probe(&cells[1])];
        cells[0].add_ue(config.clone()).unwrap();
        let bearer = cells[0].add_bearer(1, bearer).unwrap();
        Self {
            cells,
            probes,
            at: 0,
            rnti: 1,
            bearer,
            config,
            next_id: 0,
            delivered: Vec::new(),
            uplink: Vec::new(),
            duplicates: 0,
            lost: 0,
        }
    }

    fn now_us(&self) -> u64 {
        self.cells[0].next_slot_us()
    }

    fn send(&mut self, packets: u64, len: u32) {
        let now_us = self.now_us();
        for _ in 0..packets {
            let packet = Packet { id: self.next_id, len };
            self.cells[self.at].enqueue(self.bearer, packet, now_us).unwrap();
            assert!(self.cells[self.at].send_uplink(self.bearer, self.next_id, 200, now_us));
            self.next_id += 1;
        }
    }

    fn run(&mut self, slots: u64) {
        for _ in 0..slots {
            let now_us = self.now_us();
            for cell in &mut self.cells {
                cell.slot(now_us, &mut self.delivered);
                self.uplink.extend(cell.take_uplink_arrivals());
            }
        }
    }

    /// Moves the UE to the other cell, silent for `silent_us`.
    fn hand_over(&mut self, silent_us: u64) {
        let now_us = self.now_us();
        let mut moving =
            self.cells[self.at].depart(self.rnti, now_us, &mut self.delivered).unwrap();
        self.uplink.extend(self.cells[self.at].take_uplink_arrivals());
        let [departed] = &mut moving.bearers[..] else { panic!("one bearer") };
        self.lost += departed.lost_sdus;
        let unconfirmed = std::mem::take(&mut departed.unconfirmed);
        self.duplicates += unconfirmed.iter().filter(|one| one.sdu.is_none()).count() as u64;
        self.at = 1 - self.at;
        self.rnti += 1;
        let config = UeConfig { rnti: self.rnti, ..self.config.clone() };
        let probe = &self.probes[self.at];
        let target = &mut self.cells[self.at];
        let indices = target.enter(config, probe, moving, now_us + silent_us).unwrap();
        self.bearer = indices[0];
        for again in unconfirmed {
            target.enqueue_again(self.bearer, again, now_us).unwrap();
        }
    }

    fn ids(&self) -> Vec<u64> {
        self.delivered.iter().map(|delivery| delivery.sdu.id).collect()
    }

    fn uplink_tags(&self, arrived: bool) -> Vec<u64> {
        let uplink = self.uplink.iter().filter(|one| one.leaves_us.is_some() == arrived);
        uplink.map(|one| one.tag).collect()
    }
}

#[test]
fn in_am_nothing_is_lost_doubled_or_reordered_in_100_handovers() {
    let mut moving = Moving::new(am(), 0.1);
    for _ in 0..100 {
        moving.send(30, 1_500);
        moving.run(40);
        moving.hand_over(5_000);
        moving.run(20);
    }
    moving.run(4_000);
    assert_eq!(moving.next_id, 3_000);
    assert_eq!(moving.ids(), (0..3_000).collect::<Vec<_>>());
    assert_eq!(moving.uplink_tags(true), (0..3_000).collect::<Vec<_>>());
    assert!(moving.uplink_tags(false).is_empty());
    // The RLC of the source had not had all acknowledged that the UE had.
    assert!(moving.duplicates > 100, "{} duplicates", moving.duplicates);
    assert_eq!((moving.lost, moving.cells[0].totals().lost_sdus), (0, 0));
}

#[test]
fn in_um_only_what_was_in_flight_is_lost() {
    let mut moving = Moving::new(BearerConfig::um(1), 0.1);
    let (mut queued, mut in_air) = (0, 0);
    for _ in 0..100 {
        moving.send(30, 1_500);
        moving.run(15);
        let status = moving.cells[moving.at].bearer_status(moving.bearer).unwrap();
        queued += u64::from(status.occupancy_packets);
        in_air += moving.cells[moving.at].sdus_in_air(moving.bearer).unwrap() as u64;
        moving.hand_over(5_000);
        moving.run(60);
    }
    moving.run(4_000);
    let ids = moving.ids();
    let lost: u64 = moving.cells.iter().map(|cell| cell.totals().lost_sdus).sum();
    assert_eq!(ids.len() as u64 + lost, moving.next_id);
    assert!(ids.is_sorted_by(|a, b| a < b), "in order, none twice");
    assert!((1..=in_air).contains(&moving.lost), "{} lost, {in_air} in the air", moving.lost);
    assert!(queued > 500, "{queued} went with the UE");
    let (arrived, ended) = (moving.uplink_tags(true), moving.uplink_tags(false));
    assert!(arrived.is_sorted_by(|a, b| a < b));
    assert_eq!((arrived.len() + ended.len()) as u64, moving.next_id);
}

#[test]
fn the_target_serves_the_ue_after_its_silence_and_the_source_is_free() {
    let mut moving = Moving::new(BearerConfig::um(1), 0.0);
    moving.send(2_000, 1_500);
    moving.run(20);
    moving.hand_over(62_000);
    let (left_us, source_prb) = (moving.now_us(), moving.cells[0].totals().used_prb);
    moving.delivered.clear();
    moving.run(400);
    assert_eq!(moving.cells[0].totals().used_prb, source_prb, "the source's PRBs are free");
    assert!(moving.cells[1].totals().used_prb > 0);
    let first_us = moving.delivered[0].dequeued_us;
    // The first slot with downlink after the silence: a pattern has 2.5 ms.
    assert!((62_000..64_500).contains(&(first_us - left_us)), "{first_us} µs after {left_us} µs");
    assert_eq!(moving.cells[0].rntis().count(), 0);
    assert_eq!(moving.cells[1].rntis().collect::<Vec<_>>(), [2]);
    let report = moving.cells[1].rlc_report(moving.bearer, moving.now_us()).unwrap();
    assert_eq!(report.rnti, 2, "the record begins anew, under the target's RNTI");
    assert!(report.rxsdu_pkts < 2_000, "without what the source has sent");
}

#[test]
fn a_status_report_keeps_duplicates_off_the_air() {
    let mut sent_bytes = [0; 2];
    for (with_report, bytes) in [false, true].into_iter().zip(&mut sent_bytes) {
        let mut moving = Moving::new(am(), 0.0);
        moving.send(200, 1_500);
        moving.run(30);
        moving.hand_over(20_000);
        if with_report {
            let discarded = moving.cells[1].discard_duplicates(moving.bearer);
            assert_eq!(discarded, moving.duplicates);
        }
        moving.run(600);
        assert_eq!(moving.ids(), (0..200).collect::<Vec<_>>(), "report: {with_report}");
        *bytes = moving.cells[1].mac_report(2, moving.now_us()).unwrap().dl_aggr_bytes_sdus;
        assert!(moving.duplicates > 0);
    }
    let [without, with] = sent_bytes;
    assert!(with + 1_500 < without, "{with} bytes with a report, {without} without");
}

#[test]
fn the_radio_of_a_ue_is_the_one_that_was_measured() {
    let walk = ran::GaussMarkov {
        mean_snr_db: 15.0,
        std_dev_db: 6.0,
        coherence_us: 50_000,
        period_us: 1_000,
    };
    let config = ue(1, Channel::Ideal(Box::new(Channel::GaussMarkov(walk))));
    let cell = || {
        let base = CellConfig { reserved: None, ..CellConfig::nr_n78_106prb() };
        Cell::<Packet>::new(base).unwrap()
    };
    let (mut always, mut target) = (cell(), cell());
    let mut source =
        Cell::<Packet>::new(CellConfig { seed: 9, ..CellConfig::nr_n78_106prb() }).unwrap();
    let probe = target.probe(&config.channel, 1).unwrap().unwrap();
    always.add_ue(config.clone()).unwrap();
    source.add_ue(config.clone()).unwrap();
    let mut compared = 0;
    for slot in 0..1_000 {
        let now_us = always.next_slot_us();
        if slot == 200 {
            let moving = source.depart(1, now_us, &mut Vec::new()).unwrap();
            target.enter(config.clone(), &probe, moving, now_us + 10_000).unwrap();
        }
        for cell in [&mut always, &mut source, &mut target] {
            cell.slot(now_us, &mut Vec::new());
        }
        if slot >= 220 {
            let mcs = |cell: &Cell<Packet>| cell.mac_report(1, now_us).unwrap().dl_mcs1;
            assert_eq!(mcs(&always), mcs(&target), "slot {slot}");
            compared += 1;
        }
    }
    assert_eq!(compared, 780);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is sent and whenever the UE moves, a packet is delivered once and in order, or in UM lost.
    #[test]
    fn each_packet_is_delivered_once_or_lost_in_um(
        is_am: bool,
        bler in 0.0..0.5,
        steps in prop::collection::vec((0u64..20, 40u32..3_000, 0u64..60, 0u64..30_000), 1..25),
    ) {
        let bearer = if is_am { am() } else { BearerConfig::um(1) };
        let mut moving = Moving::new(bearer, bler);
        for (packets, len, slots, silent_us) in steps {
            moving.send(packets, len);
            moving.run(slots);
            moving.hand_over(silent_us);
        }
        moving.run(6_000);
        let ids = moving.ids();
        let distinct: BTreeSet<u64> = ids.iter().copied().collect();
        prop_assert_eq!(distinct.len(), ids.len());
        prop_assert!(ids.is_sorted());
        let lost: u64 = moving.cells.iter().map(|cell| cell.totals().lost_sdus).sum();
        prop_assert_eq!(ids.len() as u64 + lost, moving.next_id);
        let arrived = moving.uplink_tags(true);
        let ended = moving.uplink_tags(false);
        prop_assert!(arrived.is_sorted_by(|a, b| a < b));
        prop_assert_eq!((arrived.len() + ended.len()) as u64, moving.next_id);
        if is_am {
            prop_assert_eq!((lost, ended.len()), (0, 0));
        }
    }
}
