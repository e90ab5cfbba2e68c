//! Windowed maximum.

use std::collections::VecDeque;

/// The largest value of the last so many ticks of a virtual clock, such as round trips. Exact, and
/// holds no more samples than the window has ticks.
#[derive(Debug, Clone, Default)]
pub(super) struct WindowedMax {
    /// Ticks ascending, values descending.
    samples: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    /// Takes in a value; gives the maximum over the ticks in `tick + 1 - window..=tick`.
    pub(super) fn update(&mut self, tick: u64, value: u64, window: u64) -> u64 {
        self.expire(tick, window);
        while self.samples.back().is_some_and(|&(_, it)| it <= value) {
            self.samples.pop_back();
        }
        if self.samples.back().is_none_or(|&(at, _)| at < tick) {
            self.samples.push_back((tick, value));
        }
        self.max()
    }

    /// Forgets what has left the window; gives the maximum of the rest.
    pub(super) fn expire(&mut self, tick: u64, window: u64) -> u64 {
        while self.samples.front().is_some_and(|&(at, _)| at + window <= tick) {
            self.samples.pop_front();
        }
        self.max()
    }

    fn max(&self) -> u64 {
        self.samples.front().map_or(0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan_of_the_window(
            values in prop::collection::vec((0_u64..3, 0_u64..1_000), 1..200),
            window in 1_u64..12,
        ) {
            let (mut filter, mut seen, mut tick) = (WindowedMax::default(), Vec::new(), 0);
            for (step, value) in values {
                tick += step;
                seen.push((tick, value));
                let expected =
                    seen.iter().filter(|(at, _)| at + window > tick).map(|it| it.1).max();
                prop_assert_eq!(Some(filter.update(tick, value, window)), expected);
                prop_assert!(filter.samples.len() as u64 <= window);
            }
        }
    }
}
