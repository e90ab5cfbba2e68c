//! RLC status queries before each packet: "the SDAP requires this information for every available packet
//! residing in its queues to facilitate packet forwarding"; the answer to a query at t₀ − 2T_c arrives at
//! t₀ (stolidis2024 §III-B).
//!
//! The query delays each packet before the bearer's pacer. An answer is valid for one packet. If the
//! pacer does not release the packet, the CU queries again ("continuously querying", §II). Without an
//! answer for [`ANSWER_TIMEOUT_US`] the packet is released, as pacers do without RLC status.

use e2sm_tc::v1::Pacer;
use tc_rf::{EventSink, Packet, TrafficControl};

/// Time without RLC status after which a pacer releases everything.
const ANSWER_TIMEOUT_US: u64 = 100_000;
/// Shortest poll period of the pipeline while a query is in flight; only its lease can expire.
const POLL_US: u64 = 200;

/// State of the query for the packet at the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Query {
    #[default]
    None,
    /// Due to be sent to the DU since this time.
    Due(u64),
    /// Sent; was due at this time.
    Sent(u64),
    Answered,
}

/// The queries of one bearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct RlcQuery {
    query: Query,
}

impl RlcQuery {
    /// The next packet that the pipeline forwards, if one may be released now.
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
            // The pacer did not release it.
            self.query = Query::Due(now_us);
        }
        packet
    }

    /// Whether the pacer may decide about the packet at the head now; otherwise its query is due.
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

    /// Whether a query must be sent to the DU now; marks it as sent.
    pub(crate) fn take_due(&mut self) -> bool {
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

    /// Next poll time of a pipeline with deadline `deadline_us`.
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
    fn an_answer_is_valid_for_one_packet() {
        let mut query = RlcQuery::default();
        assert!(!query.take_due(), "nothing to send");
        assert!(!query.may_release(5));
        assert!(query.take_due() && !query.take_due(), "queried once");
        assert!(!query.may_release(6));
        query.on_status();
        assert!(query.may_release(7));
    }

    #[test]
    fn a_status_without_a_query_is_not_an_answer() {
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
        query.take_due();
        let timeout_us = 1_000 + ANSWER_TIMEOUT_US;
        assert!(!query.may_release(timeout_us - 1));
        assert!(query.may_release(timeout_us));
        assert!(!query.may_release(0), "a clock that jumps back");
        assert_eq!(query.next_poll_us(Some(2_000), 2_000), Some(2_200));
        assert_eq!(query.next_poll_us(Some(2_000), timeout_us - 1), Some(timeout_us));
        assert_eq!(query.next_poll_us(None, 2_000), Some(timeout_us));
    }
}
