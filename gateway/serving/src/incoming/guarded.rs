//! A connection that the table of connections can end.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{limits::Slot, listener::Accepted};

/// A connection with its place in the table.
#[derive(Debug)]
pub(super) struct Guarded {
    stream: Accepted,
    slot: Slot,
}

/// The stream of a connection, whichever it is.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

impl Guarded {
    pub(super) fn new(stream: Accepted, slot: Slot) -> Self {
        Self { stream, slot }
    }

    pub(super) fn slot(&self) -> &Slot {
        &self.slot
    }

    /// Waits until the peer has sent something.
    ///
    /// # Errors
    /// The connection ended before.
    pub(super) async fn first_bytes(&self) -> io::Result<()> {
        poll_fn(|context| {
            self.check(context)?;
            match &self.stream {
                Accepted::Tcp(stream) => stream.poll_read_ready(context),
                Accepted::Unix(stream) => stream.poll_read_ready(context),
            }
        })
        .await
    }

    /// Waits for something else.
    ///
    /// # Errors
    /// The connection ended before.
    pub(super) async fn unless_closed(&self, waited: impl Future<Output = ()>) -> io::Result<()> {
        let mut waited = pin!(waited);
        poll_fn(|context| {
            self.check(context)?;
            waited.as_mut().poll(context).map(Ok)
        })
        .await
    }

    fn stream(&mut self) -> Pin<&mut dyn Duplex> {
        match &mut self.stream {
            Accepted::Tcp(stream) => Pin::new(stream),
            Accepted::Unix(stream) => Pin::new(stream),
        }
    }

    fn check(&self, context: &Context<'_>) -> io::Result<()> {
        if self.slot.is_closed(context.waker()) {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "idle, or no room for the connection",
            ));
        }
        Ok(())
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.slot.leave();
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        let read = self.stream().poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.slot.has_sent();
        }
        read
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        self.stream().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Accepted::Tcp(stream) => stream.is_write_vectored(),
            Accepted::Unix(stream) => stream.is_write_vectored(),
        }
    }
}
