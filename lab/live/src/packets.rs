//! The devices and files that the options ask for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::args::PacketArgs;
use crate::device::{
    CaptureDevice, CapturePoint, CapturePoints, FaultInjector, LogDevice, PointFile,
};
use crate::error::LiveError;
use crate::files::{
    CaptureFile, CapturedPacket, Direction, InterfaceCounts, InterfaceName, LogCounts, LogFile,
    LogLine, Spool,
};

const CAPTURE: &str = "--capture";
const PACKET_LOG: &str = "--packet-log";
const BYTES_PER_MB: u64 = 1_000_000;
/// Program in captures.
const APPLICATION: &str = concat!("gnb-lab ", env!("CARGO_PKG_VERSION"));

/// What devices know of the run.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) seed: u64,
    /// RNTI of each UE.
    pub(crate) rntis: Arc<[u16]>,
    /// Name of each flow of the scenario.
    pub(crate) flows: Arc<[Arc<str>]>,
}

/// The files of packets of a run.
#[derive(Debug, Default)]
pub(crate) struct PacketFiles {
    captures: Vec<OpenFile<CapturedPacket, Arc<[InterfaceCounts]>>>,
    logs: Vec<OpenFile<LogLine, Arc<LogCounts>>>,
}

/// A file of packets that is being written, with what is counted of it.
#[derive(Debug)]
struct OpenFile<R, C> {
    path: PathBuf,
    spool: Spool<R>,
    counts: C,
}

/// What a file of packets has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileSummary {
    /// Option that asked for it.
    pub(crate) option: &'static str,
    pub(crate) path: String,
    /// Packets that came to its capture points.
    pub(crate) received_packets: u64,
    /// Packets that are not in the file: the disk was too slow or full, or the file.
    pub(crate) left_out_packets: u64,
}

/// Makes the devices and starts the files. At each capture point faults come first, then its log, then its capture:
/// both have what the faults let through, and the log what they drop.
pub(crate) fn set_up(
    args: &PacketArgs,
    facts: &RunFacts,
) -> Result<(CapturePoints, PacketFiles), LiveError> {
    check(args)?;
    let (mut points, mut files) = (CapturePoints::default(), PacketFiles::default());
    for (number, spec) in (0..).zip(&args.fault) {
        let injector = FaultInjector::new(spec.clone(), facts.seed, number);
        points.stack_mut(spec.point).add(Box::new(injector));
    }
    for path in paths(&args.packet_log) {
        let counts = Arc::new(LogCounts::default());
        let most_bytes = args.packet_log_limit * BYTES_PER_MB;
        let format = LogFile::new(Arc::clone(&counts), most_bytes);
        let spool = Spool::start(PACKET_LOG, path, format)?;
        for point in points_of(path, &args.packet_log) {
            let device = LogDevice {
                inlet: spool.inlet(),
                counts: Arc::clone(&counts),
                point,
                rntis: Arc::clone(&facts.rntis),
                flows: Arc::clone(&facts.flows),
                epoch: points.epoch().clone(),
            };
            points.stack_mut(point).add(Box::new(device));
        }
        files.logs.push(OpenFile { path: path.to_owned(), spool, counts });
    }
    for path in paths(&args.capture) {
        files.captures.push(capture(path, &args.capture, facts, &mut points)?);
    }
    Ok((points, files))
}

/// A capture of all capture points that go to this file.
fn capture(
    path: &Path,
    captures: &[PointFile],
    facts: &RunFacts,
    points: &mut CapturePoints,
) -> Result<OpenFile<CapturedPacket, Arc<[InterfaceCounts]>>, LiveError> {
    let interfaces: Vec<_> = points_of(path, captures)
        .flat_map(|point| facts.rntis.iter().map(move |rnti| interface(point, *rnti)))
        .collect();
    let counts: Arc<[_]> = interfaces.iter().map(|_| InterfaceCounts::default()).collect();
    let file = CaptureFile::new(interfaces, Arc::clone(&counts), os(), APPLICATION.to_owned());
    let spool = Spool::start(CAPTURE, path, file)?;
    for (number, point) in points_of(path, captures).enumerate() {
        let device = CaptureDevice {
            inlet: spool.inlet(),
            counts: Arc::clone(&counts),
            first_interface: number * facts.rntis.len(),
            direction: if point.is_inbound() { Direction::Inbound } else { Direction::Outbound },
            epoch: points.epoch().clone(),
        };
        points.stack_mut(point).add(Box::new(device));
    }
    Ok(OpenFile { path: path.to_owned(), spool, counts })
}

fn interface(point: CapturePoint, rnti: u16) -> InterfaceName {
    InterfaceName {
        name: format!("{} {rnti}", point.name()),
        description: format!("UE {rnti}: {}", point.description()),
    }
}

/// The operating system, as captures name it.
fn os() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim()).trim_end().to_owned()
}

/// The files of an option, each once.
fn paths(files: &[PointFile]) -> Vec<&Path> {
    let mut paths: Vec<&Path> = Vec::new();
    for PointFile { path, .. } in files {
        if !paths.contains(&path.as_path()) {
            paths.push(path);
        }
    }
    paths
}

fn points_of<'a>(
    path: &'a Path,
    files: &'a [PointFile],
) -> impl Iterator<Item = CapturePoint> + 'a {
    files.iter().filter(move |file| file.path == path).map(|file| file.point)
}

/// Refuses a capture point twice in a file, and one file for captures and logs.
fn check(args: &PacketArgs) -> Result<(), LiveError> {
    let refused = |option, file: &PointFile, problem| {
        let value = format!("{}={}", file.point.name(), file.path.display());
        Err(LiveError::Packets { option, value, problem })
    };
    for (option, files) in [(CAPTURE, &args.capture), (PACKET_LOG, &args.packet_log)] {
        for (at, file) in files.iter().enumerate() {
            if files[..at].contains(file) {
                return refused(option, file, "given twice; expected once");
            }
        }
    }
    let is_capture = |file: &&PointFile| args.capture.iter().any(|other| other.path == file.path);
    args.packet_log
        .iter()
        .find(is_capture)
        .map_or(Ok(()), |file| refused(PACKET_LOG, file, "the file of a capture; expected another"))
}

impl PacketFiles {
    /// Completes the files; what each of them has.
    pub(crate) fn finish(&mut self) -> Vec<FileSummary> {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut summaries = Vec::new();
        for OpenFile { path, spool, counts } in &mut self.captures {
            spool.finish();
            summaries.push(FileSummary {
                option: CAPTURE,
                path: path.display().to_string(),
                received_packets: counts.iter().map(|own| count(&own.received)).sum(),
                left_out_packets: counts.iter().map(|own| count(&own.left_out)).sum(),
            });
        }
        for OpenFile { path, spool, counts } in &mut self.logs {
            spool.finish();
            summaries.push(FileSummary {
                option: PACKET_LOG,
                path: path.display().to_string(),
                received_packets: count(&counts.received),
                left_out_packets: count(&counts.left_out),
            });
        }
        summaries
    }
}

#[cfg(test)]
mod tests;
