//! F1-U, HARQ and uplink access in a scenario.

use schemars::JsonSchema;
use serde::Deserialize;

use super::channel::Mahimahi;
use super::scheduler::UeScheduler;

/// HARQ of the cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Harq {
    /// Probability that a first transmission fails on a channel without an SNR, or an `ideal` one,
    /// 0..=1: the target BLER of link adaptation. Recorded channels (`mahimahi`) never fail: a trace
    /// records what was delivered.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bler: f64,
    /// Each retransmission fails this much less often than the transmission before it, 0..=1;
    /// 0.1 if unset.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub combining_gain: Option<f64>,
    /// Slots between two transmissions of a HARQ process, 1..=160; if unset, 8 in
    /// LTE (36.213 §7.3), in NR 10 and no more than 5 ms.
    #[schemars(range(min = 1, max = 160))]
    pub rtt_slots: Option<u16>,
    /// HARQ processes of a UE, 1..=16; if unset, 8 in LTE and 16 in NR.
    #[schemars(range(min = 1, max = 16))]
    pub processes: Option<u8>,
    /// Transmissions of a block, the first included, before it is lost to the RLC, 1..=4; 4 if
    /// unset.
    #[schemars(range(min = 1, max = 4))]
    pub max_transmissions: Option<u8>,
}

/// Resource elements of a PRB that carry no data (38.214 §5.1.3.2), NR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overhead {
    /// Symbols before the PDSCH, for the PDCCH, 0..=3; 1 if unset.
    #[schemars(range(max = 3))]
    pub pdcch_symbols: Option<u8>,
    /// DM-RS symbols of a PDSCH over a full slot, 1..=4; 1 if unset.
    #[schemars(range(min = 1, max = 4))]
    pub dmrs_symbols: Option<u8>,
    /// DM-RS symbols of a PDSCH in a mixed slot, 1..=4; 1 if unset.
    #[schemars(range(min = 1, max = 4))]
    pub mixed_dmrs_symbols: Option<u8>,
    /// Resource elements of a PRB without data in a DM-RS symbol: 12 with two CDM groups without data
    /// (configuration type 1), 6 with one; 12 if unset.
    #[schemars(range(min = 6, max = 12))]
    pub dmrs_re: Option<u8>,
    /// `xOverhead` of PDSCH-ServingCellConfig: 0, 6, 12 or 18; 0 if unset.
    #[schemars(range(max = 18))]
    pub x_overhead: Option<u8>,
}

/// Errors of one UE's transport blocks, in place of the cell's; for a channel without an SNR, or an
/// `ideal` one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UeHarq {
    /// Probability that a first transmission fails, 0..=1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bler: f64,
    /// Gain as in `cell.harq`; the value from there if unset.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub combining_gain: Option<f64>,
}

