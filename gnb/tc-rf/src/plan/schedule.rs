//! The scheduler of a pipeline: targets become weights, levels, budgets and shares by queue index.

use std::collections::BTreeMap;

use e2sm_tc::v1::{Classifier, Pipeline, QueueBudget, QueueTarget, QueueWeight, Scheduler};

use super::{index_of, resolve};
use crate::queue::QueueConfig;
use crate::scheduler::SchedulerConfig;

/// Compiles stage 4. `None` only for a target without queues, which validation refuses.
pub(super) fn compile(pipeline: &Pipeline, queues: &[QueueConfig]) -> Option<SchedulerConfig> {
    let hosts = host_shares(&pipeline.classifier);
    match &pipeline.scheduler {
        Scheduler::RoundRobin => Some(SchedulerConfig::RoundRobin),
        Scheduler::DeficitRoundRobin { quantum_bytes } if hosts.is_none() => {
            Some(SchedulerConfig::DeficitRoundRobin { quantum_bytes: *quantum_bytes })
        }
        Scheduler::DeficitRoundRobin { quantum_bytes } => {
            weighted(*quantum_bytes, &[], hosts, queues)
        }
        Scheduler::Weighted { quantum_bytes, weights } => {
            weighted(*quantum_bytes, weights, hosts, queues)
        }
        Scheduler::StrictPriority { order } => {
            let level_of_queue = levels(order, queues)?;
            Some(SchedulerConfig::StrictPriority { level_of_queue })
        }
        Scheduler::ConditionalPriority { l4s, classic, time_shift_us } => {
            Some(SchedulerConfig::ConditionalPriority {
                l4s: index_of(*l4s, queues)?,
                classic: index_of(*classic, queues)?,
                time_shift_us: *time_shift_us,
            })
        }
        Scheduler::EarliestDeadlineFirst { budgets } => {
            let budget_us = budgets_of(budgets, queues)?;
            Some(SchedulerConfig::EarliestDeadlineFirst { budget_us })
        }
    }
}

/// The queues of hosts, and how many each host shares.
fn host_shares(classifier: &Classifier) -> Option<(QueueTarget, u32)> {
    match classifier {
        Classifier::HostThenFlow(hash) if hash.ways > 1 => Some((hash.target, hash.ways.into())),
        _ => None,
    }
}

/// Whose turn a queue has a part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Share {
    /// Its own.
    Own(u32),
    /// That of a host.
    Host(u32),
    /// That of a target of the list.
    Listed(u32),
}

/// Queues of a host share a turn unless they are listed; queues of a target listed as shared do.
fn weighted(
    quantum_bytes: u32,
    weights: &[QueueWeight],
    hosts: Option<(QueueTarget, u32)>,
    queues: &[QueueConfig],
) -> Option<SchedulerConfig> {
    let count = queues.len() as u32;
    // Each queue is a share of its own until it joins one.
    let mut share: Vec<Share> = (0..count).map(Share::Own).collect();
    let mut weight = vec![1; queues.len()];
    if let Some((target, ways)) = hosts {
        let target = resolve(&target, queues)?;
        for offset in 0..target.count {
            share[(target.first + offset) as usize] = Share::Host(offset / ways);
        }
    }
    for (listed, position) in weights.iter().zip(0..) {
        let target = resolve(&listed.target, queues)?;
        for index in target.first..target.first + target.count {
            share[index as usize] =
                if listed.shared { Share::Listed(position) } else { Share::Own(index) };
            weight[index as usize] = listed.weight;
        }
    }
    if share.iter().all(|share| matches!(share, Share::Own(_))) {
        let weight_of_queue = weight;
        return Some(SchedulerConfig::Weighted { quantum_bytes, weight_of_queue });
    }
    let mut numbers = BTreeMap::new();
    let mut weight_of_share = Vec::new();
    let share_of_queue = share
        .iter()
        .zip(&weight)
        .map(|(share, &weight)| {
            *numbers.entry(*share).or_insert_with(|| {
                weight_of_share.push(weight);
                weight_of_share.len() as u32 - 1
            })
        })
        .collect();
    Some(SchedulerConfig::Shared { quantum_bytes, share_of_queue, weight_of_share })
}

/// Level of each queue: its target's position; queues no target names follow, one by one, by id.
fn levels(order: &[QueueTarget], queues: &[QueueConfig]) -> Option<Vec<u32>> {
    let mut levels = vec![None; queues.len()];
    for (level, target) in (0..).zip(order) {
        let target = resolve(target, queues)?;
        levels.get_mut(target.range())?.fill(Some(level));
    }
    let mut next = order.len() as u32;
    let mut last = || {
        next += 1;
        next - 1
    };
    Some(levels.into_iter().map(|level| level.unwrap_or_else(&mut last)).collect())
}

fn budgets_of(budgets: &[QueueBudget], queues: &[QueueConfig]) -> Option<Vec<Option<u32>>> {
    let mut budget_us = vec![None; queues.len()];
    for budget in budgets {
        let target = resolve(&budget.target, queues)?;
        budget_us.get_mut(target.range())?.fill(Some(budget.budget_us));
    }
    Some(budget_us)
}
