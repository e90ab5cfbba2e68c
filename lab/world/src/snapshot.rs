//! Present state of bearers, flows and cell: rows of tables, samples for metrics.

use traffic::Direction;

/// State of a bearer; a row of `bearers.parquet`.
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
    /// RLC limit of the pacer; `None` if it sets none.
    pub pacer_limit_bytes: Option<u32>,
    /// Whether the pacer uses a forecast; `None` if it supports none.
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
    /// Revision of the TC pipeline in force.
    pub tc_revision: u32,
    /// Bytes of RLC PDUs handed to the MAC, cumulative; it wraps at 32 bits, as in RLC reports.
    pub rlc_pdu_bytes: u32,
    /// Newest transport block of the UE; 0 in a slot without one.
    pub tbs_bytes: u64,
}

/// Delays of a bearer's delivered packets from SDAP to the MAC, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BearerDelay {
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Packets.
    pub packets: u64,
    /// Sum of their delays, µs.
    pub delay_us: u64,
}

/// State of a flow; counters are cumulative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Name in the scenario.
    pub name: String,
    /// Its kind in the scenario.
    pub kind: &'static str,
    /// Direction of its data.
    pub direction: Direction,
    /// C-RNTI of its UE.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// Payload handed to the application.
    pub goodput_bytes: u64,
    /// Last round trip of a ping or an echoed call.
    pub rtt_us: Option<u64>,
}

/// SDUs removed from a bearer's RLC buffer, cumulative: in RLC-AM when a status PDU acknowledged them,
/// in RLC-UM when their last byte went to the MAC (kumar2018 §III).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removals {
    /// SDUs.
    pub sdus: u64,
    /// Slots with removals.
    pub blocks: u64,
    /// Sum of their delays from arrival in the RLC to removal, µs.
    pub delay_us: u64,
}

impl Removals {
    /// Removals since `before`.
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
    /// PRBs available for data.
    pub available_prb: u64,
}

/// A downlink packet that left the RLC; a row of `packets.parquet`. Times are virtual µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSample {
    /// Index of its flow in the summary.
    pub flow: u32,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Length of the IP datagram.
    pub len_bytes: u32,
    /// Sent by the server.
    pub sent_us: u64,
    /// Entered SDAP.
    pub sdap_us: u64,
    /// Entered the RLC.
    pub rlc_us: u64,
    /// Its last byte went to the MAC.
    pub mac_us: u64,
    /// Received by the UE.
    pub ue_us: u64,
    /// Whether it is marked CE.
    pub ce: bool,
    /// Time from the first transmission of its payload to `sent_us`, µs: above 0 for retransmissions.
    pub age_us: u32,
}
