//! Around the RLC: F1-U above it, HARQ with its errors below, and how UEs come to send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// HARQ of the cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Harq {
    /// Chance that a first transmission fails, 0..=1: the BLER that link adaptation aims at.
    /// Recorded channels (`mahimahi`) never fail: a trace records what was delivered.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bler: f64,
    /// Each retransmission fails this much less often than the transmission before it, 0..=1;
    /// 0.1 when absent.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub combining_gain: Option<f64>,
    /// Slots from a transmission until its process can be used again, 1..=160; when absent, 8 in
    /// LTE (36.213 §7.3), in NR 10 and no more than 5 ms.
    #[schemars(range(min = 1, max = 160))]
    pub rtt_slots: Option<u16>,
    /// Transport blocks of a UE under way at a time, 1..=16; when absent, 8 in LTE and 16 in NR.
    #[schemars(range(min = 1, max = 16))]
    pub processes: Option<u8>,
    /// Transmissions of a block, the first included, before it is lost to the RLC, 1..=4; 4 when
    /// absent.
    #[schemars(range(min = 1, max = 4))]
    pub max_transmissions: Option<u8>,
}

/// Errors of one UE's transport blocks, in place of the cell's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UeHarq {
    /// Chance that a first transmission fails, 0..=1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bler: f64,
    /// As in `cell.harq`, which it is taken from when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub combining_gain: Option<f64>,
}

/// How a UE comes to send: scheduling request, grant, PUSCH. Each value is of the radio access
/// technology when absent (LTE: requests each 10 ms, PUSCH 8 ms after a request; NR: requests in
/// the first uplink slot of the pattern, PUSCH 4 ms after).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UplinkAccess {
    /// Period of the scheduling request opportunities, 1..=1000000 µs.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sr_period_us: Option<u32>,
    /// First opportunity after the start of a period; less than the period.
    #[schemars(range(max = 999_999))]
    pub sr_offset_us: Option<u32>,
    /// From a scheduling request to the earliest PUSCH it can be granted.
    #[schemars(range(max = 1_000_000))]
    pub sr_to_pusch_us: Option<u32>,
    /// From a PUSCH with a buffer status report to the earliest PUSCH granted for it.
    #[schemars(range(max = 1_000_000))]
    pub bsr_to_pusch_us: Option<u32>,
    /// Bytes a PUSCH carries, 32..=1000000.
    #[schemars(range(min = 32, max = 1_000_000))]
    pub tbs_bytes: Option<u32>,
    /// From the end of the PUSCH until a packet leaves the gNB's PDCP.
    #[schemars(range(max = 1_000_000))]
    pub decode_us: Option<u32>,
}

/// F1-U beyond its delay (38.425). Each bearer has a tunnel of its own in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct F1 {
    /// A frame takes up to this much longer, uniformly distributed, at most 1 s.
    #[schemars(range(max = 1_000_000))]
    pub jitter_us: u32,
    /// Chance that a frame is lost, 0..=0.9; packets of both directions and delivery status alike.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub loss: f64,
    /// Whether frames of a tunnel keep their order; without, jitter reorders them.
    pub keep_order: bool,
    /// Period of the downlink data delivery status (38.425 §5.4.2), 500..=1000000 µs; a frame is
    /// sent at once when packets are found lost. The CU then knows of the RLC what these frames
    /// say. When absent it is told the state of the RLC itself.
    #[schemars(range(min = 500, max = 1_000_000))]
    pub delivery_status_us: Option<u32>,
    /// When the CU is told the state of the RLC; `each_slot` with `delivery_status_us`. Without a
    /// way between CU and DU the CU knows it.
    pub rlc_status: RlcStatusTold,
}

/// When a DU apart tells its CU the state of the RLC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RlcStatusTold {
    /// After each slot.
    #[default]
    EachSlot,
    /// When the CU asks, which it does before each packet (stolidis2024 §III-B); `f1_delay_us` is
    /// at least 100 then, or 0 with nothing else on the way.
    OnRequest,
    /// Never: pacers live on forecasts (stolidis2024's third set: "the DU is not involved").
    Never,
}

impl Default for F1 {
    fn default() -> Self {
        Self {
            jitter_us: 0,
            loss: 0.0,
            keep_order: true,
            delivery_status_us: None,
            rlc_status: RlcStatusTold::default(),
        }
    }
}
