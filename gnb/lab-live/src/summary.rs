//! What a run was, beyond the summary of its world.

use std::fmt;

use lab_world::Summary;
use serde::Serialize;

use crate::lateness::LatenessSummary;
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

/// Devices and wall clock of a live run. Displayed as lines for a terminal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    pub(crate) lateness: LatenessSummary,
    pub(crate) read: ReadSummary,
    pub(crate) written_to_server: WriteCounts,
    pub(crate) written_to_ues: WriteCounts,
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
    /// Packets read after the last step.
    pub(crate) waiting_packets: u64,
}

impl fmt::Display for HostSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lateness, read, written_to_server: up, written_to_ues: down } = self;
        let LatenessSummary { late_slots, busy_slots, delivery_us, entry_us } = lateness;
        writeln!(
            f,
            "late slots {late_slots} of {busy_slots}; delivered late by p50 {} µs, p99 {} µs, max {} µs; \
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
        ];
        for (name, count) in outside.iter().filter(|(_, count)| *count > 0) {
            write!(f, "; {name} {count}")?;
        }
        Ok(())
    }
}
