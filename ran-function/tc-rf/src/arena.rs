//! Storage of packets: one slab for all queues of a bearer, linked lists through it.
//!
//! The slab grows to the largest backlog and its slots are reused, so a packet costs no
//! allocation in steady state. A packet is copied twice, into its slot as it arrives and out of it
//! as it leaves the pipeline; in between it moves by the index of its slot.

use crate::BufferStatus;
use crate::classifier::Header;
use crate::flow_inventory::FlowRef;

/// End of a list.
const NIL: u32 = u32::MAX;

/// Properties of a packet on arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
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
    pub(crate) flow: FlowRef,
}

/// A packet that has left the slab, with its properties on arrival.
#[derive(Clone, Debug)]
pub(crate) struct Queued<P> {
    pub(crate) packet: P,
    pub(crate) stamp: Stamp,
}

/// A packet in the slab that is in no queue: whoever has this queues the packet or takes it out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) index: u32,
    pub(crate) len_bytes: u32,
    pub(crate) arrived_us: u64,
}

#[derive(Clone, Debug)]
struct Entry<P> {
    stamp: Stamp,
    /// The next packet of its queue, or the next free slot.
    next: u32,
    packet: Option<P>,
}

/// The slab.
#[derive(Clone, Debug)]
pub(crate) struct Arena<P> {
    entries: Vec<Entry<P>>,
    free: u32,
    /// What all queues hold.
    pub(crate) queued: BufferStatus,
}

impl<P> Default for Arena<P> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: NIL, queued: BufferStatus::default() }
    }
}

/// One queue's packets: a list through the arena, with its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    head: u32,
    /// The last packet; without meaning in an empty queue.
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
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

impl<P> Arena<P> {
    pub(crate) fn reserve(&mut self, packets: usize) {
        self.entries.reserve(packets);
    }

    /// The slots, none of which is added meanwhile.
    #[inline]
    pub(crate) fn slots(&mut self) -> Slots<'_, P> {
        Slots { entries: &mut self.entries, free: &mut self.free, queued: &mut self.queued }
    }

    /// The same with a free one among them.
    #[inline]
    pub(crate) fn slots_with_room(&mut self) -> Slots<'_, P> {
        // Beyond all entries is the end of the list.
        if self.free as usize >= self.entries.len() {
            self.grow();
        }
        self.slots()
    }

    /// A new free slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.entries.len() as u32;
        self.entries.push(Entry { stamp: Stamp::default(), next: NIL, packet: None });
    }

    /// See [`Slots::insert`].
    #[inline]
    pub(crate) fn insert(&mut self, packet: P, stamp: Stamp) -> Slot {
        self.slots_with_room().insert(packet, stamp)
    }

    /// See [`Slots::take`].
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot) -> Queued<P> {
        self.slots().take(slot)
    }

    /// The slot of that index, which is in no queue.
    pub(crate) fn slot(&self, index: u32) -> Slot {
        slot(&self.entries[index as usize].stamp, index)
    }

    #[inline]
    pub(crate) fn stamp(&self, slot: Slot) -> &Stamp {
        &self.entries[slot.index as usize].stamp
    }

    #[inline]
    pub(crate) fn packet(&self, slot: Slot) -> &P {
        let Some(packet) = &self.entries[slot.index as usize].packet else { no_packet() };
        packet
    }

    #[inline]
    pub(crate) fn packet_mut(&mut self, slot: Slot) -> &mut P {
        let Some(packet) = &mut self.entries[slot.index as usize].packet else { no_packet() };
        packet
    }

    /// See [`Slots::push`].
    #[inline]
    pub(crate) fn push(&mut self, backlog: &mut Backlog, slot: Slot) {
        self.slots().push(backlog, slot);
    }

    /// Takes the oldest packet off a queue.
    #[inline]
    pub(crate) fn pop(&mut self, backlog: &mut Backlog) -> Option<Slot> {
        let mut slots = self.slots();
        let first = slots.first(backlog)?;
        Some(slots.pop_first(backlog, first))
    }

    /// The oldest packet of a queue, still in it.
    #[inline]
    pub(crate) fn first(&self, backlog: &Backlog) -> Option<Slot> {
        first(&self.entries, backlog)
    }

    /// See [`Slots::pop_first`].
    #[inline]
    pub(crate) fn pop_first(&mut self, backlog: &mut Backlog, first: Slot) -> Slot {
        self.slots().pop_first(backlog, first)
    }

    /// The oldest packet of a queue.
    #[inline]
    pub(crate) fn head(&self, backlog: &Backlog) -> Option<&Stamp> {
        Some(&self.entries.get(backlog.head as usize)?.stamp)
    }

    /// The same with the packet itself.
    pub(crate) fn head_packet(&self, backlog: &Backlog) -> Option<(&Stamp, &P)> {
        let entry = self.entries.get(backlog.head as usize)?;
        Some((&entry.stamp, entry.packet.as_ref()?))
    }
}

