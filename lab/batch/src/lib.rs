//! Many runs of `gnb-lab reproduce`.
//!
//! [`Workers`] run tasks on all cores and stop when asked to. [`identity`] is the digest of everything
//! that a result depends on, by which a later call knows the runs that are finished. [`Estimate`] is a
//! mean over seeds with its interval.

pub mod identity;
mod statistics;
mod store;
mod workers;

pub use identity::IdentityError;
pub use statistics::Estimate;
pub use store::write_atomically;
pub use workers::{Progress, Workers};
