//! Packets in turn over the queues of a target.

use crate::queue::Target;
/// Round robin over queues. With more than one queue the packets of a flow spread over them, so
/// their order holds per queue only.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin {
    target: Target,
    next: u32,
}

impl RoundRobin {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, next: 0 }
    }

    pub(crate) fn classify(&mut self) -> u32 {
        let queue = self.target.first + self.next;
        self.next = (self.next + 1) % self.target.count.max(1);
        queue
    }
}
