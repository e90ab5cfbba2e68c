//! The bounded queue between the world's thread and one subscription's stream.
//!
//! The world never waits for a reader: a full queue, by count or bytes, drops its oldest report. Reports
//! are shared between readers; only the gRPC framing is per stream.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use futures_util::Stream;
use lab_world::reports::kpm::MEASUREMENTS;
use lab_world::{KpmReport, KpmUe, Payload, RanFunction, Report};
use prometheus_client::metrics::counter::Counter;
use tonic::Status;

use super::proto;

/// Message bytes that a queue may hold beside its newest report.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// Bytes of indications in one message: half of HTTP/2's initial window, since those in flight can no
/// longer be dropped.
pub(super) const MAX_BATCH_BYTES: usize = 32 << 10;

/// A report as shared by the readers of one subscription of the world.
#[derive(Debug)]
pub(super) struct SharedReport {
    pub(super) node_id: Arc<str>,
    pub(super) ran_function: RanFunction,
    pub(super) report: Report,
    pub(super) received_at_us: u64,
}

impl SharedReport {
    fn len_bytes(&self) -> usize {
        match &self.report.payload {
            Payload::Message(bytes) => bytes.len(),
            // Approximate size of the names and values of a UE.
            Payload::Kpm(report) => report.ues.len() * 256,
        }
    }

    fn to_indication(&self, sequence: u64, dropped: u64) -> proto::Indication {
        proto::Indication {
            node_id: self.node_id.as_ref().to_owned(),
            ran_function_id: self.ran_function.id(),
            ran_function_oid: self.ran_function.oid().to_owned(),
            sequence,
            header: self.report.header.clone(),
            collected_at_us: self.report.collected_at_us,
            received_at_us: self.received_at_us,
            dropped,
            payload: Some(match &self.report.payload {
                Payload::Message(bytes) => proto::indication::Payload::Message(bytes.clone()),
                Payload::Kpm(report) => proto::indication::Payload::Kpm(kpm_to_proto(report)),
            }),
        }
    }
}

fn kpm_to_proto(report: &KpmReport) -> proto::KpmReport {
    let values =
        |ue: &KpmUe| ue.values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let units = MEASUREMENTS.into_iter().map(|(name, unit)| (name.to_owned(), unit.to_owned()));
    proto::KpmReport {
        period_ms: report.period_ms,
        ues: report
            .ues
            .iter()
            .map(|ue| proto::KpmUe { rnti: ue.rnti.into(), values: values(ue) })
            .collect(),
        unsupported: report.unsupported.clone(),
        units: units.collect(),
    }
}

/// Counters per RAN function.
#[derive(Clone, Debug, Default)]
pub(super) struct OutboxCounters {
    pub(super) sent: Counter,
    pub(super) dropped: Counter,
}

#[derive(Debug)]
struct Inner {
    queue: VecDeque<(u64, Arc<SharedReport>)>,
    queued_bytes: usize,
    next_sequence: u64,
    dropped: u64,
    end: Option<Status>,
    waker: Option<Waker>,
}

impl Inner {
    fn pop(&mut self) -> Option<(u64, Arc<SharedReport>)> {
        let (sequence, report) = self.queue.pop_front()?;
        self.queued_bytes -= report.len_bytes();
        Some((sequence, report))
    }
}

/// Writer of the queue.
#[derive(Debug)]
pub(super) struct Outbox {
    inner: Mutex<Inner>,
    depth: usize,
    reader_gone: AtomicBool,
    counters: OutboxCounters,
}

impl Outbox {
    /// A queue of at most `depth` reports, and its reader.
    pub(super) fn new(depth: usize, counters: OutboxCounters) -> (Arc<Self>, OutboxStream) {
        let outbox = Arc::new(Self {
            inner: Mutex::new(Inner {
                queue: VecDeque::new(),
                queued_bytes: 0,
                next_sequence: 0,
                dropped: 0,
                end: None,
                waker: None,
            }),
            depth: depth.max(1),
            reader_gone: AtomicBool::new(false),
            counters,
        });
        (Arc::clone(&outbox), OutboxStream { outbox })
    }

