//! One bearer: its TC pipeline in the CU, its RLC in the DU, and measurements of both.

use e2sm_tc::v1::EventKind;
use ran::{BearerIndex, Cell};
use tc_rf::{DropReason, EventSink, SduDelays, TrafficControl};

use super::cells::Place;
use super::delays::Delays;
use super::drops::Drops;
use super::drql_limit::DrqlLimit;
use super::f1::F1Bearer;
use super::kinds::DelaysByKind;
use super::packet::GnbPacket;
use super::rlc_query::RlcQuery;
use super::rlc_queue::RlcQueue;
use super::sdap::{FlowCounts, FlowsInRlc, Reached};
use super::snapshot::Removals;

/// A bearer of the world. Its index stays valid when its UE leaves.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    /// C-RNTI.
    pub(crate) rnti: u16,
    /// The first C-RNTI of its UE, by which the scenario names it.
    pub(crate) ue_rnti: u16,
    pub(crate) drb: u8,
    pub(crate) tc: TrafficControl<GnbPacket>,
    /// Where it is while its UE is attached.
    pub(crate) cell: Option<Place>,
    /// The CU sends nothing, because its UE moves to another DU.
    pub(crate) is_held: bool,
    /// RLC-AM, otherwise RLC-UM.
    pub(crate) is_am: bool,
    /// F1-U of a split gNB.
    pub(crate) f1: Option<Box<F1Bearer>>,
    /// The CU queries the RLC status before each packet.
    pub(crate) rlc_query: Option<RlcQuery>,
    /// AQM instead of the RLC's FIFO.
    pub(crate) rlc_queue: Option<RlcQueue>,
    /// DRQL's limit computed by the DU, if recorded or enforced.
    pub(crate) drql_limit: Option<DrqlLimit>,
    pub(crate) tally: Tally,
    pub(crate) measured: Measured,
}

impl Bearer {
    /// Packets dropped by a full RLC buffer, or by the AQM in its place.
    pub(crate) fn rlc_dropped_packets(&self) -> u64 {
        self.rlc_drops().map(|drops| drops.packets).sum()
    }

    /// Drops of the RLC: of a full buffer, and of the AQM in its place.
    pub(crate) fn rlc_drops(&self) -> impl Iterator<Item = &Drops> {
        let aqm = self.rlc_queue.as_ref().map(RlcQueue::drops);
        std::iter::once(&self.measured.rlc_dropped).chain(aqm)
    }

    /// Packets that were in the gNB or on the air when the UE left.
    pub(crate) fn released_packets(&self) -> u64 {
        self.measured.released_packets + self.measured.late_packets
    }
}

/// Drops, marks and events of the pipeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) dropped: Drops,
    /// Packets dropped by the queue disciplines.
    pub(crate) aqm_dropped: u64,
    /// Packets dropped by the policers.
    pub(crate) policer_dropped: u64,
    pub(crate) marked_packets: u64,
    /// Pipeline events not yet reported.
    pub(crate) events: Vec<EventKind>,
    /// QoS flows of dropped packets that are not yet counted as such in [`FlowCounts`].
    pub(crate) dropped_flows: Vec<u32>,
}

impl EventSink<GnbPacket> for Tally {
    fn dropped(&mut self, packet: GnbPacket, reason: DropReason, _: u64) {
        match reason {
            DropReason::Discipline(_) | DropReason::Takeover => self.aqm_dropped += 1,
            DropReason::Policer => self.policer_dropped += 1,
            DropReason::QueueLimit | DropReason::BufferLimit => {}
        }
        self.dropped.count(&packet);
        self.dropped_flows.extend(packet.movable_flow());
    }

    fn marked(&mut self, _: &GnbPacket, _: u64) {
        self.marked_packets += 1;
    }

    fn pipeline(&mut self, kind: EventKind) {
        self.events.push(kind);
    }
}

