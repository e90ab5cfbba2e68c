//! From a scenario to the parts of a world.

use std::collections::HashMap;
use std::path::Path;

use e2sm_tc::v1::{BearerId, PipelineChange, Transaction, UeId};
use ran::{
    AtEnd, BearerConfig, Cell, CellConfig, Duplexing, McsSeries, Numerology, SliceShare,
    TddPattern, Uplink, UplinkConfig,
};
use tc_rf::{TrafficControl, templates};
use traffic::{
    AppConfig, CongestionAlgorithm, FlowConfig, PingConfig, TcpConfig, UdpCbrConfig, VoipConfig,
};

use super::bearer::{Bearer, Measured, Tally};
use super::flow::{BoundFlow, Queuing};
use super::packet::GnbPacket;
use super::random::SplitMix64;
use super::rlc_queue::RlcQueue;
use super::sdap_clock::SdapClock;
use crate::scenario::{
    self, Channel, CongestionControl, Drb, Flow, FlowKind, FlowUe, LoadedScenario, MAX_TRACE_BYTES,
    MacScheduler, PipelineSpec, Rat, ScenarioError, Violation, read_bounded,
};

const IP_UDP_HEADER_BYTES: u32 = 28;

/// A UE of the world and when it is there.
#[derive(Clone, Debug)]
pub(super) struct UePlan {
    pub(super) config: ran::UeConfig,
    pub(super) join_us: u64,
    pub(super) leave_us: Option<u64>,
    /// Its bearers: index in the world and configuration.
    pub(super) bearers: Vec<(u32, BearerConfig)>,
    pub(super) uplink: Uplink,
}

/// The parts, before they are put together.
pub(super) struct Parts {
    pub(super) cell: Cell<GnbPacket>,
    pub(super) ues: Vec<UePlan>,
    pub(super) bearers: Vec<Bearer>,
    pub(super) flows: Vec<BoundFlow>,
    pub(super) core_jitter: SplitMix64,
    pub(super) sdap_clock: SdapClock,
}

/// Sets everything up.
pub(super) fn parts(loaded: &LoadedScenario) -> Result<Parts, ScenarioError> {
    let builder = Builder { loaded, traces: HashMap::new() };
    builder
        .build()
        .map_err(|violation| ScenarioError::new(&loaded.file, violation.path, violation.message))
}

struct Builder<'a> {
    loaded: &'a LoadedScenario,
    /// Traces already read, so that many UEs share one.
    traces: HashMap<String, ran::MahimahiTrace>,
}

/// An independent seed for stream `number` of a kind.
fn stream_seed(seed: u64, kind: u64, number: u64) -> u64 {
    SplitMix64::new(seed ^ (kind << 56) ^ number.rotate_left(24)).next()
}

const STREAM_CELL: u64 = 1;
const STREAM_TC: u64 = 2;
const STREAM_FLOW: u64 = 3;
const STREAM_CORE: u64 = 4;
const STREAM_SDAP: u64 = 5;

pub(super) fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}

