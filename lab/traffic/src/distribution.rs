//! The distributions that traffic models are written in.

use crate::rng::Rng;

/// Draws after which a value is clamped to the range. A range with at least a hundredth of the
/// probability is missed with probability 0.99¹⁰⁰⁰⁰.
const MAX_DRAWS: usize = 10_000;

/// A distribution of sizes, counts or times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Distribution {
    /// Exponential of this mean.
    Exponential { mean: f64 },
    /// Lognormal of the normal's μ and σ; a value outside `min..=max` is discarded and drawn again,
    /// as the models of 3GPP2 C.R1002 §4.1 say.
    TruncatedLognormal { mu: f64, sigma: f64, min: f64, max: f64 },
    /// Normal of this mean and deviation; a value outside `min..=max` is drawn again.
    TruncatedNormal { mean: f64, deviation: f64, min: f64, max: f64 },
    /// Pareto with shape α and minimum k, capped at m (C.R1002 §4.1.3.2).
    CappedPareto { alpha: f64, k: f64, m: f64 },
    /// Largest extreme value (Gumbel): a − b ln(−ln U), as Färber 2002 fits game traffic.
    LargestExtreme { a: f64, b: f64 },
}

impl Distribution {
    pub(crate) fn draw(self, random: &mut Rng) -> f64 {
        match self {
            Self::Exponential { mean } => -mean * libm::log(random.open01()),
            Self::TruncatedLognormal { mu, sigma, min, max } => {
                truncated(min, max, || libm::exp(mu + sigma * random.normal()))
            }
            Self::TruncatedNormal { mean, deviation, min, max } => {
                truncated(min, max, || mean + deviation * random.normal())
            }
            Self::CappedPareto { alpha, k, m } => {
                (k / libm::pow(random.open01(), 1.0 / alpha)).min(m)
            }
            Self::LargestExtreme { a, b } => a - b * libm::log(-libm::log(random.open01())),
        }
    }
}

/// The first value within `min..=max`.
fn truncated(min: f64, max: f64, mut draw: impl FnMut() -> f64) -> f64 {
    let mut value = min;
    for _ in 0..MAX_DRAWS {
        value = draw();
        if (min..=max).contains(&value) {
            break;
        }
    }
    value.clamp(min, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(distribution: Distribution, n: u32) -> f64 {
        let mut random = Rng::new(7);
        (0..n).map(|_| distribution.draw(&mut random)).sum::<f64>() / f64::from(n)
    }

    fn phi(x: f64) -> f64 {
        0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
    }

    #[test]
    fn means_are_the_analytic_ones() {
        let close = |got: f64, law: f64, within: f64| {
            assert!((got / law - 1.0).abs() < within, "{got} against {law}");
        };
        close(mean(Distribution::Exponential { mean: 30.0 }, 200_000), 30.0, 0.01);
        // Euler's constant gives the mean of a Gumbel.
        let gumbel = Distribution::LargestExtreme { a: 120.0, b: 36.0 };
        close(mean(gumbel, 200_000), 120.0 + 36.0 * 0.577_215_664_9, 0.01);
        let (alpha, k, m) = (1.1, 2.0, 55.0);
        let law = (alpha * k - m * libm::pow(k / m, alpha)) / (alpha - 1.0);
        close(mean(Distribution::CappedPareto { alpha, k, m }, 400_000), law, 0.01);
    }

    #[test]
    fn a_truncated_lognormal_has_the_mean_of_what_is_left() {
        let (mu, sigma, min, max) = (8.37, 1.37, 100.0, 2e6);
        let z = |x: f64| (libm::log(x) - mu) / sigma;
        let law = libm::exp(mu + sigma * sigma / 2.0) * (phi(z(max) - sigma) - phi(z(min) - sigma))
            / (phi(z(max)) - phi(z(min)));
        let got = mean(Distribution::TruncatedLognormal { mu, sigma, min, max }, 400_000);
        assert!((got / law - 1.0).abs() < 0.02, "{got} against {law}");
        // C.R1002 names 10 710 B for the main object of a page.
        assert!((law / 10_710.0 - 1.0).abs() < 0.05, "{law}");
    }

    #[test]
    fn an_impossible_range_still_gives_a_value_within_it() {
        let all = Distribution::TruncatedLognormal { mu: 0.0, sigma: 0.1, min: 1e6, max: 2e6 };
        let value = all.draw(&mut Rng::new(1));
        assert!((1e6..=2e6).contains(&value));
    }
}
