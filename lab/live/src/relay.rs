//! The devices without the gNB between them: what this machine's kernel and devices carry at most, for
//! comparison.

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use ip_header::Headers;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::LiveError;
use crate::net::{MAX_FRAME_BYTES, Tun};
use crate::offload::VNET_HEADER_BYTES;
use crate::reader::STOP_CHECK_MS;
use crate::table::FlowTable;

/// A thread that hands each frame of one device to the other as it is.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    pub(crate) fn start(
        server: Arc<Tun>,
        ues: Vec<Arc<Tun>>,
        table: FlowTable,
    ) -> Result<Self, LiveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || {
                if let Err(error) = relay_until(&stopped, &server, &ues, &table) {
                    tracing::error!(%error, "the devices cannot be read; no packet passes any more");
                }
            })
            .map_err(LiveError::setup("the relay's thread"))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic was logged.
            let _ = thread.join();
        }
    }
}

fn relay_until(
    stop: &AtomicBool,
    server: &Tun,
    ues: &[Arc<Tun>],
    table: &FlowTable,
) -> io::Result<()> {
    let mut buffer = vec![0; MAX_FRAME_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let all = std::iter::once(server).chain(ues.iter().map(AsRef::as_ref));
        let mut polled: Vec<PollFd<'_>> =
            all.map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut polled, PollTimeout::from(STOP_CHECK_MS)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        while let Some(frame) = server.read(&mut buffer)? {
            let headers = Headers::parse(frame.get(VNET_HEADER_BYTES..).unwrap_or_default());
            let ue = headers.and_then(|headers| table.ue_of(headers.flow.destination));
            if let Some(tun) = ue.and_then(|ue| ues.get(ue)) {
                hand_over(tun, frame);
            }
        }
        for ue in ues {
            while let Some(frame) = ue.read(&mut buffer)? {
                hand_over(server, frame);
            }
        }
    }
    Ok(())
}

fn hand_over(tun: &Tun, frame: &[u8]) {
    if let Err(error) = tun.write(&[IoSlice::new(frame)]) {
        tracing::debug!(%error, "the kernel refused a packet");
    }
}
