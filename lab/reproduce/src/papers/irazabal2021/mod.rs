//! irazabal2021: LTE 5 MHz, 25 RB, RLC-UM; VoIP calls beside one Cubic download (§V, §VI).
//!
//! `bufferbloat` is §VI-A (Tables 2 to 5, Figs. 6 to 16), `slices` §VI-B (Table 6, Figs. 17 to 22);
//! `sensitivity` varies what the paper leaves open.

mod bufferbloat;
mod sensitivity;
mod slices;

use serde_json::{Value, json};

use super::super::{
    Cell, Experiment, Figure, FloorOf, Flows, Inputs, Paper, ReproduceError, ScenarioBuilder,
};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "irazabal2021",
    citation: "M. Irazabal, E. Lopez-Aguilera, I. Demirkol, R. Schmidt, N. Nikaein: Preventing RLC \
               Buffer Sojourn Delays in 5G. IEEE Access 9, 2021.",
    assumptions: &[
        "The SDAP scheduler is a thread that sleeps 200 µs (§V-A) and wakes up to 50 µs late \
         (Linux' default timer slack), in no step with the TTI.",
        "irtt's client is at the UE, as iperf3's is (reverse mode, §V-F): what comes down of a call \
         is the server's answer to what came up, and so arrives at one phase of the TTI. That phase \
         is 0 to 250 µs after the TTI: Fig. 9 has the packets of e5G-BDP in the RLC 500 to 1000 µs \
         before they leave, and they enter it at most a poll of 250 µs after they arrive.",
        "Scheduling requests go each 10 ms in a subframe drawn from the seed; the call's server is 1 ms \
         away. The round trip of a call without load is then about the 20 ms of Fig. 8.",
        "The download's server is 30 ms away, its round trip without load about 80 ms: BBR lets no \
         more than about a round trip's worth stand in the queue, and 24 % of the VoIP packets wait \
         longer than 50 ms under it (§VI-A1). The paper gives no round trip of its TCP flow.",
        "The receiver's window is 3 MiB, half of the tcp_rmem maximum of Linux: the paper's Vanilla \
         drops no packet (Table 1), so something other than loss limits its sender.",
        "CoDel in place of the RLC's FIFO holds the SDUs; the MAC draws from it what a TTI can \
         carry.",
        "Delay is counted to the last byte of a packet at the MAC (§V-G), segments included.",
        "The MCS of train and pedestrian: each second, from a Markov chain with the means of \
         §VI-B4, 14.48 and 11.02, that of the train as spread as its throughput with all RBs tells; \
         the recorded series (Raca et al. 2018) are not at hand.",
        "EQP: the exponential of §V-E is added to a packet's size, 1 + 5·x⁵, so that it is 1 without \
         debt.",
        "BBR paces and does not back off on loss; version 1 as in Linux 5.3.",
        "e5G-BDP: the newest sample weighs 1/4 in the EWMA, reduce_const is 1/2.",
        "Not of the paper: Sojourn is this project's template of that name. Floor is what a clairvoyant \
         makes of Sojourn's arrivals with all RBs used, the calls served first in each TTI; with a \
         shared RLC a packet of the download that has begun to leave is finished first.",
    ],
    takes_model: false,
    experiments,
};

/// Start of the calls and of the observation window (§V-F).
const CALLS_BEGIN_S: f64 = 5.0;

/// A scheme of Table 1.
#[derive(Clone, Copy)]
struct Scheme {
    /// Its name in the paper.
    name: &'static str,
    file: &'static str,
    yaml: &'static str,
}

macro_rules! scheme {
    ($name:literal, $file:literal) => {
        Scheme {
            name: $name,
            file: $file,
            yaml: include_str!(concat!("../../../../scenarios/irazabal2021/", $file)),
        }
    };
}

const SCHEMES: [Scheme; 7] = [VANILLA, CODEL, BBR, E5G_BDP, DYN_RLC, DRQL, SOJOURN];

const VANILLA: Scheme = scheme!("Vanilla", "vanilla.yaml");
const CODEL: Scheme = scheme!("CoDel", "codel.yaml");
const BBR: Scheme = scheme!("BBR", "bbr.yaml");
const DYN_RLC: Scheme = scheme!("DynRLC", "dyn_rlc.yaml");
const E5G_BDP: Scheme = scheme!("e5G-BDP", "e5g_bdp.yaml");
const DRQL: Scheme = scheme!("DRQL", "drql.yaml");
/// Not in the paper.
const SOJOURN: Scheme = scheme!("Sojourn", "low_latency.yaml");

impl Scheme {
    /// The static scenario, measured from when the calls begin.
    fn builder(&self) -> Result<ScenarioBuilder, ReproduceError> {
        Ok(ScenarioBuilder::from_yaml(self.file, self.yaml)?.observed_from_s(CALLS_BEGIN_S))
    }
}

fn experiments(_: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
    Ok([bufferbloat::experiments()?, slices::experiments()?, sensitivity::experiments()?].concat())
}

/// Delay floors of the calls in a scenario: in their own bearer, and in the RLC shared with the
/// download.
fn floors(builder: &ScenarioBuilder) -> [Cell; 2] {
    [("Floor", false), ("Floor, shared RLC", true)]
        .map(|(name, shared)| builder.clone().floor_of(FloorOf { kind: "voip", shared }).cell(name))
}

fn calls() -> Flows {
    Flows::kind("voip")
}

fn downloads() -> Flows {
    Flows::kind("tcp")
}

/// A call like the scenario's own.
fn call(name: String, rnti: u16) -> Value {
    json!({
        "name": name, "kind": "voip", "echoed": true, "start_s": CALLS_BEGIN_S, "qfi": 1,
        "rnti": rnti,
    })
}

/// The channel of a mobility pattern (§V-C).
fn mobility(pattern: &str) -> Value {
    json!({ "mobility": { "pattern": pattern } })
}

fn sojourn_cdf(title: &'static str, x_max: Option<f64>) -> Figure {
    Figure::Curves {
        curve: "sojourn",
        title,
        x: "ms",
        y: "share of packets",
        log_x: x_max.is_none(),
        x_max,
    }
}
