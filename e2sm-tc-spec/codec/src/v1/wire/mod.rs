//! The descriptions of the SEQUENCEs, CHOICEs and ENUMERATEDs of `asn1/E2SM-TC-v1.asn`, in its
//! order and with its constraints. The tests hold them against two independent ASN.1 compilers.

mod addressing;
mod classifier;
mod control;
mod queue;
mod report;
mod scheduler;

use super::per::{Int, Visible};

/// `QueueId` and `FilterId`.
type Id = Int<0, 0xffff>;
/// `PipelineName`.
type Name = Visible<1, 64>;