impl Builder<'_> {
    fn build(mut self) -> Result<Parts, Violation> {
        let scenario = &self.loaded.scenario;
        let config = cell_config(scenario)?;
        let uplink = uplink(&config)?;
        let cell: Cell<GnbPacket> =
            Cell::new(config).map_err(|error| Violation::new("cell", error.to_string()))?;
        // UEs attach when their time comes; that they can is found out now.
        let mut trial = cell.clone();
        let mut bearers = Vec::new();
        let mut ues = Vec::new();
        for (index, ue) in scenario.ues.iter().enumerate() {
            let path = format!("ues[{index}]");
            let entry = index;
            let channel = self.channel(&ue.channel, &format!("{path}.channel"))?;
            for offset in 0..ue.count {
                let rnti = ue.rnti + offset;
                let mut own = Vec::with_capacity(ue.drbs.len());
                let config = ran::UeConfig {
                    rnti,
                    channel: channel.clone(),
                    slice: slice_of(scenario, entry),
                };
                trial
                    .add_ue(config.clone())
                    .map_err(|error| Violation::new(&*path, error.to_string()))?;
                for (index, drb) in ue.drbs.iter().enumerate() {
                    let path = format!("{path}.drbs[{index}]");
                    let number = bearers.len() as u32;
                    bearers.push(self.bearer(ues.len() as u32, rnti, drb, number, &path)?);
                    let rlc = rlc_config(drb);
                    trial
                        .add_bearer(rnti, rlc.clone())
                        .map_err(|error| Violation::new(&*path, error.to_string()))?;
                    own.push((number, rlc));
                }
                ues.push(UePlan {
                    config,
                    join_us: micros(ue.join_at_s),
                    leave_us: ue.leave_at_s.map(micros),
                    bearers: own,
                    uplink: uplink.clone(),
                });
            }
        }
        let flows = self.flows(&ues, &bearers)?;
        let core_jitter = SplitMix64::new(stream_seed(scenario.seed, STREAM_CORE, 0));
        let sdap_random = SplitMix64::new(stream_seed(scenario.seed, STREAM_SDAP, 0));
        let sdap_clock = SdapClock::new(scenario.split.sdap_poll_us, sdap_random);
        Ok(Parts { cell, ues, bearers, flows, core_jitter, sdap_clock })
    }

    fn channel(&mut self, channel: &Channel, path: &str) -> Result<ran::Channel, Violation> {
        match channel {
            Channel::FixedMcs(mcs) => Ok(ran::Channel::FixedMcs(*mcs)),
            Channel::McsSeries(series) => McsSeries::new(
                u64::from(series.period_ms) * 1000,
                series.values.clone(),
                AtEnd::Loop,
            )
            .map(ran::Channel::McsSeries)
            .map_err(|error| Violation::new(format!("{path}.mcs_series"), error.to_string())),
            Channel::Mahimahi(trace) => {
                let path = format!("{path}.mahimahi.path");
                let wrong =
                    |message: String| Violation::new(&*path, format!("{}: {message}", trace.path));
                if !self.traces.contains_key(&trace.path) {
                    let file = self.loaded.directory.join(Path::new(&trace.path));
                    let bytes = read_bounded(&file, MAX_TRACE_BYTES).map_err(wrong)?;
                    let text = String::from_utf8(bytes)
                        .map_err(|_| wrong("not text; expected one integer a line".to_owned()))?;
                    let parsed = ran::MahimahiTrace::parse(&text)
                        .map_err(|error| wrong(error.to_string()))?;
                    self.traces.insert(trace.path.clone(), parsed);
                }
                Ok(ran::Channel::Mahimahi(self.traces[&trace.path].clone()))
            }
        }
    }

    fn bearer(
        &self,
        ue: u32,
        rnti: u16,
        drb: &Drb,
        number: u32,
        path: &str,
    ) -> Result<Bearer, Violation> {
        let id = BearerId { ue: UeId::Rnti(rnti), drb: drb.id };
        let seed = stream_seed(self.loaded.scenario.seed, STREAM_TC, u64::from(number));
        let safe_path = format!("{path}.safe_pipeline");
        let safe = pipeline(&drb.safe_pipeline, &safe_path)?;
        let mut tc = TrafficControl::new(id, safe, seed)
            .map_err(|error| Violation::new(safe_path, error.to_string()))?;
        let mut tally = Tally::default();
        if drb.pipeline != drb.safe_pipeline {
            let path = format!("{path}.pipeline");
            let transaction = Transaction {
                bearer: id,
                expected_revision: None,
                lease_ms: None,
                dry_run: false,
                change: PipelineChange::Replace(pipeline(&drb.pipeline, &path)?),
            };
            let outcome = tc.apply(&transaction, 0, &mut tally);
            if let e2sm_tc::v1::ControlOutcome::Refused { element, detail, .. } = outcome {
                return Err(Violation::new(path, format!("{element}: {detail}")));
            }
        }
        Ok(Bearer {
            rnti,
            drb: drb.id,
            ue,
            tc,
            cell: None,
            rlc_queue: drb.rlc.aqm.map(|aqm| RlcQueue::new(aqm, &drb.rlc)),
            tally,
            measured: Measured::default(),
        })
    }

    fn flows(&self, ues: &[UePlan], bearers: &[Bearer]) -> Result<Vec<BoundFlow>, Violation> {
        let mut bound = Vec::new();
        for (index, flow) in self.loaded.scenario.flows.iter().enumerate() {
            let path = format!("flows[{index}]");
            let config = flow_config(flow);
            for ue in ues {
                let rnti = ue.config.rnti;
                if matches!(flow.rnti, Some(FlowUe::Rnti(wanted)) if wanted != rnti) {
                    continue;
                }
                let Some(&(bearer, _)) = ue.bearers.iter().find(|(number, _)| {
                    flow.drb.is_none_or(|drb| bearers[*number as usize].drb == drb)
                }) else {
                    return Err(Violation::new(format!("{path}.drb"), "no such DRB"));
                };
                let number = bound.len() as u32;
                let seed = stream_seed(self.loaded.scenario.seed, STREAM_FLOW, u64::from(number));
                let ends = traffic::Flow::new(number, &config, seed)
                    .map_err(|error| Violation::new(&*path, error.to_string()))?;
                let each = flow.rnti == Some(FlowUe::Each);
                bound.push(BoundFlow {
                    name: if each { format!("{}@{rnti}", flow.name) } else { flow.name.clone() },
                    kind: flow.kind,
                    rnti,
                    drb: bearers[bearer as usize].drb,
                    qfi: flow.qfi,
                    bearer,
                    start_us: config.start_us,
                    stop_us: config.stop_us,
                    ends,
                    queuing: Queuing::default(),
                });
            }
        }
        Ok(bound)
    }
}

