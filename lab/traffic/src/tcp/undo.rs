//! Detection of spurious reductions.

use super::congestion::CongestionController;

/// State to undo a reduction: the controller before it and the outcome of the retransmissions since.
#[derive(Debug, Clone)]
pub(super) struct Undo {
    controller: Box<dyn CongestionController>,
    /// `una` at the reduction; duplicates of older data do not count.
    marker: u64,
    /// Timestamp of the first retransmission.
    first_retransmission_ts: Option<u32>,
    retransmissions: u32,
    duplicates: u32,
    expires_at_seq: Option<u64>,
}

impl Undo {
    pub(super) fn new(controller: Box<dyn CongestionController>, una: u64) -> Self {
        Self {
            controller,
            marker: una,
            first_retransmission_ts: None,
            retransmissions: 0,
            duplicates: 0,
            expires_at_seq: None,
        }
    }

    pub(super) fn on_retransmission(&mut self, now_us: u64) {
        self.first_retransmission_ts.get_or_insert(now_us as u32);
        self.retransmissions += 1;
    }

    /// The receiver reports a duplicate that ends at `end`.
    pub(super) fn on_dsack(&mut self, end: u64, una: u64) {
        if end > self.marker && end <= una {
            self.duplicates += 1;
        }
    }

    /// RFC 3708: each retransmission arrived as a duplicate.
    pub(super) fn all_duplicate(&self) -> bool {
        self.retransmissions > 0 && self.duplicates >= self.retransmissions
    }

    /// RFC 3522: the echo of a retransmitted segment is older than the first retransmission, so the
    /// original arrived.
    pub(super) fn echo_predates(&self, ts_ecr: u32) -> bool {
        self.first_retransmission_ts.is_some_and(|first| (ts_ecr.wrapping_sub(first) as i32) < 0)
    }

    /// The recovery ended; duplicates may be reported for one more round trip, up to `next`.
    pub(super) fn expire_at(&mut self, next: u64) {
        self.expires_at_seq.get_or_insert(next);
    }

    pub(super) fn expired(&self, una: u64) -> bool {
        self.expires_at_seq.is_some_and(|at| una >= at)
    }

    pub(super) fn controller(&self) -> &dyn CongestionController {
        self.controller.as_ref()
    }

    pub(super) fn into_controller(self) -> Box<dyn CongestionController> {
        self.controller
    }
}
