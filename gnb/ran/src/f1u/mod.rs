//! F1-U, the link between CU and DU (38.425, 38.470): user data down and up, delivery status up.
//!
//! | file | what it holds |
//! |---|---|
//! | [`path`] | one direction: delay, jitter, loss |
//! | [`receiver`] | the DU's end: NR-U sequence numbers, what is lost, which COUNT a packet gets |
//! | [`delivery_status`] | the DL DATA DELIVERY STATUS frame, bit by bit |
//! | [`tracker`] | the CU's end: what delivery status says about the packets sent |

pub mod delivery_status;
pub mod path;
pub mod receiver;
pub mod tracker;

pub use delivery_status::DeliveryStatus;
pub use path::{F1Config, F1Path};
pub use receiver::NrUReceiver;
pub use tracker::{DeliveryTracker, Outstanding};
