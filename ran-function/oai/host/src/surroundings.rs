//! What all bearers of a host share.

use std::sync::Arc;

use crate::events::EventLog;
use crate::gnb::Gnb;
use crate::sdu::BufferPool;

pub(crate) struct Surroundings {
    pub(crate) gnb: Box<dyn Gnb>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) events: EventLog,
}
