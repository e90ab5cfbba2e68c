//! F1-U, the link between CU and DU (38.425, 38.470): [`path`] is one direction, [`receiver`] the
//! DU's end, [`tracker`] the CU's end, [`delivery_status`] the DL DATA DELIVERY STATUS frame.

pub mod delivery_status;
pub mod path;
pub mod receiver;
pub mod tracker;

pub use delivery_status::DeliveryStatus;
pub use path::{F1Config, F1Path};
pub use receiver::NrUReceiver;
pub use tracker::{DeliveryTracker, Outstanding};
