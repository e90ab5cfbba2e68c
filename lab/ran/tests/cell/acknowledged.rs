//! RLC-AM end to end: every SDU arrives once under loss, reordering and resegmentation.

use crate::common::{Step, steps};
use proptest::prelude::*;
use ran::rlc::am::status::Nack;
use ran::rlc::am::{AmReceiver, AmTransmitter, AmdPdu, StatusPdu};
use ran::rlc::{AmConfig, AmSnLength};

const SLOT_US: u64 = 1_000;

/// Transmitter, receiver and PDUs in transit.
struct Link {
    config: AmConfig,
    tx: AmTransmitter<u64>,
    rx: AmReceiver<u64>,
    air: Vec<(u64, AmdPdu)>,
    reports: Vec<(u64, StatusPdu)>,
    prohibit_until_us: u64,
    delivered: Vec<u64>,
    removed: u64,
    failures: u64,
    slot: u64,
}

impl Link {
    fn new(config: AmConfig) -> Self {
        Self {
            tx: AmTransmitter::new(&config, u32::MAX, u32::MAX),
            rx: AmReceiver::new(&config),
            config,
            air: Vec::new(),
            reports: Vec::new(),
            prohibit_until_us: 0,
            delivered: Vec::new(),
            removed: 0,
            failures: 0,
            slot: 0,
        }
    }

    fn now_us(&self) -> u64 {
        self.slot * SLOT_US
    }

    fn fail(&mut self) {
        self.failures += 1;
        self.tx.reestablish();
        let delivered = &mut self.delivered;
        self.rx.reestablish(|_, payload| delivered.push(payload.sdu));
        self.air.clear();
        self.reports.clear();
    }

    /// One slot: reports arrive, a block is sent, due PDUs arrive, a report is sent.
    fn slot(&mut self, step: &Step) {
        let now_us = self.now_us();
        let due = |at: &mut (u64, StatusPdu)| at.0 <= now_us;
        for (_, status) in self.reports.extract_if(.., due).collect::<Vec<_>>() {
            let bytes = status.encode(self.config.sn_length);
            let status = StatusPdu::decode(&bytes, self.config.sn_length).unwrap();
            let removed = &mut self.removed;
            if self.tx.receive_status(&status, now_us, |_| *removed += 1).max_retx_reached {
                self.fail();
            }
        }
        if self.tx.expire(now_us) {
            self.fail();
        }
        let mut in_block = 0;
        let (mut pdus, late_us) = (Vec::new(), step.late_slots * SLOT_US);
        let demand = self.tx.demand_bytes();
        assert_eq!(self.tx.block_bytes_of_sdus().map(u64::from).sum::<u64>(), demand);
        let used = self.tx.pull(
            step.grant,
            now_us,
            |_| {},
            |pdu, bytes| {
                assert_eq!(pdu.len_bytes(self.config.sn_length), bytes);
                in_block += bytes;
                pdus.push((now_us + late_us, pdu));
            },
        );
        assert!(in_block <= used && used <= step.grant);
        if u64::from(step.grant) >= demand {
            assert_eq!(u64::from(used), demand, "one pull uses the demand");
            assert_eq!(self.tx.demand_bytes(), 0);
        }
        if !step.lost {
            self.air.extend(pdus);
        }
        for (_, pdu) in self.air.extract_if(.., |at| at.0 <= now_us).collect::<Vec<_>>() {
            let (tx, delivered) = (&mut self.tx, &mut self.delivered);
            let take_sdu = |seq| tx.take_received(seq);
            self.rx.receive(pdu, now_us, take_sdu, |_, payload| delivered.push(payload.sdu));
        }
        self.rx.expire(now_us);
        if self.rx.status_triggered_since_us().is_some() && now_us >= self.prohibit_until_us {
            let status = self.rx.make_status(400).unwrap();
            assert!(status.len_bytes(self.config.sn_length) <= 400);
            self.prohibit_until_us = now_us + u64::from(self.config.t_status_prohibit_us);
            if !step.status_lost {
                self.reports.push((now_us + (1 + step.status_late_slots) * SLOT_US, status));
            }
        }
        self.slot += 1;
    }

