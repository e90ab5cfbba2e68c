//! The F1-U link between CU and DU (38.425): packets down, delivery status up, each late by a
//! fixed time.

use std::collections::VecDeque;

/// A first-in first-out line on which everything takes the same time.
#[derive(Debug, Clone)]
pub struct DelayLine<T> {
    delay_us: u64,
    items: VecDeque<(u64, T)>,
}

impl<T> DelayLine<T> {
    /// An empty line.
    pub fn new(delay_us: u64) -> Self {
        Self { delay_us, items: VecDeque::new() }
    }

    /// Puts `item` on the line. Time never runs backwards between calls.
    pub fn push(&mut self, item: T, now_us: u64) {
        self.items.push_back((now_us + self.delay_us, item));
    }

    /// Takes the next item that has arrived by `now_us`, with the time it arrived.
    pub fn pop_due(&mut self, now_us: u64) -> Option<(u64, T)> {
        self.items.front().filter(|(at_us, _)| *at_us <= now_us)?;
        self.items.pop_front()
    }

    /// When the next item arrives.
    pub fn next_deadline_us(&self) -> Option<u64> {
        self.items.front().map(|(at_us, _)| *at_us)
    }

    /// What is on the line, oldest first.
    pub fn in_flight(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }
}

/// Both directions of F1-U: `D` towards the DU, `U` (downlink data delivery status, 38.425
/// §5.4.2) towards the CU.
#[derive(Debug, Clone)]
pub struct F1Link<D, U> {
    /// CU to DU.
    pub down: DelayLine<D>,
    /// DU to CU.
    pub up: DelayLine<U>,
}

impl<D, U> F1Link<D, U> {
    /// An empty link with `delay_us` each way.
    pub fn new(delay_us: u64) -> Self {
        Self { down: DelayLine::new(delay_us), up: DelayLine::new(delay_us) }
    }

    /// When the next thing arrives at either end.
    pub fn next_deadline_us(&self) -> Option<u64> {
        match (self.down.next_deadline_us(), self.up.next_deadline_us()) {
            (Some(down), Some(up)) => Some(down.min(up)),
            (down, up) => down.or(up),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order_after_the_delay() {
        let mut link = F1Link::<char, u32>::new(10_000);
        link.down.push('a', 0);
        link.down.push('b', 500);
        link.up.push(7, 200);
        assert_eq!(link.next_deadline_us(), Some(10_000));
        assert_eq!(link.down.pop_due(9_999), None);
        assert_eq!(link.down.in_flight().collect::<String>(), "ab");
        assert_eq!(link.down.pop_due(20_000), Some((10_000, 'a')));
        assert_eq!(link.next_deadline_us(), Some(10_200));
        assert_eq!(link.up.pop_due(10_200), Some((10_200, 7)));
        assert_eq!(link.down.pop_due(20_000), Some((10_500, 'b')));
        assert_eq!(link.next_deadline_us(), None);
    }
}
