//! A capture as a pcapng file: a section, an interface for each capture point and UE, packets, and statistics at
//! the end.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::pcapng::{self, Direction, PacketBlock, StatisticsBlock};
use super::spool::Format;

/// A packet for the file.
#[derive(Clone, Debug)]
pub(crate) struct CapturedPacket {
    /// Number of its interface.
    pub(crate) interface: u32,
    pub(crate) unix_ns: u64,
    pub(crate) bytes: Bytes,
    pub(crate) direction: Direction,
    pub(crate) comment: Option<String>,
}

/// What an interface is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceName {
    pub(crate) name: String,
    pub(crate) description: String,
}

/// Packets of an interface; those who capture and the thread of the file count together.
#[derive(Debug, Default)]
pub(crate) struct InterfaceCounts {
    /// Came to the capture point.
    pub(crate) received: AtomicU64,
    /// Those of `received` that are not in the file.
    pub(crate) left_out: AtomicU64,
}

/// The file of a capture.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    interfaces: Vec<InterfaceName>,
    counts: Arc<[InterfaceCounts]>,
    os: String,
    application: String,
    /// First and last time of a packet, Unix ns.
    span_ns: Option<(u64, u64)>,
    /// Reused from packet to packet.
    buffer: Vec<u8>,
}

impl CaptureFile {
    /// A file with these interfaces; `counts` has those of each.
    pub(crate) fn new(
        interfaces: Vec<InterfaceName>,
        counts: Arc<[InterfaceCounts]>,
        os: String,
        application: String,
    ) -> Self {
        Self { interfaces, counts, os, application, span_ns: None, buffer: Vec::new() }
    }

    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let result = out.write_all(&self.buffer);
        self.buffer.clear();
        result
    }
}

impl Format for CaptureFile {
    type Record = CapturedPacket;

    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        pcapng::section(&mut self.buffer, &self.os, &self.application);
        for InterfaceName { name, description } in &self.interfaces {
            pcapng::interface(&mut self.buffer, name, description);
        }
        self.write(out)
    }

    fn record(&mut self, record: CapturedPacket, out: &mut dyn Write) -> io::Result<()> {
        let CapturedPacket { interface, unix_ns, bytes, direction, comment } = &record;
        let block = PacketBlock {
            interface: *interface,
            unix_ns: *unix_ns,
            bytes,
            direction: *direction,
            comment: comment.as_deref(),
        };
        pcapng::packet(&mut self.buffer, &block);
        let (first_ns, last_ns) = self.span_ns.unwrap_or((*unix_ns, *unix_ns));
        self.span_ns = Some((first_ns.min(*unix_ns), last_ns.max(*unix_ns)));
        self.write(out).inspect_err(|_| self.left_out(record))
    }

    fn left_out(&mut self, record: CapturedPacket) {
        if let Some(counts) = self.counts.get(record.interface as usize) {
            counts.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (start_ns, end_ns) = self.span_ns.unwrap_or_default();
        for (interface, counts) in (0..).zip(self.counts.iter()) {
            let statistics = StatisticsBlock {
                interface,
                start_ns,
                end_ns,
                received: counts.received.load(Ordering::Relaxed),
                dropped: counts.left_out.load(Ordering::Relaxed),
            };
            pcapng::statistics(&mut self.buffer, &statistics);
        }
        self.write(out)
    }
}
