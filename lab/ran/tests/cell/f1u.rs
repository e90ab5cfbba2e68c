//! F1-U in front of a cell: the CU's view of the DU matches the DU.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Packet, ue};
use ran::f1u::delivery_status::sn24;
use ran::{
    AmConfig, BearerConfig, BlockErrors, Cell, CellConfig, Channel, DeliveryStatus,
    DeliveryTracker, F1Config, F1Path, HarqConfig, NrUReceiver,
};

const DOWN_US: u32 = 10_000;
const HEADER_BYTES: u64 = 2;

/// CU and DU with the two directions of F1-U between them.
struct Split {
    cell: Cell<Packet>,
    is_am: bool,
    down: F1Path,
    up: F1Path,
    tracker: DeliveryTracker,
    receiver: NrUReceiver,
    /// Frames on F1-U by arrival; ties in the order of sending.
    on_f1: BTreeMap<(u64, u64), u64>,
    frames: BTreeMap<(u64, u64), (u64, Vec<u8>)>,
    sent: u64,
    at_ue: Vec<u64>,
    next_frame: u64,
}

impl Split {
    fn new(bearer: BearerConfig, f1: F1Config, bler: f64) -> Self {
        let errors = BlockErrors { bler, combining_gain: 1.0 };
        let harq = HarqConfig { errors, max_transmissions: 2, ..CellConfig::lte_5mhz().harq };
        let mut cell = Cell::new(CellConfig { harq, ..CellConfig::lte_5mhz() }).unwrap();
        cell.add_ue(ue(1, Channel::FixedMcs(28))).unwrap();
        let is_am = matches!(bearer.mode, ran::RlcMode::Am(_));
        assert_eq!(cell.add_bearer(1, bearer).unwrap(), 0);
        Self {
            cell,
            is_am,
            down: F1Path::new(f1, 3, 1).unwrap(),
            up: F1Path::new(F1Config { jitter_us: 0, loss: 0.0, ..f1 }, 3, 2).unwrap(),
            tracker: DeliveryTracker::default(),
            receiver: NrUReceiver::new(if f1.keep_order { 0 } else { f1.jitter_us }),
            on_f1: BTreeMap::new(),
            frames: BTreeMap::new(),
            sent: 0,
            at_ue: Vec::new(),
            next_frame: 0,
        }
    }

    fn send(&mut self, now_us: u64) {
        let number = self.tracker.sent(1000, now_us);
        self.sent += 1;
        if let Some(at_us) = self.down.transit(now_us) {
            self.on_f1.insert((at_us, number), number);
        }
    }

    fn arrivals(&mut self, now_us: u64) {
        while let Some(entry) = self.on_f1.first_entry().filter(|e| e.key().0 <= now_us) {
            let number = entry.remove();
            let count = self.receiver.receive(number, self.cell.next_count(0).unwrap(), now_us);
            let packet = Packet { id: number, len: 1000 };
            if self.cell.enqueue_numbered(0, count, packet, now_us).is_ok() {
                self.receiver.enqueued(number, count);
            }
        }
    }

    /// A slot; the DU sends a frame every 5 ms.
    fn slot(&mut self) {
        let now_us = self.cell.next_slot_us();
        self.arrivals(now_us);
        let mut out = Vec::new();
        self.cell.slot(now_us, &mut out);
        self.at_ue.extend(out.iter().map(|delivery| delivery.sdu.id));
        if now_us.is_multiple_of(5_000) {
            let (sent, acknowledged) = self.cell.progress(0).unwrap();
            self.receiver.progress(sent, acknowledged);
            let (transmitted, delivered) = self.receiver.highest();
            let lost = self.receiver.take_lost(now_us, 255);
            let frame = DeliveryStatus {
                highest_transmitted: transmitted.map(sn24),
                highest_delivered: delivered.map(sn24),
                lost: lost.into_iter().map(|(from, to)| (sn24(from), sn24(to))).collect(),
                ..DeliveryStatus::default()
            };
            let at_us = self.up.transit(now_us).unwrap();
            self.next_frame += 1;
            self.frames.insert((at_us, self.next_frame), (now_us, frame.encode()));
        }
    }

    fn receive_frames(&mut self, now_us: u64) -> Option<ran::Outstanding> {
        let mut known = None;
        while let Some(entry) = self.frames.first_entry().filter(|e| e.key().0 <= now_us) {
            let (made_us, bytes) = entry.remove();
            let frame = DeliveryStatus::decode(&bytes).unwrap();
            known = Some(self.tracker.on_delivery_status(
                &frame,
                self.is_am,
                made_us,
                u64::from(DOWN_US),
            ));
        }
        known
    }
}

fn f1(jitter_us: u32, loss: f64, keep_order: bool) -> F1Config {
    F1Config { delay_us: DOWN_US, jitter_us, loss, keep_order }
}

