//! The score: trimmed means over the last intervals, and whether they were stable.

use std::collections::VecDeque;

/// Intervals of a moving average (MAD).
const INTERVALS: usize = 4;
/// Share of the samples that a trimmed mean keeps, fastest first (TMP), percent.
const KEPT_PCT: usize = 95;
/// Standard deviation of moving averages over the newest below which they are stable (SDT).
const TOLERANCE: f64 = 0.05;
/// ms in a minute.
const MS_PER_MINUTE: f64 = 60_000.0;
/// Most samples of one kind that are kept: 100 a second for four intervals of a minute.
const MAX_SAMPLES: usize = 24_000;

/// How far a score can be trusted (draft-ietf-ippm-responsiveness, "Confidence of Test-Results").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Fewer than four intervals.
    Low = 1,
    /// Four intervals, not stable.
    Medium = 2,
    /// The last four scores, and goodput, were within 5 %.
    High = 3,
}

/// Responsiveness on new connections, or in a loading one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Half {
    /// Round trips per minute.
    pub rpm: f64,
    /// Its confidence.
    pub confidence: Confidence,
}

/// The score at the end of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Score on new connections.
    pub foreign: Half,
    /// Score in a loading connection.
    pub loaded: Half,
}

impl Score {
    /// Responsiveness, round trips per minute.
    pub fn rpm(&self) -> f64 {
        (self.foreign.rpm + self.loaded.rpm) / 2.0
    }
}

/// Samples of one kind: when they were completed and how long they took, µs.
#[derive(Debug, Clone, Default)]
pub(super) struct Samples(VecDeque<(u64, u64)>);

impl Samples {
    pub(super) fn push(&mut self, now_us: u64, took_us: u64) {
        if self.0.len() == MAX_SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back((now_us, took_us));
    }

    fn forget_before(&mut self, since_us: u64) {
        while self.0.front().is_some_and(|(at_us, _)| *at_us < since_us) {
            self.0.pop_front();
        }
    }

    /// Trimmed mean of what is kept, ms, with the ages of probes without response that are above the
    /// mean of the others; `None` without any.
    pub(super) fn trimmed_mean_ms(&self, open_us: impl Iterator<Item = u64>) -> Option<f64> {
        let mut took_us: Vec<u64> = self.0.iter().map(|(_, took_us)| *took_us).collect();
        let mean_us = took_us.iter().sum::<u64>() / took_us.len().max(1) as u64;
        took_us.extend(open_us.filter(|age_us| *age_us > mean_us));
        took_us.sort_unstable();
        took_us.truncate((took_us.len() * KEPT_PCT).div_ceil(100));
        let sum_us: u64 = took_us.iter().sum();
        (!took_us.is_empty()).then(|| sum_us as f64 / took_us.len() as f64 / 1e3)
    }
}

/// The newest values of a moving average.
#[derive(Debug, Clone, Default)]
struct Averages(VecDeque<f64>);

