//! The layout of every message, component by component.

use super::plain::{Cursor, Plain};
use super::{control::*, indication::*};
use crate::error::{DecodeError, EncodeError, Problem};

plain_struct!(EventTrigger { ms: u32 });
plain_struct!(ControlHeader { dummy: u32 });
plain_struct!(IndicationHeader { dummy: u32 });

plain_union!(ControlOutcome, "out" { 0 "OK" => Ok() });

plain_union!(ControlMessage, "type" {
    0 "CLS" => Classifier(ClassifierControl),
    1 "PLC" => Policer(PolicerControl),
    2 "QUEUE" => Queue(QueueControl),
    3 "SCH" => Scheduler(SchedulerControl),
    4 "SHP" => Shaper(ShaperControl),
    5 "PCR" => Pacer(PacerControl),
});

plain_union!(ClassifierControl, "act" {
    0 "ADD" => Add(AddClassifier),
    1 "DEL" => Delete(DeleteClassifier),
    2 "MOD" => Modify(ModifyClassifier),
});

plain_union!(AddClassifier, "cls_type" {
    0 "RR" => RoundRobin { dummy: u32 },
    1 "OSI" => Osi(NewFilter),
    2 "STO" => Stochastic { dummy: u32 },
});

plain_union!(DeleteClassifier, "cls_type" {
    0 "RR" => RoundRobin { dummy: u32 },
    1 "OSI" => Osi { filter_id: u32 },
    2 "STO" => Stochastic { dummy: u32 },
});

plain_union!(ModifyClassifier, "cls_type" {
    0 "RR" => RoundRobin { dummy: u32 },
    1 "OSI" => Osi { filter: Filter },
    2 "STO" => Stochastic { dummy: u32 },
});

plain_struct!(NewFilter {
    src_addr: i64,
    dst_addr: i64,
    src_port: i32,
    dst_port: i32,
    protocol: i32,
    dst_queue: i32,
});

plain_union!(PolicerControl, "act" {
    0 "ADD" => Add { dummy: u32 },
    1 "DEL" => Delete { id: u32 },
    2 "MOD" => Modify {
        id: u32,
        drop_rate_kbps: u32,
        dev_id: u32,
        dev_rate_kbps: u32,
        active: u32,
    },
});

plain_union!(QueueControl, "act" {
    0 "ADD" => Add(QueueParameters),
    1 "DEL" => Delete { id: u32, queue_type: QueueType },
    2 "MOD" => Modify { id: u32, parameters: QueueParameters },
});

plain_union!(QueueType, "" {
    0 "FIFO" => Fifo(),
    1 "CODEL" => Codel(),
    2 "ECN_CODEL" => EcnCodel(),
});

plain_union!(QueueParameters, "queue_type" {
    0 "FIFO" => Fifo { dummy: u32 },
    1 "CODEL" => Codel { target_ms: u32, interval_ms: u32 },
    2 "ECN_CODEL" => EcnCodel { target_ms: u32, interval_ms: u32 },
});

plain_union!(SchedulerControl, "act" {
    0 "ADD" => Add { dummy: u32 },
    1 "DEL" => Delete { dummy: u32 },
    2 "MOD" => Modify(ModifyScheduler),
});

plain_union!(ModifyScheduler, "sch_type" {
    0 "RR" => RoundRobin { dummy: u32 },
    1 "PRIO" => Priority { q_prio: Vec<u32> },
});

plain_union!(ShaperControl, "act" {
    0 "ADD" => Add { dummy: u32 },
    1 "DEL" => Delete { id: u32 },
    2 "MOD" => Modify { id: u32, time_window_ms: u32, max_rate_kbps: u32, active: u32 },
});

plain_union!(PacerControl, "act" {
    0 "ADD" => Add { dummy: u32 },
    1 "DEL" => Delete { dummy: u32 },
    2 "MOD" => Modify(ModifyPacer),
});

plain_union!(ModifyPacer, "pcr_type" {
    0 "DUMMY" => Dummy { dummy: u32 },
    1 "5G_BDP" => Bdp5g { drb_sz: u32, tstamp: i64 },
});

