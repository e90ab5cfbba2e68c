//! The HTTP listener: whose requests it answers, and in which format.

use super::harness::*;
use crate::{HostName, ServeOptions};

#[tokio::test]
async fn a_name_that_was_made_to_resolve_to_the_gateway_is_not_answered() {
    let allowed_hosts = vec![HostName::parse("gateway.ran.svc").expect("a name")];
    let (gateway, _script) = start_with(&ServeOptions { allowed_hosts, ..options() }).await;
    let address = gateway.metrics_address().expect("HTTP is on");
    let own = format!("Host: {address}\r\n");
    let page = format!("Host: {address}\r\nOrigin: https://evil.example\r\n");
    for (headers, status) in [
        (own.as_str(), "200"),
        ("Host: gateway.ran.svc:9103\r\n", "200"),
        ("Host: evil.example\r\n", "421"),
        (&page, "403"),
    ] {
        for path in ["/metrics", "/healthz"] {
            let (head, body) = http_ask(address, path, headers).await;
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}: {head}");
            let names_the_host = body.contains("evil.example") && body.contains("--allowed-hosts");
            assert_eq!(names_the_host, status != "200", "{body}");
        }
    }
}

#[tokio::test]
async fn metrics_come_in_the_format_that_is_asked_for() {
    let (gateway, _script) = start().await;
    let address = gateway.metrics_address().expect("HTTP is on");
    for accept in ["", "Accept: text/plain;version=0.0.4\r\n"] {
        let headers = format!("Host: localhost\r\n{accept}");
        let (head, body) = http_ask(address, "/metrics", &headers).await;
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
        let family = "# TYPE sojourn_access_reload_failures_total counter\n";
        assert!(body.contains(family) && !body.contains("# EOF"), "{body}");
    }
    let accept = "Host: localhost\r\nAccept: application/openmetrics-text; version=1.0.0\r\n";
    let (head, body) = http_ask(address, "/metrics", accept).await;
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    let family = "# TYPE sojourn_access_reload_failures counter\n";
    assert!(body.contains(family) && body.ends_with("# EOF\n"), "{body}");
}
