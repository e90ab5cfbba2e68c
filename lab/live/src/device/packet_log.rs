//! A device that writes a line for each packet, dropped ones too.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::epoch::Epoch;
use super::parcel::{DropCause, Marks, Parcel};
use super::seam::Seam;
use super::stackable::Device;
use crate::files::{Inlet, LogCounts, LogLine};

/// Bytes of a line in memory, about.
const LINE_BYTES: usize = 192;

/// Logs the packets of a seam.
#[derive(Debug)]
pub(crate) struct LogDevice {
    pub(crate) inlet: Inlet<LogLine>,
    pub(crate) counts: Arc<LogCounts>,
    pub(crate) seam: Seam,
    /// RNTI of each UE.
    pub(crate) rntis: Arc<[u16]>,
    /// Name of each flow of the scenario.
    pub(crate) flows: Arc<[Arc<str>]>,
    pub(crate) epoch: Epoch,
}

impl LogDevice {
    fn line(&self, parcel: &Parcel) -> Option<LogLine> {
        let datagram = &parcel.datagram;
        Some(LogLine {
            time_ns: self.epoch.unix_ns(parcel.at_ns),
            seam: self.seam.name(),
            rnti: *self.rntis.get(parcel.ue)?,
            flow: Arc::clone(self.flows.get(parcel.flow as usize)?),
            protocol: datagram.protocol,
            source: SocketAddr::new(datagram.source, datagram.source_port),
            destination: SocketAddr::new(datagram.destination, datagram.destination_port),
            dscp: datagram.dscp,
            ecn: datagram.ecn.codepoint(),
            length_bytes: datagram.bytes.len() as u32,
            verdict: verdict(parcel.dropped),
            faults: faults(parcel.marks),
            sojourn_us: parcel.sojourn_us,
            pdcp_count: parcel.air.map(|air| air.pdcp_count),
        })
    }
}

impl Device for LogDevice {
    fn push(&mut self, parcel: Parcel, next: &mut dyn FnMut(Parcel)) {
        if let Some(line) = self.line(&parcel) {
            self.counts.received.fetch_add(1, Ordering::Relaxed);
            if !self.inlet.offer(line, LINE_BYTES) {
                self.counts.left_out.fetch_add(1, Ordering::Relaxed);
            }
        }
        next(parcel);
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
