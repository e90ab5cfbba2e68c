//! One run of a cell: steps the world to the end of the window and records what happens in it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::forecasts::Forecasts;
use super::watch::Watch;
use super::xapp::{XApp, XAppRunner};
use lab_forecast::{ForecastCounts, Ric};
use lab_scenario::{LoadedScenario, ScenarioError};
use lab_world::{BearerSample, Removals, Summary, World};

/// Virtual time between checks for a stop.
const CHUNK_US: u64 = 1_000_000;
/// Bin width of the occupancy over time.
const BIN_US: u64 = 100_000;

/// A flow within the window.
#[derive(Clone, Debug, Default)]
pub struct FlowObserved {
    /// Name in the scenario.
    pub name: String,
    /// `tcp`, `udp_cbr`, `voip`, `ping` and so on.
    pub kind: &'static str,
    /// C-RNTI of its UE.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// SDAP and RLC sojourn of each packet, to the last byte at the MAC, µs.
    pub sojourn_us: Vec<u32>,
    /// The part before the RLC, µs.
    pub sdap_us: Vec<u32>,
    /// Delay from server to UE of each packet, µs.
    pub one_way_us: Vec<u32>,
    /// Delay from the first transmission of its payload, µs.
    pub overall_us: Vec<u32>,
    /// Length of each packet.
    pub len_bytes: Vec<u32>,
    /// Times at which each packet left the RLC, µs.
    pub left_us: Vec<u64>,
    /// End time and duration of measured round trips, µs.
    pub rtt_us: Vec<(u64, u64)>,
    /// Packets sent since the start of the run, retransmissions included.
    pub sent_packets: u64,
    /// TCP retransmissions among them.
    pub retransmitted_packets: u64,
    /// Mean payload rate.
    pub goodput_bps: f64,
    /// Payload rate over time: middle of a bin in s, Mbit/s.
    pub goodput_mbps_over_s: Vec<(f64, f64)>,
}

/// Observation of the window.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The window, virtual µs.
    pub watch: Watch,
    /// The flows in the order of the scenario.
    pub flows: Vec<FlowObserved>,
    /// PRBs that carried data.
    pub used_prb: u64,
    /// PRBs available for data.
    pub available_prb: u64,
    /// Mean RLC occupancy of all bearers by bin: seconds since the window began, bytes.
    pub occupancy: Vec<(f64, f64)>,
    /// SDUs removed from each RLC buffer, by bearer.
    pub removals: Vec<Removals>,
    /// Totals since the start of the run.
    pub summary: Summary,
    /// Forecasts since the start of the run by source; `None` unless the forecaster has a fallback.
    pub forecasts: Option<ForecastCounts>,
}

/// Inputs of a run from the RIC.
#[derive(Clone, Copy, Default)]
pub(super) struct RicInputs<'a> {
    pub(super) xapp: Option<&'a XApp>,
    pub(super) forecasts: Option<&'a Forecasts>,
}

/// Steps a world with its RIC and xApp.
struct Stepper<'a> {
    runner: XAppRunner<'a>,
    ric: Option<Ric>,
}

impl Stepper<'_> {
    fn step_until(&mut self, world: &mut World, to_us: u64) -> Result<(), ScenarioError> {
        let Self { runner, ric } = self;
        match ric {
            None => runner.step_until(world, to_us, &mut |_| {}),
            Some(ric) => {
                ric.step_until(world, to_us, |world, us, sink| runner.step_until(world, us, sink))
            }
        }
    }
}

