//! The bounded queue between the world's thread and one subscription's stream.
//!
//! The world never waits for a reader: a queue that is full, or whose client has no share of the bytes
//! left, drops its oldest report. For a reader of the newest a report replaces those queued once the oldest of
//! them has waited for [`LATE_US`]. Reports are shared between readers; only the gRPC framing is per stream.

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

use super::{limits::NodeAccount, proto};

/// Bytes of a queued report beside its content.
const ENTRY_BYTES: usize = 128;

/// Wait after which the newest report replaces those queued: ten reports each ms, so that a reader that is held
/// up for a moment loses none.
const LATE_US: u64 = 10_000;

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
    /// What it counts for each of its readers.
    fn len_bytes(&self) -> u64 {
        (self.report.len_bytes() + ENTRY_BYTES) as u64
    }

    fn to_indication(&self, sequence: u64, lost: Lost) -> proto::Indication {
        proto::Indication {
            node_id: self.node_id.as_ref().to_owned(),
            ran_function_id: self.ran_function.id(),
            ran_function_oid: self.ran_function.oid().to_owned(),
            sequence,
            header: self.report.header.clone(),
            collected_at_us: self.report.collected_at_us,
            received_at_us: self.received_at_us,
            dropped: lost.dropped,
            coalesced: lost.coalesced,
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
            .map(|ue| proto::KpmUe {
                rnti: ue.rnti.into(),
                values: values(ue),
                ..proto::KpmUe::default()
            })
            .collect(),
        unsupported: report.unsupported.to_vec(),
        units: units.collect(),
    }
}

/// Counters per RAN function.
#[derive(Clone, Debug, Default)]
pub(super) struct OutboxCounters {
    pub(super) sent: Counter,
    pub(super) dropped: Counter,
    pub(super) coalesced: Counter,
}

/// Reports that a reader did not get.
#[derive(Clone, Copy, Debug, Default)]
struct Lost {
    dropped: u64,
    /// Replaced by newer ones.
    coalesced: u64,
}

#[derive(Debug)]
struct Inner {
    queue: VecDeque<(u64, Arc<SharedReport>)>,
    next_sequence: u64,
    lost: Lost,
    end: Option<Status>,
    waker: Option<Waker>,
}

/// How a client reads a subscription.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Most reports queued.
    pub(super) depth: usize,
    /// Whether a late reader gets the newest report alone.
    pub(super) newest: bool,
}

/// Writer of the queue.
#[derive(Debug)]
pub(super) struct Outbox {
    inner: Mutex<Inner>,
    reading: Reading,
    reader_gone: AtomicBool,
    counters: OutboxCounters,
    account: Arc<NodeAccount>,
}

