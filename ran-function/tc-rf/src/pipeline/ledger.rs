//! Counters of the whole pipeline, and the sink that updates them when packets are dropped.

use crate::arena::Queued;
use crate::flow_inventory::Inventory;
use crate::stage::StageSink;
use crate::{DropReason, EventSink};

/// Counters of the whole pipeline, cumulative.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) ingress_packets: u64,
    pub(crate) ingress_bytes: u64,
    pub(crate) dropped_packets: u64,
}

/// Updates flow inventory and counters for dropped packets, and passes drops and marks on.
pub(crate) struct Ledger<'a, S> {
    inventory: &'a mut Inventory,
    totals: &'a mut Totals,
    events: &'a mut S,
}

impl<'a, S> Ledger<'a, S> {
    pub(crate) fn new(
        inventory: &'a mut Inventory,
        totals: &'a mut Totals,
        events: &'a mut S,
    ) -> Self {
        Self { inventory, totals, events }
    }
}

impl<P, S: EventSink<P>> StageSink<P> for Ledger<'_, S> {
    fn dropped(&mut self, queued: Queued<P>, reason: DropReason, now_us: u64) {
        self.inventory.left(queued.stamp.flow, queued.stamp.len_bytes);
        self.totals.dropped_packets += 1;
        self.events.dropped(queued.packet, reason, now_us);
    }

    fn marked(&mut self, packet: &P, now_us: u64) {
        self.events.marked(packet, now_us);
    }
}
