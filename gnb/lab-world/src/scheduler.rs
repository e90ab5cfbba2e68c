//! The MAC scheduler of a scenario.

use ran::{EqpConfig, PfConfig, SchedulerConfig, SliceShare};

use lab_scenario::{MacScheduler, PfGranularity, Scenario, SchedulerKind, UeScheduler};

/// Its configuration.
pub(super) fn config(scenario: &Scenario) -> SchedulerConfig {
    let scheduler = &scenario.cell.scheduler;
    match scheduler.kind {
        SchedulerKind::Rr => SchedulerConfig::RoundRobin,
        SchedulerKind::Pf => SchedulerConfig::ProportionalFair(proportional_fair(scheduler)),
        SchedulerKind::Fp => SchedulerConfig::FixedPartition(slices(scenario)),
        SchedulerKind::Eqp => {
            let config = EqpConfig::new(slices(scenario));
            SchedulerConfig::ElasticQuantumPartition(EqpConfig {
                quantum_limit_prb: scheduler.quantum_limit_prb.unwrap_or(config.quantum_limit_prb),
                ..config
            })
        }
    }
}

/// The slice of the UEs of an entry: the one it names, or one of its own.
pub(super) fn slice_of(scenario: &Scenario, entry: usize) -> u8 {
    if !scenario.cell.scheduler.kind.has_slices() {
        return 0;
    }
    scenario.ues[entry].slice.unwrap_or(entry as u8)
}

fn proportional_fair(scheduler: &MacScheduler) -> PfConfig {
    let default = PfConfig::default();
    PfConfig {
        time_constant_us: scheduler
            .time_constant_ms
            .map_or(default.time_constant_us, |ms| ms.saturating_mul(1000)),
        granularity: match scheduler.granularity.unwrap_or_default() {
            PfGranularity::Wideband => ran::PfGranularity::Wideband,
            PfGranularity::PerRbg => ran::PfGranularity::PerRbg,
        },
    }
}

fn slices(scenario: &Scenario) -> Vec<SliceShare> {
    let scheduler = &scenario.cell.scheduler;
    if scheduler.slices.is_empty() {
        let entries = (0..=u8::MAX).zip(&scenario.ues);
        let share = |(slice, ue): (u8, &lab_scenario::Ue)| {
            SliceShare::new(slice, ue.prb_share_percent.unwrap_or(0))
        };
        return entries.map(share).collect();
    }
    let own = scheduler.slices.iter().map(|slice| SliceShare {
        ues: match slice.ue_scheduler {
            UeScheduler::Rr => ran::UeScheduler::RoundRobin,
            UeScheduler::Pf => ran::UeScheduler::ProportionalFair(proportional_fair(scheduler)),
        },
        ..SliceShare::new(slice.id, slice.percent)
    });
    own.collect()
}
