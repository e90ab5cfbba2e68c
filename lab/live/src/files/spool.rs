//! A file that is written by a thread of its own, behind a bounded queue: what the disk cannot take is
//! left out and counted, and nobody waits for it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};

use crate::error::LiveError;

/// Bytes that may wait for the disk.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// How records become the content of a file.
pub(crate) trait Format: Send + 'static {
    /// What is written.
    type Record: Send + 'static;

    /// Writes what the file begins with.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;

    /// Writes a record; one that fails is left out, and so are those behind it.
    fn record(&mut self, record: Self::Record, out: &mut dyn Write) -> io::Result<()>;

    /// A record is left out since the file cannot be written.
    fn left_out(&mut self, record: Self::Record);

    /// Writes what the file ends with.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

#[derive(Debug)]
struct Waiting<R> {
    records: VecDeque<R>,
    /// Bytes of the records that are not written yet.
    bytes: usize,
    is_closed: bool,
}

#[derive(Debug)]
struct Queue<R> {
    waiting: Mutex<Waiting<R>>,
    changed: Condvar,
}

/// The end of the queue that takes records; clones share it.
#[derive(Debug)]
pub(crate) struct Inlet<R>(Arc<Queue<R>>);

impl<R> Clone for Inlet<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Inlet<R> {
    /// Takes a record of about `len_bytes` unless too many wait; whether it was taken.
    #[must_use]
    pub(crate) fn offer(&self, record: R, len_bytes: usize) -> bool {
        let mut waiting = self.0.waiting.lock();
        if waiting.is_closed || waiting.bytes + len_bytes > MAX_WAITING_BYTES {
            return false;
        }
        waiting.bytes += len_bytes;
        waiting.records.push_back(record);
        if waiting.records.len() == 1 {
            self.0.changed.notify_one();
        }
        true
    }
}

/// The thread that writes a file.
#[derive(Debug)]
pub(crate) struct Spool<R> {
    queue: Arc<Queue<R>>,
    thread: Option<JoinHandle<()>>,
}

impl<R: Send + 'static> Spool<R> {
    /// Makes the file, or empties it, and starts its thread; `option` is named if that fails.
    pub(crate) fn start<F: Format<Record = R>>(
        option: &'static str,
        path: &Path,
        mut format: F,
    ) -> Result<Self, LiveError> {
        let failed = |source| LiveError::File { option, path: path.to_owned(), source };
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        format.begin(&mut out).and_then(|()| out.flush()).map_err(failed)?;
        let waiting = Waiting { records: VecDeque::new(), bytes: 0, is_closed: false };
        let queue = Arc::new(Queue { waiting: Mutex::new(waiting), changed: Condvar::new() });
        let own = Arc::clone(&queue);
        let path = path.to_owned();
        let thread = thread::Builder::new()
            .name("packet-file".to_owned())
            .spawn(move || write_all(&own, &mut format, &mut out, &path))
            .map_err(LiveError::setup("the thread of a packet file"))?;
        Ok(Self { queue, thread: Some(thread) })
    }

    /// The end that takes records.
    pub(crate) fn inlet(&self) -> Inlet<R> {
        Inlet(Arc::clone(&self.queue))
    }
}

impl<R> Spool<R> {
    /// Takes no more records and waits until the file is whole.
    pub(crate) fn finish(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic was logged.
            let _ = thread.join();
        }
    }
}

impl<R> Drop for Spool<R> {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Writes what comes until the queue is closed. After the first failure everything is left out.
fn write_all<F: Format>(
    queue: &Queue<F::Record>,
    format: &mut F,
    out: &mut BufWriter<File>,
    path: &Path,
) {
    let fails = |result: io::Result<()>| {
        result.is_err_and(|error| {
            tracing::error!(%error, ?path, "cannot be written; further packets are left out");
            true
        })
    };
    let mut records = VecDeque::new();
    let mut is_broken = false;
    loop {
        let (bytes, is_closed) = {
            let mut waiting = queue.waiting.lock();
            while waiting.records.is_empty() && !waiting.is_closed {
                queue.changed.wait(&mut waiting);
            }
            std::mem::swap(&mut waiting.records, &mut records);
            (waiting.bytes, waiting.is_closed)
        };
        if records.is_empty() && is_closed {
            break;
        }
        for record in records.drain(..) {
            if is_broken {
                format.left_out(record);
            } else {
                is_broken = fails(format.record(record, out));
            }
        }
        let is_idle = {
            let mut waiting = queue.waiting.lock();
            waiting.bytes -= bytes;
            waiting.records.is_empty()
        };
        // What came is in the file when nothing more comes.
        is_broken = is_broken || (is_idle && fails(out.flush()));
    }
    if !is_broken {
        fails(format.end(out).and_then(|()| out.flush()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Lines, with the numbers of those left out at the end.
    struct Lines(u64);

    impl Format for Lines {
        type Record = u64;

        fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "begin")
        }

        fn record(&mut self, record: u64, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "{record}")
        }

        fn left_out(&mut self, _: u64) {
            self.0 += 1;
        }

        fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "end")
        }
    }

    #[test]
    fn what_is_taken_is_in_the_file_when_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut spool = Spool::start("--capture", &path, Lines(0)).unwrap();
        let inlet = spool.inlet();
        assert!((0..10_000).all(|number| inlet.offer(number, 100)));
        spool.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[10_001]), (10_002, "begin", "end"));
        assert_eq!(lines[10_000], "9999");
        assert!(!inlet.offer(1, 1), "it is closed");
    }

    #[test]
    fn what_is_too_much_is_not_taken_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut spool = Spool::start("--capture", &path, Lines(0)).unwrap();
        assert!(!spool.inlet().offer(1, MAX_WAITING_BYTES + 1));
        assert!(spool.inlet().offer(2, MAX_WAITING_BYTES));
        spool.finish();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "begin\n2\nend\n");
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named_with_its_option() {
        let error = Spool::start("--capture", Path::new("/nowhere/a"), Lines(0)).unwrap_err();
        assert!(error.to_string().starts_with("--capture: /nowhere/a: "), "{error}");
    }

    /// A disk that is full after three records.
    struct Full {
        written: u64,
        left_out: Arc<AtomicU64>,
    }

    impl Format for Full {
        type Record = u64;

        fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
            Ok(())
        }

        fn record(&mut self, record: u64, out: &mut dyn Write) -> io::Result<()> {
            if self.written == 3 {
                self.left_out(record);
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written += 1;
            writeln!(out, "{record}")
        }

        fn left_out(&mut self, _: u64) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }

        fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_ends_the_file_and_not_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let left_out = Arc::new(AtomicU64::new(0));
        let format = Full { written: 0, left_out: Arc::clone(&left_out) };
        let mut spool = Spool::start("--capture", &folder.path().join("lines"), format).unwrap();
        assert!((0..100).all(|number| spool.inlet().offer(number, 1)), "records are still taken");
        spool.finish();
        assert_eq!(left_out.load(Ordering::Relaxed), 97);
    }
}
