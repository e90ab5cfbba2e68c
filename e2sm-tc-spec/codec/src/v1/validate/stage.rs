//! Each stage by itself: what can be said without the rest of the pipeline.

use std::collections::HashSet;

use super::{Invalid, at_least, at_least_one};
use crate::v1::model::{
    BufferLimit, Cause, Classifier, Codel, Filter, FlowMatch, Pacer, Policer, PortRange, Prefix,
    QueueDiscipline, QueueSet, Scheduler, Shaper, StochasticHash,
};

pub(super) fn classifier(classifier: &Classifier) -> Result<(), Invalid> {
    match classifier {
        Classifier::RoundRobin(_) | Classifier::L4sEcn(_) => Ok(()),
        Classifier::StochasticHash(hash) | Classifier::HostThenFlow(hash) => ways(hash),
        Classifier::Osi(osi) => filters(&osi.filters),
    }
    .map_err(|invalid| invalid.within(classifier.kind()))
}

fn ways(hash: &StochasticHash) -> Result<(), Invalid> {
    if hash.target.count.is_multiple_of(u16::from(hash.ways.max(1))) {
        return Ok(());
    }
    let expected = format!("a divisor of the {} queues hashed into", hash.target.count);
    Err(Invalid::new(Cause::Inconsistent, expected, hash.ways).within("ways"))
}

fn filters(filters: &[Filter]) -> Result<(), Invalid> {
    let mut ids = HashSet::new();
    for (index, filter) in filters.iter().enumerate() {
        let at = |invalid: Invalid| invalid.at_index(index).within("filters");
        if !ids.insert(filter.id) {
            let expected = "an id no other filter has";
            return Err(at(Invalid::new(Cause::DuplicateId, expected, filter.id).within("id")));
        }
        self::filter(filter).map_err(at)?;
    }
    Ok(())
}

pub(super) fn filter(filter: &Filter) -> Result<(), Invalid> {
    flow_match(&filter.rule).map_err(|invalid| invalid.within("match"))
}

fn flow_match(rule: &FlowMatch) -> Result<(), Invalid> {
    let range = |name: &str, range: Option<PortRange>| match range {
        Some(PortRange { low, high }) => {
            at_least("high", high, low).map_err(|invalid| invalid.within(name))
        }
        None => Ok(()),
    };
    range("source_port", rule.source_port)?;
    range("destination_port", rule.destination_port)?;
    match (rule.source, rule.destination) {
        (Some(Prefix::V4 { .. }), Some(Prefix::V6 { .. }))
        | (Some(Prefix::V6 { .. }), Some(Prefix::V4 { .. })) => {
            let expected = "a prefix of the source's IP version";
            Err(Invalid::new(Cause::Inconsistent, expected, "one of the other")
                .within("destination"))
        }
        _ => Ok(()),
    }
}

/// One queue set, except for what refers to other queues.
pub(super) fn queue_set(set: &QueueSet) -> Result<(), Invalid> {
    if let Some(limit) = set.limit_packets {
        at_least_one("limit_packets", limit)?;
    }
    if let Some(limit) = set.limit_bytes {
        at_least_one("limit_bytes", limit)?;
    }
    discipline(&set.discipline)
        .map_err(|invalid| invalid.within(set.discipline.kind()).within("discipline"))?;
    if matches!(set.discipline, QueueDiscipline::DualPi2 { .. }) && set.count != 2 {
        let expected = "two queues, L then C, for dual_pi2";
        return Err(Invalid::new(Cause::Inconsistent, expected, set.count).within("count"));
    }
    if let Some(Policer { rate_kbps, burst_bytes, .. }) = set.policer {
        at_least_one("policer.rate_kbps", rate_kbps)?;
        at_least_one("policer.burst_bytes", burst_bytes)?;
    }
    if let Some(Shaper { rate_kbps, burst_bytes, .. }) = set.shaper {
        at_least_one("shaper.rate_kbps", rate_kbps)?;
        at_least_one("shaper.burst_bytes", burst_bytes)?;
    }
    Ok(())
}

