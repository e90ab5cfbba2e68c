//! L4S by ECN codepoint: ECT(1) and CE to the L target, the rest to the classic one (RFC 9331
//! §5.1).
//!
//! §5.3 makes one exception for nodes with per-flow state: "if all the ECT packets in a flow have been
//! ECT(0)", its CE packets may be classified as classic. It is used, for two reasons: a classic
//! flow that is marked upstream stays in order, and so does one that this bearer marked itself and
//! whose packets come back from the RLC.

use super::Arrival;
use crate::queue::Target;
use crate::{Ecn, Packet};

/// L4S classifier.
#[derive(Clone, Debug)]
pub(crate) struct L4sEcn {
    l4s: Target,
    classic: Target,
}

impl L4sEcn {
    pub(crate) fn new(l4s: Target, classic: Target) -> Self {
        Self { l4s, classic }
    }

    pub(crate) fn classify<P: Packet>(&self, arrival: &Arrival<'_, P>) -> u32 {
        let is_l4s = match arrival.header.ecn {
            Ecn::Ect1 => true,
            Ecn::Ce => !arrival.flow_is_classic,
            Ecn::NotEct | Ecn::Ect0 => false,
        };
        if is_l4s { self.l4s } else { self.classic }.pick(arrival.flow_hash)
    }
}
