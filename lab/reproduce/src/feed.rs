//! Forecasts of a variant: its forecaster with times and horizon for the scenario.

use lab_forecast::{FeedQuantity, Timing};
use serde_json::Value;

use super::forecasts::{ForecasterKind, Forecasts, Trained};
use super::variant::{ForecastVariant, Forecaster};

/// The forecasts of a variant for a scenario that counts from `from_us` on; `perfect` is the scenario
/// of the run that a perfect forecaster knows.
///
/// # Errors
/// Why the trained model cannot forecast this.
pub(super) fn forecasts(
    variant: &ForecastVariant,
    scenario: &Value,
    from_us: u64,
    perfect: Option<Value>,
    trained: Option<&Trained>,
) -> Result<Forecasts, String> {
    let delay_us = scenario.pointer("/split/f1_delay_us").and_then(Value::as_u64);
    let t_c_us = delay_us.and_then(|us| u32::try_from(us).ok()).unwrap_or(0);
    let quantity = variant.quantity;
    let (forecaster, timing) = match (&variant.forecaster, trained) {
        (Forecaster::Perfect(_), _) => {
            let recorded = Box::new(perfect.unwrap_or_default());
            (ForecasterKind::Perfect(recorded), Timing::stolidis2024(t_c_us))
        }
        (Forecaster::Late, _) => (ForecasterKind::Late, Timing::stolidis2024(t_c_us)),
        (Forecaster::Persistence, _) => (ForecasterKind::Persistence, Timing::at_once(t_c_us)),
        (Forecaster::TrueFuture, _) => (ForecasterKind::TrueFuture, status_to_arrival(t_c_us)),
        (Forecaster::LearnedDrain, _) => (ForecasterKind::LearnedDrain, status_to_arrival(t_c_us)),
        (Forecaster::Marginal { lost_milli }, _) => {
            let (lead_us, lost_milli) = (2 * u64::from(t_c_us), *lost_milli);
            let marginal = ForecasterKind::Marginal { from_us, lead_us, lost_milli };
            (marginal, status_to_arrival(t_c_us))
        }
        (Forecaster::Trained, None) => return Err("no trained model".to_owned()),
        (Forecaster::Trained, Some(trained)) => {
            let timing = trained_timing(trained, quantity, t_c_us, bearers(scenario))?;
            (ForecasterKind::Trained(Box::new(trained.clone())), timing)
        }
    };
    Ok(Forecasts { forecaster, timing, quantity })
}

fn bearers(scenario: &Value) -> u32 {
    let ues = scenario.get("ues").and_then(Value::as_array).into_iter().flatten();
    let drbs = ues.filter_map(|ue| ue.get("drbs").and_then(Value::as_array));
    drbs.map(|drbs| drbs.len() as u32).sum()
}

/// A forecast each ms without T_m, whose points reach from the status of the RLC that the CU has
/// to the TTI after the arrival of what it sends: 2·T_c and two TTIs.
fn status_to_arrival(t_c_us: u32) -> Timing {
    let timing = Timing::at_once(t_c_us);
    let length_us = 2 * (t_c_us + timing.sample_us);
    let step_ttis = length_us.div_ceil(timing.points * timing.sample_us).max(1);
    let step_us = step_ttis * timing.sample_us;
    Timing { first_point_us: step_us, step_us, ..timing }
}

/// T_m as measured and the model's points, or why it cannot be used.
fn trained_timing(
    trained: &Trained,
    quantity: FeedQuantity,
    t_c_us: u32,
    bearers: u32,
) -> Result<Timing, String> {
    let hello = &trained.hello;
    let name = match quantity {
        FeedQuantity::Limit => "LIMIT_BYTES",
        FeedQuantity::Drain | FeedQuantity::DrainAndLimit => "DRAIN_BYTES",
        // Learned at the bearer, whatever the model.
        FeedQuantity::CumulatedDrain => "OCCUPANCY_BYTES",
    };
    if !hello.forecasts("OCCUPANCY_BYTES") || !hello.forecasts(name) {
        return Err(format!(
            "{} forecasts {}; expected OCCUPANCY_BYTES and {name}",
            hello.model,
            hello.quantities.join(", ")
        ));
    }
    let Some(inference_us) = trained.t_m_us(bearers) else {
        return Err(format!("T_m of {} for {bearers} bearers is unknown", hello.model));
    };
    let Some(feed) = hello.feed() else {
        return Err(format!("{} has points at {:?} µs", hello.model, hello.points_us));
    };
    Ok(Timing {
        inference_us,
        first_point_us: feed.start_us(),
        step_us: feed.step_us(),
        points: feed.points(),
        ..Timing::stolidis2024(t_c_us)
    })
}
