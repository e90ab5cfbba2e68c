//! Listening sockets.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs},
    os::unix::{
        fs::FileTypeExt,
        net::{UnixListener, UnixStream},
    },
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll, ready},
};

use socket2::{Domain, Socket, Type};
use tokio::net;

use crate::address::{Address, Bound, Listen};

/// Connections that wait to be accepted: as of the standard library.
const BACKLOG: i32 = 128;

/// A listening socket that no connection is accepted from yet; it needs no runtime.
#[derive(Debug)]
pub struct Listening {
    socket: Listener,
    /// Its address, with the port in use.
    pub bound: Bound,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listening {
    /// Binds an address, as [`bind`].
    ///
    /// # Errors
    /// It is in use or not of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = bind(address)?;
        let bound = Bound::Tcp(listener.local_addr()?);
        Ok(Self { socket: Listener::Tcp(listener), bound })
    }

    /// The TCP address; `None` of a Unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        match self.bound {
            Bound::Tcp(address) => Some(address),
            Bound::Unix(_) => None,
        }
    }

    /// Accepts connections from now on, within a runtime.
    ///
    /// # Errors
    /// The runtime cannot watch the socket.
    pub fn accept(self) -> io::Result<Accepting> {
        Ok(match self.socket {
            Listener::Tcp(socket) => Accepting::Tcp(net::TcpListener::from_std(socket)?),
            Listener::Unix(socket) => Accepting::Unix(net::UnixListener::from_std(socket)?),
        })
    }
}

/// A socket that connections are accepted from.
#[derive(Debug)]
pub enum Accepting {
    /// TCP.
    Tcp(net::TcpListener),
    /// A Unix socket.
    Unix(net::UnixListener),
}

/// An accepted connection before TLS.
#[derive(Debug)]
pub enum Accepted {
    /// TCP.
    Tcp(net::TcpStream),
    /// A Unix socket.
    Unix(net::UnixStream),
}

impl Accepting {
    pub(crate) fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Accepted, Address)>> {
        static UNIX_CLIENTS: AtomicU64 = AtomicU64::new(1);
        Poll::Ready(match self {
            Self::Tcp(listener) => {
                ready!(listener.poll_accept(context)).map(|(stream, address)| {
                    // Fails only for a connection that is closed already.
                    let _ = stream.set_nodelay(true);
                    (Accepted::Tcp(stream), address.into())
                })
            }
            Self::Unix(listener) => ready!(listener.poll_accept(context)).map(|(stream, _)| {
                let number = UNIX_CLIENTS.fetch_add(1, Ordering::Relaxed);
                (Accepted::Unix(stream), Address::Unix(number))
            }),
        })
    }
}

/// Binds all addresses of `listen`; with port 0 they all get the port that the first is given. A name is
/// looked up, which takes time.
///
/// # Errors
/// One cannot be bound. Families that this machine is without are left out of a name's addresses.
pub fn bind_all(listen: &Listen) -> io::Result<Vec<Listening>> {
    let (host, port) = match listen {
        Listen::Unix(path) => return Ok(vec![bind_unix(path)?]),
        Listen::Tcp { host, port } => (host.as_str(), *port),
    };
    let mut bound: Vec<Listening> = Vec::new();
    let mut without_family = None;
    let mut seen = Vec::new();
    for mut address in (host, port).to_socket_addrs()? {
        if seen.contains(&address) {
            continue;
        }
        seen.push(address);
        if port == 0
            && let Some(first) = bound.first()
        {
            address.set_port(first.bound.port());
        }
        match Listening::bind(address) {
            Ok(listening) => bound.push(listening),
            Err(error) if is_without_family(&error) => without_family = Some(error),
            Err(error) => return Err(error),
        }
    }
    match (bound.is_empty(), without_family) {
        (false, _) => Ok(bound),
        (true, Some(error)) => Err(error),
        (true, None) => Err(io::Error::new(ErrorKind::NotFound, "the name has no address")),
    }
}

/// Binds an address. `[::]` accepts IPv4 as well, and is `0.0.0.0` on a machine without IPv6.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = match address {
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => match both_families(address) {
            Err(error) if is_without_family(&error) => {
                tracing::info!("no IPv6 here: listening at 0.0.0.0");
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port()))?
            }
            bound => bound?,
        },
        _ => TcpListener::bind(address)?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whatever `net.ipv6.bindv6only` is (RFC 3493 §5.3).
fn both_families(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, None)?;
    socket.set_only_v6(false)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// `EAFNOSUPPORT` of a kernel without a family; `EADDRNOTAVAIL` where it is disabled.
fn is_without_family(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == ErrorKind::AddrNotAvailable
}

/// Binds a path, in place of a socket that an earlier process has left there.
fn bind_unix(path: &Path) -> io::Result<Listening> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let socket = UnixListener::bind(path)?;
    socket.set_nonblocking(true)?;
    Ok(Listening { socket: Listener::Unix(socket), bound: Bound::Unix(path.to_owned()) })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn the_unspecified_address_of_ipv6_is_that_of_both_families() {
        let bound = bind("[::]:0".parse().expect("an address")).expect("bound");
        let port = bound.local_addr().expect("an address").port();
        TcpStream::connect(("127.0.0.1", port)).expect("IPv4");
        if bound.local_addr().is_ok_and(|address| address.is_ipv6())
            && TcpListener::bind("[::1]:0").is_ok()
        {
            TcpStream::connect(("::1", port)).expect("IPv6");
        }
    }

    #[test]
    fn a_kernel_without_ipv6_is_told_from_an_address_in_use() {
        assert!(is_without_family(&io::Error::from_raw_os_error(97)));
        assert!(is_without_family(&ErrorKind::AddrNotAvailable.into()));
        assert!(!is_without_family(&ErrorKind::AddrInUse.into()));
        let bound = bind("[::]:0".parse().expect("an address")).expect("bound");
        let again = bind(bound.local_addr().expect("an address")).expect_err("in use");
        assert_eq!(again.kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn all_addresses_of_a_name_have_the_port_of_the_first() {
        let listen = "localhost:0".parse().expect("an address");
        let bound = bind_all(&listen).expect("bound");
        let port = bound[0].bound.port();
        assert!(port != 0 && bound.iter().all(|each| each.bound.port() == port), "{bound:?}");
        TcpStream::connect(("localhost", port)).expect("listening");
        let taken = format!("localhost:{port}").parse().expect("an address");
        assert_eq!(bind_all(&taken).expect_err("in use").kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn a_socket_that_a_process_has_left_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = Listen::Unix(folder.path().join("socket"));
        let first = bind_all(&listen).expect("bound");
        assert_eq!(bind_all(&listen).expect_err("in use").kind(), ErrorKind::AddrInUse);
        drop(first);
        bind_all(&listen).expect("bound again");
        let file = folder.path().join("file");
        fs::write(&file, "kept").expect("written");
        assert!(bind_all(&Listen::Unix(file.clone())).is_err());
        assert_eq!(fs::read_to_string(file).expect("kept"), "kept");
    }
}
