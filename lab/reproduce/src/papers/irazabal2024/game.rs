//! §V-C: slither.io beside a download on a phone; an xApp watches the RLC's sojourn (Figs. 8 to 10).

use e2sm_tc::v1::Pacer;

use super::super::super::{Curve, Deploys, Experiment, Figure, Flows, Metric, ReproduceError};
use super::measure::{goodput_mean, rlc_peak, rlc_sojourn_max, rtt_max, rtt_mean};
use super::{FLOOR, GAME, OWN, PACER, deployed, own, pings, pipelines};

/// "When it detects that the sojourn time of the packets trespass 10 ms" (§V-C).
const TRIGGER_US: u32 = 10_000;
/// The download is the scenario's first flow and begins here.
const GREEDY: u16 = 0;
const LOADED_S: f64 = 5.0;
const RUN_S: f64 = 60.0;

/// Time from the player's hand to the first state that shows it, over the whole run.
fn action_to_screen(name: &'static str, figure: &'static str) -> Metric {
    Metric::new(name, "ms", move |run| {
        run.summary.flows.iter().find(|flow| flow.name == "slither")?.app.get(figure)
    })
}

pub(super) fn experiment() -> Result<Experiment, ReproduceError> {
    let segregated = |pacer| {
        let when = Deploys::RlcSojournAbove(TRIGGER_US);
        Ok::<_, ReproduceError>(
            deployed(&GAME, when, pipelines::segregated(GREEDY, pacer))?.with_occupancy(),
        )
    };
    let ours = || {
        let when = Deploys::RlcSojournAbove(TRIGGER_US);
        Ok::<_, ReproduceError>(deployed(&GAME, when, own())?.with_occupancy())
    };
    let experiment = Experiment {
        metrics: vec![
            goodput_mean("tcp_goodput", &["iperf3"], LOADED_S, RUN_S),
            rtt_max("ping_max", pings(), LOADED_S),
            rtt_mean("ping_mean", pings(), LOADED_S),
            Metric::one_way_mean("game_one_way", Flows::name("slither")),
            action_to_screen("action_to_screen_mean", "action_to_screen_mean_ms"),
            action_to_screen("action_to_screen_p99", "action_to_screen_p99_ms"),
            rlc_peak("rlc_peak", LOADED_S),
            rlc_sojourn_max("rlc_sojourn_max", LOADED_S),
            Metric::used_rb("used_rb"),
        ],
        curves: vec![Curve::occupancy("occupancy"), Curve::rtt_cdf("rtt", pings())],
        cells: vec![
            GAME.builder()?.with_occupancy().cell("Vanilla"),
            segregated(PACER)?.cell("xApp"),
            segregated(Pacer::Bdp5g)?.cell("xApp, 5G-BDP mended"),
            ours()?.cell(OWN),
            ours()?.floor_of(FLOOR).cell("Floor"),
        ],
        figures: vec![
            Figure::curves("occupancy", "RLC buffer (Fig. 10)", "s", "bytes"),
            Figure::curves("rtt", "Round trip of the ping (Fig. 9c)", "ms", "share of pings")
                .log_x(),
        ],
        ..Experiment::new("game", "§V-C, Figs. 9 and 10", "a game beside a download on a phone")
    };
    Ok(experiment
        .reports("tcp_goodput", [("Vanilla", 40.0), ("xApp", 30.0)])
        .reports("ping_max", [("Vanilla", 1800.0)])
        .reports("ping_mean", [("xApp", 20.0)])
        .reports("rlc_peak", [("Vanilla", 10.0)])
        // "Around 1.8 seconds"; "never surpasses 20 ms".
        .reports("rlc_sojourn_max", [("Vanilla", 1800.0), ("xApp", 20.0)]))
}
