//! Packets as they cross from a kernel, or from the gNB, to the devices.

use lab_world::{AirPacket, HostSide};
use traffic::{Body, Datagram, Packet};

use crate::device::{AirTimes, Marks, PacketInFlight};
use crate::table::{Routed, bytes_of};

/// A packet that a host sent, when it was read.
pub(crate) fn read(at_ns: u64, routed: Routed) -> PacketInFlight {
    let Routed { flow, ue, side, datagram } = routed;
    PacketInFlight {
        at_ns,
        ue,
        flow,
        sender: side,
        datagram,
        sojourn_us: None,
        air: None,
        marks: Marks::default(),
        dropped: None,
    }
}

/// A packet that arrived at `arrived_us` at a host, which is `receiver`; `None` if it is not of a host.
pub(crate) fn arrived(
    at_ns: u64,
    (flow, ue): (u32, usize),
    receiver: HostSide,
    arrived_us: u64,
    packet: &Packet,
) -> Option<PacketInFlight> {
    let sender = match receiver {
        HostSide::Server => HostSide::Ue,
        HostSide::Ue => HostSide::Server,
    };
    let datagram = datagram_of(packet)?;
    let sojourn_us = Some(arrived_us.saturating_sub(packet.sent_us));
    Some(PacketInFlight { sojourn_us, ..read(at_ns, Routed { flow, ue, side: sender, datagram }) })
}

/// A packet that the PDCP of UE number `ue` delivers, when its last byte goes to the MAC.
pub(crate) fn on_air(air: &AirPacket, ue: usize) -> Option<PacketInFlight> {
    let AirPacket { flow, count, sdap_us, rlc_us, mac_us, ue_us, packet } = air;
    let datagram = datagram_of(packet)?;
    let routed = Routed { flow: *flow, ue, side: HostSide::Server, datagram };
    let times = AirTimes {
        pdcp_count: *count,
        sdap_us: *sdap_us,
        rlc_us: *rlc_us,
        mac_us: *mac_us,
        ue_us: *ue_us,
    };
    Some(PacketInFlight { air: Some(times), ..read(mac_us.saturating_mul(1_000), routed) })
}

/// The datagram of a host with the DSCP and ECN field that it has now.
fn datagram_of(packet: &Packet) -> Option<Datagram> {
    let Body::Host(sent) = &packet.body else { return None };
    let Packet { ecn, dscp, .. } = *packet;
    Some(Datagram { bytes: bytes_of(packet, sent), ecn, dscp, ..Datagram::clone(sent) })
}
