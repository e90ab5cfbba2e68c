//! The pipeline of one bearer.

use std::collections::VecDeque;

use e2sm_tc::v1::{
    BearerId, Cause, ControlOutcome, FlowInventory, LeaseRenewal, PacerStatus, Pipeline,
    PipelineStatus, Transaction,
};

use crate::{EventSink, Packet, PipelineError, RlcStatus};

/// Traffic control of one (UE, DRB).
#[derive(Clone, Debug)]
pub struct TrafficControl<P> {
    bearer: BearerId,
    safe: Pipeline,
    queue: VecDeque<P>,
    backlog_bytes: u64,
    revision: u32,
}

impl<P: Packet> TrafficControl<P> {
    /// A bearer that starts with its safe pipeline at revision 1. All randomness comes from `seed`.
    ///
    /// # Errors
    /// When the safe pipeline is not acceptable.
    pub fn new(bearer: BearerId, safe: Pipeline, seed: u64) -> Result<Self, PipelineError> {
        let _ = seed;
        Ok(Self { bearer, safe, queue: VecDeque::new(), backlog_bytes: 0, revision: 1 })
    }

    /// Takes a packet in: classifier, policer, queue. Drops are told to `events`.
    pub fn ingress(&mut self, packet: P, now_us: u64, events: &mut impl EventSink<P>) {
        let _ = (now_us, events);
        self.backlog_bytes += u64::from(packet.len_bytes());
        self.queue.push_back(packet);
    }

    /// Feeds the pacer with the state of the RLC buffer.
    pub fn rlc_status(&mut self, status: &RlcStatus, now_us: u64) {
        let _ = (status, now_us);
    }

    /// Forwards what scheduler, shapers and pacer let go now.
    pub fn egress(
        &mut self,
        now_us: u64,
        events: &mut impl EventSink<P>,
        out: &mut impl FnMut(P),
    ) {
        let _ = (now_us, events);
        while let Some(packet) = self.queue.pop_front() {
            self.backlog_bytes -= u64::from(packet.len_bytes());
            out(packet);
        }
    }

    /// The earliest time after `now_us` at which [`egress`](Self::egress) or
    /// [`tick`](Self::tick) could do something without further input.
    pub fn next_deadline_us(&self, now_us: u64) -> Option<u64> {
        (!self.queue.is_empty()).then_some(now_us)
    }

    /// Applies a transaction: all of it or nothing of it.
    pub fn apply(
        &mut self,
        transaction: &Transaction,
        now_us: u64,
        events: &mut impl EventSink<P>,
    ) -> ControlOutcome {
        let _ = (transaction, now_us, events);
        PipelineError::new(Cause::Unsupported, "change", "not available").into_outcome(self.revision)
    }

    /// Keeps a leased pipeline.
    pub fn renew_lease(&mut self, renewal: &LeaseRenewal, now_us: u64) -> ControlOutcome {
        let _ = (renewal, now_us);
        PipelineError::new(Cause::Unsupported, "lease", "not available").into_outcome(self.revision)
    }

    /// Lease expiry: the safe pipeline returns.
    pub fn tick(&mut self, now_us: u64, events: &mut impl EventSink<P>) {
        let _ = (now_us, events);
    }

    /// State of the pipeline for a report (style 1).
    pub fn status(&mut self, now_us: u64) -> PipelineStatus {
        let _ = now_us;
        PipelineStatus {
            bearer: self.bearer,
            revision: self.revision,
            name: self.safe.name.clone(),
            safe: true,
            lease_left_ms: None,
            head_of_line_age_us: 0,
            queues: Vec::new(),
            pacer: PacerStatus { drain_kbps: 0, rlc_occupancy_bytes: 0, forwarded_bytes: 0 },
            ingress_packets: 0,
            ingress_bytes: 0,
            dropped_packets: 0,
        }
    }

    /// The largest flows for a report (style 2).
    pub fn flow_inventory(&mut self, top: u16, now_us: u64) -> FlowInventory {
        let _ = (top, now_us);
        FlowInventory { bearer: self.bearer, active_flows: 0, window_ms: 1000, flows: Vec::new() }
    }

    /// Bytes queued in all queues.
    pub fn backlog_bytes(&self) -> u64 {
        self.backlog_bytes
    }

    /// Packets queued in all queues.
    pub fn backlog_packets(&self) -> u32 {
        self.queue.len() as u32
    }

    /// Revision in force.
    pub fn revision(&self) -> u32 {
        self.revision
    }

    /// Pipeline in force.
    pub fn pipeline(&self) -> &Pipeline {
        &self.safe
    }

    /// How many bytes the pacer lets stand in the RLC buffer now; absent when it does not limit.
    pub fn rlc_limit_bytes(&self) -> Option<u32> {
        None
    }
}
