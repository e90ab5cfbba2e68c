//! What Python sends on a stream: the messages of a call, or the chunks of an answer of HTTP.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, future::BoxFuture};
use parking_lot::Mutex;
use tonic::Status;

use crate::mailbox::{Event, Mailbox};

/// Python's end of a stream.
///
/// One message waits beside those that the connection has taken: what is older than that a program may still
/// replace by something newer.
pub(crate) struct Outgoing {
    number: u64,
    mailbox: Arc<Mailbox>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    message: Option<Bytes>,
    end: Option<Result<(), Status>>,
    waker: Option<Waker>,
    /// Whether Python waits for room.
    is_awaited: bool,
    is_gone: bool,
}

impl Outgoing {
    pub(crate) fn new(number: u64, mailbox: &Arc<Mailbox>) -> Arc<Self> {
        Arc::new(Self { number, mailbox: Arc::clone(mailbox), state: Mutex::default() })
    }

    /// Sends a message; `false` if another waits: an event tells when there is room.
    pub(crate) fn try_send(&self, message: Bytes) -> bool {
        let mut state = self.state.lock();
        if state.is_gone {
            return true;
        }
        if state.message.is_some() {
            state.is_awaited = true;
            return false;
        }
        state.message = Some(message);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// Ends the stream after what waits; the first end counts.
    pub(crate) fn end(&self, end: Result<(), Status>) {
        let mut state = self.state.lock();
        state.end.get_or_insert(end);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The connection's end of a stream. When it is dropped before the stream has ended, Python hears of it.
pub(crate) struct OutgoingStream {
    outgoing: Arc<Outgoing>,
    /// Why it has to end before Python ends it.
    revoked: BoxFuture<'static, Status>,
    has_ended: bool,
}

impl OutgoingStream {
    pub(crate) fn new(
        outgoing: Arc<Outgoing>,
        revoked: impl Future<Output = Status> + Send + 'static,
    ) -> Self {
        Self { outgoing, revoked: revoked.boxed(), has_ended: false }
    }

    /// Waits for the only message, or the status of an error.
    pub(crate) async fn only_message(mut self) -> Result<Bytes, Status> {
        use futures_util::StreamExt;
        let Some(message) = self.next().await.transpose()? else {
            return Err(Status::internal("the procedure has ended without a response"));
        };
        // Whatever follows: nobody waits for it.
        self.has_ended = true;
        Ok(message)
    }
}

impl Stream for OutgoingStream {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let outgoing = Arc::clone(&self.outgoing);
        let mut state = outgoing.state.lock();
        if let Some(message) = state.message.take() {
            let is_awaited = std::mem::take(&mut state.is_awaited);
            drop(state);
            if is_awaited {
                outgoing.mailbox.push(Event::Writable(outgoing.number));
            }
            return Poll::Ready(Some(Ok(message)));
        }
        if let Some(end) = state.end.clone() {
            self.has_ended = true;
            state.is_gone = true;
            return Poll::Ready(end.err().map(Err));
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        drop(state);
        match self.revoked.poll_unpin(context) {
            Poll::Ready(status) => {
                // Python hears of it when this is dropped.
                outgoing.end(Err(status.clone()));
                Poll::Ready(Some(Err(status)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for OutgoingStream {
    fn drop(&mut self) {
        let mut state = self.outgoing.state.lock();
        state.is_gone = true;
        state.message = None;
        drop(state);
        if !self.has_ended {
            self.outgoing.mailbox.push(Event::Gone(self.outgoing.number));
        }
    }
}