    fn good_slot(&mut self, grant: u32) {
        self.slot(&Step { grant, ..Step::default() });
    }
}

/// All steps, then slots without loss until the buffer is empty.
fn run(steps: &[Step], config: AmConfig) -> Link {
    let mut link = Link::new(config);
    let mut sent = 0;
    for step in steps {
        for bytes in &step.sdus {
            link.tx.enqueue(sent, *bytes, link.now_us()).unwrap();
            sent += 1;
        }
        link.slot(step);
    }
    for _ in 0..3_000 {
        link.good_slot(3_000);
    }
    assert_eq!(link.tx.held_packets(), 0, "the buffer empties");
    assert_eq!((link.tx.occupancy_bytes(), link.tx.occupancy_packets()), (0, 0));
    assert_eq!((link.tx.unacknowledged_bytes(), link.tx.unacknowledged_packets()), (0, 0));
    assert_eq!(link.tx.demand_bytes(), 0);
    assert_eq!(link.removed, sent, "each is removed once");
    let mut seen = link.delivered.clone();
    seen.sort_unstable();
    assert_eq!(seen, (0..sent).collect::<Vec<_>>(), "every SDU once");
    link
}

fn am(long: bool, in_order: bool) -> AmConfig {
    let sn_length = if long { AmSnLength::Eighteen } else { AmSnLength::Twelve };
    AmConfig { sn_length, in_order, t_poll_retransmit_us: 20_000, ..AmConfig::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn without_loss_every_sdu_arrives_in_order_and_nothing_is_sent_twice(
        steps in steps(0.0, 0),
        long in any::<bool>(),
    ) {
        let link = run(&steps, am(long, false));
        prop_assert!(link.delivered.is_sorted());
        prop_assert_eq!(link.tx.retransmitted(), (0, 0));
        prop_assert_eq!(link.rx.counts().duplicates, 0);
    }

    #[test]
    fn loss_of_blocks_and_reports_loses_no_sdu(
        steps in steps(0.3, 0),
        long in any::<bool>(),
        in_order in any::<bool>(),
    ) {
        let link = run(&steps, am(long, in_order));
        prop_assert!(!in_order || link.delivered.is_sorted());
    }

    #[test]
    fn loss_and_reordering_together_lose_no_sdu(
        steps in steps(0.2, 30),
        long in any::<bool>(),
        in_order in any::<bool>(),
    ) {
        let link = run(&steps, am(long, in_order));
        prop_assert!(!in_order || link.delivered.is_sorted());
    }

    #[test]
    fn a_radio_link_failure_loses_no_sdu(steps in steps(0.6, 3), in_order in any::<bool>()) {
        let config = AmConfig { max_retx_threshold: 1, ..am(false, in_order) };
        run(&steps, config);
    }
}

#[test]
fn a_lost_segment_is_reported_by_its_bytes_and_retransmitted_in_smaller_pieces() {
    let config = AmConfig { t_reassembly_us: 5_000, ..am(false, false) };
    let mut link = Link::new(config);
    link.tx.enqueue(0, 1_000, 0).unwrap();
    link.tx.enqueue(1, 500, 0).unwrap();
    // Segments of 300 B: 3 B of MAC and 2 of RLC in the first block, then 4 of RLC.
    link.good_slot(305);
    link.slot(&Step { grant: 307, lost: true, ..Step::default() });
    link.good_slot(2_000);
    assert_eq!(link.delivered, [1], "a later SDU does not wait");
    assert_eq!(link.rx.deadline_us(), Some(7_000));
    while link.reports.is_empty() {
        link.good_slot(0);
    }
    let status = link.reports[0].1.clone();
    assert_eq!((status.ack_sn, status.nacks.len()), (2, 1));
    assert_eq!((status.nacks[0].sn, status.nacks[0].so), (0, Some((300, 599))));
    assert_eq!(status.len_bytes(AmSnLength::Twelve), 3 + 2 + 4);
    link.good_slot(0);
    assert_eq!((link.tx.occupancy_bytes(), link.tx.occupancy_packets()), (300, 1));
    assert_eq!(link.tx.demand_bytes(), 300 + 4 + 3);
    link.good_slot(107);
    link.good_slot(107);
    assert_eq!(link.delivered, [1]);
    link.good_slot(2_000);
    assert_eq!(link.delivered, [1, 0]);
    assert_eq!(link.tx.retransmitted().0, 3);
}

#[test]
fn the_poll_of_a_lost_last_pdu_is_repeated_by_t_poll_retransmit() {
    let config = AmConfig { t_poll_retransmit_us: 45_000, ..am(false, false) };
    let mut link = Link::new(config);
    link.tx.enqueue(7, 100, 0).unwrap();
    link.slot(&Step { grant: 1_000, lost: true, ..Step::default() });
    assert_eq!(link.tx.deadline_us(), Some(45_000));
    for _ in 1..45 {
        link.good_slot(1_000);
        assert!(link.delivered.is_empty());
    }
    link.good_slot(1_000);
    assert_eq!(link.delivered, [7]);
    for _ in 0..3 {
        link.good_slot(1_000);
    }
    assert_eq!((link.tx.held_packets(), link.tx.deadline_us()), (0, None));
}

#[test]
fn a_stalled_window_polls_and_opens_again() {
    let config = AmConfig { poll_pdu: None, poll_byte: None, ..am(false, false) };
    let mut link = Link::new(config);
    for id in 0..3_000 {
        link.tx.enqueue(id, 10, 0).unwrap();
    }
    // 2048 SDUs of 10 + 2 + 2 bytes are all that may leave without an acknowledgement.
    assert_eq!(link.tx.demand_bytes(), 2_048 * 14);
    let mut polls = Vec::new();
    let used = link.tx.pull(1_000_000, 0, |_| {}, |pdu, _| polls.push(pdu.poll));
    assert_eq!((used, polls.len()), (2_048 * 14, 2_048));
    assert_eq!(polls.iter().filter(|poll| **poll).count(), 1);
    assert!(polls[2_047], "the PDU that stalls the window polls");
    assert_eq!(link.tx.demand_bytes(), 0, "a stalled bearer needs no PRB");
    // That block is lost.
    for _ in 0..200 {
        link.good_slot(30_000);
    }
    assert_eq!(link.delivered.len(), 3_000);
    assert_eq!(link.tx.held_packets(), 0);
}

#[test]
fn max_retx_is_reported_when_the_threshold_is_reached() {
    let config = AmConfig { max_retx_threshold: 3, ..am(false, false) };
    let mut tx = AmTransmitter::new(&config, 10, 10_000);
    tx.enqueue(0u64, 100, 0).unwrap();
    let nack = Nack { sn: 0, so: None, range: None };
    let status = StatusPdu { ack_sn: 1, nacks: vec![nack] };
    let reached: Vec<bool> = (0..4)
        .map(|_| {
            assert!(tx.pull(1_000, 0, |_| {}, |_, _| {}) > 0);
            tx.receive_status(&status, 0, |_| {}).max_retx_reached
        })
        .collect();
    // RETX_COUNT is 0 with the first retransmission (38.322 §5.3.2).
    assert_eq!(reached, [false, false, false, true]);
}

#[test]
fn a_report_about_sdus_never_sent_is_ignored() {
    let mut tx = AmTransmitter::new(&am(false, false), 10, 10_000);
    tx.enqueue(0u64, 100, 0).unwrap();
    tx.pull(1_000, 0, |_| {}, |_, _| {});
    for ack_sn in [2, 1_000, 4_095] {
        let status = StatusPdu { ack_sn, nacks: vec![] };
        assert!(tx.receive_status(&status, 0, |_| {}).is_ignored, "{ack_sn}");
    }
    assert_eq!(tx.held_packets(), 1);
}

/// The outdated report names a run whose first SDU a newer report has acknowledged.
#[test]
fn an_outdated_report_acknowledges_no_sdu_that_it_names_as_missing() {
    let mut tx = AmTransmitter::new(&am(false, false), 10, 10_000);
    for seq in 0..3u64 {
        tx.enqueue(seq, 100, 0).unwrap();
    }
    tx.pull(1_000, 0, |_| {}, |_, _| {});
    let newer = StatusPdu { ack_sn: 1, nacks: vec![] };
    tx.receive_status(&newer, 0, |_| {});
    let older = StatusPdu { ack_sn: 3, nacks: vec![Nack { sn: 0, so: None, range: Some(2) }] };
    let mut removed = 0;
    tx.receive_status(&older, 0, |_| removed += 1);
    assert_eq!(removed, 1, "the third SDU");
    assert_eq!((tx.held_packets(), tx.occupancy_bytes()), (1, 100), "the second is sent again");
}

#[test]
fn sdus_stay_in_the_buffer_and_count_for_its_limits_until_acknowledged() {
    let mut tx = AmTransmitter::new(&am(false, false), 2, 10_000);
    tx.enqueue(0u64, 100, 0).unwrap();
    tx.enqueue(1, 100, 0).unwrap();
    tx.pull(1_000, 0, |_| {}, |_, _| {});
    assert_eq!((tx.occupancy_packets(), tx.unacknowledged_packets()), (0, 2));
    assert_eq!(tx.enqueue(2, 100, 0), Err(2));
    tx.take_received(0).unwrap();
    let mut delays = Vec::new();
    let status = StatusPdu { ack_sn: 1, nacks: vec![] };
    tx.receive_status(&status, 30_000, |delay_us| delays.push(delay_us));
    assert_eq!((delays, tx.enqueue(2, 100, 0)), (vec![30_000], Ok(())));
}

#[test]
fn an_sdu_sent_in_part_stays_and_the_rest_is_returned_without_a_gap() {
    let mut tx = AmTransmitter::new(&am(false, false), 100, 100_000);
    for id in 0..4u64 {
        tx.enqueue(id, 1_000, 0).unwrap();
    }
    tx.pull(1_500, 0, |_| {}, |_, _| {});
    assert_eq!(tx.take_unsent().collect::<Vec<_>>(), [2, 3]);
    assert_eq!((tx.held_packets(), tx.next_count()), (2, 2));
    tx.enqueue(9, 1_000, 0).unwrap();
    let mut pdus = Vec::new();
    let demand = tx.demand_bytes() as u32;
    assert_eq!(
        tx.pull(demand, 0, |_| {}, |pdu, _| pdus.push((pdu.sn, pdu.so > 0, pdu.last))),
        demand
    );
    assert_eq!(pdus, [(1, true, true), (2, false, true)]);
    assert_eq!(tx.into_sdus().collect::<Vec<_>>(), [0, 1, 9]);
}

#[test]
fn both_windows_are_bounded_and_a_very_poor_link_fails() {
    let config = AmConfig { max_retx_threshold: 1, ..am(false, true) };
    let mut link = Link::new(config);
    let mut sent = 0;
    for slot in 0..3_000u64 {
        while link.tx.held_packets() < 3_000 {
            link.tx.enqueue(sent, 20, link.now_us()).unwrap();
            sent += 1;
        }
        // Two blocks of three are lost, and every other report.
        let step = Step {
            grant: 20_000,
            lost: slot % 3 > 0,
            late_slots: slot % 5,
            status_lost: slot % 2 > 0,
            ..Step::default()
        };
        link.slot(&step);
        assert!(link.rx.window_sdus() <= 2_048 && link.rx.held_payloads() <= 2_048);
        let unacknowledged = link.tx.unacknowledged_packets();
        assert!(unacknowledged <= 2_048 && link.tx.occupancy_packets() <= 3_000);
    }
    assert!(link.failures > 0);
    let mut seen = link.delivered.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), link.delivered.len(), "no SDU twice");
    assert!(seen.len() > 2_048, "{}", seen.len());
}
