//! Deficit round robin with new and old lists (RFC 8290 §4) in which the old queues of a host share its
//! turn, so that what a host gets does not grow with the number of its flows.
//!
//! CAKE divides the quantum of a flow by the number of old flows of its host (`cake_get_flow_quantum` of
//! Linux's `sch_cake`; Høiland-Jørgensen et al. 2018 §III-B). Quanta that small cost a visit of every
//! queue of the host for each of them. Here hosts have turns, and within a turn the old queues of the
//! host: the shares are the same at O(1) per packet. New queues go first whatever their host, as in CAKE.
//!
//! CAKE counts, of the two hosts of a flow, the one with more old flows
//! (`triple-isolate`). A queue is therefore among those of that host, which is looked at again in each of
//! its turns; the turn of a host is worth the part of its old flows that is among them.

use super::list::{Link, List, Place};
use super::{Algorithm, Heads};
use crate::hash::scale;

/// Slots searched for a host; CAKE's hash of hosts has as many ways.
const WAYS: usize = 8;

/// A source, a destination, or a pair of both, with active queues.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// Hash of its address.
    tag: u64,
    /// Active queues that name it.
    queues: u32,
    /// Old queues that name it, those of `old` among them.
    old_queues: u32,
    /// Old queues that share its turn, and how many they are.
    old: List,
    in_turn: u32,
}

/// Which hosts a queue counts against.
#[derive(Clone, Copy, Debug, Default)]
struct Membership {
    hosts: [u32; 2],
    /// Which of the two it shares the turn of while it is old.
    of_second: bool,
}

/// DRR++ with turns of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Isolated {
    quantum: i64,
    new: List,
    hosts: Vec<Host>,
    host_links: Vec<Link>,
    /// Hosts with old queues.
    turns: List,
    members: Vec<Membership>,
}

impl Isolated {
    pub(crate) fn new(quantum_bytes: u32, queues: usize) -> Self {
        // As many hosts as queues at most have a turn each.
        let hosts = queues.next_multiple_of(WAYS).max(WAYS);
        Self {
            quantum: i64::from(quantum_bytes.max(1)),
            new: List::default(),
            hosts: vec![Host::default(); hosts],
            host_links: vec![Link::default(); hosts],
            turns: List::default(),
            members: vec![Membership::default(); queues],
        }
    }

    /// The hosts of a queue that is about to become active, by the hashes of their addresses.
    pub(super) fn bind(&mut self, queue: u32, tags: [u64; 2]) {
        let first = self.slot(tags[0], None);
        let second = if tags[1] == tags[0] { first } else { self.slot(tags[1], Some(first)) };
        self.members[queue as usize].hosts = [first, second];
    }

    /// The slot of a host, another than `taken`; with none free in its set the host shares one.
    fn slot(&mut self, tag: u64, taken: Option<u32>) -> u32 {
        let sets = (self.hosts.len() / WAYS) as u32;
        let base = scale(tag, sets) * WAYS as u32;
        let find = |wanted: &dyn Fn(&Host) -> bool| {
            (base..base + WAYS as u32)
                .find(|&slot| wanted(&self.hosts[slot as usize]) && taken != Some(slot))
        };
        let known = find(&|host| host.queues > 0 && host.tag == tag);
        let slot = known.or_else(|| find(&|host| host.queues == 0));
        let slot = slot.unwrap_or(base + tag as u32 % WAYS as u32);
        let host = &mut self.hosts[slot as usize];
        if host.queues == 0 {
            host.tag = tag;
        }
        slot
    }

    /// Applies to each of the one or two hosts of a queue.
    fn for_hosts(&mut self, queue: u32, mut apply: impl FnMut(&mut Host)) {
        let [first, second] = self.members[queue as usize].hosts;
        apply(&mut self.hosts[first as usize]);
        if second != first {
            apply(&mut self.hosts[second as usize]);
        }
    }

    /// The host whose turn an old queue shares.
    fn host_of(&self, queue: u32) -> u32 {
        let member = &self.members[queue as usize];
        member.hosts[usize::from(member.of_second)]
    }

