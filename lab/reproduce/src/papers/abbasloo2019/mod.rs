//! abbasloo2019 (BoDe): applications over recorded cellular links whose queue is managed.
//!
//! `senders` is §VI-C (Figs. 7 to 9), `interactive` §VI-A (Fig. 4), `video` the ABR tests of §VI-B
//! (Fig. 6), `step` §IV-A (Fig. 1) and `diffserv` §VII-C (Fig. 11). `own` is not in the paper.

mod diffserv;
mod interactive;
mod own;
mod senders;
mod step;
mod video;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::{
    By, Cell, Comparison, Experiment, Figure, Flows, Inputs, Metric, Paper, ReproduceError,
    ScenarioBuilder,
};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "abbasloo2019",
    citation: "S. Abbasloo, H. J. Chao: Bounding Queue Delay in Cellular Networks to Support \
               Ultra-Low Latency Applications. 2019.",
    assumptions: &[
        "The links are the recordings of mahimahi-us and nyc-2019 under --traces: two of the \
         paper's sources, not the very recordings. Runs take 300 s, those of video 240.",
        "The queue is the RLC's: the MAC draws from it at each opportunity, as mm-link does. An \
         opportunity is 1506 bytes of transport block, a datagram of 1500 bytes with its L2 headers: \
         in mm-link it carries one whole. Queuing delay is from arrival at the queue to the last \
         byte at the MAC.",
        "Uplink is that of the cell, with scheduling requests each 10 ms. The servers are 1 ms away: \
         the least round trip is 10.2 ms.",
        "CoDel's interval is 5 × 10 ms, PIE's update period 15 ms (RFC 8033); the paper says none.",
        "Sprout and Vivace are the Sprout-like and Vivace-like senders, all with their defaults.",
        "Skype is a video call with Google Congestion Control whose encoder goes up to 20 Mbit/s, \
         more than the links: the paper's camera is never the bottleneck.",
        "Video is over Cubic, Linux' default. Ladder and chunks are those of the player it names \
         (Pensieve): six rates of 300 to 4300 kbit/s, 48 chunks of 4 s.",
        "The step of Fig. 1 comes when the call has been on for 120 s, so that its rate has risen; \
         the figure's 10 s before it are the last of those.",
        "DiffServ is three bearers of priorities 1 to 3. With FIFO, the paper tunes drop thresholds \
         on a trace that is not public: here they are rate × bound of a class, 12.5 kB and 50 kB.",
    ],
    takes_model: false,
    experiments,
};

const YAML: &str = include_str!("../../../../scenarios/abbasloo2019/link.yaml");
const FILE: &str = "abbasloo2019/link.yaml";

/// Paths of channel, queue and flow in the scenario.
const CHANNEL: &str = "ues[0].channel";
const AQM: &str = "ues[0].drbs[0].rlc.aqm";
const FLOW: &str = "flows[0]";

/// PDCP with 12 bits 2 B, RLC-UM of a whole SDU 1 B, MAC subheader 3 B (38.323 §6.2.2.2, 38.322
/// §6.2.2.3, 38.321 §6.1.2).
const OPPORTUNITY_BYTES: u32 = 1500 + 2 + 1 + 3;

/// Name and file of a recorded link.
type Link = (&'static str, &'static str);

const LINKS: [Link; 5] = [
    ("AT&T", "mahimahi-us/ATT-LTE-driving-2016.down"),
    T_MOBILE,
    ("Verizon", "mahimahi-us/Verizon-LTE-short.down"),
    TIMES_SQUARE,
    ("bus", "nyc-2019/trace-3114405-bus.xz"),
];
const ATT: Link = LINKS[0];
const T_MOBILE: Link = ("T-Mobile", "mahimahi-us/TMobile-LTE-driving.down.xz");
const TIMES_SQUARE: Link = ("Times Square", "nyc-2019/trace-3201037-timessquare.xz");

/// Tolerable delay of interactive and of other applications (§VI, Schemes' Parameters).
const INTERACTIVE_US: u32 = 100_000;
const OTHERS_US: u32 = 20_000;

/// Names of the queues.
const NAMES: [&str; 5] = ["TailDrop", "HeadDrop", "CoDel", "PIE", "BoDe"];

