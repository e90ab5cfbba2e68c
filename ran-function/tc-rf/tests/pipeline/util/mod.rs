//! Packets, a sink and an RLC buffer on virtual time for the tests.

pub(crate) mod aqm;
pub(crate) mod pacers;
pub(crate) mod random;
pub(crate) mod split;
pub(crate) mod transactions;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use e2sm_tc::v1::*;
use tc_rf::{DropReason, EventSink, InnerFlow, Packet, RlcStatus, TrafficControl};

/// A packet that is only its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) flow: FiveTuple,
    pub(crate) len_bytes: u32,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
    pub(crate) qfi: Option<u8>,
    pub(crate) inner: Option<InnerFlow>,
    /// Position within its flow, or whatever the test wants to recognise it by.
    pub(crate) number: u64,
}

impl Packet for TestPacket {
    fn len_bytes(&self) -> u32 {
        self.len_bytes
    }
    fn flow(&self) -> FiveTuple {
        self.flow
    }
    fn inner(&self) -> Option<InnerFlow> {
        self.inner
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn qfi(&self) -> Option<u8> {
        self.qfi
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert!(matches!(self.ecn, Ecn::Ect0 | Ecn::Ect1), "marked while {:?}", self.ecn);
        self.ecn = Ecn::Ce;
    }
    fn set_dscp(&mut self, dscp: u8) {
        self.dscp = dscp;
    }
}

/// Flow `n` of host 192.0.2.1.
pub(crate) fn flow(n: u16) -> FiveTuple {
    FiveTuple {
        source: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        destination: IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)),
        source_port: 10_000 + n,
        destination_port: 443,
        protocol: 6,
    }
}

/// The same over IPv6.
pub(crate) fn flow_v6(n: u16) -> FiveTuple {
    FiveTuple {
        source: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1)),
        destination: IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, n)),
        ..flow(n)
    }
}

pub(crate) fn packet(flow_number: u16, len_bytes: u32, number: u64) -> TestPacket {
    TestPacket {
        flow: flow(flow_number),
        len_bytes,
        ecn: Ecn::NotEct,
        dscp: 0,
        qfi: None,
        inner: None,
        number,
    }
}

/// Records all events.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) drops: Vec<(TestPacket, DropReason, u64)>,
    pub(crate) marks: Vec<(TestPacket, u64)>,
    pub(crate) events: Vec<EventKind>,
}

impl EventSink<TestPacket> for Recorder {
    fn dropped(&mut self, packet: TestPacket, reason: DropReason, now_us: u64) {
        self.drops.push((packet, reason, now_us));
    }
    fn marked(&mut self, packet: &TestPacket, now_us: u64) {
        self.marks.push((packet.clone(), now_us));
    }
    fn pipeline(&mut self, kind: EventKind) {
        self.events.push(kind);
    }
}

pub(crate) const BEARER: BearerId = BearerId { ue: UeId::Rnti(0x4601), drb: 1 };

pub(crate) fn control(pipeline: Pipeline) -> TrafficControl<TestPacket> {
    TrafficControl::new(BEARER, pipeline, 1).expect("a good pipeline")
}

pub(crate) fn replace(pipeline: Pipeline) -> Transaction {
    change(PipelineChange::Replace(pipeline))
}

pub(crate) fn delta(edits: Vec<PipelineEdit>) -> Transaction {
    change(PipelineChange::Delta(edits))
}

pub(crate) fn change(change: PipelineChange) -> Transaction {
    Transaction {
        bearer: BEARER,
        expected_revision: None,
        lease_ms: None,
        owner: None,
        dry_run: false,
        as_safe: false,
        change,
    }
}

pub(crate) fn target(first: QueueId, count: u16) -> QueueTarget {
    QueueTarget { first, count }
}

pub(crate) fn fifo(first: QueueId, count: u16) -> QueueSet {
    QueueSet {
        first,
        count,
        discipline: QueueDiscipline::Fifo { drop: FifoDrop::Tail },
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    }
}

pub(crate) fn osi(filters: Vec<(FlowMatch, QueueTarget)>, default: QueueTarget) -> Classifier {
    let filters = (0..).zip(filters).map(|(id, (rule, target))| Filter { id, rule, target });
    Classifier::Osi(OsiClassifier::new(filters.collect(), default))
}

