//! A device that writes a line for each packet, dropped ones too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::capture_point::CapturePoint;
use super::epoch::Epoch;
use super::packet_in_flight::{DropCause, Marks, PacketInFlight};
use super::stackable::Device;
use crate::files::{Inlet, LogCounts, LogLine};

/// Bytes of a line in memory, about.
const LINE_BYTES: usize = 192;

/// Logs the packets of a capture point.
#[derive(Debug)]
pub(crate) struct LogDevice {
    pub(crate) inlet: Inlet<LogLine>,
    pub(crate) counts: Arc<LogCounts>,
    pub(crate) point: CapturePoint,
    /// RNTI of each UE.
    pub(crate) rntis: Arc<[u16]>,
    /// Name of each flow of the scenario.
    pub(crate) flows: Arc<[Arc<str>]>,
    pub(crate) epoch: Epoch,
}

impl LogDevice {
    fn line(&self, packet: &PacketInFlight) -> Option<LogLine> {
        let datagram = &packet.datagram;
        Some(LogLine {
            time_ns: self.epoch.unix_ns(packet.at_ns),
            capture_point: self.point.name(),
            rnti: *self.rntis.get(packet.ue)?,
            flow: Arc::clone(self.flows.get(packet.flow as usize)?),
            protocol: datagram.protocol,
            source: SocketAddr::new(datagram.source, datagram.source_port),
            destination: SocketAddr::new(datagram.destination, datagram.destination_port),
            dscp: datagram.dscp,
            ecn: datagram.ecn.codepoint(),
            length_bytes: datagram.bytes.len() as u32,
            verdict: verdict(packet.dropped),
            faults: faults(packet.marks),
            sojourn_us: packet.sojourn_us,
            pdcp_count: packet.air.map(|air| air.pdcp_count),
        })
    }
}

impl Device for LogDevice {
    fn push(&mut self, packet: PacketInFlight, next: &mut dyn FnMut(PacketInFlight)) {
        if let Some(line) = self.line(&packet) {
            self.counts.received.fetch_add(1, Ordering::Relaxed);
            if !self.inlet.offer(line, LINE_BYTES) {
                self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
        next(packet);
    }
}

fn verdict(dropped: Option<DropCause>) -> &'static str {
    match dropped {
        None => "passed",
        Some(DropCause::Loss) => "lost",
        Some(DropCause::BurstLoss) => "lost_in_burst",
        Some(DropCause::Outage) => "lost_in_outage",
        Some(DropCause::Overflow) => "lost_by_overflow",
    }
}

fn faults(marks: Marks) -> Vec<&'static str> {
    let Marks { is_duplicate, is_corrupted, is_reordered, is_delayed } = marks;
    let named = [
        (is_duplicate, "duplicated"),
        (is_corrupted, "corrupted"),
        (is_reordered, "reordered"),
        (is_delayed, "delayed"),
    ];
    named.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect()
}
