//! RLC, MAC, channels and F1-U of a 5G downlink on virtual time.
//!
//! Everything here is pure: time in microseconds and SDUs in, decisions out. No clock, no socket,
//! no randomness but the seed of the configuration, so the same calls give the same answers on any
//! machine, and a [`Cell`] that is cloned continues as the original would have.
//!
//! Where to look:
//!
//! | module | what it holds |
//! |---|---|
//! | [`cell`] | the DU: UEs, bearers and one call per slot |
//! | [`config`] | what a cell, a UE and a bearer are made of, and what a bad value is answered with |
//! | [`numerology`] | slots, frames, FDD and TDD patterns |
//! | [`tbs`] | transport block sizes: NR (38.214) and LTE (36.213) |
//! | [`mac`] | schedulers, HARQ, the MAC report |
//! | [`rlc`] | RLC-UM and RLC-AM, transmitters and receivers (38.322), the RLC report |
//! | [`pdcp`] | header sizes and in-order delivery at the UE (38.323) |
//! | [`channel`] | how much a UE's radio carries: MCS and opportunity traces |
//! | [`f1u`] | the link between CU and DU (38.425), delivery status |
//! | [`uplink`] | how long a packet of the UE takes to the gNB |

pub mod cell;
pub mod channel;
pub mod config;
mod error;
pub mod f1u;
pub mod mac;
pub mod numerology;
pub mod pdcp;
pub mod rlc;
mod rng;
pub mod tbs;
pub mod uplink;

pub use cell::{
    BearerIndex, BearerStatus, BlockRoom, BufferStatus, Cell, CellTotals, Delivery, NextBlock,
    UpperLayer,
};
pub use channel::{
    AtEnd, Channel, CqiSeries, CqiToMcs, GaussMarkov, MahimahiTrace, McsChain, McsSeries, Missing,
    MobilityModel, MobilityPattern, RateSeries, TraceError, UccColumn, UccTrace,
};
pub use config::{BearerConfig, CellConfig, UeConfig};
pub use error::ConfigError;
pub use f1u::{DeliveryStatus, DeliveryTracker, F1Config, F1Path, NrUReceiver, Outstanding};
pub use mac::{
    BlockErrors, EqpConfig, HarqConfig, MacReport, PfConfig, PfGranularity, RbgConfiguration,
    SchedulerConfig, SliceShare, UeScheduler,
};
pub use numerology::{Duplexing, Numerology, SlotKind, TddPattern};
pub use rlc::{AmConfig, AmSnLength, RlcMode, RlcReport, SduDelays};
pub use uplink::{Uplink, UplinkConfig};

/// What the RLC carries: the payload stays whole and opaque, only its length matters here.
pub trait Sdu {
    /// Length of the IP packet in bytes, before any SDAP or PDCP header.
    fn len_bytes(&self) -> u32;
}
