//! Things on their way, in order of arrival.

use std::collections::VecDeque;

/// A first-in first-out line in which each item has its own arrival time. Items of equal time keep
/// the order they were put in.
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
    /// Puts an item on its way. Nearly always the last to arrive; an earlier one is put in place.
    pub(crate) fn push(&mut self, at_us: u64, item: T) {
        match self.items.back() {
            Some((last_us, _)) if *last_us > at_us => {
                let index = self.items.partition_point(|(time_us, _)| *time_us <= at_us);
                self.items.insert(index, (at_us, item));
            }
            _ => self.items.push_back((at_us, item)),
        }
    }

    /// When the next item arrives; `u64::MAX` when none is on its way.
    pub(crate) fn next_us(&self) -> u64 {
        self.items.front().map_or(u64::MAX, |(at_us, _)| *at_us)
    }

    /// The next item that has arrived by `now_us`, with its time.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<(u64, T)> {
        if self.next_us() <= now_us { self.items.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overtaker_is_put_in_place_and_ties_keep_their_order() {
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
    fn nothing_arrives_early() {
        let mut line = Line::default();
        line.push(5, ());
        assert!(line.pop_due(4).is_none());
        assert_eq!(line.next_us(), 5);
        assert!(line.pop_due(5).is_some());
        assert_eq!(line.next_us(), u64::MAX);
    }
}
