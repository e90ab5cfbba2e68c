//! KPM measurements with the names and units of OAI (28.552 has other units for some).

use std::collections::BTreeMap;

use crate::e2::types::{KpmReport, KpmUe};

/// Measurements of this node and their units; volumes and PRBs are per period.
pub const MEASUREMENTS: [(&str, &str); 6] = [
    ("DRB.PdcpSduVolumeDL", "kbit"),
    ("DRB.PdcpSduVolumeUL", "kbit"),
    ("DRB.RlcSduDelayDl", "us"),
    ("DRB.UEThpDl", "kbit/s"),
    ("DRB.UEThpUl", "kbit/s"),
    ("RRU.PrbTotDl", "PRB"),
];

fn names() -> impl Iterator<Item = &'static str> {
    MEASUREMENTS.into_iter().map(|(name, _)| name)
}

/// Cumulative counters of one UE, the basis of a period's measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UeCounters {
    /// PDCP SDU bytes sent towards the UE.
    pub pdcp_dl_bytes: u64,
    /// PDCP SDU bytes received from the UE.
    pub pdcp_ul_bytes: u64,
    /// SDU bytes drained by the MAC.
    pub drained_bytes: u64,
    /// Downlink PRBs.
    pub prb_dl: u64,
}

/// The measurements `wanted` of one UE over a period.
pub fn measure(
    wanted: &[&'static str],
    before: &UeCounters,
    now: &UeCounters,
    rlc_sdu_delay_us: f64,
    period_ms: u32,
) -> BTreeMap<&'static str, f64> {
    let kbit = |from: u64, to: u64| to.saturating_sub(from) as f64 * 8.0 / 1e3;
    let per_second = 1e3 / f64::from(period_ms.max(1));
    wanted
        .iter()
        .map(|name| {
            let value = match *name {
                "DRB.PdcpSduVolumeDL" => kbit(before.pdcp_dl_bytes, now.pdcp_dl_bytes),
                "DRB.PdcpSduVolumeUL" => kbit(before.pdcp_ul_bytes, now.pdcp_ul_bytes),
                "DRB.RlcSduDelayDl" => rlc_sdu_delay_us,
                "DRB.UEThpDl" => kbit(before.drained_bytes, now.drained_bytes) * per_second,
                "DRB.UEThpUl" => kbit(before.pdcp_ul_bytes, now.pdcp_ul_bytes) * per_second,
                _ => now.prb_dl.saturating_sub(before.prb_dl) as f64,
            };
            (*name, value)
        })
        .collect()
}

/// Splits requested names into supported and unsupported ones, each once; an empty request selects all
/// supported.
pub fn select(requested: &[String]) -> (Vec<&'static str>, Vec<String>) {
    if requested.is_empty() {
        return (names().collect(), Vec::new());
    }
    let mut wanted = Vec::new();
    let mut unsupported = Vec::new();
    for name in requested {
        match names().find(|known| known == name) {
            Some(known) if wanted.contains(&known) => {}
            Some(known) => wanted.push(known),
            None if unsupported.contains(name) => {}
            None => unsupported.push(name.clone()),
        }
    }
    (wanted, unsupported)
}

/// Bytes of a value beside its name.
const VALUE_BYTES: usize = 16;
/// Bytes of a UE or an unsupported name beside its content.
const ENTRY_BYTES: usize = 24;

/// Bytes of a report of `ues` UEs.
pub(crate) fn report_bytes(wanted: &[&str], ues: usize, unsupported: &[String]) -> u64 {
    (ues * row_bytes(wanted.iter().copied()) + lacking_bytes(unsupported)) as u64
}

fn row_bytes<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    ENTRY_BYTES + names.map(|name| name.len() + VALUE_BYTES).sum::<usize>()
}

fn lacking_bytes(unsupported: &[String]) -> usize {
    unsupported.iter().map(|name| name.len() + ENTRY_BYTES).sum()
}

impl KpmReport {
    pub(crate) fn len_bytes(&self) -> usize {
        let row = |ue: &KpmUe| row_bytes(ue.values.keys().copied());
        self.ues.iter().map(row).sum::<usize>() + lacking_bytes(&self.unsupported)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_and_rates_are_per_period() {
        let before = UeCounters {
            pdcp_dl_bytes: 1_000,
            drained_bytes: 500,
            prb_dl: 10,
            ..UeCounters::default()
        };
        let now = UeCounters {
            pdcp_dl_bytes: 13_500,
            drained_bytes: 3_000,
            prb_dl: 60,
            pdcp_ul_bytes: 125,
        };
        let wanted: Vec<&str> = names().collect();
        let values = measure(&wanted, &before, &now, 1_500.0, 100);
        assert_eq!(values["DRB.PdcpSduVolumeDL"], 100.0);
        assert_eq!(values["DRB.UEThpDl"], 200.0);
        assert_eq!(values["DRB.UEThpUl"], 10.0);
        assert_eq!(values["DRB.RlcSduDelayDl"], 1_500.0);
        assert_eq!(values["RRU.PrbTotDl"], 50.0);
    }

    #[test]
    fn an_unsupported_name_is_listed_and_the_rest_is_measured() {
        let requested =
            ["RRU.PrbTotDl", "DRB.Magic", "RRU.PrbTotDl", "DRB.Magic"].map(str::to_owned);
        assert_eq!(select(&requested), (vec!["RRU.PrbTotDl"], vec!["DRB.Magic".to_owned()]));
        assert_eq!(select(&[]).0.len(), MEASUREMENTS.len());
    }
}
