//! Scheduler configuration and the state of slices.

use std::collections::VecDeque;

use super::pf::PfConfig;
use crate::error::{ConfigError, ensure};

/// How the UEs of a slice, or of a cell without slices, share its PRBs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UeScheduler {
    /// Equal parts, in turn.
    #[default]
    RoundRobin,
    /// The highest quotient of current rate and average rate first.
    ProportionalFair(PfConfig),
}

/// Share of the carrier that a slice owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceShare {
    /// Identity of the slice, as in [`crate::UeConfig::slice`].
    pub slice: u8,
    /// Per cent of the PRBs of a slot, rounded down (irazabal2021 §V: 25 % of 25 PRB are 6).
    pub percent: u8,
    /// Scheduler of its UEs.
    pub ues: UeScheduler,
}

impl SliceShare {
    /// A slice with round robin among its UEs.
    pub fn new(slice: u8, percent: u8) -> Self {
        Self { slice, percent, ues: UeScheduler::RoundRobin }
    }
}

/// Elastic Quantum Partition: slices that lend each other PRBs (irazabal2021 §IV-B).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EqpConfig {
    /// The slices.
    pub slices: Vec<SliceShare>,
    /// Most PRBs a slice may owe the others; 100 in the paper, which tests 25 to 500 (§V-E).
    pub quantum_limit_prb: u16,
}

impl EqpConfig {
    /// Slices with the paper's quantum limit.
    pub fn new(slices: Vec<SliceShare>) -> Self {
        Self { slices, quantum_limit_prb: 100 }
    }
}

/// Highest quantum limit accepted: about 40 slots of the widest carrier.
pub const MAX_QUANTUM_LIMIT_PRB: u16 = 10_000;

/// MAC scheduler of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchedulerConfig {
    /// The PRBs of a slot are split equally, in whole RBGs, among as many UEs as fit the PDCCH; no UE
    /// gets more than its buffers hold, and the next slot begins with the UE that has waited longest.
    RoundRobin,
    /// UEs by current rate over average rate.
    ProportionalFair(PfConfig),
    /// FP of irazabal2021: a slice owns its share of every slot, used or not.
    FixedPartition(Vec<SliceShare>),
    /// EQP of irazabal2021: slices own shares, and lend or borrow PRBs to send packets whole.
    ElasticQuantumPartition(EqpConfig),
}

impl SchedulerConfig {
    /// The slices, if the scheduler has any.
    pub fn slices(&self) -> Option<&[SliceShare]> {
        match self {
            Self::RoundRobin | Self::ProportionalFair(_) => None,
            Self::FixedPartition(slices) => Some(slices),
            Self::ElasticQuantumPartition(eqp) => Some(&eqp.slices),
        }
    }

    /// Checks shares and parameters for a carrier of `n_prb`.
    pub(crate) fn validate(&self, n_prb: u16) -> Result<(), ConfigError> {
        match self {
            Self::ProportionalFair(pf) => pf.validate("scheduler")?,
            Self::ElasticQuantumPartition(eqp)
                if !(1..=MAX_QUANTUM_LIMIT_PRB).contains(&eqp.quantum_limit_prb) =>
            {
                let expected = format!("1 to {MAX_QUANTUM_LIMIT_PRB} PRB");
                let path = "scheduler.quantum_limit_prb";
                return Err(ConfigError::new(path, eqp.quantum_limit_prb, expected));
            }
            _ => {}
        }
        self.slices().map_or(Ok(()), |slices| validate_shares(slices, n_prb))
    }
}

