//! Flows of a run: which, and their delays and rates.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::observe::{FlowObserved, Observed};

/// Selection of flows; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flows {
    /// Those of a kind, such as `voip`.
    pub kind: Option<String>,
    /// Those of other kinds.
    pub not_kind: Option<String>,
    /// Those of a UE.
    pub rnti: Option<u16>,
    /// Those with these names.
    pub names: Option<Vec<String>>,
}

/// A delay of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delay {
    /// Time in SDAP and RLC, to the last byte at the MAC.
    Sojourn,
    /// Part of it in the RLC.
    InRlc,
    /// Time from server to UE.
    OneWay,
    /// Time from the first transmission of its payload to the UE.
    Overall,
    /// Round trip as the flow measures it.
    Rtt,
}

/// Unit of a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Milliseconds.
    #[default]
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    pub(super) fn of_us(self, us: u64) -> f64 {
        match self {
            Self::Ms => us as f64 / 1e3,
            Self::S => us as f64 / 1e6,
        }
    }
}

impl Flows {
    /// The selection that no flow of the scenarios fits, and what they have.
    pub(super) fn fault(&self, scenarios: &[&Value]) -> Option<String> {
        let kinds = self.kind.iter().chain(&self.not_kind).map(|kind| ("kind", kind));
        let names = self.names.iter().flatten().map(|name| ("name", name));
        kinds.chain(names).find_map(|(key, wanted)| flow_fault(scenarios, key, wanted))
    }

    fn includes(&self, flow: &FlowObserved) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind == flow.kind)
            && self.not_kind.as_ref().is_none_or(|kind| kind != flow.kind)
            && self.rnti.is_none_or(|rnti| rnti == flow.rnti)
            && self.names.as_ref().is_none_or(|names| names.contains(&flow.name))
    }

    /// The selected flows of a run.
    pub fn of<'a>(&'a self, run: &'a Observed) -> impl Iterator<Item = &'a FlowObserved> {
        run.flows.iter().filter(|flow| self.includes(flow))
    }

    /// Time and delay of each packet, µs: packets that left the RLC, or round trips that ended, at
    /// least `from_s` after the start of the window.
    pub(super) fn delays_us(&self, run: &Observed, delay: Delay, from_s: f64) -> Vec<(u64, u64)> {
        let from_us = run.watch.from_us + (from_s * 1e6) as u64;
        let mut all: Vec<(u64, u64)> = Vec::new();
        for flow in self.of(run) {
            let at_us = flow.left_us.iter().copied();
            let wide = |us: &u32| u64::from(*us);
            match delay {
                Delay::Sojourn => all.extend(at_us.zip(flow.sojourn_us.iter().map(wide))),
                Delay::InRlc => {
                    let both = flow.sojourn_us.iter().zip(&flow.sdap_us);
                    all.extend(at_us.zip(both.map(|(all, sdap)| wide(&all.saturating_sub(*sdap)))));
                }
                Delay::OneWay => all.extend(at_us.zip(flow.one_way_us.iter().map(wide))),
                Delay::Overall => all.extend(at_us.zip(flow.overall_us.iter().map(wide))),
                Delay::Rtt => all.extend(&flow.rtt_us),
            }
        }
        all.retain(|(at_us, _)| *at_us >= from_us);
        all
    }

    /// The delays alone, sorted.
    pub(super) fn sorted_us(&self, run: &Observed, delay: Delay, from_s: f64) -> Vec<u64> {
        let mut all: Vec<u64> =
            self.delays_us(run, delay, from_s).into_iter().map(|(_, us)| us).collect();
        all.sort_unstable();
        all
    }

    /// The delays by time: seconds since the start of the window, delay.
    pub(super) fn over_time(&self, run: &Observed, delay: Delay, unit: Unit) -> Vec<(f64, f64)> {
        let mut all = self.delays_us(run, delay, 0.0);
        all.sort_by_key(|(at_us, _)| *at_us);
        let point = |(at_us, us): (u64, u64)| {
            (at_us.saturating_sub(run.watch.from_us) as f64 / 1e6, unit.of_us(us))
        };
        all.into_iter().map(point).collect()
    }

    /// Their goodput together by bin: middle of the bin in seconds, Mbit/s.
    pub(super) fn goodput_mbps_over_s(&self, run: &Observed) -> Vec<(f64, f64)> {
        let mut sum: Vec<(f64, f64)> = Vec::new();
        for flow in self.of(run) {
            for (bin, (at_s, mbps)) in flow.goodput_mbps_over_s.iter().enumerate() {
                match sum.get_mut(bin) {
                    Some((_, sum)) => *sum += mbps,
                    None => sum.push((*at_s, *mbps)),
                }
            }
        }
        sum
    }

    /// Their goodput together, a mean per second: middle of the second, Mbit/s.
    pub(super) fn goodput_mbps_by_second(&self, run: &Observed) -> Vec<(f64, f64)> {
        let mut seconds: Vec<(f64, u32)> = Vec::new();
        for (index, flow) in self.of(run).enumerate() {
            for (at_s, mbps) in &flow.goodput_mbps_over_s {
                let second = at_s.max(0.0) as usize;
                if second >= seconds.len() {
                    seconds.resize(second + 1, (0.0, 0));
                }
                seconds[second].0 += mbps;
                if index == 0 {
                    seconds[second].1 += 1;
                }
            }
        }
        let mean = |(second, (sum, bins)): (usize, &(f64, u32))| {
            (second as f64 + 0.5, sum / f64::from((*bins).max(1)))
        };
        seconds.iter().enumerate().map(mean).collect()
    }
}

/// What is wrong with a `kind` or a `name` that no flow of the scenarios has.
pub(super) fn flow_fault(scenarios: &[&Value], key: &str, wanted: &str) -> Option<String> {
    let flows = scenarios.iter().filter_map(|scenario| scenario["flows"].as_array()).flatten();
    let known: BTreeSet<&str> = flows.filter_map(|flow| flow[key].as_str()).collect();
    let known_list = || known.iter().copied().collect::<Vec<_>>().join(", ");
    (!known.is_empty() && !known.contains(wanted))
        .then(|| format!("no flow of {key} '{wanted}'; there are {}", known_list()))
}
