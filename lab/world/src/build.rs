//! Builds the parts of a world from a scenario.

mod qos_flows;
mod radio;

use e2sm_tc::v1::{BearerId, BearerQos, PipelineChange, SNssai, Transaction, UeId};
use ran::mac::rbg;
use ran::tbs::nr::NrOverhead;
use ran::{BearerConfig, Cell, CellConfig, Duplexing, Numerology, RbgConfiguration, TddPattern};
use tc_rf::{TrafficControl, templates};
use traffic::Rng;

use super::bearer::{Bearer, Measured, Tally};
use super::channel::Channels;
use super::drql_limit::DrqlLimit;
use super::f1::F1Bearer;
use super::flow::{BoundFlow, Queuing};
use super::moving;
use super::packet::{GnbPacket, Hosts, Tunnel};
use super::rlc_query::RlcQuery;
use super::rlc_queue::RlcQueue;
use super::sdap::Sdap;
use lab_scenario::{
    self, Drb, Flow, FlowUe, LoadedScenario, PipelineSpec, Rat, ResourceAllocation, ScenarioError,
    Violation,
};

/// A UE and when it attaches and leaves.
#[derive(Clone, Debug)]
pub(super) struct UePlan {
    /// The UE in the first cell.
    pub(super) config: ran::UeConfig,
    /// The channel of each further cell.
    pub(super) neighbours: Vec<ran::Channel>,
    pub(super) join_us: u64,
    pub(super) leave_us: Option<u64>,
    /// Index in the world and configuration of each of its bearers.
    pub(super) bearers: Vec<(u32, BearerConfig)>,
}

impl UePlan {
    /// The UE in cell number `cell`.
    pub(super) fn config_in(&self, cell: usize) -> ran::UeConfig {
        let neighbour = cell.checked_sub(1).and_then(|at| self.neighbours.get(at));
        let channel = neighbour.unwrap_or(&self.config.channel).clone();
        ran::UeConfig { channel, ..self.config.clone() }
    }
}

/// The parts of a world.
pub(super) struct Parts {
    pub(super) cells: Vec<Cell<GnbPacket>>,
    pub(super) ues: Vec<UePlan>,
    pub(super) bearers: Vec<Bearer>,
    pub(super) flows: Vec<BoundFlow>,
    pub(super) sdap: Sdap,
    pub(super) core_jitter: Rng,
    pub(super) sdap_random: Rng,
}

/// Builds the parts.
pub(super) fn parts(loaded: &LoadedScenario) -> Result<Parts, ScenarioError> {
    let builder = Builder { loaded };
    builder
        .build()
        .map_err(|violation| ScenarioError::new(&loaded.file, violation.path, violation.message))
}

struct Builder<'a> {
    loaded: &'a LoadedScenario,
}

/// Seed of random stream number `number` of `kind`.
fn stream_seed(seed: u64, kind: u64, number: u64) -> u64 {
    Rng::new(seed ^ (kind << 56) ^ number.rotate_left(24)).word()
}

const STREAM_CELL: u64 = 1;
const STREAM_TC: u64 = 2;
const STREAM_FLOW: u64 = 3;
const STREAM_CORE: u64 = 4;
const STREAM_SDAP: u64 = 5;
const STREAM_UPLINK: u64 = 6;
const STREAM_RLC_QUEUE: u64 = 7;
const STREAM_F1: u64 = 8;
const STREAM_DRX: u64 = 9;

pub(super) fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