/// Table I: the queues for a tolerable delay of `d_us`; the round trip is 10 ms.
fn queues(d_us: u32) -> [(&'static str, Value); 5] {
    let [tail_drop, head_drop, codel, pie, bode] = NAMES;
    [
        (tail_drop, Value::Null),
        (head_drop, json!("head_drop")),
        (codel, json!({ "codel": { "target_us": d_us / 2, "interval_us": 50_000 } })),
        (pie, json!({ "pie": { "target_us": d_us, "alpha_milli": 125, "beta_milli": 1250 } })),
        (bode, json!({ "bode": { "bound_us": d_us } })),
    ]
}

fn experiments(inputs: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
    Ok(vec![
        step::experiment()?,
        interactive::times_square(inputs)?,
        interactive::experiment(inputs)?,
        video::experiment(inputs)?,
        senders::experiment(inputs)?,
        senders::retransmissions(inputs)?,
        diffserv::experiment(inputs)?,
        own::experiment(inputs)?,
    ])
}

/// The base scenario with a recorded link, or what is missing.
fn with_link(
    link: &Link,
    inputs: &Inputs,
) -> Result<Result<ScenarioBuilder, String>, ReproduceError> {
    let (name, file) = link;
    let Some(folder) = &inputs.traces else {
        return Ok(Err(format!("the recording of {name}, {file}; name its folder with --traces")));
    };
    let path: PathBuf = folder.join(Path::new(file));
    if !path.is_file() {
        return Ok(Err(format!("{} is not there", path.display())));
    }
    // Relative to the working directory, not to the scenario's folder.
    let path = std::path::absolute(&path).map_err(ReproduceError::io(&path))?;
    let channel = json!({ "mahimahi": { "path": path, "opportunity_bytes": OPPORTUNITY_BYTES } });
    ScenarioBuilder::from_yaml(FILE, YAML)?.set(CHANNEL, channel).map(Ok)
}

fn cell(
    scheme: &str,
    builder: Result<ScenarioBuilder, String>,
    change: impl FnOnce(ScenarioBuilder) -> Result<ScenarioBuilder, ReproduceError>,
) -> Result<Cell, ReproduceError> {
    match builder {
        Ok(builder) => Ok(change(builder)?.cell(scheme)),
        Err(why) => Ok(Cell::missing(scheme, why)),
    }
}

/// A flow through a queue, over each of the links.
fn cells(
    scheme: &str,
    links: &[Link],
    inputs: &Inputs,
    flow: &Value,
    aqm: &Value,
) -> Result<Vec<Cell>, ReproduceError> {
    let cell_of = |link| {
        cell(scheme, with_link(link, inputs)?, |builder| {
            builder.set(FLOW, flow.clone())?.set(AQM, aqm.clone())
        })
    };
    links.iter().map(cell_of).collect()
}

/// The only flow.
fn flow() -> Flows {
    Flows::name("flow")
}

const P99: &str = "p99_queuing_delay";
const THROUGHPUT: &str = "throughput";

fn p99() -> Metric {
    Metric::sojourn_quantile(P99, flow(), 0.99)
}

fn throughput() -> Metric {
    Metric::goodput(THROUGHPUT, flow())
}

/// §VI: "throughput / 99th-%tile-delay".
fn power() -> Metric {
    let (delay, throughput) = (p99(), throughput());
    Metric::new("power", "Mbit/s per s", move |run| {
        let delay_ms = delay.of(run).filter(|delay_ms| *delay_ms > 0.0)?;
        Some(throughput.of(run)? / (delay_ms / 1e3))
    })
}

/// A metric reported by the application.
fn app_metric(name: &'static str, unit: &'static str, figure: &'static str) -> Metric {
    Metric::new(name, unit, move |run| {
        run.summary.flows.iter().find(|flow| flow.name == "flow")?.app.get(figure)
    })
}

/// One queue's metric over another's in a group of schemes; without a group the queues are the schemes.
fn quotient(group: Option<&str>, metric: &'static str, of: &str, over: &str) -> Comparison {
    let named = |what: &str| match group {
        Some(group) => format!("{group}, {what}"),
        None => what.to_owned(),
    };
    Comparison {
        row: named(&format!("{of} over {over}")),
        metric,
        by: By::Quotient,
        of: named(of),
        over: named(over),
    }
}

fn cdf(curve: &'static str, title: &'static str) -> Figure {
    Figure::curves(curve, title, "ms", "share of packets").log_x()
}
