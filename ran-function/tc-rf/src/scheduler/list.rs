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

/// A list: first and last queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NIL, tail: NIL }
    }
}

impl List {
    pub(crate) fn first(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }

    pub(crate) fn push_back(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].next = NIL;
        match links.get_mut(self.tail as usize) {
            Some(tail) => tail.next = queue,
            None => self.head = queue,
        }
        self.tail = queue;
    }

    pub(crate) fn pop_front(&mut self, links: &mut [Link]) -> Option<u32> {
        let queue = self.first()?;
        self.head = links[queue as usize].next;
        if self.head == NIL {
            self.tail = NIL;
        }
        Some(queue)
    }
}
