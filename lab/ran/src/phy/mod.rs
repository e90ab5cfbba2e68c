//! Physical layer as seen by the MAC: what a gNB knows of a UE's SNR, and which transport blocks
//! the UE decodes.

pub mod adaptation;
pub mod bler;
pub mod cqi;
mod curves;
pub(crate) mod link;
mod radio;
mod reception;
pub mod subband;
mod uplink;

pub(crate) use adaptation::LinkAdaptation;
pub use adaptation::{AdaptationConfig, OuterLoop};
pub use bler::{Code, Curve};
pub(crate) use link::LinkTables;
pub(crate) use radio::Radio;
pub use reception::Combining;
pub(crate) use reception::Reception;
pub(crate) use subband::{Levels, Subbands};
pub(crate) use uplink::UplinkAdaptation;
