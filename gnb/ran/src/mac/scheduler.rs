//! Which scheduler a cell has, and whose turn it is.

use std::collections::VecDeque;

use crate::config::ConfigError;

/// Part of the carrier that a slice owns under fixed partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceShare {
    /// Identity of the slice, as in [`crate::UeConfig::slice`].
    pub slice: u8,
    /// Per cent of the PRBs of a slot, rounded down (irazabal2021 §V: 25 % of 25 PRB are 6).
    pub percent: u8,
}

/// Who gets the PRBs of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerConfig {
    /// All UEs with data in turn: the PRBs of a slot are split equally among as many as fit the
    /// PDCCH, in whole RBGs, no UE gets more than its buffers hold, and the next slot begins with
    /// the UE that has waited longest.
    RoundRobin,
    /// The FP of irazabal2021: a slice owns its share of every slot, used or not; round robin
    /// among the UEs of a slice.
    FixedPartition(Vec<SliceShare>),
}

impl SchedulerConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let Self::FixedPartition(shares) = self else {
            return Ok(());
        };
        if shares.is_empty() {
            let expected = "at least one slice";
            return Err(ConfigError::new("scheduler.shares", "an empty list", expected));
        }
        let mut sum = 0u32;
        for (at, share) in shares.iter().enumerate() {
            if !(1..=100).contains(&share.percent) {
                let path = format!("scheduler.shares[{at}].percent");
                return Err(ConfigError::new(path, share.percent, "1 to 100"));
            }
            if shares[..at].iter().any(|earlier| earlier.slice == share.slice) {
                let path = format!("scheduler.shares[{at}].slice");
                return Err(ConfigError::new(path, share.slice, "each slice once"));
            }
            sum += u32::from(share.percent);
        }
        if sum > 100 {
            let path = "scheduler.shares";
            return Err(ConfigError::new(path, format!("{sum} % in all"), "at most 100 %"));
        }
        Ok(())
    }
}

/// One slice at work: its share and the UEs with data, longest wait first.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    id: Option<u8>,
    percent: u32,
    pub(crate) backlogged: VecDeque<usize>,
}

impl Slice {
    /// The slices of a valid configuration; round robin is one slice that owns everything.
    pub(crate) fn of(config: &SchedulerConfig) -> Vec<Self> {
        let slice =
            |id, percent: u8| Self { id, percent: u32::from(percent), backlogged: VecDeque::new() };
        match config {
            SchedulerConfig::RoundRobin => vec![slice(None, 100)],
            SchedulerConfig::FixedPartition(shares) => {
                shares.iter().map(|s| slice(Some(s.slice), s.percent)).collect()
            }
        }
    }

    /// The slice of a UE.
    pub(crate) fn find(slices: &[Self], id: u8) -> Option<usize> {
        slices.iter().position(|slice| slice.id.is_none_or(|own| own == id))
    }

    /// PRBs it owns of `available_prb`.
    pub(crate) fn budget_prb(&self, available_prb: u16) -> u16 {
        (u32::from(available_prb) * self.percent / 100) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_paper() {
        let share = |percent| {
            let config = SchedulerConfig::FixedPartition(vec![SliceShare { slice: 1, percent }]);
            Slice::of(&config)[0].budget_prb(25)
        };
        assert_eq!([75, 50, 25].map(share), [18, 12, 6]);
    }

    #[test]
    fn bad_shares_name_their_place() {
        let share = |slice, percent| SliceShare { slice, percent };
        for (shares, expected) in [
            (vec![], "scheduler.shares: an empty list; expected at least one slice"),
            (vec![share(1, 0)], "scheduler.shares[0].percent: 0; expected 1 to 100"),
            (
                vec![share(1, 50), share(1, 50)],
                "scheduler.shares[1].slice: 1; expected each slice once",
            ),
            (
                vec![share(1, 60), share(2, 60)],
                "scheduler.shares: 120 % in all; expected at most 100 %",
            ),
        ] {
            let error = SchedulerConfig::FixedPartition(shares).validate().unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