/// FIFOs `0..count`; flow `n` goes to queue `n`.
pub(crate) fn by_port(count: u16) -> Pipeline {
    let rule = |n| FlowMatch {
        source_port: Some(PortRange { low: 10_000 + n, high: 10_000 + n }),
        ..FlowMatch::default()
    };
    Pipeline {
        name: "by_port".to_owned(),
        classifier: osi((0..count).map(|n| (rule(n), target(n, 1))).collect(), target(0, 1)),
        queues: vec![fifo(0, count)],
        scheduler: Scheduler::RoundRobin,
        pacer: Pacer::None,
        buffer: BufferLimit { packets: 10_000, bytes: 64 << 20, overflow: Overflow::Tail },
    }
}

/// All that may go now.
pub(crate) fn egress(tc: &mut TrafficControl<TestPacket>, now_us: u64) -> Vec<TestPacket> {
    let mut out = Vec::new();
    tc.egress(now_us, &mut (), &mut |packet| out.push(packet));
    out
}

pub(crate) fn numbers(packets: &[TestPacket]) -> Vec<u64> {
    packets.iter().map(|packet| packet.number).collect()
}

/// An RLC buffer drained by a cell: `slots` selects the slots with downlink.
pub(crate) struct Rlc {
    pub(crate) slots: Vec<bool>,
    pub(crate) slot_us: u64,
    pub(crate) bytes_per_slot: u32,
    pub(crate) occupancy_bytes: u32,
    pub(crate) drained_bytes: u64,
    pub(crate) peak_bytes: u32,
}

impl Rlc {
    /// FDD with 1 ms TTIs.
    pub(crate) fn fdd(bytes_per_tti: u32) -> Self {
        Self::new(vec![true], 1000, bytes_per_tti)
    }

    /// TDD 7/2/1 with 0.5 ms slots, `DDDDDDDMUU`.
    pub(crate) fn tdd(bytes_per_slot: u32) -> Self {
        let slots = "DDDDDDDMUU".chars().map(|slot| slot != 'U').collect();
        Self::new(slots, 500, bytes_per_slot)
    }

    fn new(slots: Vec<bool>, slot_us: u64, bytes_per_slot: u32) -> Self {
        Self { slots, slot_us, bytes_per_slot, occupancy_bytes: 0, drained_bytes: 0, peak_bytes: 0 }
    }

    pub(crate) fn push(&mut self, packet: &TestPacket) {
        self.occupancy_bytes += packet.len_bytes;
        self.peak_bytes = self.peak_bytes.max(self.occupancy_bytes);
    }

    pub(crate) fn slot(&mut self, now_us: u64) -> RlcStatus {
        let index = (now_us / self.slot_us) as usize % self.slots.len();
        let downlink = self.slots[index];
        if downlink {
            let pulled = self.occupancy_bytes.min(self.bytes_per_slot);
            self.occupancy_bytes -= pulled;
            self.drained_bytes += u64::from(pulled);
        }
        RlcStatus {
            at_us: now_us,
            occupancy_bytes: self.occupancy_bytes,
            occupancy_packets: self.occupancy_bytes.div_ceil(1500),
            capacity_bytes_per_tti: self.bytes_per_slot,
            tti_us: self.slot_us as u32,
            dl_opportunity: downlink,
            ..RlcStatus::default()
        }
    }

    /// Bytes the cell could have drained in this time.
    pub(crate) fn capacity_bytes(&self, duration_us: u64) -> u64 {
        let slots = duration_us / self.slot_us;
        let downlink = self.slots.iter().filter(|&&downlink| downlink).count() as u64;
        slots * downlink / self.slots.len() as u64 * u64::from(self.bytes_per_slot)
    }
}

/// Runs a bearer over an RLC buffer from `from_us` to `to_us`; packets that go down are reported to
/// `forwarded`, and `arrivals` may put packets in at each slot.
pub(crate) fn run(
    tc: &mut TrafficControl<TestPacket>,
    rlc: &mut Rlc,
    (from_us, to_us): (u64, u64),
    mut arrivals: impl FnMut(&mut TrafficControl<TestPacket>, u64),
    mut forwarded: impl FnMut(&TestPacket, u64),
) {
    let mut slot_us = from_us.next_multiple_of(rlc.slot_us);
    let mut now_us = from_us;
    while now_us < to_us {
        if now_us == slot_us {
            let status = rlc.slot(now_us);
            arrivals(tc, now_us);
            tc.rlc_status(&status, now_us);
            slot_us += rlc.slot_us;
        }
        for packet in egress(tc, now_us) {
            rlc.push(&packet);
            forwarded(&packet, now_us);
        }
        let next = tc.next_deadline_us(now_us).unwrap_or(u64::MAX);
        assert!(next > now_us, "a deadline that is not ahead: {next} at {now_us}");
        now_us = next.min(slot_us);
    }
}
