//! Vectors of v0: every message of the layout.

use std::io::{self, Write};

use e2sm_tc::json::Kind;
use e2sm_tc::v0::*;

use super::Vectors;

const FILTER: Filter = Filter {
    id: 3,
    src_addr: 0x0a2d_0002,
    dst_addr: -1,
    src_port: -1,
    dst_port: 443,
    protocol: 17,
    l7: 0,
    dst_queue: 2,
};

pub(super) fn all(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    for (name, message) in controls() {
        vectors.v0(Kind::Control, name, &message)?;
    }
    vectors.v0(Kind::ControlHeader, "control_header", &ControlHeader { dummy: 0x0102_0304 })?;
    vectors.v0(Kind::ControlOutcome, "control_outcome_ok", &ControlOutcome::Ok)?;
    vectors.v0(Kind::EventTrigger, "event_trigger_10ms", &EventTrigger { ms: 10 })?;
    vectors.v0(Kind::IndicationHeader, "indication_header", &IndicationHeader { dummy: 0 })?;
    for (name, message) in indications() {
        vectors.v0(Kind::Indication, name, &message)?;
    }
    Ok(())
}

fn controls() -> Vec<(&'static str, ControlMessage)> {
    let dummy = 7;
    let classifier = [
        ("cls_add_rr", ClassifierControl::Add(AddClassifier::RoundRobin { dummy })),
        ("cls_add_osi", ClassifierControl::Add(AddClassifier::Osi(new_filter()))),
        ("cls_add_sto", ClassifierControl::Add(AddClassifier::Stochastic { dummy })),
        ("cls_del_rr", ClassifierControl::Delete(DeleteClassifier::RoundRobin { dummy })),
        ("cls_del_osi", ClassifierControl::Delete(DeleteClassifier::Osi { filter_id: 3 })),
        ("cls_del_sto", ClassifierControl::Delete(DeleteClassifier::Stochastic { dummy })),
        ("cls_mod_rr", ClassifierControl::Modify(ModifyClassifier::RoundRobin { dummy })),
        ("cls_mod_osi", ClassifierControl::Modify(ModifyClassifier::Osi { filter: FILTER })),
        ("cls_mod_sto", ClassifierControl::Modify(ModifyClassifier::Stochastic { dummy })),
    ]
    .map(|(name, control)| (name, ControlMessage::Classifier(control)));
    let policer = [
        ("plc_add", PolicerControl::Add { dummy }),
        ("plc_del", PolicerControl::Delete { id: 1 }),
        (
            "plc_mod",
            PolicerControl::Modify {
                id: 1,
                drop_rate_kbps: 9_000,
                dev_id: 2,
                dev_rate_kbps: 4_000,
                active: 1,
            },
        ),
    ]
    .map(|(name, control)| (name, ControlMessage::Policer(control)));
    let shaper = [
        ("shp_add", ShaperControl::Add { dummy }),
        ("shp_del", ShaperControl::Delete { id: 1 }),
        (
            "shp_mod",
            ShaperControl::Modify { id: 1, time_window_ms: 100, max_rate_kbps: 5_000, active: 1 },
        ),
    ]
    .map(|(name, control)| (name, ControlMessage::Shaper(control)));
    let scheduler = [
        ("sch_add", SchedulerControl::Add { dummy }),
        ("sch_del", SchedulerControl::Delete { dummy }),
        ("sch_mod_rr", SchedulerControl::Modify(ModifyScheduler::RoundRobin { dummy })),
        (
            "sch_mod_prio",
            SchedulerControl::Modify(ModifyScheduler::Priority { q_prio: vec![2, 0, 1] }),
        ),
    ]
    .map(|(name, control)| (name, ControlMessage::Scheduler(control)));
    let pacer = [
        ("pcr_add", PacerControl::Add { dummy }),
        ("pcr_del", PacerControl::Delete { dummy }),
        ("pcr_mod_dummy", PacerControl::Modify(ModifyPacer::Dummy { dummy })),
        (
            "pcr_mod_5g_bdp",
            PacerControl::Modify(ModifyPacer::Bdp5g {
                drb_sz: 90_000,
                tstamp: 1_700_000_000_654_321,
            }),
        ),
    ]
    .map(|(name, control)| (name, ControlMessage::Pacer(control)));
    classifier
        .into_iter()
        .chain(policer)
        .chain(queues())
        .chain(scheduler)
        .chain(shaper)
        .chain(pacer)
        .collect()
}

