//! A Gauss–Markov channel: the SNR in dB is a first-order autoregressive process, which determines
//! CQI and MCS.

use super::series::SNR_DB;
use crate::error::{ConfigError, ensure};
use crate::rng::Rng;

/// Parameters of the process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussMarkov {
    /// Mean SNR in dB.
    pub mean_snr_db: f64,
    /// Standard deviation of the SNR in dB.
    pub std_dev_db: f64,
    /// Time after which the correlation is 1/e.
    pub coherence_us: u64,
    /// Time between two values.
    pub period_us: u64,
}

impl GaussMarkov {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let Self { mean_snr_db: mean, std_dev_db: std_dev, coherence_us, period_us } = *self;
        let day_us = 86_400_000_000;
        ensure(SNR_DB.contains(&mean), "channel.mean_snr_db", mean, "-50 to 80 dB")?;
        ensure((0.0..=40.0).contains(&std_dev), "channel.std_dev_db", std_dev, "0 to 40 dB")?;
        for (path, us) in [("channel.coherence_us", coherence_us), ("channel.period_us", period_us)]
        {
            ensure((1..=day_us).contains(&us), path, us, "1 µs to a day")?;
        }
        Ok(())
    }

    /// Correlation of consecutive values.
    fn correlation(&self) -> f64 {
        libm::exp(-(self.period_us as f64) / self.coherence_us as f64)
    }
}

/// State of the process.
#[derive(Debug, Clone)]
pub(super) struct Process {
    mean_db: f64,
    /// Current deviation from the mean.
    off_db: f64,
    correlation: f64,
    /// Standard deviation of the innovation that keeps the variance constant.
    step_db: f64,
    normal: Normal,
}

impl Process {
    /// Starts in the stationary distribution.
    pub(super) fn new(config: &GaussMarkov, rng: &mut Rng) -> Self {
        let correlation = config.correlation();
        let mut normal = Normal::default();
        Self {
            mean_db: config.mean_snr_db,
            off_db: config.std_dev_db * normal.draw(rng),
            correlation,
            step_db: config.std_dev_db * (1.0 - correlation * correlation).sqrt(),
            normal,
        }
    }

    pub(super) fn step(&mut self, rng: &mut Rng) {
        self.off_db = self.correlation * self.off_db + self.step_db * self.normal.draw(rng);
    }

    pub(super) fn snr_db(&self) -> f64 {
        self.mean_db + self.off_db
    }
}

/// Standard normal numbers by Marsaglia's polar method, with `libm`'s logarithm, which gives the
/// same result on every machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Normal {
    spare: Option<f64>,
}

impl Normal {
    pub(super) fn draw(&mut self, rng: &mut Rng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let x = 2.0 * rng.uniform() - 1.0;
            let y = 2.0 * rng.uniform() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> GaussMarkov {
        GaussMarkov { mean_snr_db: 12.0, std_dev_db: 5.0, coherence_us: 100_000, period_us: 10_000 }
    }

    #[test]
    fn mean_deviation_and_correlation_are_as_configured() {
        let mut rng = Rng::new(5, 1);
        let mut process = Process::new(&config(), &mut rng);
        let n = 400_000;
        let values: Vec<f64> = (0..n)
            .map(|_| {
                process.step(&mut rng);
                process.snr_db()
            })
            .collect();
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n);
        let lag: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
        // 400000 values of a correlation time of 10 are about 20000 independent ones.
        assert!((mean - 12.0).abs() < 0.15, "{mean}");
        assert!((variance.sqrt() - 5.0).abs() < 0.1, "{}", variance.sqrt());
        let correlation = lag / f64::from(n) / variance;
        assert!((correlation - (-0.1f64).exp()).abs() < 0.005, "{correlation}");
    }

    #[test]
    fn a_deviation_of_zero_is_a_constant() {
        let still = GaussMarkov { std_dev_db: 0.0, ..config() };
        let mut rng = Rng::new(5, 1);
        let mut process = Process::new(&still, &mut rng);
        process.step(&mut rng);
        assert_eq!(process.snr_db(), 12.0);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let good = config();
        assert_eq!(good.validate(), Ok(()));
        for (wrong, expected) in [
            (GaussMarkov { mean_snr_db: f64::NAN, ..good }, "channel.mean_snr_db: NaN; expected"),
            (GaussMarkov { std_dev_db: -1.0, ..good }, "channel.std_dev_db: -1; expected 0 to 40"),
            (GaussMarkov { std_dev_db: f64::INFINITY, ..good }, "channel.std_dev_db: inf"),
            (GaussMarkov { coherence_us: 0, ..good }, "channel.coherence_us: 0; expected 1"),
            (GaussMarkov { period_us: 0, ..good }, "channel.period_us: 0; expected 1"),
        ] {
            let error = wrong.validate().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