#[test]
fn without_loss_the_cu_knows_the_buffer_of_the_du_at_the_time_of_the_frame() {
    for bearer in [BearerConfig::um(1), BearerConfig::am(1, AmConfig::lte())] {
        let mut split = Split::new(bearer, f1(0, 0.0, true), 0.0);
        let mut held = BTreeMap::new();
        let mut compared = 0;
        for ms in 0..2_000u64 {
            let now_us = ms * 1_000;
            // 24 Mbit/s for a second, then nothing.
            (0..if ms < 1_000 { 3 } else { 0 }).for_each(|_| split.send(now_us));
            split.slot();
            let status = split.cell.bearer_status(0).unwrap();
            held.insert(now_us, status);
            let Some(known) = split.receive_frames(now_us) else { continue };
            let then = held[&(now_us - u64::from(DOWN_US))];
            assert_eq!(known.in_rlc_packets, then.occupancy_packets, "{ms} ms");
            // The SDU at the head may have left in part.
            let bytes =
                u64::from(then.occupancy_bytes) - HEADER_BYTES * u64::from(then.occupancy_packets);
            assert!((bytes..bytes + 1_010).contains(&(known.in_rlc_bytes + HEADER_BYTES)));
            assert_eq!(known.unacknowledged_packets, then.unacknowledged_packets, "{ms} ms");
            compared += 1;
        }
        assert!(compared > 300);
        assert_eq!(split.at_ue, (0..split.sent).collect::<Vec<_>>());
        assert_eq!(split.tracker.tracked_packets(), 0);
    }
}

#[test]
fn every_packet_arrives_or_is_reported_lost_and_both_ends_agree() {
    for (bearer, f1, bler) in [
        (BearerConfig::um(1), f1(0, 0.05, true), 0.0),
        (BearerConfig::um(1), f1(3_000, 0.05, false), 0.0),
        (BearerConfig::am(1, AmConfig::default()), f1(0, 0.05, true), 0.0),
        (BearerConfig::am(1, AmConfig::default()), f1(3_000, 0.02, false), 0.1),
    ] {
        let mut split = Split::new(bearer, f1, bler);
        for ms in 0..4_000u64 {
            let now_us = ms * 1_000;
            if ms < 2_000 {
                split.send(now_us);
            }
            split.slot();
            split.receive_frames(now_us);
        }
        let lost = split.down.lost_frames();
        assert!(lost > 20);
        // The loss of the last packets has no successor that reveals it.
        assert!(lost - split.receiver.lost_packets() <= 2, "{f1:?}");
        assert_eq!(split.tracker.lost_packets(), split.receiver.lost_packets());
        assert!(split.tracker.tracked_packets() <= 2);
        assert_eq!(split.at_ue.len() as u64 + lost + split.cell.totals().lost_sdus, split.sent);
        assert!(split.at_ue.is_sorted(), "PDCP restores the order: {f1:?}");
        assert_eq!(split.at_ue.iter().collect::<BTreeSet<_>>().len(), split.at_ue.len());
    }
}

#[test]
fn pdcp_waits_for_a_packet_lost_on_f1_until_t_reordering_and_a_late_packet_fills_the_gap() {
    let mut cell = Cell::new(CellConfig::lte_5mhz()).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(28))).unwrap();
    let bearer = cell.add_bearer(1, BearerConfig::um(1)).unwrap();
    let mut out = Vec::new();
    for (count, at_us) in [(0, 0), (2, 0), (1, 20_000), (4, 30_000)] {
        while cell.next_slot_us() <= at_us {
            cell.slot(cell.next_slot_us(), &mut out);
        }
        cell.enqueue_numbered(bearer, count, Packet { id: count, len: 100 }, at_us).unwrap();
    }
    while cell.next_slot_us() < 300_000 {
        cell.slot(cell.next_slot_us(), &mut out);
    }
    let got: Vec<(u64, u64)> = out.iter().map(|d| (d.sdu.id, d.delivered_us / 1000)).collect();
    // t-Reordering of 100 ms from 35 ms on, when 4 came and 3 was missing.
    assert_eq!(got, [(0, 5), (1, 25), (2, 25), (4, 135)]);
}

#[test]
fn recalled_packets_are_no_longer_outstanding() {
    let mut tracker = DeliveryTracker::default();
    let numbers: Vec<u64> = (0..10).map(|i| tracker.sent(100, i)).collect();
    numbers[4..8].iter().for_each(|number| tracker.recalled(*number));
    let frame = |transmitted| DeliveryStatus {
        highest_transmitted: Some(transmitted),
        ..DeliveryStatus::default()
    };
    let known = tracker.on_delivery_status(&frame(1), false, 100, 0);
    assert_eq!((known.in_rlc_packets, known.in_rlc_bytes), (4, 400));
    assert_eq!((known.removed.count, known.removed.min_us, known.removed.max_us), (2, 99, 100));
    let known = tracker.on_delivery_status(&frame(9), false, 200, 0);
    assert_eq!((known.in_rlc_packets, known.in_rlc_bytes, known.received_bytes), (0, 0, 1_000));
    assert_eq!((known.removed.count, tracker.tracked_packets()), (4, 0));
    // An outdated frame changes nothing.
    let late = tracker.on_delivery_status(&frame(1), false, 300, 0);
    assert_eq!((late.in_rlc_packets, late.received_bytes, late.removed.count), (0, 1_000, 0));
}
