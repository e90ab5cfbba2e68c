//! Medium access control: scheduling, HARQ and the MAC report.

pub(crate) mod drx;
pub mod eqp;
pub mod harq;
pub mod pf;
pub mod prioritisation;
pub mod rbg;
pub mod report;
pub mod round_robin;
pub mod scheduler;

pub use drx::{DrxConfig, ShortCycle};
pub use harq::{BlockErrors, HarqConfig};
pub use pf::{PfConfig, PfGranularity};
pub use prioritisation::LogicalChannel;
pub use rbg::RbgConfiguration;
pub use report::MacReport;
pub use scheduler::{EqpConfig, SchedulerConfig, SliceShare, UeScheduler};
