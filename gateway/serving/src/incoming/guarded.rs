//! A connection that the table of connections can end.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::limits::Slot;

/// A TCP connection with its place in the table.
#[derive(Debug)]
pub(super) struct Guarded {
    stream: TcpStream,
    slot: Slot,
}

impl Guarded {
    pub(super) fn new(stream: TcpStream, slot: Slot) -> Self {
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
            self.stream.poll_read_ready(context)
        })
        .await
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
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
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
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
