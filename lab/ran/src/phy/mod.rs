//! Physical layer as seen by the MAC: which transport blocks a UE decodes at which SNR.

pub mod bler;
mod curves;

pub use bler::{Code, Curve};
