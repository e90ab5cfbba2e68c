//! AQM instead of the RLC's FIFO (irazabal2021 §V-D: "we substituted the default RLC FIFO buffer with a
//! CoDel queue"; abbasloo2019 §VI: BoDe, PIE and head drop).
//!
//! The AQM stores the SDUs; right before each slot, one transport block's worth moves into the RLC. The
//! sojourn time is therefore from arrival at the RLC to the slot that starts to send the packet.

use std::collections::VecDeque;

use e2sm_tc::v1::{
    BufferLimit, Classifier, Codel, FifoDrop, Overflow, Pacer, Pipeline, QueueDiscipline, QueueSet,
    QueueTarget, Scheduler,
};
use ran::RlcReport;
use ran::rlc::delays::SojournWindow;
use tc_rf::queueing::Queues;
use tc_rf::{DropReason, EventSink, PipelineError};

use super::drops::Drops;
use super::packet::GnbPacket;
use lab_scenario::{Rlc, RlcAqm};

/// The queue and its statistics for the RLC report.
#[derive(Clone, Debug)]
pub(crate) struct RlcQueue {
    queues: Queues<GnbPacket>,
    log: ArrivalLog,
    /// Mean over 100 ms, as for the RLC itself.
    sojourn: SojournWindow,
}

/// Arrival times of the queued packets, oldest first, and drops.
#[derive(Clone, Debug, Default)]
struct ArrivalLog {
    arrived_us: VecDeque<u64>,
    dropped: Drops,
}

impl EventSink<GnbPacket> for ArrivalLog {
    fn dropped(&mut self, packet: GnbPacket, _: DropReason, _: u64) {
        self.dropped.count(&packet);
        // Packets are dropped at the head or on arrival; with equal arrival times either entry will do.
        if self.arrived_us.front() == Some(&packet.rlc_us) {
            self.arrived_us.pop_front();
        } else {
            self.arrived_us.pop_back();
        }
    }
}

impl RlcQueue {
    /// # Errors
    /// Invalid parameters of the AQM.
    pub(crate) fn new(aqm: RlcAqm, rlc: &Rlc, seed: u64) -> Result<Self, PipelineError> {
        let queue = QueueSet {
            first: 0,
            count: 1,
            limit_packets: Some(rlc.limit_packets),
            limit_bytes: Some(rlc.limit_bytes),
            discipline: discipline(aqm),
            policer: None,
            shaper: None,
        };
        let pipeline = Pipeline {
            name: "rlc".to_owned(),
            classifier: Classifier::RoundRobin(QueueTarget { first: 0, count: 1 }),
            queues: vec![queue],
            scheduler: Scheduler::RoundRobin,
            pacer: Pacer::None,
            buffer: BufferLimit {
                packets: rlc.limit_packets,
                bytes: rlc.limit_bytes,
                overflow: Overflow::Tail,
            },
        };
        Ok(Self {
            queues: Queues::from_model(&pipeline, seed)?,
            log: ArrivalLog::default(),
            sojourn: SojournWindow::default(),
        })
    }

    pub(crate) fn enqueue(&mut self, packet: GnbPacket, now_us: u64) {
        self.log.arrived_us.push_back(now_us);
        // Fails only for queues other than 0.
        let _ = self.queues.enqueue(0, packet, now_us, &mut self.log);
    }

    pub(crate) fn dequeue(&mut self, now_us: u64) -> Option<GnbPacket> {
        let dequeued = self.queues.dequeue(now_us, &mut self.log)?;
        if let Some(arrived_us) = self.log.arrived_us.pop_front() {
            self.sojourn.add(now_us, now_us - arrived_us);
        }
        Some(dequeued.packet)
    }

    /// Queued bytes and packets.
    pub(crate) fn backlog(&self) -> (u32, u32) {
        let bytes = u32::try_from(self.queues.backlog_bytes()).unwrap_or(u32::MAX);
        (bytes, self.queues.backlog_packets())
    }

    /// Arrival time of the packet at the head.
    pub(crate) fn head_arrived_us(&self) -> Option<u64> {
        self.log.arrived_us.front().copied()
    }

    /// Packets dropped by the AQM or a full buffer.
    pub(crate) fn drops(&self) -> &Drops {
        &self.log.dropped
    }

    /// Adds the queue to the report of the RLC.
    pub(crate) fn add_to(&mut self, report: &mut RlcReport, now_us: u64) {
        let (bytes, packets) = self.backlog();
        let dropped = &self.log.dropped;
        report.txbuf_occ_bytes += bytes;
        report.txbuf_occ_pkts += packets;
        report.rxsdu_pkts = report.rxsdu_pkts.wrapping_add(packets + dropped.packets as u32);
        report.rxsdu_bytes += u64::from(bytes) + dropped.bytes;
        report.rxsdu_dd_pkts = report.rxsdu_dd_pkts.wrapping_add(dropped.packets as u32);
        report.rxsdu_dd_bytes = report.rxsdu_dd_bytes.wrapping_add(dropped.bytes as u32);
        report.txsdu_avg_time_to_tx += self.sojourn.mean_us(now_us);
        if let Some(arrived_us) = self.head_arrived_us() {
            let age_us = u32::try_from(now_us - arrived_us).unwrap_or(u32::MAX);
            report.txsdu_wt_us = report.txsdu_wt_us.max(age_us);
        }
    }
}

fn discipline(aqm: RlcAqm) -> QueueDiscipline {
    match aqm {
        RlcAqm::HeadDrop => QueueDiscipline::Fifo { drop: FifoDrop::Head },
        RlcAqm::Codel(codel) => QueueDiscipline::Codel(Codel {
            target_us: codel.target_us,
            interval_us: codel.interval_us,
            ecn: false,
            ce_threshold_us: None,
            l4s: false,
        }),
        RlcAqm::Pie(pie) => QueueDiscipline::Pie {
            target_us: pie.target_us,
            update_us: pie.update_us,
            alpha_milli: pie.alpha_milli,
            beta_milli: pie.beta_milli,
            ecn: false,
        },
        RlcAqm::Bode(bode) => QueueDiscipline::Bode { bound_us: bode.bound_us, spare_bytes: None },
    }
}
