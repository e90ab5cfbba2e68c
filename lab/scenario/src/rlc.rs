//! The RLC entity of a bearer.

use schemars::JsonSchema;
use serde::Deserialize;

/// RLC mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RlcMode {
    /// Unacknowledged mode (38.322 §5.2.2).
    #[default]
    Um,
    /// Acknowledged mode (38.322 §5.2.3).
    Am,
}

impl RlcMode {
    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Um => "um",
            Self::Am => "am",
        }
    }
}

/// RLC entity.
///
/// `t_poll_retransmit_us`, `poll_pdu`, `poll_byte`, `max_retx_threshold`, `t_status_prohibit_us` and
/// `in_order` belong to mode `am`. Defaults are those of OAI's gNB, in LTE those of the default bearer
/// of kumar2018.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rlc {
    /// Mode.
    pub mode: RlcMode,
    /// Sequence number field: 6 or 12 bits in `um`, 12 or 18 in `am`.
    pub sn_bits: u8,
    /// SDU buffer in bytes; the prototype of irazabal2024 has 10 MB.
    #[schemars(range(min = 1500, max = 1_000_000_000))]
    pub limit_bytes: u32,
    /// SDU buffer in packets.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub limit_packets: u32,
    /// Queue management inside the RLC, in place of its FIFO.
    pub aqm: Option<RlcAqm>,
    /// Whether the RLC computes DRQL's limit itself and drops SDUs beyond it (stolidis2024 §IV-A), for
    /// a CU that forecasts that limit.
    pub drql_limit: bool,
    /// t-Reassembly: how long the receiver waits for missing segments; 15000 if unset, 35000 in
    /// `am` of LTE (its t-Reordering).
    #[schemars(range(max = 10_000_000))]
    pub t_reassembly_us: Option<u32>,
    /// t-Reordering of the UE's PDCP; 0 delivers packets in order of arrival. 100000 if unset.
    #[schemars(range(max = 10_000_000))]
    pub t_reordering_us: Option<u32>,
    /// t-PollRetransmit: time after which an unanswered poll is repeated; 45000 if unset.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub t_poll_retransmit_us: Option<u32>,
    /// pollPDU: a poll in every so many PDUs, 0 for infinity; 64 if unset, 16 in LTE.
    pub poll_pdu: Option<u32>,
    /// pollByte: a poll in every so many bytes, 0 for infinity; 500000 if unset, 0 in LTE.
    pub poll_byte: Option<u32>,
    /// maxRetxThreshold: retransmissions of an SDU that cause radio link failure, 1..=32; 32
    /// if unset, 4 in LTE.
    #[schemars(range(min = 1, max = 32))]
    pub max_retx_threshold: Option<u8>,
    /// t-StatusProhibit: least time between two status reports; 15000 if unset, 25000 in LTE
    /// (kumar2018 §IV).
    #[schemars(range(max = 10_000_000))]
    pub t_status_prohibit_us: Option<u32>,
    /// Whether the receiver delivers in order (36.322) or leaves that to PDCP (38.322); if unset,
    /// according to the radio access technology.
    pub in_order: Option<bool>,
}

impl Default for Rlc {
    fn default() -> Self {
        Self {
            mode: RlcMode::Um,
            sn_bits: 12,
            limit_bytes: 10_000_000,
            limit_packets: 1_000_000,
            aqm: None,
            drql_limit: false,
            t_reassembly_us: None,
            t_reordering_us: None,
            t_poll_retransmit_us: None,
            poll_pdu: None,
            poll_byte: None,
            max_retx_threshold: None,
            t_status_prohibit_us: None,
            in_order: None,
        }
    }
}

/// Queue management in place of the RLC's FIFO (irazabal2021 §V-D, abbasloo2019 §VI): the MAC draws
/// from the managed queue what its grant needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RlcAqm {
    /// A FIFO that drops its head when it is full.
    HeadDrop,
    /// CoDel (RFC 8289).
    Codel(RlcCodel),
    /// PIE (RFC 8033).
    Pie(RlcPie),
    /// BoDe (abbasloo2019 §V-C).
    Bode(RlcBode),
}

/// CoDel of the RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RlcCodel {
    /// Acceptable standing sojourn time.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub target_us: u32,
    /// Sliding window.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub interval_us: u32,
}

impl Default for RlcCodel {
    fn default() -> Self {
        Self { target_us: 5_000, interval_us: 100_000 }
    }
}

/// PIE of the RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RlcPie {
    /// Reference delay.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub target_us: u32,
    /// Between two updates of the drop probability.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub update_us: u32,
    /// α in thousandths of 1/s.
    #[schemars(range(min = 1, max = 100_000))]
    pub alpha_milli: u32,
    /// β in thousandths of 1/s.
    #[schemars(range(min = 1, max = 100_000))]
    pub beta_milli: u32,
}

impl Default for RlcPie {
    /// RFC 8033 §4.2 and §5.1.
    fn default() -> Self {
        Self { target_us: 15_000, update_us: 15_000, alpha_milli: 125, beta_milli: 1250 }
    }
}

/// BoDe of the RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcBode {
    /// `BoundedDelay`.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bound_us: u32,
}
