//! What a run was, beyond the summary of its world.

use std::fmt;

use lab_world::Summary;
use serde::Serialize;
use serde_json::Value;

use crate::account::RunAccount;
use crate::device::{CapturePoint, PointCounts};
use crate::lateness::LatenessSummary;
use crate::packets::FileSummary;
use crate::writer::WriteCounts;

/// The summary of a live run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveSummary {
    /// That of the world: cell, bearers, flows.
    #[serde(flatten)]
    pub world: Summary,
    /// Devices and wall clock.
    pub live: HostSummary,
}

impl LiveSummary {
    /// The summary as JSON; `None`, and a line in the log, if it cannot be.
    pub(crate) fn to_json(&self) -> Option<Value> {
        serde_json::to_value(self)
            .inspect_err(|error| tracing::error!(%error, "the summary cannot be written as JSON"))
            .ok()
    }
}

/// Devices and wall clock of a live run. Displayed as lines for a terminal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    pub(crate) lateness: LatenessSummary,
    pub(crate) read: ReadSummary,
    pub(crate) written_to_server: WriteCounts,
    pub(crate) written_to_ues: WriteCounts,
    pub(crate) capture_points: PointSummaries,
    pub(crate) packets: RunAccount,
    /// Captures and logs.
    pub(crate) files: Vec<FileSummary>,
}

/// What passed the capture points between kernels and gNB, and what faults did there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PointSummaries {
    pub(crate) server_in: PointCounts,
    pub(crate) ue_in: PointCounts,
    pub(crate) ue_out: PointCounts,
    pub(crate) server_out: PointCounts,
}

impl PointSummaries {
    pub(crate) fn of(counts: impl Fn(CapturePoint) -> PointCounts) -> Self {
        Self {
            server_in: counts(CapturePoint::ServerIn),
            ue_in: counts(CapturePoint::UeIn),
            ue_out: counts(CapturePoint::UeOut),
            server_out: counts(CapturePoint::ServerOut),
        }
    }

    fn named(&self) -> [(CapturePoint, &PointCounts); 4] {
        [
            (CapturePoint::ServerIn, &self.server_in),
            (CapturePoint::UeIn, &self.ue_in),
            (CapturePoint::UeOut, &self.ue_out),
            (CapturePoint::ServerOut, &self.server_out),
        ]
    }
}

/// What was read from the devices and did not enter the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ReadSummary {
    /// Frames of the kernels, each of one packet or of a segment to be cut.
    pub(crate) frames: u64,
    /// Frames that no packet can be.
    pub(crate) refused_frames: u64,
    pub(crate) not_ip_packets: u64,
    pub(crate) multicast_packets: u64,
    /// Packets to an address that no UE has.
    pub(crate) packets_without_ue: u64,
}

impl fmt::Display for HostSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lateness, read, written_to_server: up, written_to_ues: down, .. } = self;
        let LatenessSummary { late_slots, busy_slots, worst_slot_us, delivery_us, entry_us } =
            lateness;
        writeln!(
            f,
            "late slots {late_slots} of {busy_slots}, the latest by {worst_slot_us} µs; delivered late by p50 {} µs, p99 {} µs, max {} µs; \
             entered late by p99 {} µs",
            delivery_us.p50, delivery_us.p99, delivery_us.max, entry_us.p99,
        )?;
        write!(
            f,
            "frames read {}; packets written to UEs {} in {} writes, to the server {} in {} writes",
            read.frames, down.packets, down.writes, up.packets, up.writes,
        )?;
        let outside = [
            ("frames refused", read.refused_frames),
            ("packets not IP", read.not_ip_packets),
            ("to no UE", read.packets_without_ue),
            ("refused by a kernel", up.refused_packets + down.refused_packets),
            ("to a UE that is not attached", self.packets.gnb.downlink.unattached),
            ("of a UE that is not attached", self.packets.gnb.uplink.unattached),
            ("unaccounted for", self.unaccounted_packets()),
        ];
        for (name, count) in outside.iter().filter(|(_, count)| *count > 0) {
            write!(f, "; {name} {count}")?;
        }
        self.write_faults(f)?;
        for file in &self.files {
            let FileSummary { path, received_packets, left_out_packets, .. } = file;
            let written = received_packets - left_out_packets;
            write!(f, "\n{}: packets {written}, left out {left_out_packets}", path)?;
        }
        Ok(())
    }
}

impl HostSummary {
    /// Packets that are nowhere, or in two places.
    fn unaccounted_packets(&self) -> u64 {
        let RunAccount { downlink, uplink, .. } = self.packets;
        downlink.unaccounted_packets + uplink.unaccounted_packets
    }

    /// A line for each capture point with faults.
    fn write_faults(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (point, counts) in self.capture_points.named() {
            let named = counts.faults.named();
            let mut met = named.iter().filter(|(_, count)| *count > 0).peekable();
            if met.peek().is_some() {
                write!(f, "\nfaults at {}, packets {}", point.name(), counts.offered_packets)?;
            }
            for (name, count) in met {
                write!(f, "; {name} {count}")?;
            }
        }
        Ok(())
    }
}
