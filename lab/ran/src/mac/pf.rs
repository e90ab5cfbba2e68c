//! Proportional fair sharing of a slot (Kelly 1997; Jalali, Padovani and Pankaj, VTC 2000): UEs are
//! served by their current rate over their average rate.

use super::rbg::{self, GroupSet};
use super::round_robin::Grant;
use crate::error::{ConfigError, ensure};

/// Granularity of scheduling decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PfGranularity {
    /// One decision per slot: the first UE takes what it needs, the next what is left.
    #[default]
    Wideband,
    /// One decision per resource block group, which counts the bytes already given to the UE in the
    /// slot. Where UEs report one CQI for the carrier, this count alone spreads a slot over UEs; with sub-bands
    /// ([`AdaptationConfig::subband_prb`](crate::AdaptationConfig)) a group goes by what each reports there.
    PerRbg,
}

/// Parameters of proportional fair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfConfig {
    /// Time constant of a UE's average rate, over downlink slots.
    pub time_constant_us: u32,
    /// Granularity of decisions.
    pub granularity: PfGranularity,
}

impl Default for PfConfig {
    /// 100 ms: long against fading, short against a download.
    fn default() -> Self {
        Self { time_constant_us: 100_000, granularity: PfGranularity::default() }
    }
}

impl PfConfig {
    pub(crate) fn validate(self, path: &str) -> Result<(), ConfigError> {
        let (us, path) = (self.time_constant_us, format!("{path}.time_constant_us"));
        ensure((1_000..=100_000_000).contains(&us), path, us, "1000 to 100000000 µs")
    }

    /// Weight of one slot in the average, at most 1.
    pub(crate) fn weight(self, slot_us: u32) -> f64 {
        (f64::from(slot_us) / f64::from(self.time_constant_us.max(1))).min(1.0)
    }
}

/// Exponentially weighted average of a UE's bytes per slot.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Average {
    bytes: f64,
    /// Number of the downlink slot before which `bytes` is valid.
    slot: u64,
}

impl Average {
    /// Bytes per slot before downlink slot number `slot`; slots since the last grant count as empty.
    pub fn at(self, slot: u64, weight: f64) -> f64 {
        self.bytes * power(1.0 - weight, slot.saturating_sub(self.slot))
    }

    /// The UE got `bytes` in downlink slot number `slot`.
    pub fn served(&mut self, slot: u64, weight: f64, bytes: u32) {
        self.bytes = self.at(slot, weight) * (1.0 - weight) + weight * f64::from(bytes);
        self.slot = slot + 1;
    }
}

/// `base` to the `exponent` by multiplications, whose result is the same on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// A UE that can be scheduled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// PRBs needed and given.
    pub grant: Grant,
    /// Bytes of the whole budget.
    pub rate_bytes: u32,
    /// Average bytes per slot.
    pub average_bytes: f64,
}

/// Lower bound of the average: keeps the metric finite, and orders UEs not served yet by channel.
const LEAST_AVERAGE_BYTES: f64 = 1e-6;

impl Candidate {
    /// Rate over average after adding `bytes` of this slot with `weight`.
    pub fn metric(&self, weight: f64, bytes: u32) -> f64 {
        let average = (1.0 - weight) * self.average_bytes + weight * f64::from(bytes);
        f64::from(self.rate_bytes) / average.max(LEAST_AVERAGE_BYTES)
    }
}

/// Keeps the `most` candidates with the highest metric, in descending order; stable for equals.
pub fn best(candidates: &mut Vec<Candidate>, most: usize, weight: f64) {
    let mut order: Vec<(f64, usize)> =
        candidates.iter().enumerate().map(|(at, c)| (c.metric(weight, 0), at)).collect();
    let higher = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if order.len() > most && most > 0 {
        order.select_nth_unstable_by(most - 1, higher);
        order.truncate(most);
    }
    order.sort_unstable_by(higher);
    order.truncate(most);
    *candidates = order.iter().map(|(_, at)| candidates[*at]).collect();
}

/// Shares `budget_prb` in groups of `rbg_prb` among `candidates`, sorted by [`best`](fn@best);
/// `bytes` returns the bytes of a UE index and a number of PRBs.
pub fn share(
    budget_prb: u16,
    rbg_prb: u16,
    granularity: PfGranularity,
    weight: f64,
    candidates: &mut [Candidate],
    bytes: impl Fn(usize, u16) -> u32,
) {
    let mut left_prb = budget_prb;
    match granularity {
        PfGranularity::Wideband => {
            for candidate in candidates {
                let prb = rbg::take(left_prb, candidate.grant.need_prb, rbg_prb);
                if prb >= candidate.grant.min_prb {
                    candidate.grant.prb = prb;
                    left_prb -= prb;
                }
            }
        }
        PfGranularity::PerRbg => {
            while left_prb > 0 {
                let open = candidates.iter_mut().filter(|c| c.grant.prb < c.grant.need_prb);
                let metric = |c: &Candidate| c.metric(weight, bytes(c.grant.ue, c.grant.prb));
                // Of equals the first: `max_by` returns the last.
                let Some(next) = open.rev().max_by(|a, b| metric(a).total_cmp(&metric(b))) else {
                    break;
                };
                let grant = &mut next.grant;
                let want_prb = if grant.prb == 0 { grant.min_prb.max(1) } else { 1 };
                let prb = rbg::take(left_prb, want_prb, rbg_prb);
                if prb < want_prb {
                    grant.need_prb = 0;
                    continue;
                }
                grant.prb += prb;
                left_prb -= prb;
            }
        }
    }
}

