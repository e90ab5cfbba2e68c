//! RLC, MAC, channels and F1-U of a 5G downlink on virtual time.
//!
//! Everything here is pure: time in microseconds and SDUs in, decisions out. There is no clock and
//! no socket, and all random numbers depend on the seed of the configuration: the same calls give
//! the same results on any machine, and a cloned [`Cell`] continues as the original.
//!
//! | module | content |
//! |---|---|
//! | [`cell`] | the DU: UEs, bearers and one call per slot |
//! | [`config`] | configuration of cells, UEs and bearers |
//! | [`numerology`] | slots, frames, FDD and TDD patterns |
//! | [`tbs`] | transport block sizes: NR (38.214) and LTE (36.213) |
//! | [`mac`] | schedulers, HARQ, the MAC report |
//! | [`rlc`] | RLC-UM and RLC-AM (38.322), the RLC report |
//! | [`pdcp`] | header sizes and in-order delivery at the UE (38.323) |
//! | [`phy`] | adaptation to the SNR of a UE, errors of blocks |
//! | [`channel`] | fixed MCS, series, traces and random channels |
//! | [`f1u`] | the link between CU and DU (38.425), delivery status |
//! | [`measurement`] | layer 3 filter and event A3, which lead to handover |
//! | [`uplink`] | queues, requests and reports of the UEs; the cell schedules them |

pub mod cell;
pub mod channel;
pub mod config;
mod error;
pub mod f1u;
pub mod mac;
pub mod measurement;
pub mod numerology;
pub mod pdcp;
pub mod phy;
pub mod rlc;
mod rng;
pub mod tbs;
pub mod uplink;

pub use cell::{
    BearerIndex, BearerStatus, BlockRoom, BufferStatus, Cell, CellTotals, Delivery, MovingBearer,
    MovingUe, NextBlock, UpperLayer,
};
pub use channel::{
    AtEnd, Channel, CqiSeries, CqiToMcs, Deployment, Fading, GaussMarkov, Interference, LinkBudget,
    MahimahiTrace, McsChain, McsSeries, MeanSnr, Missing, MobilityModel, MobilityPattern,
    RateSeries, Route, Shadowing, SnrProbe, SnrSeries, TdlProfile, TraceError, UccColumn, UccTrace,
};
pub use config::{BearerConfig, CellConfig, UeConfig};
pub use error::ConfigError;
pub use f1u::{DeliveryStatus, DeliveryTracker, F1Config, F1Path, NrUReceiver, Outstanding};
pub use mac::{
    BlockErrors, DrxConfig, EqpConfig, HarqConfig, LogicalChannel, MacReport, PfConfig,
    PfGranularity, RbgConfiguration, SchedulerConfig, ShortCycle, SliceShare, UeScheduler,
};
pub use measurement::{A3Config, Measurements};
pub use numerology::{Duplexing, Numerology, SlotKind, TddPattern};
pub use phy::{AdaptationConfig, Combining, OuterLoop};
pub use rlc::{AmConfig, AmSnLength, RlcMode, RlcReport, SduDelays, Unconfirmed};
pub use uplink::{RecordedUplinkConfig, UplinkArrival, UplinkConfig};

/// A packet carried by the RLC. Only its length is used.
pub trait Sdu {
    /// Length of the IP packet in bytes, without SDAP and PDCP headers.
    fn len_bytes(&self) -> u32;
}