    // The queue is valid after each operation, so a poisoned lock can be used.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a report; drops the oldest if there is no room.
    pub(super) fn push(&self, report: Arc<SharedReport>) {
        let mut inner = self.lock();
        while inner.queue.len() >= self.depth || inner.queued_bytes > MAX_QUEUED_BYTES {
            let Some(_) = inner.pop() else { break };
            inner.dropped += 1;
            self.counters.dropped.inc();
        }
        inner.queued_bytes += report.len_bytes();
        let sequence = inner.next_sequence;
        inner.next_sequence += 1;
        inner.queue.push_back((sequence, report));
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the stream with `status` after the queued reports; the first status counts.
    pub(super) fn end(&self, status: Status) {
        let mut inner = self.lock();
        inner.end.get_or_insert(status);
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the stream was dropped or has ended.
    pub(super) fn reader_gone(&self) -> bool {
        self.reader_gone.load(Ordering::Relaxed)
    }
}

/// Reader of the queue.
#[derive(Debug)]
pub(super) struct OutboxStream {
    outbox: Arc<Outbox>,
}

impl Stream for OutboxStream {
    type Item = Result<proto::Indication, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let outbox = &self.outbox;
        let mut inner = outbox.lock();
        if let Some((sequence, report)) = inner.pop() {
            let dropped = inner.dropped;
            drop(inner);
            outbox.counters.sent.inc();
            return Poll::Ready(Some(Ok(report.to_indication(sequence, dropped))));
        }
        if let Some(status) = inner.end.take() {
            // A stream is not polled for more after its error.
            outbox.reader_gone.store(true, Ordering::Relaxed);
            return Poll::Ready(Some(Err(status)));
        }
        if outbox.reader_gone() {
            return Poll::Ready(None);
        }
        if !inner.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            inner.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for OutboxStream {
    fn drop(&mut self) {
        self.outbox.reader_gone.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn report(collected_at_us: u64) -> Arc<SharedReport> {
        report_of(collected_at_us, Bytes::from_static(b"m"))
    }

    fn report_of(collected_at_us: u64, message: Bytes) -> Arc<SharedReport> {
        Arc::new(SharedReport {
            node_id: "n".into(),
            ran_function: RanFunction::Rlc,
            report: Report {
                header: Bytes::new(),
                payload: Payload::Message(message),
                collected_at_us,
            },
            received_at_us: 0,
        })
    }

    fn poll(stream: &mut OutboxStream) -> Poll<Option<Result<proto::Indication, Status>>> {
        Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_full_queue_drops_its_oldest_and_the_sequence_gap_counts_them() {
        let counters = OutboxCounters::default();
        let (outbox, mut stream) = Outbox::new(2, counters.clone());
        for at_us in 0..5 {
            outbox.push(report(at_us));
        }
        let Poll::Ready(Some(Ok(first))) = poll(&mut stream) else { panic!("nothing queued") };
        assert_eq!((first.sequence, first.dropped, first.collected_at_us), (3, 3, 3));
        let Poll::Ready(Some(Ok(second))) = poll(&mut stream) else { panic!("one queued") };
        assert_eq!((second.sequence, second.dropped), (4, 3));
        assert!(poll(&mut stream).is_pending());
        assert_eq!((counters.sent.get(), counters.dropped.get()), (2, 3));
    }

    #[test]
    fn memory_is_bounded_if_the_reader_does_not_read() {
        let (outbox, mut stream) = Outbox::new(4096, OutboxCounters::default());
        let large = Bytes::from(vec![0; 1 << 20]);
        for at_us in 0..200 {
            outbox.push(report_of(at_us, large.clone()));
        }
        let mut queued = 0;
        while let Poll::Ready(Some(Ok(indication))) = poll(&mut stream) {
            assert_eq!(indication.collected_at_us, indication.sequence);
            queued += 1;
        }
        assert_eq!(queued, (MAX_QUEUED_BYTES >> 20) + 1);
    }

    #[test]
    fn the_status_follows_the_queued_reports_once() {
        let (outbox, mut stream) = Outbox::new(2, OutboxCounters::default());
        outbox.push(report(0));
        outbox.end(Status::unavailable("node went away"));
        outbox.end(Status::internal("later"));
        assert!(matches!(poll(&mut stream), Poll::Ready(Some(Ok(_)))));
        let Poll::Ready(Some(Err(status))) = poll(&mut stream) else { panic!("no status") };
        assert_eq!(status.code(), tonic::Code::Unavailable);
        assert!(matches!(poll(&mut stream), Poll::Ready(None)));
    }

    #[test]
    fn the_writer_sees_that_the_stream_was_dropped() {
        let (outbox, stream) = Outbox::new(1, OutboxCounters::default());
        assert!(!outbox.reader_gone());
        drop(stream);
        assert!(outbox.reader_gone());
    }
}
