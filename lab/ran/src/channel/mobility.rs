//! MCS by mobility pattern: a Markov chain with the measured stationary mean.
//!
//! irazabal2021 §V-C sets the MCS each second from the CQI of LTE UEs of five mobility patterns (Raca
//! et al., MMSys 2018). Those series are not available. The paper gives the mean MCS, 11.02 for the
//! pedestrian and 14.48 for the train (§VI-B4), and that the train's changes more abruptly (§VI-A3),
//! so the series is drawn from a chain with that mean.
//!
//! **The chain.** A birth–death chain on MCS 0 to n with Moran's rates
//! `up(k) = ν (n − k)(a + k)` and `down(k) = ν k (b + n − k)`. They balance in detail for the
//! beta-binomial distribution with parameters a and b, so its mean is `n·a/(a + b)` exactly and its
//! variance `n·p·(1 − p)·(n + A)/(1 + A)` with `A = a + b` and `p = a/A`. The drift is
//! `ν (n·a − k·A)`, linear in k, so the correlation falls exponentially, like that of a
//! Gauss–Markov process limited to the table. Mean, standard deviation and coherence time give a, b
//! and ν in closed form. A step of the series is 2^s steps of the chain, with the smallest s that
//! keeps its rates below 1/2: the transition matrix is squared s times.
//!
//! **The parameters.**
//!
//! | pattern | mean | standard deviation | coherence | from |
//! |---|---|---|---|---|
//! | static | 18.0 | 4.7 | 1.6 s | a session of UCC's 5G data set, CQI of the LTE anchor |
//! | pedestrian | 11.02 | 6.1 | 5 s | mean: the paper; deviation: the train's; coherence: assumed |
//! | car | 20.4 | 6.4 | 4.5 s | two drives of UCC's 5G data set |
//! | tram | 12.75 | 6.1 | 3 s | halfway between pedestrian and train, assumed |
//! | train | 14.48 | 6.1 | 2 s | mean: the paper; deviation: below; coherence: assumed |
//!
//! The train's deviation follows from its throughput with every RB used, 6.20 Mbit/s: transport
//! blocks grow faster than linearly with the MCS, so at a mean of 14.48 the throughput determines the
//! variance (a test computes it). The drives of UCC's data set have 6.1 as well.

use std::sync::Arc;

use crate::error::{ConfigError, ensure};
use crate::rng::Rng;

/// How a UE moves (Raca et al., MMSys 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MobilityPattern {
    /// Does not move.
    Static,
    /// A walk.
    Pedestrian,
    /// A ride in a car.
    Car,
    /// A ride in a tram.
    Tram,
    /// A ride in a train.
    Train,
}

impl MobilityPattern {
    /// The pattern's parameters, for an MCS each second.
    pub fn model(self) -> MobilityModel {
        let (mean_mcs, std_dev_mcs, coherence_us) = match self {
            Self::Static => (18.0, 4.7, 1_600_000),
            Self::Pedestrian => (11.02, 6.1, 5_000_000),
            Self::Car => (20.4, 6.4, 4_500_000),
            Self::Tram => (12.75, 6.1, 3_000_000),
            Self::Train => (14.48, 6.1, 2_000_000),
        };
        MobilityModel { mean_mcs, std_dev_mcs, coherence_us, period_us: 1_000_000 }
    }
}

/// Parameters of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MobilityModel {
    /// Mean of the stationary distribution.
    pub mean_mcs: f64,
    /// Standard deviation of the stationary distribution.
    pub std_dev_mcs: f64,
    /// Time after which the correlation is 1/e.
    pub coherence_us: u64,
    /// Time between two values.
    pub period_us: u64,
}

/// Longest period in coherence times; values further apart are practically independent.
const MOST_PERIODS_OF_COHERENCE: u64 = 50;

