//! The TC RAN function inside a gNB that others make.
//!
//! [`Host`] is what the gNB's threads call; `sojourn_gnb.h` (`c_api.rs`) is the same in C. Adapters put
//! the calls into the gNB: `ran-function/oai/adapter` for OpenAirInterface.
//!
//! - **Packets** wait above PDCP, one pipeline per (UE, DRB): `bearer.rs`, buffers in `sdu.rs`.
//! - **Names**: PDCP says (UE, DRB), the MAC says (RNTI, logical channel), E2 says (RNTI, DRB):
//!   `directory.rs`.
//! - **Real-time threads** take no lock that others may hold for long, allocate nothing and print
//!   nothing; a panic ends at the bearer, which then is transparent.
//! - **E2**: controls in `e2.rs`, reports in `e2_reports.rs`. **Status for the operator**: `status.rs`, with what the MAC's thread spends here:
//!   `slot_times.rs`.

mod bearer;
mod c_api;
mod capabilities;
mod counts;
mod directory;
mod e2;
mod e2_reports;
mod events;
mod gnb;
mod host;
mod journal;
mod sdu;
mod sink;
mod slot_times;
mod status;
mod subscriptions;
mod surroundings;

pub use c_api::*;
pub use counts::BearerCounts;
pub use events::ShownEvent;
pub use gnb::{Address, Gnb};
pub use host::{Host, HostError, Settings, Taken};
pub use slot_times::{CellStatus, SlotTimeStatus};
pub use status::{BearerStatus, StatusReport};
