//! BBA-0: Huang et al., "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014), Algorithm 1.
//!
//! Reservoir and cushion default to 5 s and 10 s, which Yin et al. 2015 and the player of
//! abbasloo2019 use for a buffer of a minute; the paper has 90 s and 126 s of 240 s.

use super::Situation;
use crate::video::VideoConfig;

/// The rate is a function of the buffer, with hysteresis between the rungs.
#[derive(Debug, Clone)]
pub struct Bba0 {
    reservoir_s: f64,
    cushion_s: f64,
}

impl Bba0 {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self {
            reservoir_s: config.bb_reservoir_us as f64 / 1e6,
            cushion_s: config.bb_cushion_us as f64 / 1e6,
        }
    }

    /// The rate map f: linear from the lowest to the highest rate over the cushion.
    fn map(&self, rates: &[f64], buffer_s: f64) -> f64 {
        let (low, high) = (rates[0], rates[rates.len() - 1]);
        let share = ((buffer_s - self.reservoir_s) / self.cushion_s).clamp(0.0, 1.0);
        low + (high - low) * share
    }

    /// Algorithm 1.
    pub fn choose(&self, situation: &Situation<'_>) -> usize {
        let rates = situation.manifest.rates_bps();
        let top = rates.len() - 1;
        let previous = situation.last_rung.unwrap_or(0).min(top);
        if situation.buffer_s <= self.reservoir_s {
            return 0;
        }
        if situation.buffer_s >= self.reservoir_s + self.cushion_s {
            return top;
        }
        let f = self.map(rates, situation.buffer_s);
        let above = rates[(previous + 1).min(top)];
        let below = rates[previous.saturating_sub(1)];
        if f >= above {
            // "max{Rᵢ : Rᵢ < f(Buf)}"
            rates.iter().rposition(|rate| *rate < f).unwrap_or(0)
        } else if f <= below {
            // "min{Rᵢ : Rᵢ > f(Buf)}"
            rates.iter().position(|rate| *rate > f).unwrap_or(top)
        } else {
            previous
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::situation;
    use super::*;

    fn choose(buffer_s: f64, last: Option<usize>) -> usize {
        let config = VideoConfig::default();
        situation(&config, buffer_s, last, &[], |it| Bba0::new(&config).choose(it))
    }

    #[test]
    fn reservoir_and_upper_end_are_fixed() {
        assert_eq!(choose(0.0, None), 0);
        assert_eq!(choose(5.0, Some(5)), 0);
        assert_eq!(choose(15.0, Some(0)), 5);
        assert_eq!(choose(60.0, None), 5);
    }

    #[test]
    fn between_them_the_map_decides_with_hysteresis() {
        // f(10 s) = 300 + 4000 / 2 = 2300 kbit/s.
        assert_eq!(choose(10.0, Some(0)), 3, "the highest below 2300 is 1850");
        assert_eq!(choose(10.0, Some(3)), 3, "1850 lies between 1200 and 2850: stay");
        assert_eq!(choose(10.0, Some(4)), 4, "2850: below is 1850 < 2300, stay");
        assert_eq!(choose(10.0, Some(5)), 4, "4300: below is 2850 ≥ 2300, the lowest above");
        // f(6.5 s) = 900 kbit/s.
        assert_eq!(choose(6.5, Some(0)), 1);
        assert_eq!(choose(6.5, Some(2)), 2);
        assert_eq!(choose(6.5, Some(3)), 2);
    }
}