fn discipline(discipline: &QueueDiscipline) -> Result<(), Invalid> {
    match *discipline {
        QueueDiscipline::Fifo { .. } => Ok(()),
        QueueDiscipline::Codel(ref codel) | QueueDiscipline::Cobalt(ref codel) => {
            self::codel(codel)
        }
        QueueDiscipline::Pie { target_us, update_us, .. }
        | QueueDiscipline::DualPi2 { target_us, update_us, .. } => {
            at_least_one("target_us", target_us)?;
            at_least_one("update_us", update_us)
        }
        QueueDiscipline::Red { min_bytes, max_bytes, .. } => {
            at_least("max_bytes", max_bytes, u64::from(min_bytes) + 1)
        }
        QueueDiscipline::Bode { bound_us } => at_least_one("bound_us", bound_us),
        QueueDiscipline::L4sMarking { threshold_us, ramp_us } => {
            at_least("ramp_us", ramp_us, threshold_us)
        }
    }
}

fn codel(codel: &Codel) -> Result<(), Invalid> {
    at_least_one("target_us", codel.target_us)?;
    at_least("interval_us", codel.interval_us, codel.target_us)?;
    if codel.l4s && codel.ce_threshold_us.is_none() {
        let expected = "a threshold, by which l4s marks";
        return Err(Invalid::new(Cause::Inconsistent, expected, "none").within("ce_threshold_us"));
    }
    Ok(())
}

/// The scheduler, except for what refers to queues.
pub(super) fn scheduler(scheduler: &Scheduler) -> Result<(), Invalid> {
    match scheduler {
        Scheduler::RoundRobin | Scheduler::StrictPriority { .. } => Ok(()),
        Scheduler::DeficitRoundRobin { quantum_bytes }
        | Scheduler::Weighted { quantum_bytes, .. } => {
            at_least_one("quantum_bytes", *quantum_bytes)
        }
        Scheduler::ConditionalPriority { l4s, classic, .. } if l4s == classic => {
            let expected = "another queue than l4s";
            Err(Invalid::new(Cause::Inconsistent, expected, classic).within("classic"))
        }
        Scheduler::ConditionalPriority { .. } => Ok(()),
        Scheduler::EarliestDeadlineFirst { budgets } => {
            budgets.iter().enumerate().try_for_each(|(index, budget)| {
                at_least_one("budget_us", budget.budget_us)
                    .map_err(|invalid| invalid.at_index(index).within("budgets"))
            })
        }
    }
    .map_err(|invalid| invalid.within(scheduler.kind()))
}

pub(super) fn pacer(pacer: &Pacer) -> Result<(), Invalid> {
    pacer_parameters(pacer).map_err(|invalid| invalid.within(pacer.kind()))
}

fn pacer_parameters(pacer: &Pacer) -> Result<(), Invalid> {
    match *pacer {
        Pacer::None
        | Pacer::Bdp5g
        | Pacer::Bdp5gPrototype
        | Pacer::E5gBdp
        | Pacer::UpfSdap
        | Pacer::JustInTime => Ok(()),
        Pacer::Drql { mtu_bytes } => at_least_one("mtu_bytes", mtu_bytes),
        Pacer::Dql { min_bytes, max_bytes } => at_least("max_bytes", max_bytes, min_bytes),
        Pacer::DynRlc {
            interval_us, target_us, min_sdus, max_sdus, status_gap_beta_milli, ..
        } => {
            at_least_one("interval_us", interval_us)?;
            at_least_one("target_us", target_us)?;
            at_least_one("min_sdus", min_sdus)?;
            if let Some(beta) = status_gap_beta_milli {
                at_least_one("status_gap_beta_milli", beta)?;
            }
            at_least("max_sdus", max_sdus, min_sdus)
        }
        Pacer::Ebb { target_us } => at_least_one("target_us", target_us),
        Pacer::Forecast { stale_us } => at_least_one("stale_us", stale_us),
    }
}

pub(super) fn buffer(buffer: &BufferLimit) -> Result<(), Invalid> {
    at_least_one("packets", buffer.packets)?;
    at_least_one("bytes", buffer.bytes)
}
