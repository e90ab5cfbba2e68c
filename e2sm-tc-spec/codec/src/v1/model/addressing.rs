//! Identifiers of UEs and bearers.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation, ViolationKind};
use crate::v1::per::*;

choice! {
    /// Identifier of a UE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum UeId { ...
        /// C-RNTI, 38.321 §7.1. Unique per cell.
        0 rnti => Rnti(u16),
        /// gNB-CU UE F1AP ID, 38.473 §9.3.1.4.
        1 gnb_cu_ue_f1ap_id => GnbCuUeF1apId(u32),
    }
}

sequence! {
    /// One data radio bearer of one UE; it has one pipeline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BearerId {
        /// The UE.
        ue: UeId,
        /// DRB identity, 1..=32 (38.331 DRB-Identity).
        drb: u8 as Int<1, 32>,
    }
}

sequence! {
    /// S-NSSAI of a slice (23.003 §28.4.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SNssai { ...
        /// Slice/service type; 1 is eMBB.
        sst: u8,
        /// Slice differentiator; none if absent.
        sd: Option<u32> as Option<Int<0, 0xff_ffff>>,
    }
}

sequence! {
    /// What a bearer carries, as far as the node knows.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BearerQos { ...
        /// 5QIs of its QoS flows (23.501 §5.7.4); empty if unknown.
        five_qis: Vec<u8> as ListOf<u8, 0, 64>,
        /// Slice of its PDU session.
        s_nssai: Option<SNssai>,
    }
}

/// Refuses a repeated bearer, with its position.
pub(super) fn each_once(bearers: impl Iterator<Item = BearerId>) -> Result<(), (usize, Violation)> {
    let mut seen = HashSet::new();
    for (index, bearer) in bearers.enumerate() {
        if !seen.insert(bearer) {
            let found = format!("{bearer:?} again");
            return Err((index, ViolationKind::DuplicateId.at("", "each bearer once", found)));
        }
    }
    Ok(())
}

choice!(foreign IpAddr {
    0 v4 => V4(Ipv4Addr),
    1 v6 => V6(Ipv6Addr),
});
