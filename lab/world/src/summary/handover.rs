//! Cells and handovers of a run.

use serde::Serialize;

/// One handover.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HandoverRecord {
    /// First C-RNTI of the UE, by which the scenario names it.
    pub ue_rnti: u16,
    /// Time at which the event triggered the UE's report.
    pub triggered_us: u64,
    /// End of service in the source.
    pub left_us: u64,
    /// End of the random access in the target.
    pub accessed_us: u64,
    /// Number of the source.
    pub source: usize,
    /// Number of the target.
    pub target: usize,
    /// C-RNTI in the source.
    pub source_rnti: u16,
    /// C-RNTI in the target.
    pub target_rnti: u16,
    /// Packets that the target sends because the source had not delivered them, as far as it knew.
    pub forwarded_packets: u64,
    /// Packets among those sent again that the UE had received.
    pub duplicated_packets: u64,
    /// Downlink packets lost: in flight with RLC-UM, and in the source's buffer without forwarding.
    pub lost_packets: u64,
    /// Uplink packets lost in flight, with RLC-UM.
    pub lost_uplink_packets: u64,
}

/// Several cells, and the handovers between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandoverSummary {
    /// A row per cell, in the order of the scenario.
    pub cells: Vec<CellUse>,
    /// A row per UE, in the order of the scenario.
    pub ues: Vec<UeHandovers>,
    /// The handovers in the order of time.
    pub handovers: Vec<HandoverRecord>,
}

/// Resource blocks of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CellUse {
    /// PRBs that carried data.
    pub used_prb: u64,
    /// PRBs available for data.
    pub available_prb: u64,
    /// Their ratio.
    pub used_rb_pct: f64,
}

/// Handovers of a UE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UeHandovers {
    /// First C-RNTI, by which the scenario names it.
    pub rnti: u16,
    /// Number of its cell at the end.
    pub cell: usize,
    /// Its handovers.
    pub handovers: u64,
    /// Time in which no cell served it because of them.
    pub interruption_ms: f64,
    /// Packets sent again in the target.
    pub forwarded_packets: u64,
    /// Packets sent again that the UE had received.
    pub duplicated_packets: u64,
    /// Downlink packets lost by them.
    pub lost_packets: u64,
    /// Uplink packets lost by them.
    pub lost_uplink_packets: u64,
}

impl UeHandovers {
    pub(crate) fn add(&mut self, record: &HandoverRecord) {
        self.handovers += 1;
        self.interruption_ms += (record.accessed_us - record.left_us) as f64 / 1e3;
        self.forwarded_packets += record.forwarded_packets;
        self.duplicated_packets += record.duplicated_packets;
        self.lost_packets += record.lost_packets;
        self.lost_uplink_packets += record.lost_uplink_packets;
    }
}
