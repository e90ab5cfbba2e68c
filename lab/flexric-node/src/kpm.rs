//! KPM reports of any period.
//!
//! The agent knows neither start nor period of a subscription: it requests a report when its timer
//! fires. The world's short reports are summed; a subscription's report is the difference to its
//! previous one.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use lab_world::KpmReport;

/// FlexRIC's longest period; after a longer time it is another subscription at the same address.
const FORGET_AFTER: Duration = Duration::from_secs(10);
/// Number of subscriptions kept; the least recently used is forgotten.
const MAX_SUBSCRIPTIONS: usize = 64;

/// Sums of one UE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Totals {
    time_ms: f64,
    volume_dl_kbit: f64,
    volume_ul_kbit: f64,
    drained_kbit: f64,
    prb_dl: f64,
    /// Last reported value, not a sum.
    sdu_delay_us: f64,
}

type ByRnti = BTreeMap<u16, Totals>;

/// One UE during the period of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeMeasurements {
    /// C-RNTI.
    pub rnti: u16,
    over: Totals,
}

impl UeMeasurements {
    /// A measurement by name, in OAI's unit; `None` if this node lacks it, or for a rate over an
    /// empty period.
    pub fn value(&self, name: &str) -> Option<f64> {
        let over = &self.over;
        let per_second = |kbit: f64| (over.time_ms > 0.0).then(|| kbit * 1e3 / over.time_ms);
        match name {
            "DRB.PdcpSduVolumeDL" => Some(over.volume_dl_kbit),
            "DRB.PdcpSduVolumeUL" => Some(over.volume_ul_kbit),
            "DRB.RlcSduDelayDl" => Some(over.sdu_delay_us),
            "DRB.UEThpDl" => per_second(over.drained_kbit),
            "DRB.UEThpUl" => per_second(over.volume_ul_kbit),
            "RRU.PrbTotDl" => Some(over.prb_dl),
            _ => None,
        }
    }
}

/// A subscription's address, and the sums at its previous report.
#[derive(Clone, Debug)]
struct Asked {
    subscription: usize,
    at: Instant,
    before: ByRnti,
}

/// Sums the world's reports and computes those of each subscription.
#[derive(Clone, Debug, Default)]
pub struct KpmSums {
    now: ByRnti,
    asked: Vec<Asked>,
}

impl KpmSums {
    /// Adds a report of the world, which lists the connected UEs.
    pub fn add(&mut self, report: &KpmReport) {
        let time_ms = f64::from(report.period_ms);
        let mut here = ByRnti::new();
        for ue in &report.ues {
            let before = self.now.get(&ue.rnti).copied().unwrap_or_default();
            let of = |name| ue.values.get(name).copied().unwrap_or_default();
            here.insert(
                ue.rnti,
                Totals {
                    time_ms: before.time_ms + time_ms,
                    volume_dl_kbit: before.volume_dl_kbit + of("DRB.PdcpSduVolumeDL"),
                    volume_ul_kbit: before.volume_ul_kbit + of("DRB.PdcpSduVolumeUL"),
                    drained_kbit: before.drained_kbit + of("DRB.UEThpDl") * time_ms / 1e3,
                    prb_dl: before.prb_dl + of("RRU.PrbTotDl"),
                    sdu_delay_us: of("DRB.RlcSduDelayDl"),
                },
            );
        }
        self.now = here;
    }

    /// The UEs since this subscription's previous report; empty at the first, which begins its first
    /// period.
    pub fn since_last(&mut self, subscription: usize, now: Instant) -> Vec<UeMeasurements> {
        self.asked.retain(|asked| now.saturating_duration_since(asked.at) <= FORGET_AFTER);
        let known = self.asked.iter().position(|asked| asked.subscription == subscription);
        let before = known.map(|position| self.asked.remove(position).before);
        if self.asked.len() == MAX_SUBSCRIPTIONS {
            self.asked.remove(0);
        }
        self.asked.push(Asked { subscription, at: now, before: self.now.clone() });
        let Some(before) = before else { return Vec::new() };
        let since = |(rnti, now): (&u16, &Totals)| {
            let before = before.get(rnti).copied().unwrap_or_default();
            let over = Totals {
                time_ms: now.time_ms - before.time_ms,
                volume_dl_kbit: now.volume_dl_kbit - before.volume_dl_kbit,
                volume_ul_kbit: now.volume_ul_kbit - before.volume_ul_kbit,
                drained_kbit: now.drained_kbit - before.drained_kbit,
                prb_dl: now.prb_dl - before.prb_dl,
                sdu_delay_us: now.sdu_delay_us,
            };
            UeMeasurements { rnti: *rnti, over }
        };
        self.now.iter().map(since).collect()
    }
}