/// Uplink of the cell, which its UEs share: scheduling request, grant, buffer status report, PUSCH. Values that are unset depend on the radio
/// access technology (LTE: requests each 10 ms, PUSCH 8 ms after a request; NR: requests in the first
/// uplink slot of the pattern, PUSCH 4 ms after).
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UplinkAccess {
    /// Period of the scheduling request opportunities, 1..=1000000 µs.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sr_period_us: Option<u32>,
    /// First opportunity after the start of a period; less than the period.
    #[schemars(range(max = 999_999))]
    pub sr_offset_us: Option<u32>,
    /// Time from a scheduling request to the earliest PUSCH granted for it.
    #[schemars(range(max = 1_000_000))]
    pub sr_to_pusch_us: Option<u32>,
    /// Time from a PUSCH with a buffer status report to the earliest PUSCH granted for it.
    #[schemars(range(max = 1_000_000))]
    pub bsr_to_pusch_us: Option<u32>,
    /// PRBs of the PUSCH that answers a scheduling request, 1..=275; 5 if unset.
    #[schemars(range(min = 1, max = 275))]
    pub sr_grant_prb: Option<u16>,
    /// How long after a block with data the gNB grants `sr_grant_prb` PRBs of those that nobody else needs
    /// in each slot, unasked, at most 1 s; not if unset.
    #[schemars(range(max = 1_000_000))]
    pub preschedule_us: Option<u32>,
    /// Time from the end of the PUSCH until a packet leaves the gNB's PDCP.
    #[schemars(range(max = 1_000_000))]
    pub decode_us: Option<u32>,
    /// Scheduler of the uplink's PRBs; round robin if unset.
    pub scheduler: UeScheduler,
    /// MCS of the PUSCH, of the cell's table; if unset, by the SNR of the uplink, or that of the
    /// downlink where the channel has no SNR, and 10 beside a recorded downlink.
    #[schemars(range(max = 28))]
    pub mcs: Option<u8>,
    /// SNR of a single PRB at the UE's full power, over that of the downlink, -50..=80 dB; 1.3 if
    /// unset: 23 dBm against 49 dBm over 106 PRBs, noise figures of 5 and 9 dB, twice the antennas.
    #[schemars(range(min = -50.0, max = 80.0))]
    pub snr_offset_db: Option<f64>,
    /// SNR in each PRB that power control aims at, -50..=80 dB; 20 if unset.
    #[schemars(range(min = -50.0, max = 80.0))]
    pub target_snr_db: Option<f64>,
    /// Most packets in the queue of a UE for a DRB, 1..=1000000; 10000 if unset.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit_packets: Option<u32>,
    /// Most bytes in the queue of a UE for a DRB, at least 1500; unlimited if unset.
    #[schemars(range(min = 1500))]
    pub limit_bytes: Option<u32>,
}

/// An uplink of recorded delivery opportunities behind a drop-tail queue in the UE, as `mm-link` of
/// Mahimahi has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedUplink {
    /// Opportunities for bytes of IP packets; 1500 each if unset, without headers of PDCP, RLC and MAC.
    pub mahimahi: Mahimahi,
    /// Most packets that wait; 10000 if unset.
    #[serde(default = "ten_thousand")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub limit_packets: u32,
    /// Most bytes that wait; unlimited if unset.
    #[serde(default)]
    #[schemars(range(min = 1500))]
    pub limit_bytes: Option<u32>,
}

fn ten_thousand() -> u32 {
    10_000
}

/// F1-U beyond its delay (38.425). Each bearer has one tunnel per direction.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct F1 {
    /// Additional delay of a frame, uniform from 0 to this; at most 1 s.
    #[schemars(range(max = 1_000_000))]
    pub jitter_us: u32,
    /// Probability that a frame is lost, 0..=0.9, for packets of both directions and delivery status.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub loss: f64,
    /// Whether a tunnel preserves the order of frames; otherwise jitter reorders them.
    pub keep_order: bool,
    /// Period of the downlink data delivery status (38.425 §5.4.2), 500..=1000000 µs; detected loss
    /// of packets triggers one at once. The CU derives the state of the RLC from it. If unset, the
    /// DU reports the state of the RLC as `rlc_status` says.
    #[schemars(range(min = 500, max = 1_000_000))]
    pub delivery_status_us: Option<u32>,
    /// When the DU reports the state of the RLC; `each_slot` with `delivery_status_us`. A monolithic
    /// gNB reads it directly.
    pub rlc_status: RlcStatusReporting,
}

/// When a DU reports the state of the RLC to its CU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RlcStatusReporting {
    /// After each slot.
    #[default]
    EachSlot,
    /// Requested by the CU before each packet (stolidis2024 §III-B); needs an `f1_delay_us` of at
    /// least 100, or a monolithic gNB.
    OnRequest,
    /// Never: pacers use forecasts (stolidis2024's third set: "the DU is not involved").
    Never,
}

impl Default for F1 {
    fn default() -> Self {
        Self {
            jitter_us: 0,
            loss: 0.0,
            keep_order: true,
            delivery_status_us: None,
            rlc_status: RlcStatusReporting::default(),
        }
    }
}
