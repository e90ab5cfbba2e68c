//! A CU that queries the DU before each packet: "the SDAP requires this information for every available
//! packet residing in its queues to facilitate packet forwarding", and what it requested at t₀ − 2T_c it
//! has at t₀ (stolidis2024 §III-B).
//!
//! It decides about the release of each packet in front of the bearer's pacer. An answer is for one
//! packet. If the pacer then holds the packet back, the CU queries again ("continuously querying", §II).
//! Without an answer for [`ANSWER_TIMEOUT_US`] the packet passes, as every pacer lets packets pass
//! without RLC status.

use e2sm_tc::v1::Pacer;
use tc_rf::{EventSink, Packet, TrafficControl};

/// After this time without an RLC status a pacer lets everything pass.
const ANSWER_TIMEOUT_US: u64 = 100_000;
/// While a query is on its way the pipeline is polled at most this often; only its lease can end.
const POLL_US: u64 = 200;

/// The query about the packet at the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Query {
    #[default]
    None,
    /// To be sent to the DU, since then.
    Due(u64),
    /// Sent; due since then.
    Sent(u64),
    Answered,
}

/// The queries of one bearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct RlcQuery {
    query: Query,
}

impl RlcQuery {
    /// The next packet that the pipeline forwards, if one may go now.
    pub(crate) fn release<P: Packet>(
        &mut self,
        tc: &mut TrafficControl<P>,
        now_us: u64,
        events: &mut impl EventSink<P>,
    ) -> Option<P> {
        if !tc.has_candidate(now_us, events) {
            return None;
        }
        if tc.pipeline().pacer != Pacer::None && !self.may_release(now_us) {
            return None;
        }
        let packet = tc.egress_one(now_us, events);
        if packet.is_some() {
            self.query = Query::None;
        } else if tc.has_candidate(now_us, events) {
            // The pacer held it back.
            self.query = Query::Due(now_us);
        }
        packet
    }

    /// Whether the pacer decides now about the packet at the head. Begins its query.
    fn may_release(&mut self, now_us: u64) -> bool {
        match self.query {
            Query::None => {
                self.query = Query::Due(now_us);
                false
            }
            Query::Due(at_us) | Query::Sent(at_us) => {
                now_us.saturating_sub(at_us) >= ANSWER_TIMEOUT_US
            }
            Query::Answered => true,
        }
    }

    /// Whether a query is to be sent to the DU now; it counts as sent.
    pub(crate) fn take(&mut self) -> bool {
        let Query::Due(at_us) = self.query else { return false };
        self.query = Query::Sent(at_us);
        true
    }

    /// The CU received an RLC status.
    pub(crate) fn on_status(&mut self) {
        if matches!(self.query, Query::Sent(_)) {
            self.query = Query::Answered;
        }
    }

    /// When the pipeline is to be polled, which asks for `deadline_us`.
    pub(crate) fn next_poll_us(&self, deadline_us: Option<u64>, now_us: u64) -> Option<u64> {
        let (Query::Due(at_us) | Query::Sent(at_us)) = self.query else { return deadline_us };
        let timeout_us = at_us.saturating_add(ANSWER_TIMEOUT_US);
        let poll_us = deadline_us.map_or(timeout_us, |at_us| at_us.max(now_us + POLL_US));
        Some(poll_us.min(timeout_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_one_packet() {
        let mut query = RlcQuery::default();
        assert!(!query.take(), "nothing to send");
        assert!(!query.may_release(5));
        assert!(query.take() && !query.take(), "queried once");
        assert!(!query.may_release(6));
        query.on_status();
        assert!(query.may_release(7));
    }

    #[test]
    fn a_status_without_a_query_is_no_answer() {
        let mut query = RlcQuery::default();
        query.on_status();
        assert_eq!(query.query, Query::None);
        query.may_release(0);
        query.on_status();
        assert!(!query.may_release(1), "not sent yet");
    }

    #[test]
    fn a_lost_query_does_not_stall_the_bearer() {
        let mut query = RlcQuery::default();
        query.may_release(1_000);
        query.take();
        let timeout_us = 1_000 + ANSWER_TIMEOUT_US;
        assert!(!query.may_release(timeout_us - 1));
        assert!(query.may_release(timeout_us));
        assert!(!query.may_release(0), "a clock that jumps back");
        assert_eq!(query.next_poll_us(Some(2_000), 2_000), Some(2_200));
        assert_eq!(query.next_poll_us(Some(2_000), timeout_us - 1), Some(timeout_us));
        assert_eq!(query.next_poll_us(None, 2_000), Some(timeout_us));
    }
}