#[cfg(test)]
mod tests {
    use lab_world::KpmUe;

    use super::*;

    /// 5 ms of `rnti` at 8 Mbit/s.
    fn report(rnti: u16, delay_us: f64) -> KpmReport {
        let values = [
            ("DRB.PdcpSduVolumeDL", 40.0),
            ("DRB.PdcpSduVolumeUL", 4.0),
            ("DRB.RlcSduDelayDl", delay_us),
            ("DRB.UEThpDl", 8_000.0),
            ("DRB.UEThpUl", 800.0),
            ("RRU.PrbTotDl", 100.0),
        ];
        let ues = vec![KpmUe { rnti, values: values.into() }];
        KpmReport { period_ms: 5, ues, unsupported: [].into() }
    }

    #[test]
    fn each_subscription_gets_the_sums_of_its_own_period() {
        let mut sums = KpmSums::default();
        let start = Instant::now();
        sums.add(&report(17, 1.0));
        assert!(sums.since_last(1, start).is_empty());
        for _ in 0..20 {
            sums.add(&report(17, 2.0));
        }
        assert!(sums.since_last(2, start).is_empty());
        sums.add(&report(17, 3.0));
        let longer = sums.since_last(1, start);
        let shorter = sums.since_last(2, start);
        assert_eq!((longer.len(), longer[0].rnti), (1, 17));
        assert_eq!(longer[0].value("DRB.PdcpSduVolumeDL"), Some(21.0 * 40.0));
        assert_eq!(shorter[0].value("DRB.PdcpSduVolumeDL"), Some(40.0));
        assert_eq!(longer[0].value("DRB.PdcpSduVolumeUL"), Some(84.0));
        assert_eq!(longer[0].value("RRU.PrbTotDl"), Some(2_100.0));
        assert_eq!(longer[0].value("DRB.RlcSduDelayDl"), Some(3.0));
        for measured in [&longer[0], &shorter[0]] {
            let rate = measured.value("DRB.UEThpDl").expect("a rate");
            assert!((rate - 8_000.0).abs() < 1e-6, "{rate}");
            let rate = measured.value("DRB.UEThpUl").expect("a rate");
            assert!((rate - 800.0).abs() < 1e-6, "{rate}");
            assert_eq!(measured.value("RRU.PrbTotUl"), None);
        }
        let nothing_new = sums.since_last(1, start);
        assert_eq!(nothing_new[0].value("DRB.PdcpSduVolumeDL"), Some(0.0));
        assert_eq!(nothing_new[0].value("DRB.UEThpDl"), None);
    }

    #[test]
    fn ues_come_and_go() {
        let mut sums = KpmSums::default();
        let start = Instant::now();
        sums.add(&report(17, 1.0));
        sums.since_last(1, start);
        sums.add(&report(18, 1.0));
        let heard = sums.since_last(1, start);
        assert_eq!((heard.len(), heard[0].rnti), (1, 18));
        assert_eq!(heard[0].value("RRU.PrbTotDl"), Some(100.0));
    }

    #[test]
    fn a_subscription_that_was_silent_for_long_begins_anew_and_few_are_remembered() {
        let mut sums = KpmSums::default();
        let start = Instant::now();
        sums.add(&report(17, 1.0));
        sums.since_last(1, start);
        let late = start + FORGET_AFTER + Duration::from_millis(1);
        assert!(sums.since_last(1, late).is_empty());
        assert_eq!(sums.since_last(1, late).len(), 1);
        for subscription in 2..=1 + MAX_SUBSCRIPTIONS {
            sums.since_last(subscription, late);
        }
        assert_eq!(sums.asked.len(), MAX_SUBSCRIPTIONS);
        assert!(sums.since_last(1, late).is_empty());
    }
}
