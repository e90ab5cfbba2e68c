//! The bearers whose packets wait longest, for metrics per bearer: series do not grow with the bearers.
//!
//! Ranked by an exponential mean over 15 minutes; a bearer outside the selection enters it only if its
//! mean is clearly longer than that of one inside, so that series do not come and go.

use std::collections::{BTreeMap, BTreeSet};

use lab_world::BearerDelay;

const WINDOW_US: f64 = 900e6;
/// Advantage of the bearers selected before.
const HYSTERESIS: f64 = 1.2;

/// RNTI and DRB.
type Id = (u16, u8);

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    packets: u64,
    delay_us: u64,
    mean_us: f64,
}

/// State from scrape to scrape.
#[derive(Debug, Default)]
pub(crate) struct WorstBearers {
    seen_us: u64,
    means: BTreeMap<Id, Mean>,
    selected: BTreeSet<Id>,
}

impl WorstBearers {
    /// The worst bearers, at most `most`, with their mean sojourn in seconds at virtual time
    /// `now_us`.
    pub(crate) fn select(
        &mut self,
        now_us: u64,
        delays: &[BearerDelay],
        most: usize,
    ) -> BTreeMap<Id, f64> {
        let elapsed_us = now_us.saturating_sub(self.seen_us);
        self.seen_us = now_us;
        let weight = 1.0 - (-(elapsed_us as f64) / WINDOW_US).exp();
        let mut means = BTreeMap::new();
        for delay in delays {
            let id = (delay.rnti, delay.drb);
            let before = self.means.get(&id);
            let since = before.copied().unwrap_or_default();
            let packets = delay.packets.saturating_sub(since.packets);
            let delay_us = delay.delay_us.saturating_sub(since.delay_us);
            // Without packets nothing suffers.
            let newest_us = if packets == 0 { 0.0 } else { delay_us as f64 / packets as f64 };
            let mean_us = match before {
                None => newest_us,
                Some(before) => before.mean_us + weight * (newest_us - before.mean_us),
            };
            means.insert(id, Mean { packets: delay.packets, delay_us: delay.delay_us, mean_us });
        }
        self.means = means;
        let score = |id: &Id, mean: &Mean| {
            mean.mean_us * if self.selected.contains(id) { HYSTERESIS } else { 1.0 }
        };
        let mut ranked: Vec<(f64, Id)> =
            self.means.iter().map(|(id, mean)| (score(id, mean), *id)).collect();
        ranked.sort_by(|(one, a), (other, b)| other.total_cmp(one).then(a.cmp(b)));
        ranked.truncate(most);
        self.selected = ranked.into_iter().map(|(_, id)| id).collect();
        self.selected.iter().map(|id| (*id, self.means[id].mean_us / 1e6)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_US: u64 = 60_000_000;

    /// One packet a minute and bearer, with these delays in ms.
    fn minutes(worst: &mut WorstBearers, from: u64, count: u64, delays_ms: [u64; 3]) -> Vec<u16> {
        let mut chosen = Vec::new();
        for minute in from..from + count {
            let delays: Vec<BearerDelay> = (0..3u16)
                .map(|rnti| {
                    let known = worst.means.get(&(rnti, 1)).copied().unwrap_or_default();
                    let delay_us = known.delay_us + 1_000 * delays_ms[usize::from(rnti)];
                    BearerDelay { rnti, drb: 1, packets: known.packets + 1, delay_us }
                })
                .collect();
            let selected = worst.select(minute * MINUTE_US, &delays, 1);
            chosen = selected.into_keys().map(|(rnti, _)| rnti).collect();
        }
        chosen
    }

    #[test]
    fn a_slightly_worse_bearer_does_not_replace_the_worst() {
        let mut worst = WorstBearers::default();
        assert_eq!(minutes(&mut worst, 0, 30, [10, 50, 20]), [1]);
        assert_eq!(minutes(&mut worst, 30, 120, [10, 50, 58]), [1]);
        assert_eq!(minutes(&mut worst, 150, 120, [10, 50, 100]), [2]);
        assert_eq!(minutes(&mut worst, 270, 1, [900, 50, 100]), [2], "one bad minute");
    }

    #[test]
    fn an_idle_bearer_is_forgotten() {
        let mut worst = WorstBearers::default();
        let idle = BearerDelay { rnti: 7, drb: 1, packets: 5, delay_us: 5_000_000 };
        let mean = |worst: &mut WorstBearers, minute| {
            worst.select(minute * MINUTE_US, &[idle], 1).into_values().next().expect("selected")
        };
        assert!((mean(&mut worst, 0) - 1.0).abs() < 1e-9);
        assert!(mean(&mut worst, 60) < 0.02);
    }
}
