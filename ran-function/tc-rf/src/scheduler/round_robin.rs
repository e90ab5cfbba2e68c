//! Packet by packet in turn.

use super::list::{Link, List, Place};
use super::{Algorithm, Heads};

/// Round robin over the queues with a backlog.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    active: List,
}

impl Algorithm for RoundRobin {
    fn activate(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::New;
        self.active.push_back(links, queue);
    }

    fn candidate(&mut self, _: &mut [Link], _: &impl Heads) -> Option<u32> {
        self.active.first()
    }

    fn served(&mut self, links: &mut [Link], _: u32, _: u32) {
        self.active.rotate(links);
    }

    fn remove_candidate(&mut self, links: &mut [Link], _: u32) {
        self.active.pop_front(links);
    }
}
