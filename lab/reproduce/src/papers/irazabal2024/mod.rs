//! irazabal2024 (TC-RAN): NR n78, 30 kHz, 106 PRB, TDD 7/2/1; pipelines deployed by xApps.
//!
//! `validation` is §V-B (Figs. 5 to 7), `game` §V-C (Figs. 8 to 10), `dynamic_mcs` §V-D (Figs. 11
//! to 15, Table III).

mod dynamic_mcs;
mod game;
mod measure;
mod pipelines;
mod validation;

use e2sm_tc::v1::{Pacer, Pipeline};
use tc_rf::templates;

use super::super::{
    Deploys, Experiment, FloorOf, Flows, Inputs, Paper, ReproduceError, ScenarioBuilder, XApp,
};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "irazabal2024",
    citation: "M. Irazabal, N. Nikaein: TC-RAN: A Programmable Traffic Control Service Model for \
               5G/6G SD-RAN. IEEE JSAC 42(2), 2024.",
    assumptions: &[
        "256QAM table: Fig. 12 has more than 9000 B in a TTI at MCS 18. Two of the seven D slots \
         carry no user data, so that MCS 10 gives the 40 Mbit/s of §V-B.",
        "Core and servers are on the site, 100 µs away: the round trip without load is then about \
         the 10 ms of §V-D. Delay is what a ping each 101 ms measures, in no step with the TDD \
         pattern.",
        "The pacer is 5G-BDP as published with the prototype, poll of 200 µs and bias included; \
         where a row says mended, it is the one this project offers.",
        "CoDel queues hold 8192 packets and the shaper's bucket 100 ms of its rate, as in the \
         prototype. FIFO queues of the TC function have no limit.",
        "What stands in the RLC when a pacer takes over drains first, as in Fig. 7c.",
        "The receiver's window of the modem's host is 3 MiB (half of the tcp_rmem maximum of Linux, \
         as for irazabal2021); the phone's is 16 MiB, since it filled the 10 MB of the RLC (§V-C). \
         Hosts do not pace Cubic; HyStart is on, as in Linux.",
        "The MCS of Fig. 12 climbs from 6 to 18 in 13 equal steps. With it the mean rate of all RBs \
         is that which Table III and Fig. 15a give together.",
        "§V-D has one download and the ping. BBRv2 is BBR version 3 here, without ECN as in the \
         paper. Prague and its ping share one CoDel queue that marks; FQ-CoDel is that of §IV-B.",
        "The xApp of §V-C reads the mean sojourn of the last 100 ms from the RLC service model each \
         ms. Report and control take the 67 and 71 µs of §V-A.",
        "The game is one with the packets of Färber 2002, actions up each 40 ms, states down each 55 ms \
         or so, over UDP: the paper gives no sizes of slither.io's.",
        "The radio loses nothing.",
        "Not of the paper: Sojourn is this project's template of that name. Floor is the round trip of its \
         pings had they been served first in each slot, by someone who knows all slots ahead.",
    ],
    takes_model: false,
    experiments,
};

/// Pacer of all rows that do not name another.
const PACER: Pacer = Pacer::Bdp5gPrototype;
/// The row of this project's template.
const OWN: &str = "Sojourn";
/// Delay floor of the ping on a fully used radio.
const FLOOR: FloorOf = FloorOf { kind: "ping", shared: false };
/// The UE and its bearer.
const RNTI: u16 = 17_921;
const DRB: u8 = 1;
/// Path of the pipeline in a scenario.
const PIPELINE: &str = "ues[0].drbs[0].pipeline";

/// A committed scenario.
struct Base {
    file: &'static str,
    yaml: &'static str,
}

macro_rules! base {
    ($file:literal) => {
        Base {
            file: $file,
            yaml: include_str!(concat!("../../../../scenarios/irazabal2024/", $file)),
        }
    };
}

const VANILLA: Base = base!("vanilla.yaml");
const GAME: Base = base!("game.yaml");
const DYNAMIC_MCS: Base = base!("dynamic_mcs.yaml");

impl Base {
    fn builder(&self) -> Result<ScenarioBuilder, ReproduceError> {
        ScenarioBuilder::from_yaml(self.file, self.yaml)
    }
}

fn experiments(_: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
    let mut all = validation::experiments()?;
    all.push(game::experiment()?);
    all.push(dynamic_mcs::experiment()?);
    Ok(all)
}

/// A scenario in which an xApp deploys a pipeline.
fn deployed(
    base: &Base,
    when: Deploys,
    pipeline: Pipeline,
) -> Result<ScenarioBuilder, ReproduceError> {
    Ok(base.builder()?.with_xapp(XApp { rnti: RNTI, drb: DRB, when, pipeline }))
}

fn own() -> Pipeline {
    templates::LowLatency::default().pipeline()
}

fn pings() -> Flows {
    Flows::kind("ping")
}
