//! Medium access control: who gets the PRBs of a slot, and what becomes of a transport block.

pub mod cqi;
pub mod deal;
pub mod harq;
pub mod report;
pub mod scheduler;

pub use harq::HarqConfig;
pub use report::MacReport;
pub use scheduler::{SchedulerConfig, SliceShare};