/// Runs a scenario; `None` if stopped.
pub(super) fn observe(
    loaded: &LoadedScenario,
    watch: Watch,
    ric_inputs: RicInputs<'_>,
    stop: &AtomicBool,
) -> Result<Option<Observed>, ScenarioError> {
    let mut world = World::new(loaded)?;
    let ric = match ric_inputs.forecasts {
        None => None,
        Some(forecasts) => match forecasts.ric(loaded, watch.to_us, stop)? {
            None => return Ok(None),
            ric => ric,
        },
    };
    let mut stepper = Stepper { runner: XAppRunner::new(ric_inputs.xapp, loaded), ric };
    if !advance(&mut world, watch.from_us, &mut stepper, stop, |_| {})? {
        return Ok(None);
    }
    let before = world.cell_sample();
    let removed_before: Vec<Removals> = world.removals().collect();
    let mut flows: Vec<FlowObserved> = world
        .flow_samples()
        .into_iter()
        .map(|flow| FlowObserved {
            name: flow.name,
            kind: flow.kind,
            rnti: flow.rnti,
            drb: flow.drb,
            ..FlowObserved::default()
        })
        .collect();
    let mut occupancy = Occupancy::default();
    world.record_packets(true);
    world.record_series(watch.occupancy);
    let done = advance(&mut world, watch.to_us, &mut stepper, stop, |world| {
        for packet in world.take_packets() {
            if let Some(flow) = flows.get_mut(packet.flow as usize) {
                flow.sojourn_us.push(narrow(packet.mac_us, packet.sdap_us));
                flow.sdap_us.push(narrow(packet.rlc_us, packet.sdap_us));
                flow.one_way_us.push(narrow(packet.ue_us, packet.sent_us));
                let first_sent_us = packet.sent_us.saturating_sub(u64::from(packet.age_us));
                flow.overall_us.push(narrow(packet.ue_us, first_sent_us));
                flow.left_us.push(packet.mac_us);
                flow.len_bytes.push(packet.len_bytes);
            }
        }
        occupancy.add(&world.take_series(), watch.from_us);
    })?;
    if !done {
        return Ok(None);
    }
    let after = world.cell_sample();
    for (flow, (_, _, ends)) in flows.iter_mut().zip(world.flows()) {
        let stats = ends.stats();
        flow.sent_packets = stats.sent_packets;
        flow.retransmitted_packets = stats.tcp.map_or(0, |tcp| tcp.retransmitted_packets);
        let goodput = ends.arrivals().goodput();
        flow.goodput_bps = goodput.mean_bps(watch.from_us, watch.to_us);
        let bin_us = goodput.bin_us();
        flow.goodput_mbps_over_s = goodput
            .bins()
            .iter()
            .zip(0u64..)
            .map(|(bytes, bin)| ((bin * bin_us, (bin + 1) * bin_us), *bytes))
            .filter(|((from, to), _)| *from >= watch.from_us && *to <= watch.to_us)
            .map(|((from, to), bytes)| {
                let middle_s = ((from + to) / 2 - watch.from_us) as f64 / 1e6;
                (middle_s, bytes as f64 * 8.0 / bin_us as f64)
            })
            .collect();
        if let Some(rtt) = ends.rtt() {
            let within = |(at_us, _): &&(u64, u64)| (watch.from_us..=watch.to_us).contains(at_us);
            flow.rtt_us = rtt.samples().iter().filter(within).copied().collect();
        }
    }
    Ok(Some(Observed {
        watch,
        flows,
        used_prb: after.used_prb - before.used_prb,
        available_prb: after.available_prb - before.available_prb,
        occupancy: occupancy.means(),
        removals: world.removals().zip(&removed_before).map(|(all, old)| all.since(old)).collect(),
        summary: world.summary(),
        forecasts: stepper.ric.as_ref().and_then(Ric::counts),
    }))
}

/// Steps in chunks; returns whether the end was reached.
fn advance(
    world: &mut World,
    to_us: u64,
    stepper: &mut Stepper<'_>,
    stop: &AtomicBool,
    mut after_chunk: impl FnMut(&mut World),
) -> Result<bool, ScenarioError> {
    while world.now_us() < to_us {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        stepper.step_until(world, (world.now_us() + CHUNK_US).min(to_us))?;
        after_chunk(world);
    }
    Ok(true)
}

fn narrow(later_us: u64, earlier_us: u64) -> u32 {
    u32::try_from(later_us.saturating_sub(earlier_us)).unwrap_or(u32::MAX)
}

/// Means of the RLC occupancy per bin.
#[derive(Default)]
struct Occupancy {
    /// Sum of bytes over the samples of a bin.
    sums: Vec<f64>,
}

impl Occupancy {
    fn add(&mut self, rows: &[BearerSample], from_us: u64) {
        for row in rows {
            let bin = (row.time_us.saturating_sub(from_us) / BIN_US) as usize;
            if bin >= self.sums.len() {
                self.sums.resize(bin + 1, 0.0);
            }
            self.sums[bin] += f64::from(row.rlc_occupancy_bytes);
        }
    }

    fn means(&self) -> Vec<(f64, f64)> {
        let samples = (BIN_US / 1_000) as f64;
        let bin_s = BIN_US as f64 / 1e6;
        let mean = |(bin, sum): (usize, &f64)| ((bin as f64 + 0.5) * bin_s, sum / samples);
        self.sums.iter().enumerate().map(mean).collect()
    }
}