fn queues() -> Vec<(&'static str, ControlMessage)> {
    let fifo = QueueParameters::Fifo { dummy: 7 };
    let codel = QueueParameters::Codel { target_ms: 5, interval_ms: 100 };
    let ecn = QueueParameters::EcnCodel { target_ms: 15, interval_ms: 300 };
    let modify = |parameters| QueueControl::Modify { id: 4, parameters };
    let delete = |queue_type| QueueControl::Delete { id: 4, queue_type };
    [
        ("queue_add_fifo", QueueControl::Add(fifo.clone())),
        ("queue_add_codel", QueueControl::Add(codel.clone())),
        ("queue_add_ecn_codel", QueueControl::Add(ecn.clone())),
        ("queue_del_fifo", delete(QueueType::Fifo)),
        ("queue_del_codel", delete(QueueType::Codel)),
        ("queue_del_ecn_codel", delete(QueueType::EcnCodel)),
        ("queue_mod_fifo", modify(fifo)),
        ("queue_mod_codel", modify(codel)),
        ("queue_mod_ecn_codel", modify(ecn)),
    ]
    .map(|(name, control)| (name, ControlMessage::Queue(control)))
    .into()
}

fn new_filter() -> NewFilter {
    let Filter { src_addr, dst_addr, src_port, dst_port, protocol, dst_queue, .. } = FILTER;
    NewFilter { src_addr, dst_addr, src_port, dst_port, protocol, dst_queue }
}

fn indications() -> Vec<(&'static str, IndicationMessage)> {
    let meter = Meter { bnd_flt: 1_234.5, time_window_ms: 50 };
    let empty = IndicationMessage {
        sch: SchedulerStatus::RoundRobin,
        pcr: PacerStatus { kind: PacerType::Dummy, id: 13, mtr: meter },
        cls: ClassifierStatus::RoundRobin { dummy: 21 },
        q: vec![],
        tstamp: 1_700_000_000_654_321,
    };
    let dropping = DroppingQueue {
        bytes: 1_000,
        pkts: 10,
        bytes_fwd: 5_000,
        pkts_fwd: 50,
        dropped_pkts: 3,
        avg_sojourn_time: 100.5,
        last_sojourn_time: -5,
    };
    let marking = MarkingQueue {
        bytes: 1_002,
        pkts: 12,
        bytes_fwd: 5_002,
        pkts_fwd: 52,
        marked_pkts: 5,
        avg_sojourn_time: 0.25,
        last_sojourn_time: i64::MAX,
    };
    let queue = |id, queue| QueueStatus {
        shp: Shaper { id, active: 1, max_rate_kbps: 1_000, mtr: meter },
        plc: Policer {
            id,
            mtr: Meter { bnd_flt: -2.5, time_window_ms: 20 },
            dropped_pkts: 7,
            marked_pkts: 8,
            max_rate_kbps: 124.5,
            active: 1,
            dst_id: 2,
            dev_id: 3,
        },
        queue,
    };
    let full = IndicationMessage {
        sch: SchedulerStatus::Priority { q_prio: vec![2, 0, 1] },
        pcr: PacerStatus { kind: PacerType::Bdp5g, id: 13, mtr: meter },
        cls: ClassifierStatus::Osi { flt: vec![FILTER, Filter { id: 4, l7: 1, ..FILTER }] },
        q: vec![
            queue(0, Queue::Fifo(dropping)),
            queue(1, Queue::Codel(dropping)),
            queue(2, Queue::EcnCodel(marking)),
        ],
        ..empty.clone()
    };
    let hashed =
        IndicationMessage { cls: ClassifierStatus::Stochastic { dummy: 21 }, ..empty.clone() };
    vec![("indication_empty", empty), ("indication_hashed", hashed), ("indication_full", full)]
}
