//! What concerns Python, on its way to the event loop.
//!
//! Bounded by what it is about: a call or request has a few events at a time and waits for Python to take
//! them, calls are as many as their clients may have open, and log records are dropped beyond a number.

use std::{
    collections::VecDeque,
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::fd::{AsRawFd, RawFd},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;
use pyo3::prelude::*;

/// Log records that wait at most.
const MAX_RECORDS: usize = 4096;

/// What becomes an object of Python once the event loop takes it.
pub(crate) trait ForPython: Send {
    /// The object.
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

/// One event; the number is that of a call, request or server.
pub(crate) enum Event {
    /// A call or request that was admitted, of a server.
    Begin(u64, Box<dyn ForPython>),
    /// A request message of a call.
    Message(u64, Bytes),
    /// The client of a call has ended its side, or sent what cannot be read: code and message.
    RequestsEnded(u64, Option<(i32, String)>),
    /// The client has left, or has to.
    Gone(u64),
    /// The connection takes messages again.
    Writable(u64),
    /// The body of a request, or status and message for one that cannot be read.
    Body(u64, Result<Bytes, (u16, String)>),
    /// The access file was reloaded.
    AccessChanged,
    /// A line of the log.
    Log(Box<dyn ForPython>),
    /// A server has ended.
    ServerEnded(u64),
}

/// Events that wait, and the pipe whose reading end wakes the event loop.
pub(crate) struct Mailbox {
    waiting: Mutex<Waiting>,
    reader: PipeReader,
    writer: PipeWriter,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Event>,
    records: usize,
    next: u64,
    /// Whether the pipe holds a byte, which it does while events wait.
    has_woken: bool,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Arc<Self>> {
        let (reader, writer) = io::pipe()?;
        Ok(Arc::new(Self { waiting: Mutex::default(), reader, writer }))
    }

    /// Another number for a call, request or server.
    pub(crate) fn number(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.next += 1;
        waiting.next
    }

    pub(crate) fn push(&self, event: Event) {
        let mut waiting = self.waiting.lock();
        if matches!(event, Event::Log(_)) {
            if waiting.records >= MAX_RECORDS {
                return;
            }
            waiting.records += 1;
        }
        waiting.events.push_back(event);
        // Never blocks: the pipe is empty.
        if !waiting.has_woken {
            waiting.has_woken = (&self.writer).write(&[1]).is_ok();
        }
    }

    /// All that wait.
    pub(crate) fn drain(&self) -> VecDeque<Event> {
        let mut waiting = self.waiting.lock();
        waiting.records = 0;
        // Never blocks: the pipe holds a byte.
        if waiting.has_woken {
            waiting.has_woken = (&self.reader).read(&mut [0]).is_err();
        }
        std::mem::take(&mut waiting.events)
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.reader.as_raw_fd()
    }
}
