//! The thread that reads what the kernels send.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::LiveError;
use crate::inbox::{Arrival, Inbox};
use crate::net::{MAX_FRAME_BYTES, Tun};
use crate::offload::datagrams;
use crate::summary::ReadSummary;
use crate::table::{FlowTable, Stray};

/// Frames read from one device before the others have their turn.
const BATCH: usize = 16;
/// Longest time until a stop is seen.
pub(crate) const STOP_CHECK_MS: u16 = 100;
/// Wait while the inbox is full.
const FULL_WAIT: Duration = Duration::from_millis(1);

/// What was read and did not enter the world.
#[derive(Debug, Default)]
pub(crate) struct ReadCounts {
    /// Frames of the kernel, before they were cut.
    pub(crate) frames: AtomicU64,
    /// Frames with offloads that were not asked for, or that no packet can be.
    pub(crate) refused_frames: AtomicU64,
    pub(crate) not_ip: AtomicU64,
    pub(crate) multicast: AtomicU64,
    pub(crate) no_such_ue: AtomicU64,
}

/// The running thread.
#[derive(Debug)]
pub(crate) struct Reader {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Reads the server's device and those of the UEs, in their order.
    pub(crate) fn start(
        server: Arc<Tun>,
        ues: Vec<Arc<Tun>>,
        table: FlowTable,
        inbox: Arc<Inbox>,
        counts: Arc<ReadCounts>,
    ) -> Result<Self, LiveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                let mut devices = Devices { server, ues, table, counts, buffer: vec![0; MAX_FRAME_BYTES] };
                if let Err(error) = devices.read_until(&stopped, &inbox) {
                    tracing::error!(%error, "the devices cannot be read; no packet enters any more");
                }
            })
            .map_err(LiveError::setup("the reader's thread"))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic was logged.
            let _ = thread.join();
        }
    }
}

struct Devices {
    server: Arc<Tun>,
    ues: Vec<Arc<Tun>>,
    table: FlowTable,
    counts: Arc<ReadCounts>,
    buffer: Vec<u8>,
}

impl Devices {
    fn read_until(&mut self, stop: &AtomicBool, inbox: &Inbox) -> io::Result<()> {
        let mut arrivals = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            if inbox.is_full() {
                thread::sleep(FULL_WAIT);
                continue;
            }
            for device in self.readable()? {
                self.read(device, &mut arrivals)?;
                inbox.push(&mut arrivals);
            }
        }
        Ok(())
    }

    /// Waits for devices with packets: `None` for the server's, else the number of the UE.
    fn readable(&self) -> io::Result<Vec<Option<usize>>> {
        let all = || std::iter::once(&self.server).chain(&self.ues);
        let mut polled: Vec<PollFd<'_>> =
            all().map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut polled, PollTimeout::from(STOP_CHECK_MS)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = polled.iter().map(|fd| fd.any().unwrap_or(false));
        Ok((0..)
            .zip(ready)
            .filter(|(_, ready)| *ready)
            .map(|(at, _): (usize, _)| at.checked_sub(1))
            .collect())
    }

    fn read(&mut self, device: Option<usize>, arrivals: &mut Vec<Arrival>) -> io::Result<()> {
        let Self { server, ues, table, counts, buffer } = self;
        let tun = device.map_or(&*server, |ue| &ues[ue]);
        for _ in 0..BATCH {
            let Some(frame) = tun.read(buffer)? else { break };
            let at = Instant::now();
            counts.frames.fetch_add(1, Ordering::Relaxed);
            let cut = datagrams(frame, &mut |bytes| {
                let routed = match device {
                    None => table.sent_by_server(bytes),
                    Some(ue) => table.sent_by_ue(ue, bytes),
                };
                match routed {
                    Ok(routed) => arrivals.push(Arrival { at, routed }),
                    Err(stray) => counts.stray(stray),
                }
            });
            if cut.is_err() {
                counts.refused_frames.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

impl ReadCounts {
    pub(crate) fn summary(&self) -> ReadSummary {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ReadSummary {
            frames: count(&self.frames),
            refused_frames: count(&self.refused_frames),
            not_ip_packets: count(&self.not_ip),
            multicast_packets: count(&self.multicast),
            packets_without_ue: count(&self.no_such_ue),
        }
    }

    fn stray(&self, stray: Stray) {
        let count = match stray {
            Stray::NotIp => &self.not_ip,
            Stray::Multicast => &self.multicast,
            Stray::NoSuchUe => &self.no_such_ue,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}
