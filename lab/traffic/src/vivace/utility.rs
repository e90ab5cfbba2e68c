//! The utility of a monitor interval: §4.1 of the paper, equation 2.

/// Exponent of the throughput, t.
const EXPONENT: f64 = 0.9;
/// Weight of the RTT gradient, b.
const LATENCY: f64 = 900.0;
/// Weight of the loss, c.
const LOSS: f64 = 11.35;
/// Gradients smaller than this are noise of the measurement (§5).
const GRADIENT_FILTER: f64 = 0.01;

/// x^0.9 − 900 x · d(RTT)/dt − 11.35 x L, with the sending rate x in Mbit/s, the gradient in seconds
/// per second and the loss L as a share.
pub fn utility(rate_mbps: f64, rtt_gradient: f64, loss: f64) -> f64 {
    let gradient = if rtt_gradient.abs() < GRADIENT_FILTER { 0.0 } else { rtt_gradient };
    libm::pow(rate_mbps.max(0.0), EXPONENT) - rate_mbps * (LATENCY * gradient + LOSS * loss)
}

/// Slope of the regression line through `(x, y)`, and its error: the root mean square of the residuals
/// over the width in x. Both 0 without two different x.
pub fn slope(samples: &[(f64, f64)]) -> (f64, f64) {
    if samples.len() < 2 {
        return (0.0, 0.0);
    }
    let n = samples.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| samples.iter().map(pick).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|it| it.0), mean(|it| it.1));
    let (mut xy, mut xx) = (0.0, 0.0);
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for (x, y) in samples {
        xy += (x - mean_x) * (y - mean_y);
        xx += (x - mean_x) * (x - mean_x);
        (first, last) = (first.min(*x), last.max(*x));
    }
    if xx <= 0.0 {
        return (0.0, 0.0);
    }
    let slope = xy / xx;
    let residual = |(x, y): &(f64, f64)| y - mean_y - slope * (x - mean_x);
    let squares: f64 = samples.iter().map(|it| residual(it) * residual(it)).sum();
    (slope, libm::sqrt(squares / n) / (last - first))
}

/// The RTT gradient of an interval, 0 within the regression error
/// (Meng et al., "PCC Proteus", SIGCOMM 2020, §5: per-interval tolerance of the regression error).
pub fn gradient(samples: &[(f64, f64)]) -> f64 {
    let (slope, error) = slope(samples);
    if slope.abs() < error { 0.0 } else { slope }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an interval at `rate` sees on a link of `capacity` (Mbit/s) with a deep buffer: the RTT
    /// grows by rate / capacity − 1 seconds per second.
    fn on_link(rate: f64, capacity: f64) -> f64 {
        utility(rate, (rate / capacity - 1.0).max(0.0), 0.0)
    }

    #[test]
    fn the_utility_of_the_paper() {
        assert_eq!(utility(1.0, 0.0, 0.0), 1.0);
        assert!((utility(10.0, 0.02, 0.1) - (libm::pow(10.0, 0.9) - 180.0 - 11.35)).abs() < 1e-9);
        assert_eq!(utility(10.0, 0.009, 0.0), libm::pow(10.0, 0.9), "noise is not counted");
    }

    #[test]
    fn its_gradient_points_to_the_capacity() {
        let gradient =
            |rate: f64| (on_link(rate * 1.05, 10.0) - on_link(rate * 0.95, 10.0)) / (0.1 * rate);
        for rate in [0.5, 3.0, 8.0, 9.4] {
            assert!(gradient(rate) > 0.0, "{rate} is below the capacity");
        }
        for rate in [10.0, 12.0, 30.0] {
            assert!(gradient(rate) < 0.0, "{rate} is at or above it");
        }
    }

    #[test]
    fn a_regression_line() {
        let line = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)];
        assert_eq!(slope(&line), (2.0, 0.0));
        assert_eq!(gradient(&line), 2.0);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 9.0)]), (0.0, 0.0));
        assert_eq!(slope(&[]), (0.0, 0.0));
    }

    #[test]
    fn scatter_is_no_gradient() {
        // A grid of 5 ms that the samples of 20 ms meet at random: the line rises, and says nothing.
        let samples = [(0.0, 0.018), (0.005, 0.022), (0.01, 0.018), (0.015, 0.022), (0.02, 0.019)];
        assert!(slope(&samples).0 > 0.03);
        assert_eq!(gradient(&samples), 0.0);
    }
}
