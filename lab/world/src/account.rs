//! The account of all packets of the world, from their senders to their receivers.

use serde::Serialize;

use super::World;
use super::bearer::Measured;

/// Packets of all flows since virtual time 0, by where they are or how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketAccount {
    /// Servers to UEs.
    pub downlink: DownlinkAccount,
    /// UEs to servers.
    pub uplink: UplinkAccount,
}

/// Packets from servers to UEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DownlinkAccount {
    /// Sent by servers.
    pub sent: u64,
    /// Packets on the way from a server to the gNB.
    pub on_core: u64,
    /// Came for a UE that was not attached.
    pub unattached: u64,
    /// Packets in pipelines, on F1-U, in the RLC, or sent and not yet received.
    pub in_gnb: u64,
    /// Dropped by TC pipelines: queue disciplines, limits, policers.
    pub dropped_by_pipeline: u64,
    /// Dropped by a full RLC buffer, or by the AQM in its place.
    pub dropped_by_rlc: u64,
    /// Lost on F1-U.
    pub lost_on_f1: u64,
    /// Lost on the radio.
    pub lost_on_radio: u64,
    /// Packets in the gNB or on the air when their UE left.
    pub released: u64,
    /// Being decoded by a UE.
    pub at_ue: u64,
    /// Arrived at the ends of their flows.
    pub arrived: u64,
}

/// Packets from UEs to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UplinkAccount {
    /// Sent by UEs.
    pub sent: u64,
    /// Sent while the UE was not attached.
    pub unattached: u64,
    /// Dropped by the full queue of a UE.
    pub dropped_by_ue: u64,
    /// Lost on the radio, or in a UE that left.
    pub lost_on_radio: u64,
    /// Lost on F1-U.
    pub lost_on_f1: u64,
    /// Packets in UEs and on the way to a server.
    pub in_flight: u64,
    /// Arrived at servers.
    pub arrived: u64,
}

impl DownlinkAccount {
    /// Packets on the way.
    pub fn in_flight(&self) -> u64 {
        self.on_core + self.in_gnb + self.at_ue
    }

    /// Packets that ended before they arrived.
    pub fn ended(&self) -> u64 {
        [
            self.unattached,
            self.dropped_by_pipeline,
            self.dropped_by_rlc,
            self.lost_on_f1,
            self.lost_on_radio,
            self.released,
        ]
        .into_iter()
        .sum()
    }

    /// Packets that are nowhere, or in two places; 0 if the account closes.
    pub fn unaccounted(&self) -> u64 {
        self.sent.abs_diff(self.in_flight() + self.ended() + self.arrived)
    }
}

impl UplinkAccount {
    /// Packets that ended before they arrived.
    pub fn ended(&self) -> u64 {
        self.unattached + self.dropped_by_ue + self.lost_on_radio + self.lost_on_f1
    }

    /// Packets that are nowhere, or in two places; 0 if the account closes.
    pub fn unaccounted(&self) -> u64 {
        self.sent.abs_diff(self.in_flight + self.ended() + self.arrived)
    }
}

impl World {
    /// The account of all packets; walks the bearers and what is in flight.
    pub fn packet_account(&self) -> PacketAccount {
        let PacketAccount { mut downlink, mut uplink } = PacketAccount::default();
        for ledger in self.packet_ledgers() {
            downlink.in_gnb +=
                ledger.in_pipeline + ledger.on_f1 + ledger.recalled + ledger.in_rlc + ledger.in_air;
            downlink.dropped_by_pipeline +=
                ledger.dropped_by_discipline + ledger.dropped_on_arrival;
            downlink.dropped_by_rlc += ledger.dropped_by_rlc;
            downlink.lost_on_f1 += ledger.lost_on_f1;
        }
        for bearer in self.bearers.iter() {
            let Measured {
                sent_packets,
                unattached_packets,
                arrived_packets,
                uplink_packets,
                unattached_uplink_packets,
                uplink_dropped_packets,
                uplink_lost_packets,
                uplink_arrived_packets,
                ..
            } = bearer.measured;
            downlink.sent += sent_packets;
            downlink.unattached += unattached_packets;
            downlink.released += bearer.released_packets();
            downlink.arrived += arrived_packets;
            uplink.sent += uplink_packets;
            uplink.unattached += unattached_uplink_packets;
            uplink.dropped_by_ue += uplink_dropped_packets;
            uplink.lost_on_radio += uplink_lost_packets;
            uplink.lost_on_f1 += bearer.f1.as_ref().map_or(0, |f1| f1.lost_packets().1);
            uplink.arrived += uplink_arrived_packets;
        }
        downlink.on_core = self.links.core_down.len();
        downlink.in_gnb += self.sdap.held_down().count() as u64;
        downlink.at_ue = self.links.radio_down.len();
        downlink.lost_on_radio = self.cells.totals().lost_sdus;
        uplink.in_flight = self.links.at_ues.len() + self.links.uplink.len() + self.sdap.held_up();
        uplink.lost_on_f1 -= self.sdap.lost_markers();
        PacketAccount { downlink, uplink }
    }
}