/// Gives each of the `free` groups to one of `candidates`, in descending order of the metric in the group:
/// the rate that the group alone carries over the average, which counts what the slot has given already. UEs were
/// chosen by the whole carrier before, so that time and frequency are decided one after the other (Pokhariyal
/// et al., "HARQ aware frequency domain packet scheduler", PIMRC 2006).
///
/// `need` returns the bytes that a UE has to send, `bytes` those of a block over some groups. A group in which
/// a UE would carry no more than without it is not for that UE.
pub fn share_groups(
    free: GroupSet,
    weight: f64,
    candidates: &mut [Candidate],
    need: impl Fn(usize) -> u64,
    bytes: impl Fn(usize, GroupSet) -> u32,
) {
    struct Pair {
        candidate: usize,
        group: u16,
        rate_bytes: u32,
    }
    let pair = |candidate: usize, group: u16, ue: usize| Pair {
        candidate,
        group,
        rate_bytes: bytes(ue, GroupSet::default().with(group)),
    };
    let of = |(at, candidate): (usize, &Candidate)| {
        let ue = candidate.grant.ue;
        free.iter().map(move |group| (at, group, ue)).collect::<Vec<_>>()
    };
    let mut pairs: Vec<Pair> = candidates
        .iter()
        .enumerate()
        .flat_map(of)
        .map(|(at, group, ue)| pair(at, group, ue))
        .collect();
    let mut given_bytes = vec![0u32; candidates.len()];
    loop {
        let metric = |pair: &Pair| {
            let in_group = Candidate { rate_bytes: pair.rate_bytes, ..candidates[pair.candidate] };
            in_group.metric(weight, given_bytes[pair.candidate])
        };
        // Of equals the first: `max_by` returns the last.
        let by_metric = pairs.iter().enumerate().rev();
        let best = by_metric.max_by(|(_, a), (_, b)| metric(a).total_cmp(&metric(b)));
        let Some((at, _)) = best else { break };
        let Pair { candidate, group, .. } = pairs.remove(at);
        let grant = &mut candidates[candidate].grant;
        let groups = grant.groups.with(group);
        let block_bytes = bytes(grant.ue, groups);
        if block_bytes <= given_bytes[candidate] {
            continue;
        }
        grant.groups = groups;
        given_bytes[candidate] = block_bytes;
        let is_satisfied = u64::from(block_bytes) >= need(grant.ue);
        pairs.retain(|pair| pair.group != group && !(is_satisfied && pair.candidate == candidate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(ue: usize, rate: u32, average: f64, need_prb: u16) -> Candidate {
        let grant = Grant { ue, min_prb: 1, need_prb, ..Grant::default() };
        Candidate { grant, rate_bytes: rate, average_bytes: average }
    }

    #[test]
    fn an_average_decays_with_its_time_constant() {
        let weight = PfConfig { time_constant_us: 10_000, ..PfConfig::default() }.weight(1000);
        let mut average = Average::default();
        for slot in 0..200 {
            average.served(slot, weight, 1000);
        }
        assert!((average.at(200, weight) - 1000.0).abs() < 1e-3);
        // Ten slots of a weight of a tenth: 0.9^10.
        assert!((average.at(210, weight) / average.at(200, weight) - 0.348_678_440_1).abs() < 1e-9);
        assert_eq!(PfConfig::default().weight(200_000), 1.0);
    }

    #[test]
    fn wideband_serves_the_best_first_and_then_the_next() {
        let mut all = vec![
            candidate(0, 1000, 500.0, 25),
            candidate(1, 300, 100.0, 4),
            candidate(2, 1000, 1000.0, 25),
        ];
        best(&mut all, 2, 0.01);
        assert_eq!(all.iter().map(|c| c.grant.ue).collect::<Vec<_>>(), [1, 0]);
        share(25, 2, PfGranularity::Wideband, 0.01, &mut all, |_, prb| u32::from(prb) * 40);
        assert_eq!(all.iter().map(|c| c.grant.prb).collect::<Vec<_>>(), [4, 21]);
    }

    #[test]
    fn per_group_spreads_a_slot_over_equals() {
        let mut all: Vec<Candidate> = (0..3).map(|ue| candidate(ue, 1000, 100.0, 24)).collect();
        best(&mut all, 8, 0.1);
        share(24, 2, PfGranularity::PerRbg, 0.1, &mut all, |_, prb| u32::from(prb) * 40);
        assert_eq!(all.iter().map(|c| c.grant.prb).collect::<Vec<_>>(), [8, 8, 8]);
    }

    /// Bytes of a UE that carries `rates` in the groups, all of them in one block.
    fn sum(rates: &[u32], groups: GroupSet) -> u32 {
        groups.iter().map(|group| rates[usize::from(group)]).sum()
    }

    #[test]
    fn each_group_goes_to_the_ue_that_is_best_there_for_its_average() {
        let rates = [[10, 20, 30, 5], [20, 20, 10, 4]];
        let mut all = vec![candidate(0, 0, 100.0, 9), candidate(1, 0, 100.0, 9)];
        share_groups(GroupSet::first(4), 0.0, &mut all, |_| 1000, |ue, at| sum(&rates[ue], at));
        let groups = |at: usize| all[at].grant.groups.iter().collect::<Vec<_>>();
        assert_eq!((groups(0), groups(1)), (vec![1, 2, 3], vec![0]));
        // At a third of the average the second is the better in all but one.
        let mut all = vec![candidate(0, 0, 100.0, 9), candidate(1, 0, 34.0, 9)];
        share_groups(GroupSet::first(4), 0.0, &mut all, |_| 1000, |ue, at| sum(&rates[ue], at));
        assert_eq!(all[0].grant.groups.iter().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_ue_takes_its_best_groups_and_no_more_than_it_needs() {
        let rates = [[10, 40, 30, 5], [1, 1, 1, 1]];
        let mut all = vec![candidate(0, 0, 1.0, 9), candidate(1, 0, 1.0, 9)];
        let need = |ue: usize| [60, 1000][ue];
        share_groups(GroupSet::first(4), 0.0, &mut all, need, |ue, at| sum(&rates[ue], at));
        let groups = |at: usize| all[at].grant.groups.iter().collect::<Vec<_>>();
        assert_eq!((groups(0), groups(1)), (vec![1, 2], vec![0, 3]));
    }

    #[test]
    fn a_group_that_lowers_a_block_is_left_to_others() {
        // The MCS of a block over both groups is that of the worse one.
        let bytes = |ue: usize, groups: GroupSet| {
            let rates = [[40, 5], [1, 1]][ue];
            let least = groups.iter().map(|group| rates[usize::from(group)]).min().unwrap_or(0);
            least * groups.iter().count() as u32
        };
        let mut all = vec![candidate(0, 0, 1.0, 9), candidate(1, 0, 1.0, 9)];
        share_groups(GroupSet::first(2), 0.0, &mut all, |_| 1000, bytes);
        let groups = |at: usize| all[at].grant.groups.iter().collect::<Vec<_>>();
        assert_eq!((groups(0), groups(1)), (vec![0], vec![1]));
    }

    #[test]
    fn ues_not_served_yet_are_ranked_by_their_channel() {
        let mut all = vec![candidate(0, 100, 0.0, 5), candidate(1, 200, 0.0, 5)];
        best(&mut all, 8, 0.1);
        assert_eq!(all[0].grant.ue, 1);
        best(&mut all, 0, 0.1);
        assert!(all.is_empty());
    }

    #[test]
    fn a_time_constant_of_zero_is_refused() {
        let config = PfConfig { time_constant_us: 0, ..PfConfig::default() };
        let error = config.validate("scheduler").unwrap_err().to_string();
        assert_eq!(error, "scheduler.time_constant_us: 0; expected 1000 to 100000000 µs");
    }

    proptest! {
        #[test]
        fn prbs_are_conserved_and_none_is_idle_while_needed(
            budget in 1u16..276,
            rbg in 1u16..17,
            per_rbg in any::<bool>(),
            ues in prop::collection::vec((1u32..9000, 0.0..9000.0f64, 1u16..300), 1..12),
        ) {
            let granularity =
                if per_rbg { PfGranularity::PerRbg } else { PfGranularity::Wideband };
            let mut all: Vec<Candidate> = ues.iter().enumerate()
                .map(|(ue, (rate, average, need))| candidate(ue, *rate, *average, *need))
                .collect();
            best(&mut all, 8, 0.01);
            share(budget, rbg, granularity, 0.01, &mut all, |_, prb| u32::from(prb) * 30);
            let sum: u16 = all.iter().map(|c| c.grant.prb).sum();
            prop_assert!(sum <= budget);
            let satisfied = all.iter().all(|c| c.grant.prb >= ues[c.grant.ue].2);
            prop_assert!(satisfied || sum == budget, "{all:?}");
            for c in &all {
                prop_assert!(c.grant.prb < ues[c.grant.ue].2 + rbg);
            }
        }
    }
}
