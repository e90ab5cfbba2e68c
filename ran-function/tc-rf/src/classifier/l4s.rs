//! L4S by ECN codepoint: ECT(1) and CE to the L target, the rest to the classic one (RFC 9331
//! §5.1).
//!
//! §5.3 makes one exception for nodes with per-flow state: "if all the ECT packets in a flow have been
//! ECT(0)", its CE packets may be classified as classic. It is used, for two reasons: a classic
//! flow that is marked upstream stays in order, and so does one that this bearer marked itself and
//! whose packets come back from the RLC.

use e2sm_tc::v1::L4sEcnClassifier;

use super::hash::Queues;
use super::{Arrival, Separation};
use crate::queue::Target;
use crate::scheduler::Heads;
use crate::{Ecn, Packet};

/// L4S classifier.
#[derive(Clone, Debug)]
pub(crate) struct L4sEcn {
    l4s: Queues,
    classic: Queues,
    separation: Separation,
}

impl L4sEcn {
    pub(crate) fn new(model: &L4sEcnClassifier, l4s: Target, classic: Target) -> Self {
        let ways = model.ways.unwrap_or(1);
        let separation = Separation::new(model.tunnels, model.isolation);
        Self { l4s: Queues::new(l4s, ways), classic: Queues::new(classic, ways), separation }
    }

    pub(crate) fn classify<P: Packet>(
        &mut self,
        arrival: &Arrival<'_, P>,
        heads: &impl Heads,
    ) -> u32 {
        let is_l4s = match arrival.header.ecn {
            Ecn::Ect1 => true,
            Ecn::Ce => !arrival.flow_is_classic,
            Ecn::NotEct | Ecn::Ect0 => false,
        };
        let queues = if is_l4s { &mut self.l4s } else { &mut self.classic };
        queues.pick(self.separation.hash(arrival), arrival.sequence, heads)
    }

    pub(super) fn separation(&self) -> &Separation {
        &self.separation
    }

    pub(crate) fn emptied(&mut self) {
        self.l4s.emptied();
        self.classic.emptied();
    }
}
