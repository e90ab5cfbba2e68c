//! The account of all packets of a run, from kernel to kernel: what was read was written, was dropped for a
//! reason that is counted, or is still on its way.

use lab_world::{HostCounts, PacketAccount};
use serde::Serialize;

use crate::device::PointCounts;
use crate::inbox::BySender;
use crate::writer::WriteCounts;

/// Both directions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RunAccount {
    pub(crate) downlink: WayAccount,
    pub(crate) uplink: WayAccount,
    /// The gNB's own, with the flows that it emulates.
    pub(crate) gnb: PacketAccount,
}

/// Packets of real hosts in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct WayAccount {
    /// Read from the kernel of the sender.
    pub(crate) read_packets: u64,
    /// Second copies that faults made.
    pub(crate) duplicated_packets: u64,
    /// Dropped by faults, before or behind the gNB.
    pub(crate) dropped_by_faults_packets: u64,
    /// Given to the gNB, and taken from it.
    pub(crate) entered_gnb_packets: u64,
    pub(crate) left_gnb_packets: u64,
    /// Written to the kernel of the receiver, and those that it refused.
    pub(crate) written_packets: u64,
    pub(crate) refused_packets: u64,
    /// Waiting for the gNB, or held by faults.
    pub(crate) waiting_packets: u64,
    /// Nowhere, or in two places: 0 unless this program is wrong.
    pub(crate) unaccounted_packets: u64,
}

/// What was counted on the way of one direction, each at its own place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WayCounts {
    /// Came from the kernel, and those of them that wait for a step.
    pub(crate) came: u64,
    pub(crate) waiting: u64,
    pub(crate) before_gnb: PointCounts,
    /// Sent by the hosts of the world, those that have not left them, and those that arrived.
    pub(crate) hosts_sent: u64,
    pub(crate) hosts_waiting: u64,
    pub(crate) hosts_arrived: u64,
    pub(crate) behind_gnb: PointCounts,
    pub(crate) written: WriteCounts,
}

impl WayCounts {
    /// Closes the account; `in_gnb` packets are unaccounted for in the gNB.
    fn close(&self, in_gnb: u64) -> WayAccount {
        let Self { came, waiting, before_gnb, behind_gnb, written, .. } = *self;
        let gaps = [
            came.abs_diff(waiting + before_gnb.offered_packets),
            before_gnb.unaccounted(),
            before_gnb.passed_packets.abs_diff(self.hosts_sent + self.hosts_waiting),
            in_gnb,
            self.hosts_arrived.abs_diff(behind_gnb.offered_packets),
            behind_gnb.unaccounted(),
            behind_gnb.passed_packets.abs_diff(written.packets + written.refused_packets),
        ];
        let (before, behind) = (before_gnb.faults, behind_gnb.faults);
        WayAccount {
            read_packets: came,
            duplicated_packets: before.duplicated_packets + behind.duplicated_packets,
            dropped_by_faults_packets: before.dropped_packets() + behind.dropped_packets(),
            entered_gnb_packets: before_gnb.passed_packets,
            left_gnb_packets: behind_gnb.offered_packets,
            written_packets: written.packets,
            refused_packets: written.refused_packets,
            waiting_packets: waiting + before.held_packets + behind.held_packets,
            unaccounted_packets: gaps.into_iter().sum(),
        }
    }
}

/// The account of a run from the counts of its directions.
pub(crate) fn account(down: &WayCounts, up: &WayCounts, gnb: PacketAccount) -> RunAccount {
    RunAccount {
        downlink: down.close(gnb.downlink.unaccounted()),
        uplink: up.close(gnb.uplink.unaccounted()),
        gnb,
    }
}

/// The two directions before what the devices wrote is known.
pub(crate) fn directions(
    (came, waiting): (BySender, BySender),
    hosts: impl Iterator<Item = HostCounts>,
) -> (WayCounts, WayCounts) {
    let mut down = WayCounts { came: came.server, waiting: waiting.server, ..WayCounts::default() };
    let mut up = WayCounts { came: came.ues, waiting: waiting.ues, ..WayCounts::default() };
    for host in hosts {
        down.hosts_sent += host.server_sent;
        down.hosts_waiting += host.server_waiting;
        down.hosts_arrived += host.ue_arrived;
        up.hosts_sent += host.ue_sent;
        up.hosts_waiting += host.ue_waiting;
        up.hosts_arrived += host.server_arrived;
    }
    (down, up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_nowhere_shows_wherever_it_went() {
        let whole = WayCounts {
            came: 10,
            waiting: 1,
            before_gnb: PointCounts {
                offered_packets: 9,
                passed_packets: 9,
                ..PointCounts::default()
            },
            hosts_sent: 8,
            hosts_waiting: 1,
            hosts_arrived: 7,
            behind_gnb: PointCounts {
                offered_packets: 7,
                passed_packets: 7,
                ..PointCounts::default()
            },
            written: WriteCounts { packets: 6, writes: 3, refused_packets: 1 },
        };
        assert_eq!(whole.close(0).unaccounted_packets, 0);
        assert_eq!(whole.close(2).unaccounted_packets, 2, "in the gNB");
        let lost = |change: fn(&mut WayCounts)| {
            let mut way = whole;
            change(&mut way);
            way.close(0).unaccounted_packets
        };
        assert_eq!(lost(|way| way.came += 1), 1, "between kernel and devices");
        assert_eq!(lost(|way| way.before_gnb.faults.held_packets += 1), 1, "in a device");
        assert_eq!(lost(|way| way.hosts_sent -= 1), 1, "on the way into the gNB");
        assert_eq!(lost(|way| way.hosts_arrived += 1), 1, "on the way out of it");
        assert_eq!(lost(|way| way.written.packets -= 1), 1, "on the way to the kernel");
    }
}
