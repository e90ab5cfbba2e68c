//! Storage of queued packets: one slab for all queues of a bearer, linked lists through it.
//!
//! The slab grows to the largest backlog and its slots are reused, so a packet costs no
//! allocation in steady state, and moving a packet to another queue moves an index.

use crate::classifier::Header;

/// End of a list.
const NIL: u32 = u32::MAX;

/// A packet in a queue with its properties on arrival.
#[derive(Clone, Debug)]
pub(crate) struct Queued<P> {
    pub(crate) packet: P,
    pub(crate) len_bytes: u32,
    /// Time at which it entered the pipeline; unchanged when it changes queue, so its sojourn
    /// continues.
    pub(crate) arrived_us: u64,
    /// Position among all packets that ever entered this pipeline.
    pub(crate) sequence: u64,
    pub(crate) flow_hash: u64,
    /// What the packet is classified by.
    pub(crate) header: Header,
    /// Its flow's entry in the flow inventory.
    pub(crate) flow: crate::flow_inventory::FlowRef,
}

#[derive(Clone, Debug)]
struct Slot<P> {
    queued: Option<Queued<P>>,
    next: u32,
}

/// The slab.
#[derive(Clone, Debug)]
pub(crate) struct Arena<P> {
    slots: Vec<Slot<P>>,
    free: u32,
}

impl<P> Default for Arena<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NIL }
    }
}

/// One queue's packets: a list through the arena, with its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    head: u32,
    tail: u32,
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
}

impl Default for Backlog {
    fn default() -> Self {
        Self { head: NIL, tail: NIL, packets: 0, bytes: 0 }
    }
}

impl Backlog {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

impl<P> Arena<P> {
    pub(crate) fn reserve(&mut self, packets: usize) {
        self.slots.reserve(packets);
    }

    /// Appends a packet to a queue.
    pub(crate) fn push(&mut self, backlog: &mut Backlog, queued: Queued<P>) {
        backlog.bytes += u64::from(queued.len_bytes);
        backlog.packets += 1;
        let index = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let index = self.free;
                self.free = slot.next;
                slot.queued = Some(queued);
                slot.next = NIL;
                index
            }
            None => {
                self.slots.push(Slot { queued: Some(queued), next: NIL });
                (self.slots.len() - 1) as u32
            }
        };
        match self.slots.get_mut(backlog.tail as usize) {
            Some(tail) => tail.next = index,
            None => backlog.head = index,
        }
        backlog.tail = index;
    }

    /// Takes the oldest packet of a queue.
    pub(crate) fn pop(&mut self, backlog: &mut Backlog) -> Option<Queued<P>> {
        let slot = self.slots.get_mut(backlog.head as usize)?;
        let queued = slot.queued.take()?;
        let index = std::mem::replace(&mut backlog.head, slot.next);
        slot.next = std::mem::replace(&mut self.free, index);
        if backlog.head == NIL {
            backlog.tail = NIL;
        }
        backlog.packets -= 1;
        backlog.bytes -= u64::from(queued.len_bytes);
        Some(queued)
    }

    /// The oldest packet of a queue.
    pub(crate) fn head(&self, backlog: &Backlog) -> Option<&Queued<P>> {
        self.slots.get(backlog.head as usize)?.queued.as_ref()
    }
}