/// The slab during one arrival or departure. Its storage does not move meanwhile, so that a slot that was
/// found once is not looked up again.
pub(crate) struct Slots<'a, P> {
    entries: &'a mut [Entry<P>],
    free: &'a mut u32,
    queued: &'a mut BufferStatus,
}

impl<P> Slots<'_, P> {
    /// Stores a packet in the free slot.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: P, stamp: Stamp) -> Slot {
        let index = *self.free;
        let entry = &mut self.entries[index as usize];
        *self.free = entry.next;
        entry.stamp = stamp;
        entry.packet = Some(packet);
        self::slot(&stamp, index)
    }

    /// Takes a packet out; its slot is free again.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: Slot) -> Queued<P> {
        let entry = &mut self.entries[slot.index as usize];
        entry.next = std::mem::replace(self.free, slot.index);
        let Some(packet) = entry.packet.take() else { no_packet() };
        Queued { packet, stamp: entry.stamp }
    }

    #[inline(always)]
    pub(crate) fn packet(&self, slot: Slot) -> &P {
        let Some(packet) = &self.entries[slot.index as usize].packet else { no_packet() };
        packet
    }

    #[inline(always)]
    pub(crate) fn packet_mut(&mut self, slot: Slot) -> &mut P {
        let Some(packet) = &mut self.entries[slot.index as usize].packet else { no_packet() };
        packet
    }

    /// Appends a packet to a queue.
    #[inline(always)]
    pub(crate) fn push(&mut self, backlog: &mut Backlog, slot: Slot) {
        let Slot { index, len_bytes, .. } = slot;
        self.queued.packets += 1;
        self.queued.bytes += u64::from(len_bytes);
        self.entries[index as usize].next = NIL;
        backlog.bytes += u64::from(len_bytes);
        if backlog.is_empty() {
            backlog.head = index;
        } else {
            self.entries[backlog.tail as usize].next = index;
        }
        backlog.packets += 1;
        backlog.tail = index;
    }

    /// The oldest packet of a queue, still in it.
    #[inline(always)]
    pub(crate) fn first(&self, backlog: &Backlog) -> Option<Slot> {
        first(self.entries, backlog)
    }

    /// Takes off a queue what [`first`](Self::first) gives for it now.
    #[inline(always)]
    pub(crate) fn pop_first(&mut self, backlog: &mut Backlog, first: Slot) -> Slot {
        backlog.head = self.entries[first.index as usize].next;
        backlog.packets -= 1;
        backlog.bytes -= u64::from(first.len_bytes);
        self.queued.packets -= 1;
        self.queued.bytes -= u64::from(first.len_bytes);
        first
    }
}

#[inline]
fn first<P>(entries: &[Entry<P>], backlog: &Backlog) -> Option<Slot> {
    Some(slot(&entries.get(backlog.head as usize)?.stamp, backlog.head))
}

#[inline]
fn slot(stamp: &Stamp, index: u32) -> Slot {
    Slot { index, len_bytes: stamp.len_bytes, arrived_us: stamp.arrived_us }
}

#[cold]
fn no_packet() -> ! {
    unreachable!("a slot that is held has a packet")
}