impl MobilityModel {
    /// The chain on MCS 0 to `max_mcs`, the highest of the cell's table.
    ///
    /// # Errors
    /// [`ConfigError`] when no such chain exists: the mean is outside the table, the deviation is not
    /// between that of a binomial distribution and that of the two extremes, or a time is out of
    /// range.
    pub fn chain(&self, max_mcs: u8) -> Result<McsChain, ConfigError> {
        let n = f64::from(max_mcs);
        let Self { mean_mcs, std_dev_mcs, coherence_us, period_us } = *self;
        let expected = format!("above 0 and below {max_mcs}, the highest MCS");
        ensure(mean_mcs > 0.0 && mean_mcs < n, "channel.mean_mcs", mean_mcs, expected)?;
        let p = mean_mcs / n;
        let binomial = n * p * (1.0 - p);
        let variance = std_dev_mcs * std_dev_mcs;
        let (least, most) = (binomial.sqrt(), (n * binomial).sqrt());
        let expected = format!("above {least:.3} and below {most:.3} at this mean");
        let possible = variance > binomial && variance < n * binomial;
        ensure(possible, "channel.std_dev_mcs", std_dev_mcs, expected)?;
        ensure(coherence_us > 0, "channel.coherence_us", 0, "1 or more")?;
        let longest_us = coherence_us.saturating_mul(MOST_PERIODS_OF_COHERENCE);
        let expected = format!("1 to {longest_us}, 50 times the coherence time");
        ensure((1..=longest_us).contains(&period_us), "channel.period_us", period_us, expected)?;
        // Solves the variance for A.
        let total = (n * binomial - variance) / (variance - binomial);
        Ok(McsChain::new(max_mcs, p * total, (1.0 - p) * total, self))
    }
}

/// A Markov chain over MCS; clones share its matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct McsChain {
    states: usize,
    period_us: u64,
    /// Row by row.
    transitions: Arc<[f64]>,
    stationary: Arc<[f64]>,
}

impl McsChain {
    fn new(max_mcs: u8, a: f64, b: f64, model: &MobilityModel) -> Self {
        let n = f64::from(max_mcs);
        let states = usize::from(max_mcs) + 1;
        let up = |k: f64| (n - k) * (a + k);
        let down = |k: f64| k * (b + n - k);
        let fastest = (0..=max_mcs).map(f64::from).map(|k| up(k) + down(k)).fold(0.0, f64::max);
        // The correlation of one step of the chain is 1 − ν·A, and after 2^s of them ρ.
        let decay = model.period_us as f64 / model.coherence_us as f64;
        let rate = |squarings: u32| {
            let steps = (1u64 << squarings) as f64;
            -libm::expm1(-decay / steps) / (a + b)
        };
        let squarings = (0..MOST_SQUARINGS).find(|s| rate(*s) * fastest <= 0.5);
        let squarings = squarings.unwrap_or(MOST_SQUARINGS);
        let nu = rate(squarings);
        let mut matrix = vec![0.0; states * states];
        for k in 0..states {
            let (rise, fall) = (nu * up(k as f64), nu * down(k as f64));
            if k + 1 < states {
                matrix[k * states + k + 1] = rise;
            }
            if k > 0 {
                matrix[k * states + k - 1] = fall;
            }
            matrix[k * states + k] = 1.0 - rise - fall;
        }
        for _ in 0..squarings {
            matrix = squared(&matrix, states);
        }
        Self {
            states,
            period_us: model.period_us,
            transitions: matrix.into(),
            stationary: beta_binomial(max_mcs, a, b).into(),
        }
    }

    /// The highest MCS.
    pub fn max_mcs(&self) -> u8 {
        (self.states - 1) as u8
    }

    /// Time between two values.
    pub fn period_us(&self) -> u64 {
        self.period_us
    }

    /// Probabilities of the MCS after `mcs`; empty if `mcs` is not in the table.
    pub fn row(&self, mcs: u8) -> &[f64] {
        let from = usize::from(mcs) * self.states;
        self.transitions.get(from..from + self.states).unwrap_or_default()
    }

    /// Stationary probabilities.
    pub fn stationary(&self) -> &[f64] {
        &self.stationary
    }