/// Cumulative counts and delays of a bearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Packets that servers sent towards the bearer.
    pub(crate) sent_packets: u64,
    /// Packets that came from the core network while the UE was not attached.
    pub(crate) unattached_packets: u64,
    /// Packets that entered SDAP.
    pub(crate) ingress_packets: u64,
    pub(crate) ingress_bytes: u64,
    /// Bytes that the CU forwarded towards the RLC.
    pub(crate) forwarded_bytes: u64,
    /// Bytes that reached the DU, including those that its RLC dropped.
    pub(crate) received_bytes: u64,
    /// Packets of QoS flows that can move, in the CU and in the DU.
    pub(crate) flow_counts: FlowCounts,
    pub(crate) flows_in_rlc: FlowsInRlc,
    /// SDUs that left the RLC since the last RLC status.
    pub(crate) removed: SduDelays,
    /// SDUs that left the RLC so far.
    pub(crate) removals: Removals,
    /// Packets the UE sent, attached or not.
    pub(crate) uplink_packets: u64,
    /// Packets the UE sent while it was not attached.
    pub(crate) unattached_uplink_packets: u64,
    /// Packets from the UE that arrived at their servers.
    pub(crate) uplink_arrived_packets: u64,
    /// Bytes of IP packets the UE sent.
    pub(crate) uplink_bytes: u64,
    /// Packets dropped by the UE's full queue.
    pub(crate) uplink_dropped_packets: u64,
    /// Uplink packets lost on the radio, or with their UE.
    pub(crate) uplink_lost_packets: u64,
    /// Packets dropped by a full RLC buffer.
    pub(crate) rlc_dropped: Drops,
    /// RLC-AM failures (maxRetxThreshold reached) until the UE left.
    pub(crate) radio_link_failures: u64,
    /// Packets that were queued or on F1-U when the UE left.
    pub(crate) released_packets: u64,
    /// Packets that arrived at the ends of their flows in the UE.
    pub(crate) arrived_packets: u64,
    /// Packets that the UE's PDCP would have delivered after the UE had left.
    pub(crate) late_packets: u64,
    /// SDUs whose last byte went to the MAC.
    pub(crate) drained_packets: u64,
    pub(crate) drained_bytes: u64,
    /// Time from RLC enqueue to the last byte forwarded to the MAC.
    pub(crate) rlc_sojourn: Delays,
    /// Age of the head of the RLC buffer, each ms; 0 when empty.
    pub(crate) rlc_hol: Delays,
    /// Bytes that waited, each ms.
    pub(crate) queued: QueuedBytes,
    /// SDAP and RLC together: from SDAP ingress to the last byte forwarded to the MAC
    /// (irazabal2021 §V-G).
    pub(crate) sojourn: Delays,
    /// The same by kind of packet.
    pub(crate) by_kind: DelaysByKind,
}

/// Bytes that wait in the TC pipeline and in the RLC of a bearer, sampled each ms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueuedBytes {
    samples: u64,
    sum: u64,
    peak: u64,
}

impl QueuedBytes {
    pub(crate) fn record(&mut self, bytes: u64) {
        self.samples += 1;
        self.sum += bytes;
        self.peak = self.peak.max(bytes);
    }

    /// Mean and largest; 0 without samples.
    pub(crate) fn mean_and_peak(&self) -> (f64, u64) {
        (self.sum as f64 / self.samples.max(1) as f64, self.peak)
    }
}

impl Measured {
    /// Counts a packet forwarded to the RLC; not again if it was recalled in between.
    pub(crate) fn count_forwarded(&mut self, packet: &mut GnbPacket) {
        if !packet.is_counted {
            packet.is_counted = true;
            self.forwarded_bytes += u64::from(packet.len_bytes());
        }
    }
}

/// The parts of a bearer through which a packet enters its RLC.
pub(crate) struct RlcEntry<'a> {
    pub(crate) cell: &'a mut Cell<GnbPacket>,
    pub(crate) place: BearerIndex,
    /// AQM instead of the RLC's FIFO.
    pub(crate) queue: Option<&'a mut RlcQueue>,
    pub(crate) limit: Option<&'a mut DrqlLimit>,
    pub(crate) f1: Option<&'a mut F1Bearer>,
    pub(crate) measured: &'a mut Measured,
}

impl RlcEntry<'_> {
    /// Enqueues a packet in the AQM or the RLC; `count` is its COUNT if F1-U assigned one.
    pub(crate) fn put(&mut self, mut packet: GnbPacket, count: Option<u64>, now_us: u64) {
        packet.rlc_us = now_us;
        let len_bytes = u64::from(packet.len_bytes());
        if self.limit.as_mut().is_some_and(|limit| !limit.admit(len_bytes)) {
            self.measured.rlc_dropped.count(&packet);
            return;
        }
        match &mut self.queue {
            Some(queue) => queue.enqueue(packet, now_us),
            None => self.enqueue(packet, count, now_us),
        }
    }

    /// Enqueues a packet in the RLC. Without `count` it gets the next COUNT, so packets that were lost
    /// or dropped leave no gap.
    pub(crate) fn enqueue(&mut self, packet: GnbPacket, count: Option<u64>, now_us: u64) {
        let (number, connection, len_bytes) =
            (packet.f1_number, packet.inner.flow, packet.len_bytes());
        let reached = Reached::from(&packet);
        let count = count.or_else(|| self.cell.next_count(self.place)).unwrap_or(0);
        let enqueued = self.cell.enqueue_numbered(self.place, count, packet, now_us);
        self.measured.flows_in_rlc.reached(reached, enqueued.is_ok());
        match (enqueued, &mut self.f1) {
            (Ok(()), Some(f1)) => f1.enqueued(number, count),
            (Ok(()), None) => {}
            (Err(_), _) => self.measured.rlc_dropped.count_of(connection, len_bytes),
        }
    }
}
