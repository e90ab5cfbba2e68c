//! Every pacer that paces.

use e2sm_tc::v1::{DelayMetric, Pacer};

/// DynRLC as irazabal2021 §V-D runs it.
fn dyn_rlc(metric: DelayMetric, status_gap_beta_milli: Option<u32>) -> Pacer {
    Pacer::DynRlc {
        interval_us: 10_000,
        target_us: 3_000,
        min_sdus: 1,
        max_sdus: 10,
        alpha_milli: 50,
        metric,
        status_gap_beta_milli,
    }
}

pub(crate) fn all() -> Vec<Pacer> {
    vec![
        Pacer::Bdp5g,
        Pacer::Bdp5gPrototype,
        Pacer::E5gBdp,
        Pacer::Drql { mtu_bytes: 1500 },
        Pacer::Dql { min_bytes: 0, max_bytes: 1 << 20 },
        dyn_rlc(DelayMetric::IntervalAverage, None),
        dyn_rlc(DelayMetric::IntervalMinimum, None),
        dyn_rlc(DelayMetric::IntervalMaximum, None),
        dyn_rlc(DelayMetric::Ewma, None),
        dyn_rlc(DelayMetric::IntervalAverage, Some(1_750)),
        Pacer::Ebb { target_us: 5_000 },
        Pacer::UpfSdap,
        Pacer::Forecast { stale_us: 100_000 },
        Pacer::BaseStock { stale_us: 100_000, level_milli: 980, bound_us: None },
        // Without MAC queries, the forecast pacer.
        Pacer::JustInTime,
    ]
}
