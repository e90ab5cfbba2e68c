//! Lists of queues, linked through one table: a queue is on at most one list at a time.

/// End of a list.
pub(crate) const NIL: u32 = u32::MAX;

/// Place of a queue in the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Member of no list: it has had no packet since it was last found empty.
    #[default]
    Inactive,
    /// Member of the list of new queues (RFC 8290 §4.2); for other schedulers than DRR, the active
    /// list.
    New,
    /// Member of the list of old queues.
    Old,
    /// Member of the list of inelastic flows, which go before the old ones.
    First,
    /// Held back by its shaper.
    Parked,
}

/// Scheduler state of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    next: u32,
    pub(crate) place: Place,
    /// Credits of RFC 8290 §4.1, bytes.
    pub(crate) deficit: i64,
}

impl Default for Link {
    fn default() -> Self {
        Self { next: NIL, place: Place::Inactive, deficit: 0 }
    }
}

/// A list, closed to a ring: the last queue links to the first, so that a turn moves no queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    /// The last queue; without meaning in an empty list.
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NIL, tail: NIL }
    }
}

impl List {
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }

    #[inline]
    pub(crate) fn push_back(&mut self, links: &mut [Link], queue: u32) {
        if self.head == NIL {
            self.head = queue;
        } else {
            links[self.tail as usize].next = queue;
        }
        links[queue as usize].next = self.head;
        self.tail = queue;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self, links: &mut [Link]) -> Option<u32> {
        let queue = self.first()?;
        if queue == self.tail {
            self.head = NIL;
        } else {
            self.head = links[queue as usize].next;
            links[self.tail as usize].next = self.head;
        }
        Some(queue)
    }

    /// The first queue becomes the last.
    #[inline]
    pub(crate) fn rotate(&mut self, links: &[Link]) {
        if let Some(queue) = self.first() {
            self.tail = queue;
            self.head = links[queue as usize].next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(list: &List, links: &[Link]) -> Vec<u32> {
        let (mut list, mut links) = (*list, links.to_vec());
        std::iter::from_fn(|| list.pop_front(&mut links)).collect()
    }

    #[test]
    fn queues_leave_in_the_order_in_which_they_came_and_a_turn_moves_the_first_to_the_end() {
        let mut links = vec![Link::default(); 5];
        let mut list = List::default();
        list.rotate(&links);
        assert_eq!(list.first(), None);
        for queue in [3, 0, 4] {
            list.push_back(&mut links, queue);
        }
        assert_eq!(queues(&list, &links), [3, 0, 4]);
        list.rotate(&links);
        assert_eq!(queues(&list, &links), [0, 4, 3]);
        list.push_back(&mut links, 1);
        assert_eq!(list.pop_front(&mut links), Some(0));
        assert_eq!(queues(&list, &links), [4, 3, 1]);
        for queue in [4, 3, 1] {
            assert_eq!(list.pop_front(&mut links), Some(queue));
        }
        assert_eq!(list.first(), None);
        list.push_back(&mut links, 2);
        list.rotate(&links);
        assert_eq!(queues(&list, &links), [2], "alone it keeps its turn");
    }
}
