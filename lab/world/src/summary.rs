//! Summary of a run, serialized with units in the keys.

mod handover;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use traffic::{Deadlines, DelaySummary, Direction, Figures};

use super::packet_kind::ByKind;
pub use handover::{CellUse, HandoverRecord, HandoverSummary, UeHandovers};

/// Metrics of a run from virtual time 0 until now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed.
    pub seed: u64,
    /// Unix time of virtual time 0.
    pub epoch_us: u64,
    /// Virtual time.
    pub duration_s: f64,
    /// The cell, or the sum of several.
    pub cell: CellSummary,
    /// The cells and the handovers between them; absent with one cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverSummary>,
    /// What an operator reports of the cell.
    pub ts_28_552: Ts28552,
    /// The bearer and the flow whose packets waited longest.
    pub worst: Worst,
    /// A row per bearer, in the order of the scenario.
    pub bearers: Vec<BearerSummary>,
    /// A row per flow, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
}

impl Summary {
    /// The text of `summary.json`: the summary and the program's version.
    ///
    /// # Errors
    /// Values that JSON cannot represent.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut summary = serde_json::to_value(self)?;
        if let Some(object) = summary.as_object_mut() {
            object.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
        }
        Ok(format!("{summary:#}\n"))
    }
}

/// Resources of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellSummary {
    /// PRBs that carried data.
    pub used_prb: u64,
    /// PRBs available for data.
    pub available_prb: u64,
    /// Their ratio.
    pub used_rb_pct: f64,
    /// SDUs lost on the radio.
    pub lost_sdus: u64,
    /// First transmissions of downlink blocks that failed, percent; absent without any.
    pub downlink_first_errors_pct: Option<f64>,
    /// The same of the uplink.
    pub uplink_first_errors_pct: Option<f64>,
    /// What the run could not have more of.
    pub bound: Bound,
}

/// Measurements of all bearers in the names and units of 3GPP TS 28.552: delays are means over packets in
/// 0.1 ms, rates of drops are in 10⁻⁶; absent without packets. A pipeline moves delay from the RLC to the
/// CU-UP: judge by the sum. What its queue disciplines drop to signal senders counts as dropped by PDCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ts28552 {
    /// CU-UP with the TC pipeline (5.1.3.3.1).
    #[serde(rename = "DRB.PdcpSduDelayDl")]
    pub pdcp_sdu_delay_dl: Option<f64>,
    /// F1-U (5.1.3.3.2).
    #[serde(rename = "DRB.PdcpF1DelayDl")]
    pub pdcp_f1_delay_dl: Option<f64>,
    /// gNB-DU (5.1.3.3.3).
    #[serde(rename = "DRB.RlcSduDelayDl")]
    pub rlc_sdu_delay_dl: Option<f64>,
    /// Dropped by the pipelines (5.1.3.2.1).
    #[serde(rename = "DRB.PdcpPacketDropRateDl")]
    pub pdcp_packet_drop_rate_dl: Option<f64>,
    /// Dropped by the RLC (5.1.3.2.2).
    #[serde(rename = "DRB.RlcPacketDropRateDl")]
    pub rlc_packet_drop_rate_dl: Option<f64>,
}

impl fmt::Display for Ts28552 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
        write!(
            f,
            "TS 28.552, 0.1 ms and 10^-6: DRB.PdcpSduDelayDl {}, DRB.PdcpF1DelayDl {}, \
             DRB.RlcSduDelayDl {}, DRB.PdcpPacketDropRateDl {}, DRB.RlcPacketDropRateDl {}",
            value(self.pdcp_sdu_delay_dl),
            value(self.pdcp_f1_delay_dl),
            value(self.rlc_sdu_delay_dl),
            value(self.pdcp_packet_drop_rate_dl),
            value(self.rlc_packet_drop_rate_dl),
        )
    }
}

/// What bounded the traffic of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// 95 % or more of the downlink's resource blocks were used.
    DownlinkPrb,
    /// The UEs had 90 % or more of the uplink's resource blocks: acknowledgements and uploads wait
    /// there.
    Uplink {
        /// C-RNTI of the UE with the largest share.
        rnti: u16,
    },
    /// Power of a UE: in 90 % or more of the uplink slots it sent as much as that allows and had data left. Acknowledgements
    /// and uploads wait in the UE although resource blocks are free.
    UplinkPower {
        /// C-RNTI of the UE that was most often so.
        rnti: u16,
    },
    /// Neither: the senders, by what they have to send, their windows, or the pipelines.
    Senders,
}