    /// Mean of the stationary distribution.
    pub fn mean_mcs(&self) -> f64 {
        self.stationary.iter().zip(0u8..).map(|(chance, mcs)| chance * f64::from(mcs)).sum()
    }

    /// Draws an MCS from the stationary distribution.
    pub(super) fn begin(&self, rng: &mut Rng) -> u8 {
        draw(&self.stationary, rng)
    }

    /// Draws the MCS after `mcs`.
    pub(super) fn next(&self, mcs: u8, rng: &mut Rng) -> u8 {
        draw(self.row(mcs), rng)
    }
}

/// More than any accepted parameters need.
const MOST_SQUARINGS: u32 = 32;

fn draw(probabilities: &[f64], rng: &mut Rng) -> u8 {
    let mut left = rng.uniform();
    for (mcs, chance) in (0u8..).zip(probabilities) {
        left -= chance;
        if left < 0.0 {
            return mcs;
        }
    }
    // Rounding may leave a rest, which belongs to the last possible value.
    probabilities.iter().rposition(|chance| *chance > 0.0).unwrap_or(0) as u8
}

/// The matrix squared; rows are normalised so that rounding errors do not accumulate.
fn squared(matrix: &[f64], states: usize) -> Vec<f64> {
    let mut product = vec![0.0; states * states];
    for (row, of) in product.chunks_exact_mut(states).zip(matrix.chunks_exact(states)) {
        for (factor, other) in of.iter().zip(matrix.chunks_exact(states)) {
            for (cell, value) in row.iter_mut().zip(other) {
                *cell += factor * value;
            }
        }
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|cell| *cell /= sum);
    }
    product
}

