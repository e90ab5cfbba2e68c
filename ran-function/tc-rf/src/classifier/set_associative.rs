//! Set-associative hash: the hash picks a set of queues and a home queue in it, and a flow may have
//! any queue of its set to itself (Høiland-Jørgensen et al. 2018 §III-B, where sets have 8).
//!
//! In order:
//! 1. a queue of the set that is reserved for the flow;
//! 2. else the first empty queue of the set, from the home queue on: it is reserved for the flow,
//!    whoever had it before;
//! 3. else the home queue, which the flow shares as a guest.
//!
//! CAKE gives the home queue of step 3 to the newcomer, and its former flow then searches another
//! queue while its packets still wait in this one: both flows may be reordered. Here a queue with
//! packets stays with its flow, and a flow that may have packets in its home queue as a guest stays
//! there until they are gone. A flow therefore has packets in one queue at a time.

use crate::hash::scale;
use crate::queue::Target;
use crate::scheduler::Heads;

/// One queue of a set.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Hash of the flow it is reserved for.
    reserved_for: Option<u64>,
    /// Sequence of the last packet queued here for a flow without reservation.
    last_guest: Option<u64>,
}

/// Sets of queues over a target.
#[derive(Clone, Debug)]
pub(super) struct SetAssociative {
    first: u32,
    sets: u32,
    ways_per_set: u32,
    ways: Vec<Way>,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Hash that picks the set.
    pub(super) set_hash: u64,
    /// Hash that selects the home queue and identifies the flow.
    pub(super) flow_hash: u64,
    /// The packet's position among all packets.
    pub(super) sequence: u64,
}

impl SetAssociative {
    /// `ways` divides the number of queues.
    pub(super) fn new(target: Target, ways: u8) -> Self {
        let ways_per_set = u32::from(ways).clamp(1, target.count.max(1));
        let sets = target.count / ways_per_set;
        let ways = vec![Way::default(); (sets * ways_per_set) as usize];
        Self { first: target.first, sets, ways_per_set, ways }
    }

    pub(super) fn classify(&mut self, claim: Claim, heads: &impl Heads) -> u32 {
        let Claim { set_hash, flow_hash, sequence } = claim;
        let base = scale(set_hash, self.sets) * self.ways_per_set;
        // The set was picked by the high half of its hash; the low half is as good as another.
        let home = scale(flow_hash << 32, self.ways_per_set);
        let from_home = (0..self.ways_per_set).map(|k| base + (home + k) % self.ways_per_set);
        let reserved = |way: &u32| self.ways[*way as usize].reserved_for == Some(flow_hash);
        if let Some(way) = from_home.clone().find(reserved) {
            return self.first + way;
        }
        let home = base + home;
        let queue = |way: u32| self.first + way;
        let oldest = heads.head(queue(home)).map(|head| head.sequence);
        let has_guests = oldest.is_some_and(|oldest| {
            self.ways[home as usize].last_guest.is_some_and(|last| oldest <= last)
        });
        let empty = from_home.into_iter().find(|&way| heads.head(queue(way)).is_none());
        if let (Some(way), false) = (empty, has_guests) {
            self.ways[way as usize].reserved_for = Some(flow_hash);
            return queue(way);
        }
        self.ways[home as usize].last_guest = Some(sequence);
        queue(home)
    }

    /// No queue has a packet; those that come are older than those that were.
    pub(super) fn emptied(&mut self) {
        for way in &mut self.ways {
            way.last_guest = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::HeadOfLine;

    /// Backlogs by queue: sequences in order.
    #[derive(Default)]
    struct Queues(Vec<Vec<u64>>);

    impl Heads for Queues {
        fn head(&self, queue: u32) -> Option<HeadOfLine> {
            let sequence = *self.0.get(queue as usize)?.first()?;
            Some(HeadOfLine { arrived_us: 0, sequence })
        }
    }

    /// One set of two ways behind queue 3.
    struct Bench {
        classifier: SetAssociative,
        queues: Queues,
        sequence: u64,
    }

    impl Bench {
        fn new() -> Self {
            let classifier = SetAssociative::new(Target { first: 3, count: 2 }, 2);
            Self { classifier, queues: Queues(vec![Vec::new(); 5]), sequence: 0 }
        }

        /// A packet of a flow whose home is way `home`.
        fn arrive(&mut self, flow: u64, home: u64) -> u32 {
            self.sequence += 1;
            let flow_hash = home << 31 | flow << 1;
            let claim = Claim { set_hash: 0, flow_hash, sequence: self.sequence };
            let queue = self.classifier.classify(claim, &self.queues);
            self.queues.0[queue as usize].push(self.sequence);
            queue
        }

        fn leave(&mut self, queue: usize) {
            self.queues.0[queue].remove(0);
        }
    }

    #[test]
    fn flows_of_one_set_part_until_it_is_full() {
        let mut bench = Bench::new();
        assert_eq!(bench.arrive(1, 0), 3);
        assert_eq!(bench.arrive(2, 0), 4, "its home is taken");
        assert_eq!(bench.arrive(3, 1), 4, "no queue is empty: a guest at home");
        assert_eq!([bench.arrive(1, 0), bench.arrive(2, 0), bench.arrive(3, 1)], [3, 4, 4]);
    }

    #[test]
    fn a_reservation_outlives_an_empty_queue_until_another_flow_takes_it() {
        let mut bench = Bench::new();
        bench.arrive(1, 0);
        bench.arrive(2, 0);
        bench.leave(4);
        assert_eq!(bench.arrive(2, 0), 4);
        bench.leave(4);
        assert_eq!(bench.arrive(3, 0), 4, "the empty queue, though it was reserved");
        assert_eq!(bench.arrive(2, 0), 3, "now a guest at home");
    }

    #[test]
    fn a_guest_moves_only_when_its_packets_are_gone() {
        let mut bench = Bench::new();
        bench.arrive(1, 0);
        bench.arrive(2, 1);
        assert_eq!(bench.arrive(3, 0), 3);
        bench.leave(4);
        assert_eq!(bench.arrive(3, 0), 3, "queue 4 is empty, but its packets are in 3");
        bench.leave(3);
        bench.leave(3);
        assert_eq!(bench.arrive(3, 0), 3);
        bench.leave(3);
        bench.leave(3);
        assert_eq!(bench.arrive(1, 0), 3, "the reservation held all along");
        assert_eq!(bench.arrive(3, 0), 4, "and the guest found room");
    }
}
