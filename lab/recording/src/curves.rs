//! `curves.json`: distributions and series of a run, for plots and statistics over several runs.

use lab_world::World;
use serde::Serialize;

use super::trail::{BIN_US, Trail};

/// Distributions and series of a run.
#[derive(Serialize)]
pub(super) struct Curves {
    /// Sojourn of each flow, in the order of the scenario.
    sojourn: Vec<SojournCurve>,
    /// Goodput of each flow, in the order of the scenario.
    goodput: Vec<GoodputCurve>,
    /// Queues of all bearers together.
    queues: QueueCurve,
}

/// Distribution of the time that the packets of a flow spent in SDAP and RLC.
#[derive(Serialize)]
pub(super) struct SojournCurve {
    /// Name of the flow.
    flow: String,
    /// C-RNTI of its UE.
    rnti: u16,
    /// DRB that carries it.
    drb: u8,
    /// Sojourn time in µs, to 0.1 %, and packets that had it, in order of time.
    steps_us_packets: Vec<(u64, u64)>,
}

/// Payload that a flow delivered over time.
#[derive(Serialize)]
pub(super) struct GoodputCurve {
    /// Name of the flow.
    flow: String,
    /// Width of a bin, µs.
    bin_us: u64,
    /// Bytes in each bin from virtual time 0 on.
    bytes: Vec<u64>,
}

/// Queues of all bearers together over time; the worst of each bin.
#[derive(Serialize)]
pub(super) struct QueueCurve {
    /// Width of a bin, µs.
    bin_us: u64,
    /// Largest sum of the RLC buffers, bytes.
    rlc_bytes: Vec<u64>,
    /// Largest sum of the backlogs of the pipelines, bytes.
    tc_bytes: Vec<u64>,
    /// Largest age of the head of an RLC buffer, µs.
    hol_us: Vec<u64>,
}

impl Curves {
    /// Name of the file.
    pub(super) const FILE: &'static str = "curves.json";

    pub(super) fn of(world: &World, trail: &Trail) -> Self {
        let sojourn = world.flow_sojourns().into_iter().map(|flow| SojournCurve {
            flow: flow.flow.to_owned(),
            rnti: flow.rnti,
            drb: flow.drb,
            steps_us_packets: flow.steps,
        });
        let goodput = world.flows().map(|(name, _, flow)| {
            let bytes = flow.arrivals().goodput();
            GoodputCurve {
                flow: name.to_owned(),
                bin_us: bytes.bin_us(),
                bytes: bytes.bins().to_vec(),
            }
        });
        let queue =
            |value: fn(&super::trail::Point) -> u64| trail.points.iter().map(value).collect();
        Self {
            sojourn: sojourn.collect(),
            goodput: goodput.collect(),
            queues: QueueCurve {
                bin_us: BIN_US,
                rlc_bytes: queue(|point| point.rlc_bytes),
                tc_bytes: queue(|point| point.tc_bytes),
                hol_us: queue(|point| point.hol_us),
            },
        }
    }

    /// The text of the file.
    pub(super) fn to_json(&self) -> serde_json::Result<String> {
        Ok(format!("{}\n", serde_json::to_string(self)?))
    }
}