impl Bound {
    /// Used downlink resource blocks of a cell that has no more to give, percent.
    const FULL_DOWNLINK_PCT: f64 = 95.0;
    /// Used uplink resource blocks of a cell that has no more to give, percent.
    pub(crate) const FULL_UPLINK_PCT: f64 = 90.0;

    pub(crate) fn of(used_rb_pct: f64, bearers: &[BearerSummary]) -> Self {
        let uplinks: BTreeMap<u16, f64> =
            bearers.iter().filter_map(|one| Some((one.rnti, one.uplink_used_pct?))).collect();
        let used_pct: f64 = uplinks.values().sum();
        let most = uplinks.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let limited = bearers.iter().filter_map(|one| Some((one.rnti, one.uplink_full_pct?)));
        let fullest = limited.max_by(|(_, a), (_, b)| a.total_cmp(b));
        match most {
            _ if used_rb_pct >= Self::FULL_DOWNLINK_PCT => Self::DownlinkPrb,
            Some((rnti, _)) if used_pct >= Self::FULL_UPLINK_PCT => Self::Uplink { rnti },
            _ => fullest.map_or(Self::Senders, |(rnti, _)| Self::UplinkPower { rnti }),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DownlinkPrb => f.write_str("bounded by the downlink's resource blocks"),
            Self::Uplink { rnti } => {
                write!(f, "bounded by the uplink's resource blocks, of which UE {rnti} had most")
            }
            Self::UplinkPower { rnti } => {
                write!(f, "bounded by the uplink: the power of UE {rnti} reaches no further")
            }
            Self::Senders => f.write_str("bounded by senders or pipelines: the radio had room"),
        }
    }
}

/// The bearer and the flow with the highest 95th percentile of the time in the gNB: a percentile over
/// several bearers hides the one that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Worst {
    /// Absent if no packet left the gNB.
    pub bearer: Option<WorstBearer>,
    /// Absent if no packet left the gNB.
    pub flow: Option<WorstFlow>,
}

/// A bearer and how long its packets took from SDAP to the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorstBearer {
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// 95th percentile.
    pub sojourn_p95_ms: f64,
}

/// A flow and how long its packets took from SDAP to the MAC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstFlow {
    /// Name in the scenario.
    pub name: String,
    /// C-RNTI of its UE.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// 95th percentile.
    pub queuing_p95_ms: f64,
}

impl Worst {
    pub(crate) fn of(bearers: &[BearerSummary], flows: &[FlowSummary]) -> Self {
        let bearers = bearers.iter().filter(|bearer| bearer.sojourn_ms.count > 0);
        let flows = flows.iter().filter(|flow| flow.queuing_ms.count > 0);
        let bearer = bearers.max_by(|a, b| a.sojourn_ms.p95.total_cmp(&b.sojourn_ms.p95));
        let flow = flows.max_by(|a, b| a.queuing_ms.p95.total_cmp(&b.queuing_ms.p95));
        Self {
            bearer: bearer.map(|worst| WorstBearer {
                rnti: worst.rnti,
                drb: worst.drb,
                sojourn_p95_ms: worst.sojourn_ms.p95,
            }),
            flow: flow.map(|worst| WorstFlow {
                name: worst.name.clone(),
                rnti: worst.rnti,
                drb: worst.drb,
                queuing_p95_ms: worst.queuing_ms.p95,
            }),
        }
    }
}

/// Delay percentiles in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DelayMs {
    /// Samples.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl From<DelaySummary> for DelayMs {
    fn from(summary: DelaySummary) -> Self {
        let ms = |us: u64| us as f64 / 1e3;
        Self {
            count: summary.count,
            mean: summary.mean_us / 1e3,
            p50: ms(summary.p50_us),
            p95: ms(summary.p95_us),
            p99: ms(summary.p99_us),
            max: ms(summary.max_us),
        }
    }
}