plain_struct!(IndicationMessage {
    sch: SchedulerStatus,
    pcr: PacerStatus,
    cls: ClassifierStatus,
    q: Vec<QueueStatus>,
    tstamp: i64,
});

plain_union!(SchedulerStatus, "type" {
    0 "RR" => RoundRobin(),
    1 "PRIO" => Priority { q_prio: Vec<u32> },
});

plain_struct!(PacerStatus { kind: PacerType, id: u32, mtr: Meter });

plain_union!(PacerType, "" {
    0 "DUMMY" => Dummy(),
    1 "5G_BDP" => Bdp5g(),
});

plain_struct!(Meter { bnd_flt: f32, time_window_ms: u32 });

plain_union!(ClassifierStatus, "type" {
    0 "RR" => RoundRobin { dummy: u32 },
    1 "OSI" => Osi { flt: Vec<Filter> },
    2 "STO" => Stochastic { dummy: u32 },
});

/// The content of a filter between its two holes.
#[derive(Debug)]
struct FilterContent {
    src_addr: i64,
    dst_addr: i64,
    src_port: i32,
    dst_port: i32,
    protocol: i32,
    l7: u32,
    dst_queue: i32,
}

plain_struct!(FilterContent {
    src_addr: i64,
    dst_addr: i64,
    src_port: i32,
    dst_port: i32,
    protocol: i32,
    l7: u32,
    dst_queue: i32,
});

/// A filter travels as the compiler lays it out: 48 bytes with a hole of four after the id and
/// another at the end. Holes are written as zeros; what a peer left in them is not looked at.
impl Plain for Filter {
    const LEAST_BYTES: usize = 48;

    fn put(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        const HOLE: u32 = 0;
        let Self { id, src_addr, dst_addr, src_port, dst_port, protocol, l7, dst_queue } = *self;
        id.put(bytes)?;
        HOLE.put(bytes)?;
        FilterContent { src_addr, dst_addr, src_port, dst_port, protocol, l7, dst_queue }
            .put(bytes)?;
        HOLE.put(bytes)
    }

    fn get(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let id = u32::get(cursor).map_err(|error| error.within("id"))?;
        cursor.take::<4>()?;
        let FilterContent { src_addr, dst_addr, src_port, dst_port, protocol, l7, dst_queue } =
            FilterContent::get(cursor)?;
        cursor.take::<4>()?;
        Ok(Self { id, src_addr, dst_addr, src_port, dst_port, protocol, l7, dst_queue })
    }

    #[cfg(feature = "testing")]
    fn strategy() -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::strategy::Strategy;
        (u32::strategy(), FilterContent::strategy())
            .prop_map(|(id, content)| {
                let FilterContent { src_addr, dst_addr, src_port, dst_port, .. } = content;
                let FilterContent { protocol, l7, dst_queue, .. } = content;
                Self { id, src_addr, dst_addr, src_port, dst_port, protocol, l7, dst_queue }
            })
            .boxed()
    }
}

plain_struct!(QueueStatus { shp: Shaper, plc: Policer, queue: Queue });

plain_struct!(Shaper { id: u32, active: u32, max_rate_kbps: u32, mtr: Meter });

plain_struct!(Policer {
    id: u32,
    mtr: Meter,
    dropped_pkts: u32,
    marked_pkts: u32,
    max_rate_kbps: f32,
    active: u32,
    dst_id: u32,
    dev_id: u32,
});

plain_union!(Queue, "type" {
    0 "FIFO" => Fifo(DroppingQueue),
    1 "CODEL" => Codel(DroppingQueue),
    2 "ECN_CODEL" => EcnCodel(MarkingQueue),
});

plain_struct!(DroppingQueue {
    bytes: u32,
    pkts: u32,
    bytes_fwd: u32,
    pkts_fwd: u32,
    dropped_pkts: u32,
    avg_sojourn_time: f32,
    last_sojourn_time: i64,
});

plain_struct!(MarkingQueue {
    bytes: u32,
    pkts: u32,
    bytes_fwd: u32,
    pkts_fwd: u32,
    marked_pkts: u32,
    avg_sojourn_time: f32,
    last_sojourn_time: i64,
});
