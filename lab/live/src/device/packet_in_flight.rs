//! A packet on its way through devices.

use bytes::Bytes;
use lab_world::HostSide;
use traffic::Datagram;

/// A packet between a kernel and the gNB, or on the air.
#[derive(Clone, Debug)]
pub(crate) struct PacketInFlight {
    /// Virtual time at which it is here, ns.
    pub(crate) at_ns: u64,
    /// Number of its UE.
    pub(crate) ue: usize,
    /// Index of its flow in the scenario.
    pub(crate) flow: u32,
    /// The host that sent it.
    pub(crate) sender: HostSide,
    /// Its bytes as they are here, with what was read of its headers.
    pub(crate) datagram: Datagram,
    /// Time from its sending to its arrival, behind the gNB.
    pub(crate) sojourn_us: Option<u64>,
    /// Times on the air.
    pub(crate) air: Option<AirTimes>,
    /// What faults did to it.
    pub(crate) marks: Marks,
    /// Why it goes no further.
    pub(crate) dropped: Option<DropCause>,
}

/// Origin of a packet on the air. Times are virtual µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AirTimes {
    pub(crate) pdcp_count: u64,
    pub(crate) sdap_us: u64,
    pub(crate) rlc_us: u64,
    pub(crate) mac_us: u64,
    pub(crate) ue_us: u64,
}

/// What faults did to a packet that goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// It is the second of two.
    pub(crate) is_duplicate: bool,
    /// A bit of its payload is changed.
    pub(crate) is_corrupted: bool,
    /// It was held back so that others pass.
    pub(crate) is_reordered: bool,
    /// It was delayed.
    pub(crate) is_delayed: bool,
}

/// Why a device dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// Independent loss.
    Loss,
    /// Loss in the bad state of the Gilbert–Elliott model.
    BurstLoss,
    /// An outage.
    Outage,
    /// More bytes were delayed than a device holds.
    Overflow,
}

impl PacketInFlight {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.datagram.bytes
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A UDP datagram of the server with this payload, at a time.
    pub(crate) fn packet_in_flight(at_ns: u64, payload: &[u8]) -> PacketInFlight {
        let length = 28 + payload.len() as u16;
        let mut bytes = vec![0x45, 0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 64, 17, 0, 0, 198, 51, 100, 1, 10, 45, 70, 1]);
        bytes.extend([0x14, 0x51, 0xc0, 0]);
        bytes.extend((length - 20).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        PacketInFlight {
            at_ns,
            ue: 0,
            flow: 0,
            sender: HostSide::Server,
            datagram: Datagram {
                bytes: bytes.into(),
                source: lab_world::SERVER,
                destination: lab_world::ue_address(0x4601, traffic::IpVersion::V4),
                source_port: 5201,
                destination_port: 49_152,
                protocol: 17,
                ecn: traffic::Ecn::NotEct,
                dscp: 0,
                payload_bytes: payload.len() as u32,
                inner: None,
            },
            sojourn_us: None,
            air: None,
            marks: Marks::default(),
            dropped: None,
        }
    }
}
