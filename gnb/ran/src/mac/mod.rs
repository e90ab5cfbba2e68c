//! Medium access control: who gets the PRBs of a slot, and what becomes of a transport block.

pub mod cqi;
pub mod deal;
pub mod eqp;
pub mod harq;
pub mod pf;
pub mod rbg;
pub mod report;
pub mod scheduler;

pub use harq::{BlockErrors, HarqConfig};
pub use pf::{PfConfig, PfGranularity};
pub use rbg::RbgConfiguration;
pub use report::MacReport;
pub use scheduler::{EqpConfig, SchedulerConfig, SliceShare, UeScheduler};
