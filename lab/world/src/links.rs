//! Packets and frames in flight between servers, CU, DU and UEs, in order of arrival.

use std::collections::VecDeque;

use super::f1::FromDu;
use super::packet::GnbPacket;

/// Everything in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Servers to CU.
    pub(crate) core_down: Line<GnbPacket>,
    /// CU to DU.
    pub(crate) f1_down: Line<GnbPacket>,
    /// DU to CU: bearer, RLC status or delivery status, and how far its QoS flows have left the RLC.
    pub(crate) f1_up: Line<(u32, (FromDu, Left))>,
    /// CU to DU: bearers whose RLC status the CU queries.
    pub(crate) rlc_queries: Line<u32>,
    /// CU to DU: bearers whose unsent SDUs the CU recalls.
    pub(crate) discards: Line<u32>,
    /// DU to CU: recalled packets by bearer.
    pub(crate) recalled: Line<(u32, Vec<GnbPacket>)>,
    /// Packets to a UE; arrival when decoded.
    pub(crate) radio_down: Line<GnbPacket>,
    /// What is in the queues and blocks of UEs, by tag.
    pub(crate) at_ues: AtUes,
    /// UEs to servers, from the gNB on.
    pub(crate) uplink: Line<traffic::Packet>,
}

impl Links {
    /// Whether packets are in flight, not status alone.
    pub(crate) fn carry_packets(&self) -> bool {
        let down = [&self.core_down, &self.f1_down, &self.radio_down];
        down.iter().any(|line| line.next_us() != u64::MAX)
            || self.recalled.next_us() != u64::MAX
            || self.uplink.next_us() != u64::MAX
            || !self.at_ues.is_empty()
    }

    /// Time of the next arrival; `u64::MAX` if nothing is in flight.
    pub(crate) fn next_us(&self) -> u64 {
        [
            self.core_down.next_us(),
            self.f1_up.next_us(),
            self.f1_down.next_us(),
            self.rlc_queries.next_us(),
            self.discards.next_us(),
            self.recalled.next_us(),
            self.radio_down.next_us(),
            self.uplink.next_us(),
        ]
        .into_iter()
        .fold(u64::MAX, u64::min)
    }
}

/// How far flows have left an RLC: index of the flow, and `sent_bytes` of its last packet that has. The
/// CU has it from the delivery status as the highest transmitted number, in AM the highest delivered
/// (38.425 §5.5.3).
pub(crate) type Left = Vec<(u32, u64)>;

/// What a UE sends.
#[derive(Clone, Debug)]
pub(crate) enum FromUe {
    Packet(traffic::Packet),
    /// The end marker of a QoS flow, by its index.
    EndMarker(u32),
}

/// Packets and end markers that UEs have sent and that have not left the gNB.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtUes {
    items: Vec<Option<FromUe>>,
    free: Vec<usize>,
    markers: u64,
}

impl AtUes {
    /// Keeps an item; returns its tag.
    pub(crate) fn insert(&mut self, item: FromUe) -> u64 {
        self.markers += u64::from(matches!(item, FromUe::EndMarker(_)));
        let at = match self.free.pop() {
            Some(at) => {
                self.items[at] = Some(item);
                at
            }
            None => {
                self.items.push(Some(item));
                self.items.len() - 1
            }
        };
        at as u64
    }

    /// The item of a tag, which is free again.
    pub(crate) fn take(&mut self, tag: u64) -> Option<FromUe> {
        let item = self.items.get_mut(tag as usize)?.take()?;
        self.free.push(tag as usize);
        self.markers -= u64::from(matches!(item, FromUe::EndMarker(_)));
        Some(item)
    }

    /// Number of packets.
    pub(crate) fn len(&self) -> u64 {
        (self.items.len() - self.free.len()) as u64 - self.markers
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Items ordered by arrival time, and by insertion at equal times.
#[derive(Clone, Debug)]
pub(crate) struct Line<T> {
    items: VecDeque<(u64, T)>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { items: VecDeque::new() }
    }
}

impl<T> Line<T> {
    /// Inserts an item; fast for the latest arrival, the usual case.
    pub(crate) fn push(&mut self, at_us: u64, item: T) {
        match self.items.back() {
            Some((last_us, _)) if *last_us > at_us => {
                let index = self.items.partition_point(|(time_us, _)| *time_us <= at_us);
                self.items.insert(index, (at_us, item));
            }
            _ => self.items.push_back((at_us, item)),
        }
    }

    /// Removes the items that satisfy `wanted`, in the order of arrival.
    pub(crate) fn extract(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for (at_us, item) in std::mem::take(&mut self.items) {
            if wanted(&item) {
                taken.push(item);
            } else {
                self.items.push_back((at_us, item));
            }
        }
        taken
    }

    /// Time of the next arrival; `u64::MAX` if nothing is in flight.
    pub(crate) fn next_us(&self) -> u64 {
        self.items.front().map_or(u64::MAX, |(at_us, _)| *at_us)
    }

    /// Items in flight.
    pub(crate) fn len(&self) -> u64 {
        self.items.len() as u64
    }

    /// The items, by arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }

    /// Removes the next item that has arrived by `now_us`, with its time.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<(u64, T)> {
        if self.next_us() <= now_us { self.items.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_arrival_is_inserted_in_order_and_ties_keep_their_order() {
        let mut line = Line::default();
        for (at_us, name) in [(5, 'a'), (9, 'b'), (5, 'c'), (7, 'd'), (9, 'e')] {
            line.push(at_us, name);
        }
        let mut order = String::new();
        while let Some((_, name)) = line.pop_due(100) {
            order.push(name);
        }
        assert_eq!(order, "acdbe");
    }

    #[test]
    fn nothing_arrives_before_its_time() {
        let mut line = Line::default();
        line.push(5, ());
        assert!(line.pop_due(4).is_none());
        assert_eq!((line.next_us(), line.len()), (5, 1));
        assert!(line.pop_due(5).is_some());
        assert_eq!(line.next_us(), u64::MAX);
    }
}
