//! Stage 6.

use std::ops::RangeInclusive;

use e2sm_tc::v1::Pacer;

use super::{Result, within};

/// RFC 791: every host takes datagrams of 68 bytes; jumbo frames end at 9216.
const MTU_BYTES: RangeInclusive<u16> = 68..=9216;
/// A limit that never takes a packet of the smallest MTU is none.
const MAX_LIMIT_BYTES: RangeInclusive<u32> = 68..=u32::MAX;
/// From the shortest slot (62.5 µs) to what no delay target is meant to be.
const TARGET_US: RangeInclusive<u32> = 63..=60_000_000;
const INTERVAL_US: RangeInclusive<u32> = 63..=60_000_000;
/// α: 0 would never move the limit, more than 1 would throw it beyond its bounds.
const ALPHA_MILLI: RangeInclusive<u16> = 1..=1_000;
/// β: a threshold below the gap between status PDUs can never be met (kumar2018 §IV).
const BETA_MILLI: RangeInclusive<u32> = 1_000..=100_000;
/// The RLC is reported each millisecond at most.
const STALE_US: RangeInclusive<u32> = 1_000..=60_000_000;

pub(super) fn check(pacer: &Pacer) -> Result {
    match *pacer {
        Pacer::None
        | Pacer::Bdp5g
        | Pacer::Bdp5gPrototype
        | Pacer::E5gBdp
        | Pacer::UpfSdap
        | Pacer::JustInTime => Ok(()),
        Pacer::Drql { mtu_bytes } => within("pacer.drql.mtu_bytes", mtu_bytes, MTU_BYTES),
        Pacer::Dql { min_bytes: _, max_bytes } => {
            within("pacer.dql.max_bytes", max_bytes, MAX_LIMIT_BYTES)
        }
        Pacer::DynRlc {
            interval_us,
            target_us,
            min_sdus: _,
            max_sdus: _,
            alpha_milli,
            metric: _,
            status_gap_beta_milli,
        } => {
            within("pacer.dyn_rlc.interval_us", interval_us, INTERVAL_US)?;
            within("pacer.dyn_rlc.target_us", target_us, TARGET_US)?;
            within("pacer.dyn_rlc.alpha_milli", alpha_milli, ALPHA_MILLI)?;
            status_gap_beta_milli.map_or(Ok(()), |beta| {
                within("pacer.dyn_rlc.status_gap_beta_milli", beta, BETA_MILLI)
            })
        }
        Pacer::Ebb { target_us } => within("pacer.ebb.target_us", target_us, TARGET_US),
        Pacer::Forecast { stale_us } => within("pacer.forecast.stale_us", stale_us, STALE_US),
    }
}
