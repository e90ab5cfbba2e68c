//! TLS on both listeners, and certificates that change while the gateway runs. Whom mutual TLS admits is in
//! `tests/test_server_access.py` and `tests/test_hostile_clients.py`, of all programs.

use tonic::transport::Channel;

use super::{double::Double, harness::*, pki::*};
use crate::{
    Gateway, ServeError, ServeOptions,
    proto::{ListNodesRequest, e2_gateway_client::E2GatewayClient},
};

async fn list(channel: Channel) -> Result<usize, tonic::Status> {
    let nodes = E2GatewayClient::new(channel).list_nodes(ListNodesRequest {}).await?;
    Ok(nodes.into_inner().nodes.len())
}

/// Whether a client gets an answer. With TLS 1.3 it learns of a refusal with its first call.
async fn is_served(gateway: &Gateway, authority: &Authority, pair: Option<&Pair>) -> bool {
    match dial(gateway, tls_client(authority, pair)).await {
        Ok(channel) => list(channel).await.is_ok(),
        Err(_) => false,
    }
}

async fn https_metric(gateway: &Gateway, authority: &Authority, line: &str) -> f64 {
    let text = https_get(gateway, authority, None, "/metrics", "").await;
    assert!(text.contains(" 200 "), "{text}");
    text.lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '))
        .map_or(0.0, |value| value.trim().parse().expect("a number"))
}

#[tokio::test]
async fn files_that_are_missing_or_do_not_fit_together_are_named() {
    let (files, authority) = (Files::new(), Authority::new());
    let good = files.tls(&authority);
    let absent = ServeOptions { tls_key: Some(files.path("absent.pem")), ..good.clone() };
    let garbage = ServeOptions { tls_cert: files.write("bad.pem", "no PEM"), ..good.clone() };
    let other =
        ServeOptions { tls_key: files.write("other.pem", &authority.server().1), ..good.clone() };
    let alone = ServeOptions { tls_key: None, ..good };
    for (options, word) in [
        (absent, "absent.pem"),
        (garbage, "--tls-cert"),
        (other, "the key matching"),
        (alone, "both be given"),
    ] {
        let (double, _script) = Double::new();
        let error: ServeError = Gateway::start(double, &options).await.expect_err("refused");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[tokio::test]
async fn a_renewed_certificate_serves_new_connections_while_streams_go_on() {
    let (files, old, new) = (Files::new(), Authority::new(), Authority::new());
    let (gateway, _script) = start_with(&files.tls(&old)).await;
    let not_after = r#"sojourn_tls_certificate_not_after_seconds{use="grpc"}"#;
    assert!(
        https_metric(&gateway, &old, not_after).await > 4e9,
        "rcgen's certificates end in 4096"
    );
    let channel = dial(&gateway, tls_client(&old, None)).await.expect("a handshake");
    let mut client = E2GatewayClient::new(channel);
    let mut stream = subscribe(&mut client, every(1)).await;
    let first = next(&mut stream).await.sequence;

    files.write_pair(&new.server());
    until(async || is_served(&gateway, &new, None).await).await;
    assert!(dial(&gateway, tls_client(&old, None)).await.is_err());
    assert!(https_get(&gateway, &new, None, "/healthz", "").await.ends_with("ok\n"));
    for expected in first + 1..first + 50 {
        let indication = next(&mut stream).await;
        // Reports dropped for a slow reader would show in both.
        assert_eq!(indication.sequence, expected + indication.dropped);
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_leave_the_previous_certificate_in_use() {
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, _script) = start_with(&files.tls(&authority)).await;
    // The key does not belong to the certificate: as between the writes of a renewed pair.
    files.write("key.pem", &authority.server().1);
    let failures = r#"sojourn_tls_reload_failures_total{server="grpc"}"#;
    until(async || https_metric(&gateway, &authority, failures).await > 0.0).await;
    assert!(is_served(&gateway, &authority, None).await);
    files.write("cert.pem", "no PEM");
    until(async || https_metric(&gateway, &authority, failures).await > 1.0).await;
    assert!(is_served(&gateway, &authority, None).await);
}

#[tokio::test]
async fn probes_need_no_certificate_and_metrics_do() {
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, _script) = start_with(&files.mutual_tls(&authority)).await;
    let pair = authority.client("prometheus");
    for path in ["/healthz", "/readyz"] {
        until(async || https_get(&gateway, &authority, None, path, "").await.contains(" 200 "))
            .await;
    }
    let refused = https_get(&gateway, &authority, None, "/metrics", "").await;
    assert!(refused.contains(" 401 "), "{refused}");
    assert!(refused.ends_with("unknown client: no certificate and no token\n"), "{refused}");
    let served = https_get(&gateway, &authority, Some(&pair), "/metrics", "").await;
    assert!(
        served.contains(" 200 ") && served.contains("# TYPE sojourn_build_info gauge"),
        "{served}"
    );
}