/// Probabilities of 0 to `n`, from the ratios of consecutive ones.
fn beta_binomial(n: u8, a: f64, b: f64) -> Vec<f64> {
    let top = f64::from(n);
    let mut probabilities = vec![1.0];
    let mut chance = 1.0;
    for k in (0..n).map(f64::from) {
        chance *= (top - k) * (a + k) / ((k + 1.0) * (b + top - k - 1.0));
        probabilities.push(chance);
    }
    let sum: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|chance| *chance /= sum);
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;
    use crate::numerology::SlotKind;

    const PATTERNS: [MobilityPattern; 5] = [
        MobilityPattern::Static,
        MobilityPattern::Pedestrian,
        MobilityPattern::Car,
        MobilityPattern::Tram,
        MobilityPattern::Train,
    ];

    #[test]
    fn the_means_are_those_of_the_paper() {
        let mean = |pattern: MobilityPattern| pattern.model().chain(28).unwrap().mean_mcs();
        assert!((mean(MobilityPattern::Pedestrian) - 11.02).abs() < 1e-9);
        assert!((mean(MobilityPattern::Train) - 14.48).abs() < 1e-9);
    }

    #[test]
    fn the_distribution_is_stationary_with_the_configured_mean_and_deviation() {
        for pattern in PATTERNS {
            for max_mcs in [27, 28] {
                let model = pattern.model();
                let chain = model.chain(max_mcs).unwrap();
                let pi = chain.stationary();
                assert!((chain.mean_mcs() - model.mean_mcs).abs() < 1e-9, "{pattern:?}");
                let square = |mcs: u8| (f64::from(mcs) - model.mean_mcs).powi(2);
                let variance: f64 = pi.iter().zip(0..).map(|(p, mcs)| p * square(mcs)).sum();
                assert!((variance.sqrt() - model.std_dev_mcs).abs() < 1e-9, "{pattern:?}");
                for to in 0..=max_mcs {
                    let flow: f64 = (0..=max_mcs)
                        .map(|from| pi[usize::from(from)] * chain.row(from)[usize::from(to)])
                        .sum();
                    assert!((flow - pi[usize::from(to)]).abs() < 1e-12, "{pattern:?} {to}");
                }
                for from in 0..=max_mcs {
                    let row = chain.row(from);
                    assert!(row.iter().all(|p| (0.0..=1.0).contains(p)));
                    assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    // The regression to the mean is linear: E[next | k] = m + ρ (k − m).
                    let next: f64 = row.iter().zip(0u8..).map(|(p, k)| p * f64::from(k)).sum();
                    let rho = (-(model.period_us as f64) / model.coherence_us as f64).exp();
                    let expected = model.mean_mcs + rho * (f64::from(from) - model.mean_mcs);
                    assert!((next - expected).abs() < 1e-9, "{pattern:?} {from}: {next}");
                }
            }
        }
    }

    #[test]
    fn a_long_series_has_that_mean() {
        for pattern in PATTERNS {
            let model = pattern.model();
            let chain = model.chain(28).unwrap();
            let mut rng = Rng::new(11, 1);
            let mut mcs = chain.begin(&mut rng);
            let n = 400_000u32;
            let mut sum = 0.0;
            for _ in 0..n {
                mcs = chain.next(mcs, &mut rng);
                sum += f64::from(mcs);
            }
            // Four standard errors of a mean of correlated values.
            let apart = 2.0 * model.coherence_us as f64 / model.period_us as f64 + 1.0;
            let error = model.std_dev_mcs * (apart / f64::from(n)).sqrt();
            let mean = sum / f64::from(n);
            assert!((mean - model.mean_mcs).abs() < 4.0 * error, "{pattern:?}: {mean}");
        }
    }

    /// irazabal2021 Fig. 15: 6.20 Mbit/s with every RB used on the train.
    #[test]
    fn the_train_carries_what_the_paper_measured() {
        let config = CellConfig::lte_5mhz();
        let tables = config.tbs_tables();
        let chain = MobilityPattern::Train.model().chain(28).unwrap();
        // Eight subframes of ten have 25 PRBs, two have 17.
        let block = |mcs| {
            let row = tables.row(SlotKind::Down, mcs);
            0.8 * f64::from(row[25]) + 0.2 * f64::from(row[17])
        };
        let bytes: f64 = chain.stationary().iter().zip(0..).map(|(p, mcs)| p * block(mcs)).sum();
        // Less headers (about 8 and 3 bytes a TTI), VoIP (10 bytes a TTI) and TCP's.
        let goodput_mbps = (bytes - 21.0) * 8.0 / 1000.0 * 1460.0 / 1500.0;
        assert!((goodput_mbps - 6.20).abs() < 0.02, "{goodput_mbps}");
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let good = MobilityPattern::Train.model();
        for (wrong, expected) in [
            (MobilityModel { mean_mcs: 0.0, ..good }, "channel.mean_mcs: 0; expected above 0"),
            (MobilityModel { mean_mcs: 28.0, ..good }, "channel.mean_mcs: 28; expected above 0"),
            (MobilityModel { mean_mcs: f64::NAN, ..good }, "channel.mean_mcs: NaN; expected"),
            (
                MobilityModel { std_dev_mcs: 2.6, ..good },
                "channel.std_dev_mcs: 2.6; expected above 2.644 and below 13.992 at this mean",
            ),
            (MobilityModel { std_dev_mcs: f64::NAN, ..good }, "channel.std_dev_mcs: NaN"),
            (MobilityModel { coherence_us: 0, ..good }, "channel.coherence_us: 0; expected"),
            (MobilityModel { period_us: 0, ..good }, "channel.period_us: 0; expected 1 to"),
            (MobilityModel { period_us: u64::MAX, ..good }, "channel.period_us: 184467"),
        ] {
            let error = wrong.chain(28).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn extreme_accepted_parameters_give_valid_chains() {
        for (std_dev_mcs, coherence_us) in [(2.7, 20_000), (13.9, 20_000), (6.0, u64::MAX)] {
            let model =
                MobilityModel { std_dev_mcs, coherence_us, ..MobilityPattern::Train.model() };
            let chain = model.chain(28).unwrap();
            let rows = (0..=28).map(|mcs| chain.row(mcs));
            for row in rows {
                assert!(row.iter().all(|p| (0.0..=1.0 + 1e-12).contains(p)), "{row:?}");
            }
            assert!((chain.mean_mcs() - 14.48).abs() < 1e-6);
        }
    }
}
