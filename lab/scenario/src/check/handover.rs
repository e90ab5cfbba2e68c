//! Several cells, handover between them, and what UEs have to do with them.

use crate::channel::Channel;
use crate::handover::Handover;
use crate::model::{Scenario, Ue};
use crate::rules::{Check, ensure, within, within_if_set};

/// Most cells of a scenario.
const MAX_CELLS: usize = 32;

/// Most of any time of a handover, ms.
const MAX_MS: u32 = 10_000;

/// Checks the cells, handover, and what UEs have to do with them.
pub(super) fn check(scenario: &Scenario) -> Check {
    let cells = scenario.cells.len();
    let message = format_args!("{cells} cells; expected at most {MAX_CELLS}");
    ensure(cells <= MAX_CELLS, "cells", message)?;
    for (index, site) in scenario.cells.iter().enumerate() {
        let path = format!("cells[{index}]");
        for (axis, value_m) in site.position_m.into_iter().enumerate() {
            within(format!("{path}.position_m[{axis}]"), value_m, -1e5..=1e5)?;
        }
        within_if_set(format!("{path}.n_prb"), site.n_prb, 1..=275)?;
    }
    if let Some(handover) = &scenario.handover {
        ensure(cells > 1, "handover", "is for a scenario with several cells")?;
        times(handover)?;
    }
    for (index, ue) in scenario.ues.iter().enumerate() {
        check_ue(scenario, ue, &format!("ues[{index}]"))?;
    }
    Ok(())
}

fn times(handover: &Handover) -> Check {
    within("handover.a3_offset_db", handover.a3_offset_db, -15.0..=15.0)?;
    within("handover.hysteresis_db", handover.hysteresis_db, 0.0..=15.0)?;
    within("handover.time_to_trigger_ms", handover.time_to_trigger_ms, 0..=5120)?;
    let period_ms = handover.measurement_period_ms;
    within("handover.measurement_period_ms", period_ms, 20..=MAX_MS)?;
    let message = format_args!("{period_ms}; expected a multiple of 20, the period of the SSB");
    ensure(period_ms.is_multiple_of(20), "handover.measurement_period_ms", message)?;
    within("handover.filter_k", handover.filter_k, 0..=19)?;
    for (key, ms) in [
        ("preparation_ms", handover.preparation_ms),
        ("rrc_processing_ms", handover.rrc_processing_ms),
        ("interruption_ms", handover.interruption_ms),
        ("random_access_ms", handover.random_access_ms),
        ("reestablishment_ms", handover.reestablishment_ms),
    ] {
        within(format_args!("handover.{key}"), ms, 0..=MAX_MS)?;
    }
    let t304_ms = handover.t304_ms;
    within("handover.t304_ms", t304_ms, 50..=MAX_MS)?;
    let least_us = handover.total_interruption_us();
    let message = format_args!("{t304_ms}; expires before a random access that succeeds ends");
    ensure(u64::from(t304_ms) * 1000 >= least_us, "handover.t304_ms", message)
}

fn check_ue(scenario: &Scenario, ue: &Ue, path: &str) -> Check {
    let neighbours = scenario.cells.len().saturating_sub(1);
    let given = ue.neighbour_channels.len();
    if let Some(route_m) = ue.route_m {
        ensure(
            given == 0,
            format_args!("{path}.neighbour_channels"),
            "is not for a UE with route_m",
        )?;
        for (end, value_m) in route_m.into_iter().flatten().enumerate() {
            let path = format!("{path}.route_m[{}][{}]", end / 2, end % 2);
            within(path, value_m, -1e5..=1e5)?;
        }
        return route(scenario, ue, path);
    }
    if let Channel::Fading(fading) = &ue.channel
        && let Some(place) = &fading.path
    {
        let message = "missing; expected a distance, or route_m of the UE";
        let path = format_args!("{path}.channel.fading.path.distance_m");
        ensure(place.distance_m.is_some(), path, message)?;
    }
    let message = format_args!(
        "{given} channels; expected {neighbours}, one to each cell but the first, or route_m"
    );
    ensure(given == neighbours, format_args!("{path}.neighbour_channels"), message)?;
    if neighbours == 0 {
        return Ok(());
    }
    ensure(ue.channel.has_snr(), format_args!("{path}.channel"), NEEDS_SNR)?;
    for (index, channel) in ue.neighbour_channels.iter().enumerate() {
        ensure(channel.has_snr(), format_args!("{path}.neighbour_channels[{index}]"), NEEDS_SNR)?;
    }
    moves(ue, path)
}

const NEEDS_SNR: &str = "expected a channel with an SNR: cells are compared by it";

/// What a UE that changes its cell cannot have.
fn moves(ue: &Ue, path: &str) -> Check {
    let message = "is for a scenario with one cell";
    ensure(ue.uplink.is_none(), format_args!("{path}.uplink"), message)?;
    for (index, drb) in ue.drbs.iter().enumerate() {
        ensure(drb.rlc.aqm.is_none(), format_args!("{path}.drbs[{index}].rlc.aqm"), message)?;
    }
    Ok(())
}

fn route(scenario: &Scenario, ue: &Ue, path: &str) -> Check {
    let fading = match &ue.channel {
        Channel::Fading(fading) => Some(fading),
        Channel::Ideal(channel) => match channel.as_ref() {
            Channel::Fading(fading) => Some(fading),
            _ => None,
        },
        _ => None,
    };
    let message = "expected fading with path, for a UE with route_m";
    let Some((fading, place)) = fading.and_then(|fading| Some((fading, fading.path?))) else {
        return ensure(false, format_args!("{path}.channel"), message);
    };
    let in_path = format!("{path}.channel.fading.path");
    let message = "expected to be unset: route_m sets the distance";
    ensure(place.distance_m.is_none(), format_args!("{in_path}.distance_m"), message)?;
    let message = "missing; expected true or false for a UE with route_m, which keeps it";
    ensure(place.line_of_sight.is_some(), format_args!("{in_path}.line_of_sight"), message)?;
    let key = format_args!("{path}.channel.fading.speed_kmh");
    ensure(fading.speed_kmh > 0.0, key, "0; expected more for a UE with route_m")?;
    let most_m = place.model.most_m();
    for index in 0..scenario.cells.len().max(1) {
        let [x, y] = scenario.position_m(index);
        for end in ue.route_m.into_iter().flatten() {
            let distance_m = f64::hypot(end[0] - x, end[1] - y);
            let message = format_args!(
                "{distance_m:.0} m from cell {index}; the model holds up to {most_m} m"
            );
            ensure(distance_m <= most_m, format_args!("{path}.route_m"), message)?;
        }
    }
    if scenario.cells.len() > 1 { moves(ue, path) } else { Ok(()) }
}