    fn become_old(&mut self, links: &mut [Link], queue: u32) {
        self.for_hosts(queue, |host| host.old_queues += 1);
        links[queue as usize].place = Place::Old;
        self.join_turn(links, queue);
    }

    /// Puts an old queue at the end of the turn of its host with more old queues.
    fn join_turn(&mut self, links: &mut [Link], queue: u32) {
        let [first, second] = self.members[queue as usize].hosts;
        let old_queues = |host: u32| self.hosts[host as usize].old_queues;
        self.members[queue as usize].of_second = old_queues(second) >= old_queues(first);
        let number = self.host_of(queue);
        let host = &mut self.hosts[number as usize];
        host.in_turn += 1;
        host.old.push_back(links, queue);
        let link = &mut self.host_links[number as usize];
        if link.place == Place::Inactive {
            link.place = Place::Old;
            // What it sent beyond its last turn stays owed.
            link.deficit = link.deficit.min(0);
            self.turns.push_back(&mut self.host_links, number);
        }
    }

    /// Takes the first old queue off the list of the host in turn.
    fn leave_turn(&mut self, links: &mut [Link]) -> Option<u32> {
        let host = &mut self.hosts[self.turns.first()? as usize];
        let queue = host.old.pop_front(links)?;
        host.in_turn -= 1;
        Some(queue)
    }

    /// Bytes of a turn: a quantum, or of it the part of the old flows of the host that share the turn.
    fn turn_bytes(&self, number: u32) -> i64 {
        let Host { old_queues, in_turn, .. } = self.hosts[number as usize];
        (self.quantum * i64::from(in_turn) / i64::from(old_queues.max(1))).max(1)
    }
}

impl Algorithm for Isolated {
    fn hold(&mut self, queue: u32) {
        self.for_hosts(queue, |host| host.queues += 1);
    }

    fn release(&mut self, queue: u32) {
        self.for_hosts(queue, |host| host.queues -= 1);
    }

    fn activate(&mut self, links: &mut [Link], queue: u32) {
        self.hold(queue);
        let link = &mut links[queue as usize];
        link.place = Place::New;
        link.deficit = self.quantum;
        self.new.push_back(links, queue);
    }

    fn resume(&mut self, links: &mut [Link], queue: u32) {
        self.become_old(links, queue);
    }

    fn candidate(&mut self, links: &mut [Link], _: &impl Heads) -> Option<u32> {
        loop {
            if let Some(queue) = self.new.first() {
                let link = &mut links[queue as usize];
                if link.deficit > 0 {
                    return Some(queue);
                }
                link.deficit += self.quantum;
                self.new.pop_front(links);
                self.become_old(links, queue);
                continue;
            }
            let number = self.turns.first()?;
            let Some(queue) = self.hosts[number as usize].old.first() else {
                self.turns.pop_front(&mut self.host_links);
                self.host_links[number as usize].place = Place::Inactive;
                continue;
            };
            if self.host_links[number as usize].deficit <= 0 {
                self.host_links[number as usize].deficit += self.turn_bytes(number);
                self.turns.rotate(&self.host_links);
                continue;
            }
            let link = &mut links[queue as usize];
            if link.deficit > 0 {
                return Some(queue);
            }
            link.deficit += self.quantum;
            self.leave_turn(links);
            self.join_turn(links, queue);
        }
    }

    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let link = &mut links[queue as usize];
        link.deficit -= i64::from(len_bytes);
        if link.place == Place::Old {
            let number = self.host_of(queue);
            self.host_links[number as usize].deficit -= i64::from(len_bytes);
        }
    }

    fn emptied(&mut self, links: &mut [Link], queue: u32) {
        let was_new = links[queue as usize].place == Place::New;
        self.remove_candidate(links, queue);
        if was_new {
            self.become_old(links, queue);
        } else {
            links[queue as usize].place = Place::Inactive;
            self.release(queue);
        }
    }

    fn remove_candidate(&mut self, links: &mut [Link], _: u32) {
        if self.new.pop_front(links).is_none()
            && let Some(queue) = self.leave_turn(links)
        {
            self.for_hosts(queue, |host| host.old_queues -= 1);
        }
    }
}
