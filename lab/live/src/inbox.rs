//! Datagrams from the reader's thread to the world's, with the times at which they were read.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use lab_gateway::Waker;
use lab_world::HostSide;
use parking_lot::Mutex;

use crate::table::Routed;

/// Bytes that may wait. More stay in the kernel's queue, which is the sender's to fill.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// A datagram and when it was read.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) routed: Routed,
}

/// Datagrams by the host that sent them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BySender {
    pub(crate) server: u64,
    pub(crate) ues: u64,
}

impl BySender {
    fn count(&mut self, routed: &Routed) {
        match routed.side {
            HostSide::Server => self.server += 1,
            HostSide::Ue => self.ues += 1,
        }
    }
}

#[derive(Debug, Default)]
struct Waiting {
    arrivals: VecDeque<Arrival>,
    /// All that ever came.
    came: BySender,
}

/// The datagrams that wait for the next step.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    waiting_bytes: AtomicUsize,
    /// Whether the world's thread sleeps until something arrives.
    is_asleep: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Inbox {
    pub(crate) fn set_waker(&self, waker: Waker) {
        *self.waker.lock() = Some(waker);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes.load(Ordering::Relaxed) >= MAX_WAITING_BYTES
    }

    /// Appends datagrams, and wakes the world's thread if it sleeps.
    pub(crate) fn push(&self, arrivals: &mut Vec<Arrival>) {
        if arrivals.is_empty() {
            return;
        }
        let bytes: usize = arrivals.iter().map(|a| a.routed.datagram.bytes.len()).sum();
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        {
            let mut waiting = self.waiting.lock();
            for arrival in arrivals.drain(..) {
                waiting.came.count(&arrival.routed);
                waiting.arrivals.push_back(arrival);
            }
        }
        if self.is_asleep.swap(false, Ordering::SeqCst)
            && let Some(waker) = &*self.waker.lock()
        {
            waker.wake();
        }
    }

    /// Moves everything that waits to `taken`.
    pub(crate) fn take(&self, taken: &mut VecDeque<Arrival>) {
        let mut waiting = self.waiting.lock();
        if taken.is_empty() {
            std::mem::swap(&mut waiting.arrivals, taken);
        } else {
            taken.append(&mut waiting.arrivals);
        }
        self.waiting_bytes.store(0, Ordering::Relaxed);
    }

    /// Whether something waits; if not, the next datagram wakes the world's thread.
    pub(crate) fn sleep_unless_waiting(&self) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        !self.waiting.lock().arrivals.is_empty()
    }

    /// Datagrams that ever came, and those of them that wait here or in `taken`.
    pub(crate) fn account(&self, taken: &VecDeque<Arrival>) -> (BySender, BySender) {
        let waiting = self.waiting.lock();
        let mut here = BySender::default();
        waiting.arrivals.iter().chain(taken).for_each(|arrival| here.count(&arrival.routed));
        (waiting.came, here)
    }
}
