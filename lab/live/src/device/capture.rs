//! A device that captures what passes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::epoch::Epoch;
use super::packet_in_flight::{AirTimes, PacketInFlight};
use super::stackable::Device;
use crate::files::{CapturedPacket, Direction, Inlet, InterfaceCounts};

/// Bytes of a record besides the packet's.
const RECORD_BYTES: usize = 128;

/// Captures the packets of a capture point.
#[derive(Debug)]
pub(crate) struct CaptureDevice {
    pub(crate) inlet: Inlet<CapturedPacket>,
    pub(crate) counts: Arc<[InterfaceCounts]>,
    /// Interface of the first UE; those of the others follow.
    pub(crate) first_interface: usize,
    pub(crate) direction: Direction,
    pub(crate) epoch: Epoch,
}

impl Device for CaptureDevice {
    fn push(&mut self, packet: PacketInFlight, next: &mut dyn FnMut(PacketInFlight)) {
        let interface = self.first_interface + packet.ue;
        if packet.dropped.is_none()
            && let Some(counts) = self.counts.get(interface)
        {
            counts.received.fetch_add(1, Ordering::Relaxed);
            let record = CapturedPacket {
                interface: interface as u32,
                unix_ns: self.epoch.unix_ns(packet.at_ns),
                bytes: packet.bytes().clone(),
                direction: self.direction,
                comment: packet.air.map(comment),
            };
            if !self.inlet.offer(record, RECORD_BYTES + packet.bytes().len()) {
                counts.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
        next(packet);
    }
}

/// What the gNB knows of a packet on the air.
fn comment(air: AirTimes) -> String {
    let AirTimes { pdcp_count, sdap_us, rlc_us, mac_us, ue_us } = air;
    format!(
        "PDCP COUNT {pdcp_count}; SDAP to RLC {} us, RLC to MAC {} us, MAC to PDCP of the UE {} us",
        rlc_us.saturating_sub(sdap_us),
        mac_us.saturating_sub(rlc_us),
        ue_us.saturating_sub(mac_us),
    )
}
