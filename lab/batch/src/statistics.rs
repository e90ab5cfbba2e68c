//! Means over seeds with their 95 % confidence intervals.

use std::collections::BTreeMap;

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); `None` for one value.
    pub half_width: Option<f64>,
}

/// Values by seed.
pub type BySeed = BTreeMap<u64, f64>;

impl Estimate {
    /// The mean of values that are independent and roughly normal; `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let half_width = (n > 1).then(|| {
            let variance = variance(&values, mean);
            student_t_95(n as u64 - 1) * (variance / n as f64).sqrt()
        });
        (n > 0).then_some(Self { n, mean, half_width })
    }

    /// Mean of `other` minus `reference`. Runs of equal seeds are pairs, for they share the randomness of
    /// channel and traffic: if the seeds are the same, the interval is that of the mean of the pairs'
    /// differences, otherwise Welch's.
    pub fn difference(other: &BySeed, reference: &BySeed) -> Option<Self> {
        if other.keys().eq(reference.keys()) {
            return Self::of(other.values().zip(reference.values()).map(|(a, b)| a - b));
        }
        let [a, b] = [other, reference].map(|values| Self::of(values.values().copied()));
        let (a, b) = (a?, b?);
        let half_width = (a.n > 1 && b.n > 1).then(|| {
            let [u, v] = [(other, a), (reference, b)].map(|(values, estimate)| {
                let values: Vec<f64> = values.values().copied().collect();
                variance(&values, estimate.mean) / estimate.n as f64
            });
            welch(u, v, a.n, b.n)
        });
        Some(Self { n: a.n.min(b.n), mean: a.mean - b.mean, half_width })
    }

    /// Ends of the interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.half_width.map(|half| (self.mean - half, self.mean + half))
    }
}

/// Half the interval of a difference of means with variances `u` and `v` over `n` and `m` values; the
/// degrees of freedom of Welch and Satterthwaite are rounded down.
fn welch(u: f64, v: f64, n: usize, m: usize) -> f64 {
    let sum = u + v;
    if sum == 0.0 {
        return 0.0;
    }
    let freedom = sum * sum / (u * u / (n as f64 - 1.0) + v * v / (m as f64 - 1.0));
    student_t_95((freedom as u64).max(1)) * sum.sqrt()
}

/// Sample variance.
fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// The t that a variable of Student's distribution exceeds in magnitude with probability 5 %.
fn student_t_95(freedom: u64) -> f64 {
    // Above, it is that of the normal distribution to four digits.
    if freedom > 10_000 {
        return 1.96;
    }
    // 12.71 with one degree of freedom is the largest.
    let (mut low, mut high) = (1.9, 13.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if within(middle, freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Probability that the magnitude of a variable of Student's distribution is at most `t`, for whole
/// degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(t: f64, freedom: u64) -> f64 {
    let theta = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = theta.sin_cos();
    let is_odd = !freedom.is_multiple_of(2);
    // Each term is the one before times cos² and a quotient of neighbours.
    let first = if is_odd { cosine } else { 1.0 };
    let (mut term, mut sum) = (first, if freedom == 1 { 0.0 } else { first });
    let mut below = if is_odd { 3 } else { 2 };
    while below <= freedom.saturating_sub(2) {
        term *= cosine * cosine * (below as f64 - 1.0) / below as f64;
        sum += term;
        below += 2;
    }
    if is_odd { 2.0 / std::f64::consts::PI * (theta + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_that_of_the_tables() {
        for (freedom, t) in [
            (1, 12.706_2),
            (2, 4.302_7),
            (3, 3.182_4),
            (4, 2.776_4),
            (5, 2.570_6),
            (9, 2.262_2),
            (30, 2.042_3),
            (100, 1.984_0),
            (10_000, 1.960_2),
        ] {
            let own = student_t_95(freedom);
            assert!((own - t).abs() < 6e-5, "{freedom}: {own}");
        }
    }

    #[test]
    fn a_mean_has_an_interval_from_two_values_on() {
        assert_eq!(Estimate::of([]), None);
        let one = Estimate::of([3.0]).unwrap();
        assert_eq!((one.n, one.mean, one.interval()), (1, 3.0, None));
        // Standard deviation 1, n = 3: 4.3027 / √3.
        let three = Estimate::of([1.0, 2.0, 3.0]).unwrap();
        assert!((three.half_width.unwrap() - 2.484_1).abs() < 1e-3, "{three:?}");
        assert_eq!(Estimate::of([7.0, 7.0]).unwrap().half_width, Some(0.0));
    }

    fn by_seed(values: &[(u64, f64)]) -> BySeed {
        values.iter().copied().collect()
    }

    #[test]
    fn equal_seeds_are_pairs() {
        // The seeds differ much, the pairs little.
        let reference = by_seed(&[(1, 10.0), (2, 20.0), (3, 30.0)]);
        let other = by_seed(&[(1, 11.0), (2, 21.1), (3, 30.9)]);
        let difference = Estimate::difference(&other, &reference).unwrap();
        assert!((difference.mean - 1.0).abs() < 1e-9);
        assert!(difference.half_width.unwrap() < 0.3, "{difference:?}");
    }

    #[test]
    fn other_seeds_are_compared_as_independent_samples() {
        let reference = by_seed(&[(1, 10.0), (2, 20.0), (3, 30.0)]);
        let other = by_seed(&[(4, 11.0), (5, 21.0), (6, 31.0)]);
        let difference = Estimate::difference(&other, &reference).unwrap();
        // Equal variances of 100: 4 degrees of freedom, 2.7764 · √(200 / 3).
        assert!((difference.half_width.unwrap() - 22.669).abs() < 1e-2, "{difference:?}");
        let single = by_seed(&[(9, 1.0)]);
        assert_eq!(Estimate::difference(&single, &reference).unwrap().half_width, None);
        assert_eq!(Estimate::difference(&BySeed::new(), &reference), None);
    }
}
