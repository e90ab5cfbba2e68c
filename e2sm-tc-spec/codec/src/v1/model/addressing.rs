//! Which bearer a message is about.

use serde::{Deserialize, Serialize};

/// How an E2 node names a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum UeId {
    /// C-RNTI, 38.321 §7.1. Unique per cell.
    Rnti(u16),
    /// gNB-CU UE F1AP ID, 38.473 §9.3.1.4.
    GnbCuUeF1apId(u32),
}

/// One data radio bearer of one UE: what a pipeline belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BearerId {
    /// The UE.
    pub ue: UeId,
    /// DRB identity, 1..=32 (38.331 DRB-Identity).
    pub drb: u8,
}
