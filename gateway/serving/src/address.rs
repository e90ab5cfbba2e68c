//! Addresses of listeners and of clients.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

/// What precedes the path of a Unix socket.
const UNIX: &str = "unix:";

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// `host:port` or `[IPv6]:port`; a host may be a name with several addresses, port 0 is a free one.
    Tcp {
        /// The host, of IPv6 without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// `unix:path`.
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "not an address; expected host:port, [IPv6]:port or unix:path";
        if let Some(path) = text.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(Path::new(path).to_owned()));
        }
        let (host, port) = text.rsplit_once(':').ok_or(EXPECTED)?;
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(host) => host,
            None if host.contains(':') => return Err(EXPECTED.to_owned()),
            None => host,
        };
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        match port.parse() {
            Ok(port) if is_number && !host.is_empty() => {
                Ok(Self::Tcp { host: host.to_owned(), port })
            }
            _ => Err(EXPECTED.to_owned()),
        }
    }
}

/// Where a server listens now, with the port in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A TCP socket.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Bound {
    /// The TCP port; 0 of a Unix socket.
    pub fn port(&self) -> u16 {
        match self {
            Self::Tcp(address) => address.port(),
            Self::Unix(_) => 0,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// Where a client connects from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A client over TCP.
    Ip(SocketAddr),
    /// A client at a Unix socket, where it has no address: the number of the connection.
    Unix(u64),
}

impl Address {
    /// Whether the client is a program of this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Ip(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl Address {
    /// Whether the client is at a Unix socket.
    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(_) => f.write_str("unix"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_listen_are_addresses_or_name_what_was_expected() {
        let tcp = |host: &str, port| Ok(Listen::Tcp { host: host.to_owned(), port });
        assert_eq!("localhost:36421".parse(), tcp("localhost", 36421));
        assert_eq!("[::]:0".parse(), tcp("::", 0));
        assert_eq!("unix:/run/gateway".parse(), Ok(Listen::Unix("/run/gateway".into())));
        for text in ["", "a", ":1", "a:", "a:+1", "a:65536", "::1:5", "[::1]", "unix:", "a:b"] {
            let error = text.parse::<Listen>().expect_err(text);
            assert!(error.contains("expected host:port"), "{error}");
        }
    }

    #[test]
    fn a_client_of_this_machine_is_local_whatever_its_family() {
        let at = |text: &str| Address::Ip(text.parse().expect("an address"));
        assert!(at("127.0.0.1:1").is_local() && at("[::ffff:127.0.0.1]:1").is_local());
        assert!(Address::Unix(3).is_local() && !at("192.0.2.1:1").is_local());
        assert_eq!(
            (at("[::1]:7").to_string(), Address::Unix(3).to_string()),
            ("[::1]:7".into(), "unix".into())
        );
    }
}
