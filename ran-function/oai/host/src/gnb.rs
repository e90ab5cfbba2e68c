//! What the host needs of the gNB.

use e2sm_tc::v1::{BearerId, UeId};

/// Which bearer an SDU is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// UE as PDCP names it: in OAI the CU's UE id.
    pub ue: u64,
    /// UE as RLC and MAC name it, once they know it.
    pub rnti: Option<u16>,
    /// DRB identity (38.331).
    pub drb: u8,
}

impl Address {
    /// The bearer as E2 names it; none while the UE has no RNTI.
    pub(crate) fn id(self) -> Option<BearerId> {
        Some(BearerId { ue: UeId::Rnti(self.rnti?), drb: self.drb })
    }
}

/// The gNB, called by its own threads from within calls of the host.
pub trait Gnb: Send + Sync {
    /// Hands an SDU to PDCP, which numbers, ciphers and passes it to the RLC before this returns.
    /// Bytes that the RLC got, or none if PDCP refused it. Must not call the host.
    fn forward(&self, bearer: Address, sdu: &[u8]) -> Option<u32>;
}