impl Builder<'_> {
    fn build(self) -> Result<Parts, Violation> {
        let scenario = &self.loaded.scenario;
        let config = cell_config(scenario, 0)?;
        let uplink_of = |ue: u64| {
            let random = Rng::new(stream_seed(scenario.seed, STREAM_UPLINK, ue));
            radio::uplink(&scenario.cell.uplink, &config, random)
        };
        let harq = config.harq;
        let cells = cells(scenario)?;
        // Validates UEs and bearers now, though they attach later.
        let mut trial = cells[0].clone();
        let mut channels = Channels::new(&self.loaded.directory, config.tbs.clone(), config.n_prb);
        let mut bearers = Vec::new();
        let mut ues = Vec::new();
        for (index, ue) in scenario.ues.iter().enumerate() {
            let path = format!("ues[{index}]");
            let entry = index;
            let (channel, neighbours) = self.channels(ue, &mut channels, &path)?;
            for (cell, neighbour) in cells[1..].iter().zip(&neighbours) {
                cell.probe(neighbour, ue.rnti)
                    .map_err(|error| Violation::new(&*path, error.to_string()))?;
            }
            let recorded_uplink = match &ue.uplink {
                Some(uplink) => {
                    let path = format!("{path}.uplink.mahimahi");
                    let trace = channels.mahimahi(&uplink.mahimahi, &path)?;
                    Some(radio::recorded_uplink(uplink, trace))
                }
                None => None,
            };
            for offset in 0..ue.count {
                let rnti = ue.rnti + offset;
                let mut own = Vec::with_capacity(ue.drbs.len());
                let config = ran::UeConfig {
                    rnti,
                    channel: channel.clone(),
                    slice: radio::slice_of(scenario, entry),
                    errors: ue.harq.as_ref().map(|own| radio::ue_errors(own, &harq)),
                    uplink: Some(uplink_of(ues.len() as u64)),
                    recorded_uplink: recorded_uplink.clone(),
                    drx: ue.drx.map(|given| {
                        let seed = stream_seed(scenario.seed, STREAM_DRX, ues.len() as u64);
                        radio::drx(&given, &config, Rng::new(seed))
                    }),
                };
                trial
                    .add_ue(config.clone())
                    .map_err(|error| Violation::new(&*path, error.to_string()))?;
                for (index, drb) in ue.drbs.iter().enumerate() {
                    let path = format!("{path}.drbs[{index}]");
                    let number = bearers.len() as u32;
                    bearers.push(self.bearer(rnti, drb, number, &path)?);
                    let rlc = radio::bearer_config(drb, scenario.cell.rat);
                    trial
                        .add_bearer(rnti, rlc.clone())
                        .map_err(|error| Violation::new(&*path, error.to_string()))?;
                    own.push((number, rlc));
                }
                ues.push(UePlan {
                    config,
                    neighbours: neighbours.clone(),
                    join_us: micros(ue.join_at_s),
                    leave_us: ue.leave_at_s.map(micros),
                    bearers: own,
                });
            }
        }
        let mut sdap = qos_flows::sdap(scenario, &ues, &bearers, &harq);
        let flows = self.flows(&ues, &bearers, &mut sdap)?;
        let core_jitter = Rng::new(stream_seed(scenario.seed, STREAM_CORE, 0));
        let sdap_random = Rng::new(stream_seed(scenario.seed, STREAM_SDAP, 0));
        Ok(Parts { cells, ues, bearers, flows, sdap, core_jitter, sdap_random })
    }

    /// The channels of a UE: to the first cell, and to the others.
    fn channels(
        &self,
        ue: &lab_scenario::Ue,
        channels: &mut Channels,
        path: &str,
    ) -> Result<(ran::Channel, Vec<ran::Channel>), Violation> {
        let scenario = &self.loaded.scenario;
        let path = |key: &str| format!("{path}.{key}");
        let mut first = channels.get(&ue.channel, &path("channel"))?;
        if let Some(route_m) = ue.route_m {
            let to_cell = |cell| moving::along(&first, route_m, scenario.position_m(cell));
            let neighbours = (1..scenario.cells.len()).map(to_cell).collect();
            first = to_cell(0);
            return Ok((first, neighbours));
        }
        let neighbours = ue.neighbour_channels.iter().enumerate();
        let neighbours = neighbours.map(|(index, channel)| {
            channels.get(channel, &path(&format!("neighbour_channels[{index}]")))
        });
        Ok((first, neighbours.collect::<Result<_, _>>()?))
    }

    fn bearer(&self, rnti: u16, drb: &Drb, number: u32, path: &str) -> Result<Bearer, Violation> {
        let scenario = &self.loaded.scenario;
        let id = BearerId { ue: UeId::Rnti(rnti), drb: drb.id };
        let seed = stream_seed(self.loaded.scenario.seed, STREAM_TC, u64::from(number));
        let safe_path = format!("{path}.safe_pipeline");
        let safe = pipeline(&drb.safe_pipeline, &safe_path)?;
        let mut tc = TrafficControl::new(id, safe, seed)
            .map_err(|error| Violation::new(safe_path, error.to_string()))?;
        tc.set_qos(BearerQos {
            five_qis: drb.five_qi.into_iter().collect(),
            s_nssai: drb.s_nssai.map(|slice| SNssai { sst: slice.sst, sd: slice.sd }),
        });
        let mut tally = Tally::default();
        if drb.pipeline != drb.safe_pipeline {
            let path = format!("{path}.pipeline");
            let transaction = Transaction {
                bearer: id,
                expected_revision: None,
                lease_ms: None,
                owner: None,
                as_safe: false,
                dry_run: false,
                change: PipelineChange::Replace(pipeline(&drb.pipeline, &path)?),
            };
            let outcome = tc.apply(&transaction, 0, &mut tally);
            if let e2sm_tc::v1::ControlOutcome::Refused { element, detail, .. } = outcome {
                return Err(Violation::new(path, format!("{element}: {detail}")));
            }
        }
        let rlc_seed = stream_seed(self.loaded.scenario.seed, STREAM_RLC_QUEUE, u64::from(number));
        let managed = drb.rlc.aqm.map(|aqm| RlcQueue::new(aqm, &drb.rlc, rlc_seed));
        let rlc_queue = managed
            .transpose()
            .map_err(|error| Violation::new(format!("{path}.rlc.aqm"), error.to_string()))?;
        let f1_seed = stream_seed(scenario.seed, STREAM_F1, 0);
        let f1 = F1Bearer::new(&scenario.split, f1_seed, u64::from(number))
            .map_err(|error| Violation::new("split.f1", error.to_string()))?;
        let on_request =
            scenario.split.f1.rlc_status == lab_scenario::RlcStatusReporting::OnRequest;
        let rlc_query = (f1.is_some() && on_request).then(RlcQuery::default);
        Ok(Bearer {
            rnti,
            ue_rnti: rnti,
            drb: drb.id,
            tc,
            cell: None,
            is_held: false,
            is_am: drb.rlc.mode == lab_scenario::RlcMode::Am,
            f1: f1.map(Box::new),
            rlc_query,
            rlc_queue,
            drql_limit: drb.rlc.drql_limit.then(|| DrqlLimit::new(true)),
            tally,
            measured: Measured::default(),
        })
    }

    fn flows(
        &self,
        ues: &[UePlan],
        bearers: &[Bearer],
        sdap: &mut Sdap,
    ) -> Result<Vec<BoundFlow>, Violation> {
        let mut bound = Vec::new();
        // Each connection of an application has its own number and so its own 5-tuple.
        let mut next_connection = 0;
        // Each tunnel has its own number and so its own outer 5-tuple.
        let mut tunnel_names: Vec<&str> = Vec::new();
        let scenario = &self.loaded.scenario;
        for (index, flow) in scenario.flows.iter().enumerate() {
            let path = format!("flows[{index}]");
            let tunnel =
                scenario.tunnel_of(flow).zip(flow.keys.tunnel.as_deref()).map(|(config, name)| {
                    let known = tunnel_names.iter().position(|it| *it == name);
                    let number = known.unwrap_or(tunnel_names.len());
                    if known.is_none() {
                        tunnel_names.push(name);
                    }
                    Tunnel { config, number: number as u16 }
                });
            for ue in ues {
                let rnti = ue.config.rnti;
                if !flow.is_of(rnti) {
                    continue;
                }
                let given = flow.keys.drb.map(|drb| qos_flows::bearer_of(ue, bearers, drb));
                let Some(given) = given.unwrap_or(Some(ue.bearers[0].0)) else {
                    return Err(Violation::new(format!("{path}.drb"), "no such DRB"));
                };
                let (bearer, qos_flow) = qos_flows::bind(flow, ue, given, sdap);
                let phase = self.seed(STREAM_FLOW, bound.len()).rotate_left(32);
                for (copy, name) in (0..).zip(flow.names()) {
                    let config =
                        flow.config(tunnel.map(|it| it.config), scenario.split.core_delay_us);
                    let config = spread(flow, config, copy, phase);
                    let seed = self.seed(STREAM_FLOW, bound.len());
                    let ends = traffic::Flow::new(next_connection, &config, seed)
                        .map_err(|error| Violation::new(&*path, error.to_string()))?;
                    let each = flow.keys.rnti == Some(FlowUe::Each);
                    bound.push(BoundFlow {
                        name: if each { format!("{name}@{rnti}") } else { name },
                        rnti,
                        drb: bearers[bearer as usize].drb,
                        qfi: flow.keys.qfi,
                        dscp: flow.keys.dscp,
                        ip_version: flow.keys.ip_version,
                        hosts: Hosts { server: flow.keys.server, ue: flow.keys.ue_host },
                        tunnel,
                        bearer,
                        qos_flow,
                        start_us: micros(flow.keys.start_s),
                        stop_us: config.stop_us,
                        core_delay_us: config.core_delay_us,
                        core_last_us: 0,
                        connections: config.app.connections(),
                        ends,
                        queuing: Queuing::default(),
                    });
                    next_connection += u32::from(config.app.connections());
                }
            }
        }
        Ok(bound)
    }

    fn seed(&self, kind: u64, number: usize) -> u64 {
        stream_seed(self.loaded.scenario.seed, kind, number as u64)
    }
}

