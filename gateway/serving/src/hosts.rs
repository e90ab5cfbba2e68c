//! The names that the HTTP server answers to.
//!
//! A page of another site may have its own name resolve to this server (DNS rebinding); its `Host` then
//! tells, for no name can be an IP address. Over TLS the client has compared the name with the
//! certificate. Shared test vectors with the Python programs: `gateway/access/vectors/hosts.yaml`.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, header, uri::Authority};

/// A host name, in lower case and without the final dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    fn of(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        Self(text.strip_suffix('.').map(str::to_owned).unwrap_or(text))
    }

    /// Reads a value of `--allowed-hosts`.
    ///
    /// # Errors
    /// The text is no host name; a port or a pattern is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.is_empty() || text.len() > 253 || !text.chars().all(is_part) {
            return Err("expected a host name without a port, e.g. gateway.example.org".to_owned());
        }
        Ok(Self::of(text))
    }
}

/// What an HTTP request names as its server.
enum Host {
    Address(IpAddr),
    Name(HostName),
}

impl Host {
    /// The host of `host[:port]` (RFC 9110 §7.2).
    fn of(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok().filter(|_| !text.contains('@'))?;
        let host = authority.host();
        let is_port =
            |text: &str| text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        if authority
            .as_str()
            .strip_prefix(host)
            .is_some_and(|rest| !rest.is_empty() && !is_port(rest))
        {
            return None;
        }
        let address =
            host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Some(match address.parse() {
            Ok(address) => Self::Address(address),
            Err(_) => Self::Name(HostName::of(host)),
        })
    }
}

/// The names of an HTTP server.
#[derive(Clone, Debug)]
pub struct AllowedHosts(Vec<HostName>);

impl AllowedHosts {
    /// `localhost`, the host of the setting `listen` and those of `--allowed-hosts`.
    pub fn new(listen: &str, allowed: &[HostName]) -> Self {
        let mut names = vec![HostName::of("localhost")];
        if let Some(Host::Name(name)) = Host::of(listen) {
            names.push(name);
        }
        names.extend_from_slice(allowed);
        Self(names)
    }

    /// Whether to answer a request.
    ///
    /// # Errors
    /// Status and sentence of the refusal: 421 (RFC 9110 §15.5.20) for a `Host` that is not ours, 403 for
    /// an `Origin` of another site.
    pub fn check(
        &self,
        headers: &HeaderMap,
        is_encrypted: bool,
    ) -> Result<(), (StatusCode, String)> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text(header::HOST);
        // Browsers always send it.
        if let Some(host) = host
            && !is_encrypted
            && !self.is_ours(host)
        {
            return Err((StatusCode::MISDIRECTED_REQUEST, refusal("Host", host)));
        }
        match text(header::ORIGIN) {
            Some(origin) if !self.is_own_site(origin, host.unwrap_or_default()) => {
                Err((StatusCode::FORBIDDEN, refusal("Origin", origin)))
            }
            _ => Ok(()),
        }
    }

    fn is_ours(&self, host: &str) -> bool {
        match Host::of(host) {
            Some(Host::Address(_)) => true,
            Some(Host::Name(name)) => self.0.contains(&name),
            None => false,
        }
    }

    /// Whether an origin (RFC 6454 §6.2) is on the host that the request names, on this machine or allowed.
    fn is_own_site(&self, origin: &str, host: &str) -> bool {
        let Some(origin) = origin.split_once("://").and_then(|(_, host)| Host::of(host)) else {
            return false;
        };
        match (origin, Host::of(host)) {
            (Host::Address(origin), Some(Host::Address(host))) if origin == host => true,
            (Host::Name(origin), Some(Host::Name(host))) if origin == host => true,
            (Host::Address(origin), _) => origin.is_loopback(),
            (Host::Name(origin), _) => self.0.contains(&origin),
        }
    }
}

fn refusal(header: &str, value: &str) -> String {
    let value: String = value.chars().take(100).collect();
    format!(
        "{header} {value:?} is not this server; expected an IP address, localhost or a name of \
         --allowed-hosts"
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use serde_json::Value;

    use super::*;

    #[test]
    fn requests_are_answered_or_refused_as_in_the_shared_vectors() {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR"));
        let vectors = vectors.join("../access/vectors/hosts.yaml");
        let cases: Value =
            serde_saphyr::from_str(&fs::read_to_string(vectors).expect("the vectors"))
                .expect("YAML");
        let cases = cases.as_array().expect("a list");
        assert!(cases.len() > 30);
        for case in cases {
            let allowed = case["allowed"].as_array().into_iter().flatten();
            let allowed: Vec<HostName> = allowed
                .map(|name| HostName::parse(name.as_str().expect("a name")).expect("a host name"))
                .collect();
            let mut headers = HeaderMap::new();
            for name in [header::HOST, header::ORIGIN] {
                if let Some(value) = case[name.as_str()].as_str() {
                    headers.insert(name, value.parse().expect("a header"));
                }
            }
            let hosts = AllowedHosts::new(case["listen"].as_str().expect("an address"), &allowed);
            let refused = hosts.check(&headers, case["tls"] == true).err();
            let status = refused.map(|(status, _)| u64::from(status.as_u16()));
            assert_eq!(status, case["status"].as_u64(), "{case}");
        }
    }

    #[test]
    fn values_of_the_flag_are_names() {
        assert_eq!(HostName::parse("Gateway.RAN.svc."), Ok(HostName::of("gateway.ran.svc")));
        for text in ["", "*", "a:80", "[::1]", "a b", &"a".repeat(254)] {
            assert!(HostName::parse(text).expect_err("refused").contains("expected a host name"));
        }
    }
}