/// The composition a scenario names or spells out.
fn pipeline(spec: &PipelineSpec, path: &str) -> Result<e2sm_tc::v1::Pipeline, Violation> {
    match spec {
        PipelineSpec::Full(pipeline) => Ok(pipeline.as_ref().clone()),
        PipelineSpec::Template(name) => {
            templates::by_name(name, &templates::TemplateParams::default()).ok_or_else(|| {
                Violation::new(path, format!("'{name}' is no template; expected {TEMPLATES}"))
            })
        }
    }
}

const TEMPLATES: &str =
    "one of transparent, bdp_only, fq_codel, segregate_greedy, flow_slicing, l4s";

fn cell_config(scenario: &scenario::Scenario) -> Result<CellConfig, Violation> {
    let cell = &scenario.cell;
    let base = match cell.rat {
        Rat::Lte => CellConfig::lte_5mhz(),
        Rat::Nr => CellConfig { reserved: None, ..CellConfig::nr_n78_106prb() },
    };
    let tbs = match cell.rat {
        Rat::Lte => ran::tbs::TbsConfig::Lte,
        Rat::Nr => ran::tbs::TbsConfig::Nr {
            mcs_table: match cell.mcs_table {
                scenario::McsTable::Qam64 => ran::tbs::nr::McsTable::Qam64,
                scenario::McsTable::Qam256 => ran::tbs::nr::McsTable::Qam256,
            },
            layers: cell.layers,
            overhead: ran::tbs::nr::NrOverhead::default(),
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
    Ok(CellConfig {
        n_prb: cell.n_prb,
        numerology: Numerology::from_scs_khz(u32::from(cell.scs_khz))
            .map_err(|error| Violation::new("cell.scs_khz", error.to_string()))?,
        duplexing,
        tbs,
        scheduler: scheduler(scenario),
        reserved,
        seed: stream_seed(scenario.seed, STREAM_CELL, 0),
        ..base
    })
}

fn scheduler(scenario: &scenario::Scenario) -> ran::SchedulerConfig {
    match scenario.cell.scheduler {
        MacScheduler::RoundRobin => ran::SchedulerConfig::RoundRobin,
        MacScheduler::FixedPartition => ran::SchedulerConfig::FixedPartition(
            (0..=u8::MAX)
                .zip(&scenario.ues)
                .map(|(slice, ue)| SliceShare { slice, percent: ue.prb_share_percent.unwrap_or(0) })
                .collect(),
        ),
    }
}

/// Under fixed partition each entry of the scenario's UEs is a slice of its own.
fn slice_of(scenario: &scenario::Scenario, entry: usize) -> u8 {
    match scenario.cell.scheduler {
        MacScheduler::RoundRobin => 0,
        MacScheduler::FixedPartition => entry as u8,
    }
}

/// Uplink access of the cell: requests in the first uplink slot of a TDD pattern.
fn uplink(cell: &CellConfig) -> Result<Uplink, Violation> {
    let config = match (&cell.tbs, &cell.duplexing) {
        (ran::tbs::TbsConfig::Lte, _) => UplinkConfig::lte_fdd(),
        (_, Duplexing::Fdd) => UplinkConfig { sr_offset_us: 0, ..UplinkConfig::nr_n78() },
        (_, Duplexing::Tdd(pattern)) => {
            let slot_us = u64::from(cell.numerology.slot_us());
            let first = (0..pattern.period_slots())
                .find(|slot| cell.duplexing.carries_uplink(*slot))
                .unwrap_or(0);
            UplinkConfig {
                sr_period_us: (pattern.period_slots() * slot_us) as u32,
                sr_offset_us: (first * slot_us) as u32,
                ..UplinkConfig::nr_n78()
            }
        }
    };
    Uplink::new(config, cell.numerology, &cell.duplexing)
        .map_err(|error| Violation::new("cell.tdd.pattern", error.to_string()))
}

fn rlc_config(drb: &Drb) -> BearerConfig {
    let sn_length = match drb.rlc.sn_bits {
        6 => ran::rlc::SnLength::Six,
        _ => ran::rlc::SnLength::Twelve,
    };
    let um = ran::rlc::UmConfig { sn_length, ..ran::rlc::UmConfig::default() };
    BearerConfig {
        mode: ran::RlcMode::Um(um),
        limit_packets: drb.rlc.limit_packets,
        limit_bytes: drb.rlc.limit_bytes,
        ..BearerConfig::um(drb.id)
    }
}

fn flow_config(flow: &Flow) -> FlowConfig {
    let app = match flow.kind {
        FlowKind::Tcp => AppConfig::Tcp(TcpConfig {
            congestion: match flow.congestion_control.unwrap_or_default() {
                CongestionControl::Cubic => CongestionAlgorithm::Cubic,
                CongestionControl::Reno => CongestionAlgorithm::Reno,
            },
            ecn: flow.ecn.unwrap_or(false),
            hystart: flow.hystart.unwrap_or(true),
            receive_window_bytes: flow
                .receive_window_bytes
                .map_or(TcpConfig::default().receive_window_bytes, u64::from),
            mss_bytes: flow.mss_bytes.map_or(TcpConfig::default().mss_bytes, u32::from),
            ..TcpConfig::default()
        }),
        FlowKind::UdpCbr => {
            let packet_bytes = flow.packet_bytes.unwrap_or(1500).max(IP_UDP_HEADER_BYTES + 1);
            let payload_bytes = packet_bytes - IP_UDP_HEADER_BYTES;
            // The scenario counts IP headers, the sender its payload.
            let rate_bps = u64::from(flow.rate_kbps.unwrap_or(1)) * 1000 * u64::from(payload_bytes)
                / u64::from(packet_bytes);
            AppConfig::UdpCbr(UdpCbrConfig { rate_bps, payload_bytes })
        }
        FlowKind::Voip => AppConfig::Voip(VoipConfig::default()),
        FlowKind::Ping => {
            let default = PingConfig::default();
            AppConfig::Ping(PingConfig {
                interval_us: flow
                    .interval_ms
                    .map_or(default.interval_us, |ms| u64::from(ms) * 1000),
                payload_bytes: flow
                    .packet_bytes
                    .map_or(default.payload_bytes, |bytes| bytes - IP_UDP_HEADER_BYTES),
            })
        }
    };
    FlowConfig {
        app,
        start_us: micros(flow.start_s),
        stop_us: flow.stop_s.map(micros),
        // A phase of its own, drawn from the seed: flows do not beat in step with the slots.
        start_jitter_us: 20_000,
        dscp: flow.dscp,
    }
}