impl Outbox {
    /// A queue of at most `depth` reports, whose bytes are within the share of the client, and its
    /// reader.
    pub(super) fn new(
        reading: Reading,
        counters: OutboxCounters,
        account: Arc<NodeAccount>,
    ) -> (Arc<Self>, OutboxStream) {
        let outbox = Arc::new(Self {
            inner: Mutex::new(Inner {
                queue: VecDeque::new(),
                next_sequence: 0,
                lost: Lost::default(),
                end: None,
                waker: None,
            }),
            reading,
            reader_gone: AtomicBool::new(false),
            counters,
            account,
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
        if self.reader_gone() {
            return;
        }
        let sequence = inner.next_sequence;
        inner.next_sequence += 1;
        let since_us = inner.queue.front().map(|(_, oldest)| oldest.received_at_us);
        let now_us = report.received_at_us;
        if self.reading.newest && since_us.is_some_and(|at_us| now_us >= at_us + LATE_US) {
            while self.pop(&mut inner).is_some() {
                inner.lost.coalesced += 1;
                self.counters.coalesced.inc();
            }
        }
        while inner.queue.len() >= self.reading.depth.max(1) {
            self.drop_oldest(&mut inner);
        }
        while !self.account.try_queue(report.len_bytes()) {
            self.account.lost_report();
            if !self.drop_oldest(&mut inner) {
                // Other queues of the client have taken its whole share.
                self.count_drop(&mut inner);
                return;
            }
        }
        inner.queue.push_back((sequence, report));
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn drop_oldest(&self, inner: &mut Inner) -> bool {
        let oldest = self.pop(inner);
        if oldest.is_some() {
            self.count_drop(inner);
        }
        oldest.is_some()
    }

    fn count_drop(&self, inner: &mut Inner) {
        inner.lost.dropped += 1;
        self.counters.dropped.inc();
    }

    fn pop(&self, inner: &mut Inner) -> Option<(u64, Arc<SharedReport>)> {
        let (sequence, report) = inner.queue.pop_front()?;
        self.account.dequeued(report.len_bytes());
        Some((sequence, report))
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
        if let Some((sequence, report)) = outbox.pop(&mut inner) {
            let lost = inner.lost;
            drop(inner);
            outbox.counters.sent.inc();
            return Poll::Ready(Some(Ok(report.to_indication(sequence, lost))));
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
        let mut inner = self.outbox.lock();
        // Under the lock: nothing is queued after this.
        self.outbox.reader_gone.store(true, Ordering::Relaxed);
        while self.outbox.pop(&mut inner).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::limits::NodePools;
    use serving::limits::{ClientKey, Limits, Refusals};

    fn limits() -> (Limits, NodePools) {
        (Limits::new(Refusals::default()), NodePools::new(1024, 400_000_000))
    }

    fn account((limits, pools): &(Limits, NodePools), name: &str) -> Arc<NodeAccount> {
        pools.of(&limits.account(&ClientKey::named(name)))
    }

    fn outbox(depth: usize, counters: OutboxCounters) -> (Arc<Outbox>, OutboxStream) {
        outbox_of(Reading { depth, newest: false }, counters)
    }

    fn outbox_of(reading: Reading, counters: OutboxCounters) -> (Arc<Outbox>, OutboxStream) {
        Outbox::new(reading, counters, account(&limits(), "a"))
    }

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
            received_at_us: collected_at_us,
        })
    }

    fn poll(stream: &mut OutboxStream) -> Poll<Option<Result<proto::Indication, Status>>> {
        Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_full_queue_drops_its_oldest_and_the_sequence_gap_counts_them() {
        let counters = OutboxCounters::default();
        let (outbox, mut stream) = outbox(2, counters.clone());
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
    fn a_late_reader_of_the_newest_gets_what_is_10_ms_old_at_most_and_loses_nothing() {
        let counters = OutboxCounters::default();
        let (outbox, mut stream) = outbox_of(Reading { depth: 64, newest: true }, counters.clone());
        let mut got = Vec::new();
        for ms in 0..1000 {
            outbox.push(report(ms * 1000));
            // Held up for 9 ms, then for 500 ms.
            if ms < 100 && ms % 10 == 9 || ms == 600 {
                while let Poll::Ready(Some(Ok(indication))) = poll(&mut stream) {
                    assert!(ms * 1000 - indication.collected_at_us <= LATE_US);
                    assert_eq!(
                        (indication.dropped, indication.sequence * 1000),
                        (0, indication.collected_at_us)
                    );
                    got.push(indication);
                }
            }
        }
        let unread = outbox.lock().queue.len() as u64;
        assert_eq!(got[..100].iter().map(|each| each.coalesced).max(), Some(0), "none was late");
        assert!(got.len() < 112, "of 501 reports the newest");
        assert_eq!(got.len() as u64 + counters.coalesced.get() + unread, 1000);
        assert_eq!(counters.dropped.get(), 0);
    }

    #[test]
    fn a_report_is_encoded_once_however_many_read_it() {
        let shared = report_of(7, Bytes::from(vec![1; 152_012]));
        let mut streams: Vec<_> = (0..10)
            .map(|_| outbox(2, OutboxCounters::default()))
            .inspect(|(outbox, _)| outbox.push(Arc::clone(&shared)))
            .collect();
        let Payload::Message(encoded) = &shared.report.payload else { panic!("a message") };
        for (_, stream) in &mut streams {
            let Poll::Ready(Some(Ok(indication))) = poll(stream) else { panic!("queued") };
            let Some(proto::indication::Payload::Message(read)) = indication.payload else {
                panic!("a message")
            };
            assert_eq!(read.as_ptr(), encoded.as_ptr(), "the same bytes, not a copy");
        }
    }

    #[test]
    fn memory_is_bounded_if_the_reader_does_not_read() {
        let limits = limits();
        let (slow, brisk) = (account(&limits, "slow"), account(&limits, "brisk"));
        let large = Bytes::from(vec![0; 1 << 20]);
        let counters = OutboxCounters::default();
        let all = Reading { depth: 4096, newest: false };
        let queues: Vec<_> =
            (0..3).map(|_| Outbox::new(all, counters.clone(), Arc::clone(&slow))).collect();
        let (other, mut others_stream) = Outbox::new(all, OutboxCounters::default(), brisk);
        for at_us in 0..400 {
            for (outbox, _) in &queues {
                outbox.push(report_of(at_us, large.clone()));
            }
            other.push(report_of(at_us, large.clone()));
            let Poll::Ready(Some(Ok(got))) = poll(&mut others_stream) else { panic!("lost") };
            assert_eq!((got.sequence, got.dropped), (at_us, 0), "another client loses nothing");
        }
        let mut queued = 0;
        for (_, mut stream) in queues {
            while let Poll::Ready(Some(Ok(indication))) = poll(&mut stream) {
                assert_eq!(indication.collected_at_us, indication.sequence);
                queued += 1;
            }
        }
        assert_eq!(queued, 127, "half of 256 MiB, less what each report counts beside its content");
        assert_eq!(counters.dropped.get(), 1_200 - 127);
    }

    #[test]
    fn the_status_follows_the_queued_reports_once() {
        let (outbox, mut stream) = outbox(2, OutboxCounters::default());
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
        let (outbox, stream) = outbox(1, OutboxCounters::default());
        assert!(!outbox.reader_gone());
        drop(stream);
        assert!(outbox.reader_gone());
    }
}
