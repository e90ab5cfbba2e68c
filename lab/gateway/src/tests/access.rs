//! Rights of clients, by certificate and by token, and the audit log.

use std::{fs, path::Path};

use serde_json::Value;
use tonic::{Code, Request, Status};

use super::{
    double::{ACCEPT, CONTROLLER, Double, NODE, REFUSE, REPORTER},
    harness::*,
    pki::*,
};
use crate::{
    Gateway, ServeOptions,
    proto::{
        ControlRequest, ListNodesRequest, NodeEvent, Subscription, WatchNodesRequest,
        e2_gateway_client::E2GatewayClient, node_event::Kind,
    },
};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const ACCESS: &str = r#"
clients:
  - {name: controller, certificates: [controller.example.org], may: [read, subscribe, control]}
  - {name: reader, certificates: ["spiffe://example.org/reader", reader-cn], may: [read]}
  - {name: elsewhere, certificates: [elsewhere], may: [read, subscribe, control], nodes: ["other-*"]}
  - {name: noc, token_file: noc.token, may: [read]}
  - {name: watcher, token_file: watcher.token, may: [subscribe]}
"#;
const WATCHER_TOKEN: &str = "fedcba9876543210fedcba9876543210";

/// Options with an access file over mutual TLS.
fn protected(files: &Files, authority: &Authority) -> ServeOptions {
    ServeOptions {
        audit: Some(files.path("audit.jsonl")),
        ..with_access(files, files.mutual_tls(authority))
    }
}

fn with_access(files: &Files, options: ServeOptions) -> ServeOptions {
    files.write("noc.token", TOKEN);
    files.write("watcher.token", &format!("{WATCHER_TOKEN}\n"));
    ServeOptions { access: files.write("access.yaml", ACCESS), ..options }
}

async fn client(gateway: &Gateway, authority: &Authority, pair: &Pair) -> Client {
    let channel = dial(gateway, tls_client(authority, Some(pair))).await.expect("a handshake");
    E2GatewayClient::new(channel)
}

async fn nodes(client: &mut Client) -> Result<usize, Status> {
    Ok(client.list_nodes(ListNodesRequest {}).await?.into_inner().nodes.len())
}

/// The status that ends a subscription, or its call at once.
async fn refused_subscription(client: &mut Client) -> Status {
    let requests = tokio_stream::once(crate::proto::SubscribeRequest {
        subscription_id: 1,
        procedure: Some(crate::proto::subscribe_request::Procedure::Subscribe(every(1))),
    });
    match client.subscribe(requests).await {
        Err(status) => status,
        Ok(_) => end(&mut subscribe(client, every(1)).await).await,
    }
}

fn audit(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the audit file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn a_client_does_what_its_rights_allow() {
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, _script) = start_with(&protected(&files, &authority)).await;
    let pair = authority.client("controller.example.org");
    let mut controller = client(&gateway, &authority, &pair).await;
    assert_eq!(nodes(&mut controller).await.expect("nodes"), 1);
    next(&mut subscribe(&mut controller, every(1)).await).await;
    send_control(&mut controller, control(ACCEPT)).await.expect("an answer");

    let by_uri = authority.named_by_uri_and_cn(Some("spiffe://example.org/reader"), "any");
    let by_cn = authority.named_by_uri_and_cn(None, "reader-cn");
    for pair in [by_uri, by_cn] {
        let mut reader = client(&gateway, &authority, &pair).await;
        assert_eq!(nodes(&mut reader).await.expect("nodes"), 1);
        let status = send_control(&mut reader, control(ACCEPT)).await.expect_err("refused");
        assert_code(&status, Code::PermissionDenied, &["client reader: no right to control"]);
        let status = refused_subscription(&mut reader).await;
        assert_code(&status, Code::PermissionDenied, &["client reader: no right to subscribe"]);
    }
    let cn_beside_uri =
        authority.named_by_uri_and_cn(Some("spiffe://example.org/other"), "reader-cn");
    let with_nul = authority.client("controller.example.org\0.evil.example");
    for (pair, shown) in [
        (authority.client("stranger"), "stranger"),
        (cn_beside_uri, "spiffe://example.org/other"),
        (with_nul, "controller.example.org\\x00.evil.example"),
    ] {
        let mut stranger = client(&gateway, &authority, &pair).await;
        let status = nodes(&mut stranger).await.expect_err("refused");
        let message = format!("unknown client: certificate {shown}");
        assert_code(&status, Code::Unauthenticated, &[&message]);
    }
}

#[tokio::test]
async fn a_node_outside_the_clients_nodes_is_not_shown_and_not_touched() {
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, script) = start_with(&protected(&files, &authority)).await;
    let mut elsewhere = client(&gateway, &authority, &authority.client("elsewhere")).await;
    assert_eq!(nodes(&mut elsewhere).await.expect("nodes"), 0);
    let words = &["client elsewhere: no access to node", NODE];
    let status = send_control(&mut elsewhere, control(ACCEPT)).await.expect_err("refused");
    assert_code(&status, Code::PermissionDenied, words);
    let status = end(&mut subscribe(&mut elsewhere, every(1)).await).await;
    assert_code(&status, Code::PermissionDenied, words);
    assert!(script.lock().control_headers.is_empty());
}

