//! Random pages.

use std::num::NonZeroU32;

use super::WebConfig;
use crate::distribution::Distribution;
use crate::rng::Rng;

/// Main object: mean 10 710 B, 100 B to 2 MB (C.R1002 §4.1.3.2).
const MAIN: Distribution =
    Distribution::TruncatedLognormal { mu: 8.37, sigma: 1.37, min: 100.0, max: 2e6 };
/// Embedded object: mean 7 758 B, 50 B to 2 MB (C.R1002 §4.1.3.2).
const EMBEDDED: Distribution =
    Distribution::TruncatedLognormal { mu: 6.17, sigma: 2.36, min: 50.0, max: 2e6 };

/// A page: its objects and the times of its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Size of the main object, bytes.
    pub main_bytes: NonZeroU32,
    /// Sizes of the embedded objects, bytes.
    pub embedded_bytes: Vec<NonZeroU32>,
    /// Time to parse the main object.
    pub parsing_us: u64,
    /// Time to read the page.
    pub reading_us: u64,
}

impl Page {
    pub(crate) fn draw(config: &WebConfig, random: &mut Rng) -> Self {
        let size = |distribution: Distribution, random: &mut Rng| {
            let bytes = (distribution.draw(random) * config.scale).round();
            NonZeroU32::new(bytes as u32).unwrap_or(NonZeroU32::MIN)
        };
        let pareto = Distribution::CappedPareto {
            alpha: config.embedded_alpha,
            k: config.embedded_k,
            m: config.embedded_m,
        };
        let main_bytes = size(MAIN, random);
        let objects = (pareto.draw(random) - config.embedded_k).round() as usize;
        let embedded_bytes = (0..objects).map(|_| size(EMBEDDED, random)).collect();
        let time = |mean_s: f64, random: &mut Rng| {
            (Distribution::Exponential { mean: mean_s * 1e6 }.draw(random)) as u64
        };
        Self {
            main_bytes,
            embedded_bytes,
            parsing_us: time(config.parsing_mean_s, random),
            reading_us: time(config.reading_mean_s, random),
        }
    }

    /// Size of all objects.
    pub fn total_bytes(&self) -> u64 {
        let embedded: u64 = self.embedded_bytes.iter().map(|bytes| u64::from(bytes.get())).sum();
        u64::from(self.main_bytes.get()) + embedded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_means_of_the_model() {
        let mut random = Rng::new(5);
        let config = WebConfig::default();
        let pages: Vec<Page> = (0..60_000).map(|_| Page::draw(&config, &mut random)).collect();
        let mean = |value: fn(&Page) -> f64| pages.iter().map(value).sum::<f64>() / 60_000.0;
        let close = |got: f64, law: f64, within: f64| {
            assert!((got / law - 1.0).abs() < within, "{got} against {law}");
        };
        // C.R1002 Table 4.1.3-1.
        close(mean(|page| f64::from(page.main_bytes.get())), 10_710.0, 0.05);
        close(mean(|page| page.embedded_bytes.len() as f64), 5.64, 0.05);
        close(mean(|page| page.reading_us as f64), 30e6, 0.02);
        close(mean(|page| page.parsing_us as f64), 0.13e6, 0.02);
        let objects: Vec<f64> = pages
            .iter()
            .flat_map(|page| &page.embedded_bytes)
            .map(|b| f64::from(b.get()))
            .collect();
        close(objects.iter().sum::<f64>() / objects.len() as f64, 7_758.0, 0.08);
        assert!(pages.iter().all(|page| page.embedded_bytes.len() <= 53));
    }
}
