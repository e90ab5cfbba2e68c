//! The interface of a queue discipline: its state for one queue and what it does with packets.

use crate::arena::Backlog;
use crate::rng::Rng;
use crate::{DropReason, Ecn};

/// A queue discipline. The default methods are those of a FIFO.
pub(crate) trait Aqm: Sized {
    /// Parameters as compiled from the service model.
    type Params;

    /// Whether it has the default [`arrives`](Self::arrives): every packet that fits is queued.
    const ADMITS: bool = false;

    /// The state of a new queue. Random numbers come from `rng`.
    fn new(rng: Rng) -> Self;

    /// Performs the periodic updates that fell due. Called before packets are dropped from the head.
    fn advance(&mut self, _params: &Self::Params, _now_us: u64) {}

    /// Decides about an arriving packet that fits.
    #[inline]
    fn arrives(
        &mut self,
        _params: &Self::Params,
        _arrival: impl FnOnce() -> Arrival,
        _now_us: u64,
    ) -> Verdict {
        Verdict::Pass
    }

    /// A packet arrived that does not fit; [`overflowed`](Self::overflowed) follows.
    fn arrives_without_room(&mut self, _backlog_bytes: u64, _now_us: u64) {}

    /// A packet of this queue was dropped because a limit was reached.
    fn overflowed(&mut self, _params: &Self::Params, _now_us: u64) {}

    /// The scheduler selected the queue and it was empty.
    fn found_empty(&mut self, _params: &Self::Params, _now_us: u64) {}

    /// Whether the oldest packet leaves as it is, by far the most frequent case; the state is then
    /// that after [`dequeue`](Self::dequeue) has returned it. If not, nothing has changed, and
    /// `dequeue` decides.
    #[inline]
    fn passes(&mut self, _params: &Self::Params, _head: &Head, _now_us: u64) -> bool {
        false
    }

    /// Takes the next packet, after marking and dropping packets as needed; `None` when the queue is
    /// empty.
    fn dequeue<Q: AqmQueue>(
        &mut self,
        _params: &Self::Params,
        _now_us: u64,
        queue: &mut Q,
    ) -> Option<Q::Item> {
        queue.pop()
    }

    /// The state under the names of the discipline's RFC or paper, for conformance runs.
    fn report(&self, _params: &Self::Params) -> Vec<(&'static str, StateValue)> {
        Vec::new()
    }
}

/// The queue that a discipline dequeues from: `queue_t` of RFC 8289 §5.
pub(crate) trait AqmQueue {
    type Item;
    /// Takes the oldest packet.
    fn pop(&mut self) -> Option<Self::Item>;
    /// Packets still queued.
    fn packets(&self) -> u32;
    /// Bytes still queued.
    fn bytes(&self) -> u64;
    fn sojourn_us(&self, item: &Self::Item) -> u64;
    fn len_bytes(&self, item: &Self::Item) -> u32;
    /// The longest recent gap between departures from the bearer while packets waited.
    fn service_gap_us(&self) -> u64;
    /// Time for which the bearer had nothing to send between packets that came soon after each other.
    fn idle_us(&self) -> u64;
    fn ecn(&self, item: &Self::Item) -> Ecn;
    /// Counts a mark and sets CE where it is not set already.
    fn mark(&mut self, item: &mut Self::Item, mark: Mark);
    fn drop(&mut self, item: Self::Item, reason: DropReason);
}

/// The oldest packet of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) len_bytes: u32,
    pub(crate) sojourn_us: u64,
    /// Packets queued behind it.
    pub(crate) behind_packets: u32,
    /// Their bytes.
    pub(crate) behind_bytes: u64,
    /// See [`AqmQueue::idle_us`].
    pub(crate) idle_us: u64,
}

impl Head {
    /// The oldest packet of this backlog.
    #[inline]
    pub(crate) fn new(backlog: &Backlog, len_bytes: u32, sojourn_us: u64, idle_us: u64) -> Self {
        Self {
            len_bytes,
            sojourn_us,
            behind_packets: backlog.packets - 1,
            behind_bytes: backlog.bytes - u64::from(len_bytes),
            idle_us,
        }
    }
}

/// A packet that arrives and fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Bytes queued before it.
    pub(crate) backlog_bytes: u64,
    pub(crate) len_bytes: u32,
    pub(crate) ecn: Ecn,
}

/// A discipline's decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// Pass with CE.
    Mark,
    Drop(DropReason),
}

/// Which counter a mark goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The control law.
    ControlLaw,
    /// A sojourn above `ce_threshold`, or the step or ramp of L4S.
    Threshold,
}

/// A number of a discipline's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StateValue {
    /// A flag.
    Flag(bool),
    /// A count or a time in µs.
    Integer(i64),
    /// A probability or an average.
    Real(f64),
}

impl From<bool> for StateValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<u32> for StateValue {
    fn from(value: u32) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl From<u64> for StateValue {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<i64> for StateValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for StateValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}
