//! The state of bearers, flows and cell now, for metrics and live views.

/// One bearer now; the row of `bearers.parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BearerSample {
    /// Virtual time.
    pub time_us: u64,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// RLC buffer, bytes.
    pub rlc_occupancy_bytes: u32,
    /// RLC buffer, SDUs.
    pub rlc_occupancy_packets: u32,
    /// Age of the head of the RLC buffer; 0 when empty.
    pub hol_us: u64,
    /// Mean RLC sojourn over 100 ms.
    pub mean_sojourn_us: u32,
    /// Queued in the TC pipeline, bytes.
    pub tc_backlog_bytes: u64,
    /// Queued in the TC pipeline, packets.
    pub tc_backlog_packets: u32,
    /// What the pacer lets stand in the RLC; absent when it does not limit.
    pub pacer_limit_bytes: Option<u32>,
    /// Whether the pacer goes by a forecast; absent where it takes none.
    pub by_forecast: Option<bool>,
    /// Arrived at SDAP, cumulative.
    pub ingress_bytes: u64,
    /// SDU bytes drained by the MAC, cumulative.
    pub drained_bytes: u64,
    /// MCS of the UE.
    pub mcs: u8,
    /// PRBs the UE used, cumulative.
    pub used_prb: u64,
    /// The cell's PRBs.
    pub cell: CellSample,
}

/// One flow now, cumulative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Name in the scenario.
    pub name: String,
    /// Its kind in the scenario.
    pub kind: &'static str,
    /// C-RNTI of its UE.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// Payload handed to the application.
    pub goodput_bytes: u64,
    /// Its last round trip, of a ping or an echoed call.
    pub rtt_us: Option<u64>,
}

/// SDUs removed from a bearer's RLC buffer, cumulative: in RLC-AM when a status PDU acknowledged them,
/// in RLC-UM when their last byte went to the MAC (kumar2018 §III).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removals {
    /// SDUs.
    pub sdus: u64,
    /// Slots in which some were removed: blocks.
    pub blocks: u64,
    /// Sum of their delays from arrival in the RLC to removal, µs.
    pub delay_us: u64,
}

impl Removals {
    /// What came after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sdus: self.sdus.saturating_sub(before.sdus),
            blocks: self.blocks.saturating_sub(before.blocks),
            delay_us: self.delay_us.saturating_sub(before.delay_us),
        }
    }
}

/// Downlink PRBs of the cell, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellSample {
    /// PRBs that carried data.
    pub used_prb: u64,
    /// PRBs there were for data.
    pub available_prb: u64,
}

/// A downlink packet that left the RLC; the row of `packets.parquet`. Times are virtual µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSample {
    /// Index of its flow in the summary.
    pub flow: u32,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// IP datagram.
    pub len_bytes: u32,
    /// When the server sent it.
    pub sent_us: u64,
    /// When it entered SDAP.
    pub sdap_us: u64,
    /// When it entered the RLC.
    pub rlc_us: u64,
    /// When its last byte went to the MAC.
    pub mac_us: u64,
    /// When the UE had it.
    pub ue_us: u64,
    /// Whether it carries the mark of congestion.
    pub ce: bool,
    /// How long before `sent_us` its payload was first sent, µs: above 0 for what TCP retransmits.
    pub age_us: u32,
}