#[tokio::test]
async fn tokens_open_both_listeners_as_far_as_their_rights_go() {
    let files = Files::new();
    let (gateway, _script) = start_with(&with_access(&files, options())).await;
    let list = async |token: &str| {
        let mut request = Request::new(ListNodesRequest {});
        let header = format!("Bearer {token}").parse().expect("ASCII");
        request.metadata_mut().insert("authorization", header);
        connect(&gateway)
            .await
            .list_nodes(request)
            .await
            .map(|nodes| nodes.into_inner().nodes.len())
    };
    assert_eq!(list(TOKEN).await.expect("nodes"), 1);
    let status = list("wrong").await.expect_err("refused");
    assert_code(&status, Code::Unauthenticated, &["unknown client: token not known"]);
    let status = list(WATCHER_TOKEN).await.expect_err("refused");
    assert_code(&status, Code::PermissionDenied, &["client watcher: no right to read"]);
    let status = nodes(&mut connect(&gateway).await).await.expect_err("refused");
    assert_code(&status, Code::Unauthenticated, &["no certificate and no token"]);

    let address = gateway.metrics_address().expect("HTTP is on");
    let get = async |token: &str| {
        http_get_with(address, "/metrics", &format!("Authorization: Bearer {token}\r\n")).await
    };
    let (status, body) = get(TOKEN).await;
    assert!(status.contains("200"), "{status}");
    for (reason, count) in [("unauthenticated", 2), ("right", 1)] {
        let line =
            format!(r#"sojourn_access_refused_total{{server="grpc",reason="{reason}"}} {count}"#);
        assert!(body.contains(&line), "{line} is not in {body}");
    }
    let (status, body) = get("wrong").await;
    assert!(status.contains("401") && body.contains("token not known"), "{status} {body}");
    let (status, body) = get(WATCHER_TOKEN).await;
    assert!(status.contains("403") && body.contains("no right to read"), "{status} {body}");
    assert!(http_get(address, "/metrics").await.0.contains("401"));
    assert!(http_get(address, "/healthz").await.0.contains("200"));
}

#[tokio::test]
async fn a_client_that_loses_its_rights_loses_its_streams_and_its_next_control() {
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, _script) = start_with(&protected(&files, &authority)).await;
    let pair = authority.client("controller.example.org");
    let mut controller = client(&gateway, &authority, &pair).await;
    let mut stream = subscribe(&mut controller, every(1)).await;
    next(&mut stream).await;
    let watch = controller.watch_nodes(WatchNodesRequest {}).await;
    let mut events = watch.expect("events").into_inner();
    let kind = |event: NodeEvent| event.kind();
    assert_eq!(kind(next(&mut events).await), Kind::Connected);
    let (requests, sent) = tokio::sync::mpsc::unbounded_channel();
    let sent = tokio_stream::wrappers::UnboundedReceiverStream::new(sent);
    let mut answers = controller.control(sent).await.expect("a call").into_inner();
    requests.send(control(ACCEPT)).expect("an open call");
    assert!(matches!(answered(next(&mut answers).await), Ok(())));

    files.write("access.yaml", &ACCESS.replace("controller.example.org", "another.example.org"));
    let unknown = &["unknown client: certificate controller.example.org"];
    assert_code(&end(&mut stream).await, Code::Unauthenticated, unknown);
    assert_eq!(kind(next(&mut events).await), Kind::Disconnected);
    requests.send(control(ACCEPT)).expect("an open call");
    let status = answered(next(&mut answers).await).expect_err("refused");
    assert_code(&status, Code::Unauthenticated, unknown);
}

fn answered(response: crate::proto::ControlResponse) -> Result<(), Status> {
    use crate::proto::control_response::Result::{Answer, Error};
    match response.result.expect("a result") {
        Answer(_) => Ok(()),
        Error(error) => Err(Status::new(Code::from(error.code.cast_signed()), error.detail)),
    }
}