fn validate_shares(shares: &[SliceShare], n_prb: u16) -> Result<(), ConfigError> {
    let list = "scheduler.shares";
    ensure(!shares.is_empty(), list, "an empty list", "at least one slice")?;
    let mut sum = 0u32;
    for (at, share) in shares.iter().enumerate() {
        let (slice, percent) = (share.slice, share.percent);
        let path = format!("{list}[{at}]");
        ensure((1..=100).contains(&percent), format!("{path}.percent"), percent, "1 to 100")?;
        let is_first = shares[..at].iter().all(|earlier| earlier.slice != slice);
        ensure(is_first, format!("{path}.slice"), slice, "each slice once")?;
        // A slice whose share rounds down to no PRB can never send.
        let least = 100u32.div_ceil(u32::from(n_prb.max(1)));
        let expected = format!("{least} or more, which of {n_prb} PRB is one");
        ensure(u32::from(percent) >= least, format!("{path}.percent"), percent, expected)?;
        if let UeScheduler::ProportionalFair(pf) = share.ues {
            pf.validate(&path)?;
        }
        sum += u32::from(percent);
    }
    ensure(sum <= 100, list, format!("{sum} % in all"), "at most 100 %")
}

/// State of a slice: its share and the UEs with data, longest wait first.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    id: Option<u8>,
    percent: u32,
    pub(crate) ues: UeScheduler,
    pub(crate) backlogged: VecDeque<usize>,
}

impl Slice {
    /// The slices of a valid configuration; a cell without slices is one slice with all PRBs.
    pub(crate) fn of(config: &SchedulerConfig) -> Vec<Self> {
        let slice = |id, percent: u8, ues| Self {
            id,
            percent: u32::from(percent),
            ues,
            backlogged: VecDeque::new(),
        };
        match config {
            SchedulerConfig::RoundRobin => vec![slice(None, 100, UeScheduler::RoundRobin)],
            SchedulerConfig::ProportionalFair(pf) => {
                vec![slice(None, 100, UeScheduler::ProportionalFair(*pf))]
            }
            SchedulerConfig::FixedPartition(shares)
            | SchedulerConfig::ElasticQuantumPartition(EqpConfig { slices: shares, .. }) => {
                shares.iter().map(|s| slice(Some(s.slice), s.percent, s.ues)).collect()
            }
        }
    }

    /// Index of the slice of a UE.
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
            let config = SchedulerConfig::FixedPartition(vec![SliceShare::new(1, percent)]);
            Slice::of(&config)[0].budget_prb(25)
        };
        assert_eq!([75, 50, 25].map(share), [18, 12, 6]);
    }

    #[test]
    fn invalid_shares_name_their_path() {
        let share = SliceShare::new;
        let slow = PfConfig { time_constant_us: u32::MAX, ..PfConfig::default() };
        let pf = SliceShare { ues: UeScheduler::ProportionalFair(slow), ..share(2, 50) };
        for (shares, expected) in [
            (vec![], "scheduler.shares: an empty list; expected at least one slice"),
            (vec![share(1, 0)], "scheduler.shares[0].percent: 0; expected 1 to 100"),
            (
                vec![share(1, 3)],
                "scheduler.shares[0].percent: 3; expected 4 or more, which of 25 PRB is one",
            ),
            (
                vec![share(1, 50), share(1, 50)],
                "scheduler.shares[1].slice: 1; expected each slice once",
            ),
            (
                vec![share(1, 60), share(2, 60)],
                "scheduler.shares: 120 % in all; expected at most 100 %",
            ),
            (
                vec![share(1, 50), pf],
                "scheduler.shares[1].time_constant_us: 4294967295; expected 1000 to 100000000 µs",
            ),
        ] {
            for config in [
                SchedulerConfig::FixedPartition(shares.clone()),
                SchedulerConfig::ElasticQuantumPartition(EqpConfig::new(shares)),
            ] {
                assert_eq!(config.validate(25).unwrap_err().to_string(), expected);
            }
        }
    }

    #[test]
    fn a_quantum_limit_out_of_range_is_refused() {
        for quantum_limit_prb in [0, 10_001] {
            let eqp = EqpConfig { slices: vec![SliceShare::new(1, 50)], quantum_limit_prb };
            let error = SchedulerConfig::ElasticQuantumPartition(eqp).validate(25).unwrap_err();
            let expected = format!(
                "scheduler.quantum_limit_prb: {quantum_limit_prb}; expected 1 to 10000 PRB"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