/// Configuration of copy number `copy` of a flow with `config`. The start jitter is divided among
/// the copies, shifted by a `phase` of the seed; each copy starts in the first half of its part, so
/// they never coincide.
fn spread(
    flow: &Flow,
    mut config: traffic::FlowConfig,
    copy: u64,
    phase: u64,
) -> traffic::FlowConfig {
    let jitter_us = config.start_jitter_us;
    if flow.keys.count > 1 && jitter_us > 0 {
        let count = u64::from(flow.keys.count);
        config.start_us += (phase % jitter_us + copy * jitter_us / count) % jitter_us;
        config.start_jitter_us = jitter_us / (2 * count);
    }
    config
}

/// The pipeline of a template name or a full specification.
fn pipeline(spec: &PipelineSpec, path: &str) -> Result<e2sm_tc::v1::Pipeline, Violation> {
    match spec {
        PipelineSpec::Full(pipeline) => Ok(pipeline.as_ref().clone()),
        PipelineSpec::Template(name) => templates::by_name(name).ok_or_else(|| {
            let known = templates::NAMES.join(", ");
            Violation::new(path, format!("'{name}' is not a template; expected one of {known}"))
        }),
    }
}

fn overhead(given: &lab_scenario::Overhead) -> NrOverhead {
    let lab_scenario::Overhead {
        pdcch_symbols,
        dmrs_symbols,
        mixed_dmrs_symbols,
        dmrs_re,
        x_overhead,
    } = *given;
    let default = NrOverhead::default();
    NrOverhead {
        pdcch_symbols: pdcch_symbols.unwrap_or(default.pdcch_symbols),
        dmrs_symbols: dmrs_symbols.unwrap_or(default.dmrs_symbols),
        mixed_dmrs_symbols: mixed_dmrs_symbols.unwrap_or(default.mixed_dmrs_symbols),
        dmrs_re: dmrs_re.unwrap_or(default.dmrs_re),
        x_overhead: x_overhead.unwrap_or(default.x_overhead),
    }
}