/// One bearer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BearerSummary {
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Name of the pipeline in force.
    pub pipeline: String,
    /// Its revision.
    pub revision: u32,
    /// Packets that entered SDAP.
    pub ingress_packets: u64,
    /// Their bytes.
    pub ingress_bytes: u64,
    /// SDUs whose last byte went to the MAC.
    pub drained_packets: u64,
    /// Their bytes.
    pub drained_bytes: u64,
    /// Packets the pipeline dropped.
    pub tc_dropped_packets: u64,
    /// Packets the pipeline marked CE.
    pub tc_marked_packets: u64,
    /// Packets dropped by a full RLC buffer or its AQM.
    pub rlc_dropped_packets: u64,
    /// Packets that came from the core network while the UE was not attached.
    pub unattached_packets: u64,
    /// Packets the UE sent while it was not attached.
    pub unattached_uplink_packets: u64,
    /// Packets that were in the gNB or on the air when the UE left.
    pub released_packets: u64,
    /// Downlink packets lost on F1-U.
    pub f1_lost_packets: u64,
    /// Uplink packets lost on F1-U.
    pub f1_lost_uplink_packets: u64,
    /// Uplink packets dropped by the full queue of a UE.
    pub uplink_dropped_packets: u64,
    /// Uplink packets lost on the radio, or in the queue of a UE that left.
    pub uplink_lost_packets: u64,
    /// Share of the uplink's resource blocks that the UE had since it first sent, percent; absent for
    /// a recorded uplink and for a UE that has left.
    pub uplink_used_pct: Option<f64>,
    /// Share of the uplink slots in which the UE sent over all resource blocks that the carrier and its power allow
    /// and had data left, percent; absent below 90.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_full_pct: Option<f64>,
    /// Share of the slots in which the UE monitored the PDCCH, percent; absent without DRX and for a UE that
    /// has left.
    pub active_pct: Option<f64>,
    /// Re-establishments of RLC-AM after maxRetxThreshold.
    pub radio_link_failures: u64,
    /// What waited in the pipeline and in the RLC, sampled each ms.
    pub queued_bytes: QueuedBytesSummary,
    /// Age of the head of the RLC buffer, sampled each ms.
    pub rlc_hol_ms: DelayMs,
    /// Time from RLC enqueue to the last byte at the MAC.
    pub rlc_sojourn_ms: DelayMs,
    /// Time from SDAP ingress to the last byte at the MAC.
    pub sojourn_ms: DelayMs,
    /// The same of the packets of sparse flows, of greedy ones, and of those that waited when the
    /// pipeline in force took effect; of the seconds that have ended.
    pub sojourn_by_kind_ms: ByKind<DelayMs>,
}

/// Queue memory of a bearer, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueuedBytesSummary {
    /// Mean over time.
    pub mean: f64,
    /// Largest.
    pub peak: u64,
}

/// Frames or packets of an inelastic flow against their deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeadlineSummary {
    /// Time from the server to the UE within which a frame or packet is of use.
    pub budget_ms: f64,
    /// Frames or packets sent, except those that may still arrive in time.
    pub due_count: u64,
    /// Share of these that arrived within the budget.
    pub in_time_pct: f64,
    /// Those that arrived later.
    pub late_count: u64,
    /// Those that did not arrive, or of which a part did not.
    pub lost_count: u64,
}

impl From<Deadlines> for DeadlineSummary {
    fn from(deadlines: Deadlines) -> Self {
        let Deadlines { budget_us, due, in_time, late } = deadlines;
        Self {
            budget_ms: budget_us as f64 / 1e3,
            due_count: due,
            in_time_pct: percent(in_time, due),
            late_count: late,
            lost_count: deadlines.lost(),
        }
    }
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Name in the scenario.
    pub name: String,
    /// Its kind in the scenario.
    pub kind: &'static str,
    /// Direction of its data; goodput, packets sent, received, lost and marked, and the one-way delay
    /// are in this direction.
    pub direction: Direction,
    /// C-RNTI of its UE.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// Payload handed to the application per time that the flow was active.
    pub goodput_mbps: f64,
    /// Payload handed to the application.
    pub goodput_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that arrived.
    pub received_packets: u64,
    /// Lost packets.
    pub lost_packets: u64,
    /// Downlink packets that its bearer's TC pipeline dropped.
    pub tc_dropped_packets: u64,
    /// Downlink packets that a full RLC buffer, or the AQM in its place, dropped.
    pub rlc_dropped_packets: u64,
    /// Packets that arrived marked CE.
    pub ce_packets: u64,
    /// Delay from sending to arrival.
    pub one_way_delay_ms: DelayMs,
    /// SDAP and RLC of downlink packets (irazabal2021 §V-G).
    pub queuing_ms: DelayMs,
    /// Share of packets queued for less than 1 ms.
    pub queued_below_1ms_pct: f64,
    /// Seconds of the run in which the packets that left had been queued for more than 100 ms on average.
    pub queued_above_100ms_s: u64,
    /// Round trips of a ping or an echoed call.
    pub rtt_ms: Option<DelayMs>,
    /// UE to server, of packets that the UE originates.
    pub uplink_delay_ms: Option<DelayMs>,
    /// Deadlines met, of an inelastic flow of which a frame or packet was due.
    pub deadline: Option<DeadlineSummary>,
    /// Quality of experience of the application; each name ends with its unit.
    pub app: Figures,
}

/// A share in percent; 0 if `whole` is 0.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
