//! BOLA-BASIC: Spiteri, Urgaonkar and Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online
//! Videos" (INFOCOM 2016), §III.
//!
//! With Q the buffer in chunks, S_m the nominal size of a chunk on rung m and its utility
//! v_m = ln(S_m / S_lowest), the rung is the one that maximises (V v_m + V γp − Q) / S_m; when that
//! is negative for all, nothing is fetched until the buffer has drained. V follows from the buffer:
//! V = (Q_max − 1) / (v_highest + γp) (§III-C), so that the buffer never exceeds Q_max. Not here:
//! the extensions of §V (BOLA-FINITE's growing V at both ends, BOLA-O and BOLA-U).

use super::Situation;
use crate::video::VideoConfig;

/// The buffer decides, by Lyapunov optimisation.
#[derive(Debug, Clone)]
pub struct Bola {
    gamma_p: f64,
    buffer_max_s: f64,
}

impl Bola {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self { gamma_p: config.bola_gamma_p, buffer_max_s: config.buffer_max_us as f64 / 1e6 }
    }

    /// v_m.
    fn utility(rates: &[f64], rung: usize) -> f64 {
        libm::log(rates[rung] / rates[0])
    }

    /// V, chunks per unit of utility.
    fn control(&self, situation: &Situation<'_>) -> f64 {
        let rates = situation.manifest.rates_bps();
        let max_chunks = self.buffer_max_s / situation.manifest.chunk_s();
        (max_chunks - 1.0) / (Self::utility(rates, rates.len() - 1) + self.gamma_p)
    }

    /// Until some rung is worth fetching: Q = V (v_highest + γp) = Q_max − 1.
    pub fn wait_s(&self, situation: &Situation<'_>) -> f64 {
        let full_s = self.buffer_max_s - situation.manifest.chunk_s();
        (situation.buffer_s - full_s).max(0.0)
    }

    /// The rung of the largest objective; of equal ones the lowest.
    pub fn choose(&self, situation: &Situation<'_>) -> usize {
        let rates = situation.manifest.rates_bps();
        let v = self.control(situation);
        let q = situation.buffer_s / situation.manifest.chunk_s();
        let objective =
            |rung: usize| (v * (Self::utility(rates, rung) + self.gamma_p) - q) / rates[rung];
        (1..rates.len())
            .fold(0, |best, rung| if objective(rung) > objective(best) { rung } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::situation;
    use super::*;

    fn config() -> VideoConfig {
        VideoConfig {
            ladder_kbps: vec![1_000, 2_000, 4_000],
            buffer_max_us: 40_000_000,
            ..VideoConfig::default()
        }
    }

    fn choose(buffer_s: f64) -> usize {
        situation(&config(), buffer_s, None, &[], |it| Bola::new(&config()).choose(it))
    }

    #[test]
    fn switches_where_the_objectives_cross() {
        // V = 9 / (ln 4 + 5) = 1.40925. Rungs 0 and 1 cross where
        // 2 (5 V − Q) = V (ln 2 + 5) − Q, so Q = V (5 − ln 2) = 6.06943 chunks = 24.2777 s;
        // rungs 1 and 2 where 2 (V (ln 2 + 5) − Q) = V (ln 4 + 5) − Q, Q = 5 V = 7.04626, 28.185 s.
        assert_eq!(choose(0.0), 0);
        assert_eq!(choose(24.2), 0);
        assert_eq!(choose(24.3), 1);
        assert_eq!(choose(28.1), 1);
        assert_eq!(choose(28.2), 2);
        assert_eq!(choose(36.0), 2);
    }

    #[test]
    fn waits_until_a_chunk_fits() {
        let wait = |buffer_s| {
            situation(&config(), buffer_s, None, &[], |it| Bola::new(&config()).wait_s(it))
        };
        assert_eq!(wait(36.0), 0.0);
        assert_eq!(wait(39.0), 3.0);
    }
}