impl Averages {
    fn push(&mut self, value: f64) {
        if self.0.len() == INTERVALS {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// Whether the standard deviation is within the tolerance of the newest.
    fn is_stable(&self) -> bool {
        let n = self.0.len() as f64;
        let mean = self.0.iter().sum::<f64>() / n;
        let variance = self.0.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
        self.0.back().is_some_and(|newest| {
            self.0.len() == INTERVALS && libm::sqrt(variance) <= TOLERANCE * newest
        })
    }
}

/// Collects the samples of a test and scores it at the end of each interval.
#[derive(Debug, Clone)]
pub(super) struct Scorer {
    interval_us: u64,
    /// One for each round trip of a foreign probe, then one for self probes.
    samples: Vec<Samples>,
    goodput_bytes: VecDeque<u64>,
    goodput: Averages,
    foreign: Averages,
    loaded: Averages,
    intervals: u64,
    score: Option<Score>,
    means_ms: Vec<f64>,
}

impl Scorer {
    /// A score of foreign probes of so many round trips.
    pub(super) fn new(interval_us: u64, round_trips: usize) -> Self {
        Self {
            interval_us,
            samples: vec![Samples::default(); round_trips + 1],
            goodput_bytes: VecDeque::new(),
            goodput: Averages::default(),
            foreign: Averages::default(),
            loaded: Averages::default(),
            intervals: 0,
            score: None,
            means_ms: Vec::new(),
        }
    }

    /// Adds a round trip of a foreign probe.
    pub(super) fn foreign(&mut self, round_trip: usize, now_us: u64, took_us: u64) {
        self.samples[round_trip].push(now_us, took_us);
    }

    /// Adds a self probe.
    pub(super) fn own(&mut self, now_us: u64, took_us: u64) {
        if let Some(own) = self.samples.last_mut() {
            own.push(now_us, took_us);
        }
    }

    /// The score at the end of the last interval, and the trimmed means it is made of, ms: of each round
    /// trip of foreign probes, then of self probes. `None` before the first.
    pub(super) fn score(&self) -> Option<(Score, &[f64])> {
        self.score.map(|score| (score, &self.means_ms[..]))
    }

    /// Ends an interval in which the loading connections delivered `bytes`; `open_us` are the ages of the
    /// probes without response, by kind as in [`score`](Self::score).
    pub(super) fn end_interval(&mut self, now_us: u64, bytes: u64, open_us: &[Vec<u64>]) {
        self.intervals += 1;
        if self.goodput_bytes.len() == INTERVALS {
            self.goodput_bytes.pop_front();
        }
        self.goodput_bytes.push_back(bytes);
        let mean = self.goodput_bytes.iter().sum::<u64>() as f64 / self.goodput_bytes.len() as f64;
        self.goodput.push(mean);
        let since_us = now_us.saturating_sub(INTERVALS as u64 * self.interval_us);
        self.samples.iter_mut().for_each(|samples| samples.forget_before(since_us));
        let means: Option<Vec<f64>> = self
            .samples
            .iter()
            .zip(open_us)
            .map(|(samples, open)| samples.trimmed_mean_ms(open.iter().copied()))
            .collect();
        let Some(means_ms) = means else { return };
        let Some((loaded_ms, foreign_ms)) = means_ms.split_last() else { return };
        let foreign_ms = foreign_ms.iter().sum::<f64>() / foreign_ms.len().max(1) as f64;
        let (foreign, loaded) = (MS_PER_MINUTE / foreign_ms, MS_PER_MINUTE / loaded_ms);
        self.foreign.push(foreign);
        self.loaded.push(loaded);
        self.score = Some(Score {
            foreign: Half { rpm: foreign, confidence: self.confidence(&self.foreign) },
            loaded: Half { rpm: loaded, confidence: self.confidence(&self.loaded) },
        });
        self.means_ms = means_ms;
    }

    fn confidence(&self, averages: &Averages) -> Confidence {
        match () {
            () if self.intervals < INTERVALS as u64 => Confidence::Low,
            () if averages.is_stable() && self.goodput.is_stable() => Confidence::High,
            () => Confidence::Medium,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_US: u64 = 1_000_000;

    /// Ends interval `n` with 20 probes of these round trips in ms.
    fn interval(scorer: &mut Scorer, n: u64, [tcp, tls, http, own]: [u64; 4], open: &[Vec<u64>]) {
        for probe in 0..20 {
            let now_us = n * INTERVAL_US + probe * 50_000;
            for (round_trip, ms) in [tcp, tls, http].into_iter().enumerate() {
                scorer.foreign(round_trip, now_us, ms * 1_000);
            }
            scorer.own(now_us, own * 1_000);
        }
        scorer.end_interval((n + 1) * INTERVAL_US, 5_000_000, open);
    }

    fn none_open() -> Vec<Vec<u64>> {
        vec![Vec::new(); 4]
    }

    #[test]
    fn sixty_milliseconds_are_a_thousand_round_trips_a_minute() {
        let mut scorer = Scorer::new(INTERVAL_US, 3);
        assert!(scorer.score().is_none());
        interval(&mut scorer, 0, [30, 60, 90, 240], &none_open());
        let (score, means_ms) = scorer.score().unwrap();
        assert_eq!((score.foreign.rpm, score.loaded.rpm, score.rpm()), (1000.0, 250.0, 625.0));
        assert_eq!(means_ms, [30.0, 60.0, 90.0, 240.0]);
        assert_eq!(score.loaded.confidence, Confidence::Low);
    }

    #[test]
    fn only_the_last_four_intervals_count_and_stability_is_theirs() {
        let mut scorer = Scorer::new(INTERVAL_US, 3);
        for n in 0..4 {
            interval(&mut scorer, n, [60, 60, 60, 600], &none_open());
        }
        assert_eq!(scorer.score().unwrap().0.loaded.confidence, Confidence::High);
        for n in 4..7 {
            interval(&mut scorer, n, [60, 60, 60, 60], &none_open());
        }
        let (score, _) = scorer.score().unwrap();
        assert_eq!(score.loaded.confidence, Confidence::Medium);
        assert_eq!(score.foreign.confidence, Confidence::High, "new connections were never slow");
        interval(&mut scorer, 7, [60, 60, 60, 60], &none_open());
        assert_eq!(scorer.score().unwrap().0.rpm(), 1000.0);
    }

    #[test]
    fn the_slowest_twentieth_is_cut_and_what_was_never_answered_is_not() {
        let mut samples = Samples::default();
        (0..95).for_each(|_| samples.push(0, 40_000));
        (0..5).for_each(|_| samples.push(0, 4_000_000));
        assert_eq!(samples.trimmed_mean_ms(std::iter::empty()), Some(40.0));
        let open = std::iter::repeat_n(5_000_000, 100);
        assert!(samples.trimmed_mean_ms(open).unwrap() > 2_000.0);
        let young = std::iter::repeat_n(1_000, 100);
        assert_eq!(samples.trimmed_mean_ms(young), Some(40.0), "they may still be fast");
        assert_eq!(Samples::default().trimmed_mean_ms(std::iter::empty()), None);
    }
}
