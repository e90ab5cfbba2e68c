//! Packets delivered with a probability of 95 %: §3.3 of the paper.
//!
//! For a rate of λ now, P(at most c packets within n ticks) follows by recursion over the first of
//! the n ticks: the rate moves to λ′, k packets leave, and at most c − k within the other n − 1.
//! The table of all λ, n and c is computed once; a forecast weights it with the distribution of λ.

use std::sync::LazyLock;

use super::FORECAST_TICKS;
use super::model::{Belief, RATES, STEPS, mean_per_tick};

/// The quantile: a forecast is met with 95 % (§3.3).
const RISK: f64 = 0.05;
/// Counts in the table. The mean of eight ticks at the highest rate; the 5 % quantile lies below.
const COUNTS: usize = 161;

/// P(at most `c` packets within `n` ticks | rate number `i` now) at `[n − 1][i · COUNTS + c]`.
static AT_MOST: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| {
    let poisson: Vec<Vec<f64>> = (0..RATES).map(|rate| poisson(mean_per_tick(rate))).collect();
    let mut tables = Vec::with_capacity(FORECAST_TICKS);
    let mut rest = vec![1.0; RATES * COUNTS];
    for _ in 0..FORECAST_TICKS {
        rest = one_tick_more(&poisson, &rest);
        tables.push(rest.clone());
    }
    tables
});

/// Probabilities of 0, 1, … events, as far as they matter.
fn poisson(mean: f64) -> Vec<f64> {
    let mut probability = vec![libm::exp(-mean)];
    while probability.len() < COUNTS {
        let k = probability.len() as f64;
        let next = probability[probability.len() - 1] * mean / k;
        if k > mean && next < 1e-15 {
            break;
        }
        probability.push(next);
    }
    probability
}

fn one_tick_more(poisson: &[Vec<f64>], rest: &[f64]) -> Vec<f64> {
    // First the packets of the tick at each rate it may have moved to …
    let mut after = vec![0.0; RATES * COUNTS];
    for (rate, leaves) in poisson.iter().enumerate() {
        let rest = &rest[rate * COUNTS..(rate + 1) * COUNTS];
        for c in 0..COUNTS {
            after[rate * COUNTS + c] =
                leaves.iter().take(c + 1).enumerate().map(|(k, p)| p * rest[c - k]).sum();
        }
    }
    // … then over where it moves.
    let mut table = vec![0.0; RATES * COUNTS];
    for (from, step) in STEPS.iter().enumerate() {
        let row = &mut table[from * COUNTS..(from + 1) * COUNTS];
        for (offset, p) in step.probability.iter().enumerate() {
            let to = step.first + offset;
            for (cell, value) in row.iter_mut().zip(&after[to * COUNTS..(to + 1) * COUNTS]) {
                *cell += p * value;
            }
        }
    }
    table
}

/// Packets that will have been delivered by the end of each of the next ticks with 95 %.
pub fn cautious(belief: &Belief) -> [u16; FORECAST_TICKS] {
    let mut forecast = [0; FORECAST_TICKS];
    for (packets, table) in forecast.iter_mut().zip(AT_MOST.iter()) {
        let at_most = |c: usize| -> f64 {
            let rows = table.chunks_exact(COUNTS);
            belief.probability().iter().zip(rows).map(|(p, row)| p * row[c]).sum()
        };
        // The largest n with P(fewer than n) ≤ 5 %. P(at most c) grows with c: bisection.
        let (mut met, mut not_met) = (0, COUNTS);
        while met + 1 < not_met {
            let middle = usize::midpoint(met, not_met);
            if at_most(middle - 1) <= RISK { met = middle } else { not_met = middle }
        }
        *packets = met as u16;
    }
    forecast
}

#[cfg(test)]
mod tests {
    use super::super::model::rate;
    use super::*;
    use crate::rng::Rng;

    fn draw_poisson(mean: f64, random: &mut Rng) -> u32 {
        let (mut product, floor, mut count) = (random.open01(), libm::exp(-mean), 0);
        while product > floor {
            product *= random.open01();
            count += 1;
        }
        count
    }

    #[test]
    fn a_forecast_grows_and_stays_below_the_mean() {
        let mut belief = Belief::default();
        for _ in 0..50 {
            belief.evolve();
            belief.observe(10);
        }
        let forecast = cautious(&belief);
        assert!(forecast.windows(2).all(|pair| pair[0] <= pair[1]), "{forecast:?}");
        for (tick, packets) in (1..).zip(forecast) {
            assert!(f64::from(packets) < f64::from(tick) * 10.0, "{forecast:?}");
        }
        assert!(forecast[7] >= 40, "half of the mean at 160 ms: {forecast:?}");
        assert_eq!(cautious(&Belief::default())[0], 0, "nothing is known");
    }

    #[test]
    fn at_least_95_percent_of_forecasts_are_met_by_a_poisson_link() {
        for mean_per_tick in [2.0, 6.0, 15.0] {
            let mut random = Rng::new(11);
            let counts: Vec<u32> =
                (0..20_000).map(|_| draw_poisson(mean_per_tick, &mut random)).collect();
            let mut belief = Belief::default();
            let (mut made, mut met) = (0_u32, 0_u32);
            for tick in 0..counts.len() - FORECAST_TICKS {
                belief.evolve();
                belief.observe(counts[tick]);
                if tick < 50 {
                    continue;
                }
                let mut delivered = 0;
                for (ahead, packets) in cautious(&belief).into_iter().enumerate() {
                    delivered += counts[tick + 1 + ahead];
                    made += 1;
                    met += u32::from(delivered >= u32::from(packets));
                }
            }
            let share = f64::from(met) / f64::from(made);
            assert!(share >= 0.95, "{mean_per_tick}: {share}");
        }
    }

    #[test]
    fn forecasts_on_the_models_own_link_are_met_with_95_percent() {
        let mut random = Rng::new(3);
        let (mut value, mut belief) = (128_usize, Belief::default());
        let counts: Vec<u32> = (0..40_000)
            .map(|_| {
                let step = &STEPS[value];
                let mut u = random.open01();
                let moved = step.probability.iter().position(|p| {
                    u -= p;
                    u < 0.0
                });
                value = step.first + moved.unwrap_or(0);
                draw_poisson(rate(value) * 0.02, &mut random)
            })
            .collect();
        let (mut made, mut met) = (0_u32, 0_u32);
        for tick in 0..counts.len() - FORECAST_TICKS {
            belief.evolve();
            belief.observe(counts[tick]);
            if tick > 50 && tick % 8 == 0 {
                let forecast = u32::from(cautious(&belief)[4]);
                made += 1;
                met += u32::from(counts[tick + 1..=tick + 5].iter().sum::<u32>() >= forecast);
            }
        }
        let share = f64::from(met) / f64::from(made);
        // The quantile of whole packets is met a little more often than 95 %, and not much more.
        assert!((0.945..0.985).contains(&share), "{share}");
    }
}
