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
    /// T304 has expired: the UE has re-established its connection, at `accessed_us` in `target`, which is then the
    /// cell that it selected. Left out of handovers that have not failed.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl HandoverRecord {
    /// The handover has failed, and the UE has moved on as `reestablished` says.
    pub(crate) fn fail(&mut self, reestablished: &Self) {
        let Self { accessed_us, target, target_rnti, .. } = *reestablished;
        *self = Self { accessed_us, target, target_rnti, failed: true, ..*self };
        self.forwarded_packets += reestablished.forwarded_packets;
        self.duplicated_packets += reestablished.duplicated_packets;
        self.lost_packets += reestablished.lost_packets;
        self.lost_uplink_packets += reestablished.lost_uplink_packets;
    }
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
    /// Handovers among them that failed. Left out if none did.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
}

impl UeHandovers {
    pub(crate) fn add(&mut self, record: &HandoverRecord) {
        self.handovers += 1;
        self.interruption_ms += (record.accessed_us - record.left_us) as f64 / 1e3;
        self.forwarded_packets += record.forwarded_packets;
        self.duplicated_packets += record.duplicated_packets;
        self.lost_packets += record.lost_packets;
        self.lost_uplink_packets += record.lost_uplink_packets;
        self.failed += u64::from(record.failed);
    }
}
