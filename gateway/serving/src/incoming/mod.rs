//! The listeners of a gateway for gRPC and HTTP, in plain text or with TLS.

mod certificates;
mod guarded;

use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{FutureExt, Stream, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tonic::transport::server::Connected;

pub use certificates::certificate_names;
pub use certificates::check as check_certificates;
pub use certificates::check_files as check_certificate_files;
pub use certificates::{CertificateFiles, Certificates, ClientCertificate, MAX_PEM_BYTES, PemFile};
use guarded::{Duplex, Guarded};

use crate::{
    address::Address,
    limits::{ClientKey, Connections, SILENCE, Slot},
    listener::{Accepted, Accepting},
};

/// Wait after a failure to accept, e.g. for lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The protocol of a listener; value of the label `server` of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 with gRPC.
    Grpc,
    /// HTTP/1.1.
    Http,
    /// A1-P over HTTP/1.1.
    A1,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Grpc, Self::Http, Self::A1];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
            Self::A1 => "a1",
        }
    }
}

/// What a listener speaks, and asks of clients.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The protocol.
    pub protocol: Protocol,
    /// Whether certificates of clients are verified: without an access file, clients need one.
    pub has_client_ca: bool,
    /// Whether tokens are accepted over plain text from beyond this machine.
    pub is_insecure: bool,
}

/// The far end of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// What the listener asks.
    pub terms: Terms,
    /// The address of its end.
    pub address: Address,
    /// Whether it is TLS.
    pub is_encrypted: bool,
    /// Names of the verified client certificate ([`certificate_names`]).
    pub certificate: Option<Arc<[String]>>,
    /// Its place in the table of connections; the peer of a test has none.
    pub slot: Option<Slot>,
}

/// The client at the far end, as far as its certificate tells.
pub type Identify = Arc<dyn Fn(&Peer) -> ClientKey + Send + Sync>;

/// Connections of a listener that have sent something, after their handshakes. Those that have not cost a
/// place in the table of connections, which ends them, and no task.
pub struct Incoming {
    terms: Terms,
    listener: Accepting,
    certificates: Option<Arc<Certificates>>,
    connections: Connections,
    identify: Identify,
    arriving: FuturesUnordered<BoxFuture<'static, Option<Connection>>>,
    retry: Option<Pin<Box<Sleep>>>,
    has_returned: bool,
}

impl Incoming {
    /// Plain text if `certificates` is `None`.
    pub fn new(
        terms: Terms,
        listener: Accepting,
        certificates: Option<Arc<Certificates>>,
        connections: Connections,
        identify: Identify,
    ) -> Self {
        Self {
            terms,
            listener,
            certificates,
            connections,
            identify,
            arriving: FuturesUnordered::new(),
            retry: None,
            has_returned: false,
        }
    }

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<(Accepted, Address)> {
        loop {
            if let Some(retry) = &mut self.retry {
                ready!(retry.as_mut().poll(context));
                self.retry = None;
            }
            match ready!(self.listener.poll_accept(context)) {
                Ok(accepted) => return Poll::Ready(accepted),
                Err(error) => {
                    tracing::warn!(%error, server = self.terms.protocol.name(), "a connection was not accepted");
                    self.retry = Some(Box::pin(sleep(ACCEPT_RETRY)));
                }
            }
        }
    }

    /// The connection, once it has sent something or shaken hands; `None` if it ends before.
    fn arrival(
        &self,
        stream: Accepted,
        address: Address,
    ) -> Option<BoxFuture<'static, Option<Connection>>> {
        let slot = self.connections.admit(ClientKey::at(address))?;
        let turn = self.connections.turn(&ClientKey::at(address));
        let stream = Guarded::new(stream, slot);
        let terms = self.terms;
        let tls = self
            .certificates
            .clone()
            .map(|certificates| (certificates, Arc::clone(&self.identify)));
        Some(
            async move {
                stream.unless_closed(turn).await.ok()?;
                stream.first_bytes().await.ok()?;
                match tls {
                    None => {
                        let slot = Some(stream.slot().clone());
                        let peer =
                            Peer { terms, address, is_encrypted: false, certificate: None, slot };
                        Some(Connection { io: Io::Plain(stream), peer })
                    }
                    // Of the files as they are when it begins.
                    Some((certificates, identify)) => {
                        let acceptor = TlsAcceptor::from(certificates.config());
                        handshake(terms, acceptor, stream, address, identify).await
                    }
                }
            }
            .boxed(),
        )
    }
}

impl Stream for Incoming {
    type Item = Result<Connection, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // A burst of connections becomes a burst of tasks, which open calls would wait behind: after
        // each of them every other task has its turn.
        if std::mem::take(&mut this.has_returned) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while let Poll::Ready(Some(arrived)) = this.arriving.poll_next_unpin(context) {
            if let Some(connection) = arrived {
                this.has_returned = true;
                return Poll::Ready(Some(Ok(connection)));
            }
        }
        if let Poll::Ready((stream, address)) = this.poll_accept(context) {
            this.arriving.extend(this.arrival(stream, address));
            // To poll it, and to accept the next, after the turn of the others.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

async fn handshake(
    terms: Terms,
    acceptor: TlsAcceptor,
    stream: Guarded,
    address: Address,
    identify: Identify,
) -> Option<Connection> {
    let shaken = timeout(SILENCE, acceptor.accept(stream)).await;
    let reason = match shaken {
        Ok(Ok(stream)) => {
            let (guarded, session) = stream.get_ref();
            let slot = guarded.slot().clone();
            let chain = session.peer_certificates();
            let certificate = chain.and_then(|chain| chain.first()).map(certificate_names);
            let slot = Some(slot);
            let peer = Peer { terms, address, is_encrypted: true, certificate, slot };
            // Without a certificate the first call tells who it is, by its token.
            if peer.certificate.is_some()
                && let Some(slot) = &peer.slot
            {
                slot.identified(&identify(&peer)).ok()?;
            }
            return Some(Connection { io: Io::Tls(Box::new(stream)), peer });
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took too long".to_owned(),
    };
    tracing::debug!(%address, server = terms.protocol.name(), reason, "a TLS handshake failed");
    None
}

/// An accepted connection after its handshake.
pub struct Connection {
    io: Io,
    peer: Peer,
}

enum Io {
    Plain(Guarded),
    Tls(Box<TlsStream<Guarded>>),
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl Connection {
    /// The far end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    fn io(&mut self) -> Pin<&mut dyn Duplex> {
        match &mut self.io {
            Io::Plain(stream) => Pin::new(stream),
            Io::Tls(stream) => Pin::new(&mut **stream),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.io().poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(stream) => stream.is_write_vectored(),
            Io::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
