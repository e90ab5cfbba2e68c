//! Listening sockets.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use socket2::{Domain, Socket, Type};

/// Connections that wait to be accepted: as of the standard library.
const BACKLOG: i32 = 128;

/// Binds an address. `[::]` accepts IPv4 as well, and is `0.0.0.0` on a machine without IPv6.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = match address {
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => match both_families(address) {
            Err(error) if is_without_ipv6(&error) => {
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

/// `EAFNOSUPPORT` of a kernel without IPv6; `EADDRNOTAVAIL` where it is disabled.
fn is_without_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == ErrorKind::AddrNotAvailable
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
        assert!(is_without_ipv6(&io::Error::from_raw_os_error(97)));
        assert!(is_without_ipv6(&ErrorKind::AddrNotAvailable.into()));
        assert!(!is_without_ipv6(&ErrorKind::AddrInUse.into()));
        let bound = bind("[::]:0".parse().expect("an address")).expect("bound");
        let again = bind(bound.local_addr().expect("an address")).expect_err("in use");
        assert_eq!(again.kind(), ErrorKind::AddrInUse);
    }
}
