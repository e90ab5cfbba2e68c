//! Packet by packet in turn.

use super::list::{Link, List, Place};

/// Round robin over the queues with a backlog.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    active: List,
}

impl RoundRobin {
    pub(crate) fn activate(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::New;
        self.active.push_back(links, queue);
    }

    pub(crate) fn candidate(&self) -> Option<u32> {
        self.active.first()
    }

    pub(crate) fn served(&mut self, links: &mut [Link]) {
        if let Some(queue) = self.active.pop_front(links) {
            self.active.push_back(links, queue);
        }
    }

    pub(crate) fn remove_candidate(&mut self, links: &mut [Link]) {
        self.active.pop_front(links);
    }
}
