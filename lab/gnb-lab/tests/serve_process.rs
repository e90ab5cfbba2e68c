//! `gnb-lab serve` as a process: ready line, signals, summary, exit status.

#![cfg(unix)]
// The leniency of clippy.toml towards tests does not reach their helpers.
#![allow(clippy::expect_used)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

use lab_gateway::proto::{
    ListNodesRequest, SubscribeRequest, Subscription, e2_gateway_client::E2GatewayClient,
    subscribe_request::Procedure, subscription_event::Event,
};
use serde_json::Value;
use tonic::Code;

const RLC: &str = "0.0.0.0.0.0.0.0.1.143.0";

fn scenario() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml")
}

fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gnb-lab"));
    command.arg("serve").arg(scenario()).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running gateway; killed if the test fails before it ends.
struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
    listen: String,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut child = serve(arguments).spawn().expect("a process");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(ready["event"], "ready");
        let listen = ready["listen"].as_str().expect("an address").to_owned();
        Self { child, stdout, listen }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Waits for the end; the ready line must have been all of stdout.
    fn end(mut self) -> ExitStatus {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("the end of stdout");
        assert_eq!(rest, "");
        self.child.wait().expect("an exit status")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file that is removed with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("gnb-lab-{name}-{}.json", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a UTF-8 path")
    }

    fn json(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(&self.0).expect("a file")).expect("JSON")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

async fn client(listen: &str) -> E2GatewayClient<tonic::transport::Channel> {
    E2GatewayClient::connect(format!("http://{listen}")).await.expect("a connection")
}

#[tokio::test]
async fn sigterm_ends_streams_as_unavailable_and_leaves_the_summary() {
    let summary = Scratch::new("sigterm");
    let process = Process::start(&["--listen", "127.0.0.1:0", "--summary", summary.path()]);
    let mut client = client(&process.listen).await;
    let nodes = client.list_nodes(ListNodesRequest {}).await.expect("nodes").into_inner().nodes;
    let subscription = Subscription {
        node_id: nodes[0].id.clone(),
        ran_function_oid: RLC.to_owned(),
        event_trigger: 1u32.to_le_bytes().to_vec().into(),
        ..Subscription::default()
    };
    let request = SubscribeRequest {
        subscription_id: 1,
        procedure: Some(Procedure::Subscribe(subscription)),
    };
    let mut stream =
        client.subscribe(tokio_stream::once(request)).await.expect("a call").into_inner();
    let first = stream.message().await.expect("no error").expect("no end");
    assert!(matches!(first.events[0].event, Some(Event::Indication(_))), "{first:?}");
    process.signal("TERM");
    let status = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended without a status"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    drop((stream, client));
    assert!(process.end().success());
    assert!(summary.json()["duration_s"].as_f64().expect("a time") > 0.0);
}

#[test]
fn sigint_stops_it_as_well() {
    let process = Process::start(&["--listen", "127.0.0.1:0"]);
    process.signal("INT");
    assert!(process.end().success());
}

#[test]
fn the_duration_stops_it_at_that_virtual_time() {
    let summary = Scratch::new("duration");
    let arguments = ["--listen", "127.0.0.1:0", "--duration", "0.2", "--summary", summary.path()];
    assert!(Process::start(&arguments).end().success());
    let duration_s = summary.json()["duration_s"].as_f64().expect("a time");
    assert!((duration_s - 0.2).abs() < 1e-9, "{duration_s}");
}

#[test]
fn a_recording_that_cannot_be_written_is_an_error_after_the_summary() {
    let summary = Scratch::new("unwritable");
    let out = tempfile::tempdir().expect("a folder");
    let blocked = out.path().join("flows.parquet");
    fs::create_dir(&blocked).expect("a folder in place of the file");
    let out = out.path().to_str().expect("a UTF-8 path");
    let output = serve(&["--listen", "127.0.0.1:0", "--duration", "0.2", "--out", out])
        .args(["--summary", summary.path()])
        .output()
        .expect("a process");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(&format!("gnb-lab: {}: ", blocked.display())), "{stderr}");
    assert!(summary.json()["duration_s"].is_f64());
}

#[test]
fn the_last_of_a_flag_wins() {
    let output = serve(&["--listen", "nonsense", "--listen", "127.0.0.1:0"])
        .args(["--duration", "60", "--duration", "0.2"])
        .output()
        .expect("a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn bad_arguments_are_named_and_fail() {
    for (arguments, word) in [
        (["--listen", "0.0.0.0:0"], "plaintext"),
        (["--listen", "nonsense"], "--listen"),
        (["--duration", "0"], "--duration"),
        (["--tls-cert", "absent.pem"], "--tls-key"),
    ] {
        let output = serve(&arguments).output().expect("a process");
        assert!(!output.status.success());
        assert!(output.stdout.is_empty());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
}
