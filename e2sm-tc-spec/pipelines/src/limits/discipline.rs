//! Parameters with which the queue disciplines work, within what the service model allows.

use std::ops::RangeInclusive;

use e2sm_tc::v1::{Codel, QueueDiscipline};

use super::{Result, within};

/// Targets, intervals, bounds and thresholds: up to ten seconds.
const DELAY_US: RangeInclusive<u32> = 0..=10_000_000;
/// Update periods: up to a second.
const UPDATE_US: RangeInclusive<u32> = 1..=1_000_000;
/// Gains of PIE: up to 1000/s, far above what any link needs (RFC 8033 §4.2: 0.125 and 1.25).
const GAIN_MILLI: RangeInclusive<u32> = 0..=1_000_000;
/// The target enters PIE through alpha alone: without it, it has no effect.
const ALPHA_MILLI: RangeInclusive<u32> = 1..=*GAIN_MILLI.end();
/// Coupling factors: up to 100 (RFC 9332 §2.1: 2). With 0 the L queue would take the whole link.
const COUPLING_MILLI: RangeInclusive<u32> = 1..=100_000;

/// The discipline whose parameters stand at `path`.
pub(super) fn check(path: &str, discipline: &QueueDiscipline) -> Result {
    let at = |field: &str| format!("{path}.{field}");
    match discipline {
        QueueDiscipline::Fifo { .. } | QueueDiscipline::Red { .. } => Ok(()),
        QueueDiscipline::Codel(Codel { interval_us, .. })
        // The target is no longer than the interval.
        | QueueDiscipline::Cobalt(Codel { interval_us, .. }) => {
            within(&at("interval_us"), *interval_us, DELAY_US)
        }
        QueueDiscipline::Pie { target_us, update_us, alpha_milli, beta_milli, .. } => {
            within(&at("target_us"), *target_us, DELAY_US)?;
            within(&at("update_us"), *update_us, UPDATE_US)?;
            within(&at("alpha_milli"), *alpha_milli, ALPHA_MILLI)?;
            within(&at("beta_milli"), *beta_milli, GAIN_MILLI)
        }
        QueueDiscipline::Bode { bound_us } => within(&at("bound_us"), *bound_us, DELAY_US),
        QueueDiscipline::L4sMarking { threshold_us, ramp_us } => {
            within(&at("threshold_us"), *threshold_us, DELAY_US)?;
            within(&at("ramp_us"), *ramp_us, DELAY_US)
        }
        QueueDiscipline::DualPi2 { target_us, update_us, coupling_milli } => {
            within(&at("target_us"), *target_us, DELAY_US)?;
            within(&at("update_us"), *update_us, UPDATE_US)?;
            within(&at("coupling_milli"), *coupling_milli, COUPLING_MILLI)
        }
    }
}