/// The cells, at least one.
fn cells(scenario: &lab_scenario::Scenario) -> Result<Vec<Cell<GnbPacket>>, Violation> {
    let build = |index: usize| {
        let path =
            if scenario.cells.is_empty() { "cell".to_owned() } else { format!("cells[{index}]") };
        Cell::new(cell_config(scenario, index)?)
            .map_err(|error| Violation::new(path, error.to_string()))
    };
    (0..scenario.cells.len().max(1)).map(build).collect()
}

/// What cell number `index` is.
fn cell_config(scenario: &lab_scenario::Scenario, index: usize) -> Result<CellConfig, Violation> {
    let cell = &scenario.cell_of(index);
    let base = match cell.rat {
        Rat::Lte => CellConfig::lte_5mhz(),
        Rat::Nr => CellConfig { reserved: None, ..CellConfig::nr_n78_106prb() },
    };
    let tbs = match cell.rat {
        Rat::Lte => ran::tbs::TbsConfig::Lte,
        Rat::Nr => ran::tbs::TbsConfig::Nr {
            mcs_table: match cell.mcs_table.unwrap_or_default() {
                lab_scenario::McsTable::Qam64 => ran::tbs::nr::McsTable::Qam64,
                lab_scenario::McsTable::Qam256 => ran::tbs::nr::McsTable::Qam256,
                lab_scenario::McsTable::Qam64LowSe => ran::tbs::nr::McsTable::Qam64LowSe,
                lab_scenario::McsTable::Qam1024 => ran::tbs::nr::McsTable::Qam1024,
            },
            layers: cell.layers,
            overhead: overhead(&cell.overhead),
        },
    };
    let duplexing = match &cell.tdd {
        None => Duplexing::Fdd,
        Some(tdd) => Duplexing::Tdd(
            TddPattern::parse(&tdd.pattern, tdd.mixed_dl_symbols, tdd.mixed_ul_symbols)
                .map_err(|error| Violation::new("cell.tdd", error.to_string()))?,
        ),
    };
    let reserved = match &cell.reserved {
        None => base.reserved.map(|reserved| ran::config::ReservedPrb {
            n_prb: reserved.n_prb.min(cell.n_prb),
            ..reserved
        }),
        Some(reserved) => Some(ran::config::ReservedPrb {
            period_slots: reserved.period_slots,
            slots: reserved.slots.clone(),
            n_prb: reserved.n_prb,
        }),
    };
    let numerology = Numerology::from_scs_khz(u32::from(cell.scs_khz))
        .map_err(|error| Violation::new("cell.scs_khz", error.to_string()))?;
    Ok(CellConfig {
        n_prb: cell.n_prb,
        numerology,
        duplexing,
        tbs,
        scheduler: radio::scheduler(scenario),
        rbg_size_prb: rbg_size_prb(cell),
        uplink_scheduler: radio::uplink_scheduler(cell),
        max_ues_per_slot: cell.max_ues_per_slot,
        reserved,
        harq: radio::harq(cell, numerology, base.harq),
        adaptation: radio::adaptation(&cell.adaptation, numerology, cell.n_prb),
        seed: stream_seed(scenario.seed, STREAM_CELL, index as u64),
    })
}

/// PRBs per resource block group.
fn rbg_size_prb(cell: &lab_scenario::Cell) -> u16 {
    let nr = |configuration| rbg::nr_rbg_size_prb(cell.n_prb, configuration);
    let size_prb = match (cell.rat, cell.resource_allocation) {
        (Rat::Lte, _) => rbg::lte_rbg_size_prb(cell.n_prb),
        (Rat::Nr, ResourceAllocation::Type1) => None,
        (Rat::Nr, ResourceAllocation::Type0Config1) => nr(RbgConfiguration::One),
        (Rat::Nr, ResourceAllocation::Type0Config2) => nr(RbgConfiguration::Two),
    };
    // `None` for type 1, and for 0 PRBs, which Cell::new refuses.
    size_prb.unwrap_or(1).min(cell.n_prb)
}