#[tokio::test]
async fn controls_subscriptions_refusals_and_reloads_are_in_the_audit_log() {
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, _script) = start_with(&protected(&files, &authority)).await;
    let pair = authority.client("controller.example.org");
    let mut controller = client(&gateway, &authority, &pair).await;
    send_control(&mut controller, control(ACCEPT)).await.expect("an answer");
    send_control(&mut controller, control(REFUSE)).await.expect("an answer");
    next(&mut subscribe(&mut controller, every(1)).await).await;
    let unknown = Subscription { node_id: "nobody".to_owned(), ..every(1) };
    end(&mut subscribe(&mut controller, unknown).await).await;
    let mut stranger = client(&gateway, &authority, &authority.client("stranger")).await;
    for _ in 0..3 {
        nodes(&mut stranger).await.expect_err("refused");
    }
    files.write("access.yaml", "clients: everyone");
    let path = files.path("audit.jsonl");
    until(async || audit(&path).len() >= 6).await;

    let lines = audit(&path);
    let field = |line: usize, name: &str| lines[line][name].as_str().unwrap_or_default().to_owned();
    let shown = |line| [field(line, "who"), field(line, "action"), field(line, "outcome")];
    assert_eq!(shown(0), ["controller", "control", "accepted"]);
    assert_eq!([field(0, "node"), field(0, "ran_function")], [NODE, CONTROLLER]);
    assert!(field(0, "what").starts_with("sha256 "), "{}", lines[0]);
    assert!(field(0, "peer").starts_with("127.0.0.1:") || field(0, "peer").starts_with("[::1]:"));
    assert!(shown(1)[2].starts_with("rejected: "), "{}", lines[1]);
    assert_eq!(shown(2), ["controller", "subscribe", "accepted"]);
    assert_eq!(field(2, "ran_function"), REPORTER);
    assert!(shown(3)[2].contains("nobody"), "{}", lines[3]);
    assert_eq!(
        shown(4),
        ["certificate stranger", "refused", "refused: unknown client: certificate stranger"]
    );
    assert_eq!(field(4, "what"), "ListNodes");
    assert_eq!([field(5, "action"), field(5, "what")], ["reload", "access"]);
    assert!(field(5, "outcome").contains("clients: \"everyone\"; expected"), "{}", lines[5]);
}

#[tokio::test]
async fn health_is_open_and_reflection_needs_the_right_to_read() {
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    };
    let (files, authority) = (Files::new(), Authority::new());
    let (gateway, _script) = start_with(&protected(&files, &authority)).await;
    let tls = tls_client(&authority, Some(&authority.client("stranger")));
    let channel = dial(&gateway, tls).await.expect("a handshake");
    let check = HealthClient::new(channel.clone()).check(HealthCheckRequest::default()).await;
    check.expect("open");
    let request = tokio_stream::once(ServerReflectionRequest::default());
    let reflected = ServerReflectionClient::new(channel).server_reflection_info(request).await;
    assert_eq!(reflected.expect_err("refused").code(), Code::Unauthenticated);
}

#[tokio::test]
async fn an_access_or_audit_file_that_cannot_be_used_is_named_at_the_start() {
    let files = Files::new();
    let bad = ServeOptions {
        access: files.write("access.yaml", "clients: [{name: a, certificates: [a], may: [write]}]"),
        ..options()
    };
    let absent = ServeOptions { access: Some(files.path("absent.yaml")), ..options() };
    let audit = ServeOptions { audit: Some(files.path("absent/audit.jsonl")), ..options() };
    for (options, words) in [
        (bad, ["--access", "clients[0].may[0]: \"write\"; expected read, subscribe or control"]),
        (absent, ["--access", "absent.yaml"]),
        (audit, ["--audit", "absent/audit.jsonl"]),
    ] {
        let (double, _script) = Double::new();
        let error = Gateway::start(double, &options).await.expect_err("refused").to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[tokio::test]
async fn what_a_client_names_is_bounded_in_requests_and_in_the_audit_log() {
    let files = Files::new();
    let path = files.path("audit.jsonl");
    let (gateway, script) =
        start_with(&ServeOptions { audit: Some(path.clone()), ..options() }).await;
    let mut client = connect(&gateway).await;
    let expected = &["expected at most 256 bytes without control characters"][..];
    for name in ["g".repeat(40_000), "gnb\u{1b}[2J".to_owned()] {
        let request = ControlRequest { node_id: name.clone(), ..control(ACCEPT) };
        let status = send_control(&mut client, request).await.expect_err("refused");
        assert_code(&status, Code::InvalidArgument, expected);
        let request = ControlRequest { ran_function_oid: name.clone(), ..control(ACCEPT) };
        let status = send_control(&mut client, request).await.expect_err("refused");
        assert_code(&status, Code::InvalidArgument, expected);
        let request = Subscription { node_id: name, ..every(1) };
        let status = end(&mut subscribe(&mut client, request).await).await;
        assert_code(&status, Code::InvalidArgument, expected);
    }
    assert!(!path.exists() || audit(&path).is_empty());
    assert!(script.lock().control_headers.is_empty());

    // Of what reaches no node, a line a second of a client and a count.
    let longest = "é".repeat(128);
    let flood = (0..1_000).map(|request_id| ControlRequest {
        request_id,
        node_id: longest.clone(),
        ..control(ACCEPT)
    });
    let flood: Vec<_> = flood.collect();
    let mut answers = client.control(tokio_stream::iter(flood)).await.expect("a call").into_inner();
    for _ in 0..1_000 {
        next(&mut answers).await;
    }
    send_control(&mut client, control(ACCEPT)).await.expect("an answer");
    let lines = audit(&path);
    assert_eq!(lines.last().expect("a line")["outcome"], "accepted");
    assert_eq!(lines[0]["node"], longest);
    assert!(lines.len() < 100, "{}", lines.len());
    let outcome = lines[0]["outcome"].as_str().expect("a text");
    assert!(outcome.chars().count() <= 256, "{outcome}");
}
