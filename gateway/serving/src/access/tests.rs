//! The access file against the vectors shared with the Python programs, and credentials of callers.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::*;
use crate::incoming::Terms;

fn peer(address: &str, is_encrypted: bool, names: Option<&[&str]>) -> Peer {
    Peer {
        terms: Terms { protocol: Protocol::Grpc, has_client_ca: true, is_insecure: false },
        address: Address::Ip(address.parse().expect("an address")),
        is_encrypted,
        certificate: names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        slot: None,
    }
}

fn vectors(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../access/vectors");
    let text = fs::read_to_string(folder.join(name)).expect("the vectors");
    serde_saphyr::from_str(&text).expect("YAML")
}

/// Writes an access file and its token files.
fn write(folder: &Path, case: &Value) -> PathBuf {
    let path = folder.join("access.yaml");
    fs::write(&path, case["access"].as_str().expect("a text")).expect("written");
    for (name, text) in case["files"].as_object().into_iter().flatten() {
        fs::write(folder.join(name), text.as_str().expect("a text")).expect("written");
    }
    for (name, mode) in case["modes"].as_object().into_iter().flatten() {
        let mode = u32::from_str_radix(mode.as_str().expect("a text"), 8).expect("octal");
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).expect("set");
    }
    path
}

fn control(path: &Path) -> Arc<AccessControl> {
    let audit = Audit::new(None, true, ServingMetrics::default()).expect("no file");
    let metrics = ServingMetrics::default();
    let path = Some(path.to_owned());
    Arc::new(AccessControl::new(path, audit, metrics).expect("valid"))
}

#[test]
fn access_files_are_accepted_or_refused_as_in_the_shared_vectors() {
    let cases = vectors("files.yaml");
    let cases = cases.as_array().expect("a list");
    assert!(cases.len() > 30);
    for case in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let parsed = AccessFile::read(&write(folder.path(), case));
        let place = parsed.as_ref().err().map(|error| error.place.as_str());
        assert_eq!(place, case["error"].as_str(), "{}: {parsed:?}", case["name"]);
        if let Err(error) = parsed {
            let text = error.to_string();
            assert!(text.contains("access.yaml") && text.contains("expected"), "{text}");
        }
    }
}

#[test]
fn requests_are_decided_as_in_the_shared_vectors() {
    let case = vectors("decisions.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    let access = control(&write(folder.path(), &case));
    for request in case["requests"].as_array().expect("a list") {
        let names: Option<Vec<&str>> = request["certificate"]
            .as_array()
            .map(|names| names.iter().map(|name| name.as_str().expect("a name")).collect());
        let authorization = match (&request["token"], &request["authorization"]) {
            (Value::String(token), _) => Some(format!("Bearer {token}")),
            (_, header) => header.as_str().map(str::to_owned),
        };
        let peer = peer("192.0.2.1:1", true, names.as_deref());
        let caller = Caller::new(&access, peer, authorization.as_deref());
        let right = match request["right"].as_str() {
            Some("read") => Right::Read,
            Some("subscribe") => Right::Subscribe,
            _ => Right::Control,
        };
        let outcome = match caller.require(right, request["node"].as_str(), "call") {
            Ok(who) => who,
            Err(refusal) => refusal.reason.name().to_owned(),
        };
        assert_eq!(outcome, request["outcome"].as_str().expect("an outcome"), "{request}");
    }
}

#[test]
fn identifiers_and_audit_fields_are_bounded_as_in_the_shared_vectors() {
    let cases = vectors("audit.yaml");
    let text = |case: &Value| {
        let times = case["times"].as_u64().and_then(|times| usize::try_from(times).ok());
        case["text"].as_str().expect("a text").repeat(times.expect("a count"))
    };
    for case in cases["identifiers"].as_array().expect("a list") {
        let text = text(case);
        for (node_id, oid) in [(text.as_str(), "1"), ("gnb", text.as_str())] {
            let checked = check_identifiers(node_id, oid);
            assert_eq!(checked.is_ok(), case["accepted"] == true, "{case}: {checked:?}");
        }
    }
    for case in cases["fields"].as_array().expect("a list") {
        let text = text(case);
        let kept = usize::try_from(case["kept"].as_u64().expect("a count")).expect("small");
        let mut expected: String = text.chars().take(kept).collect();
        expected.extend((kept < text.chars().count()).then_some('…'));
        assert_eq!(identifiers::field(&text), expected, "{case}");
    }
}

#[test]
fn sizes_are_bounded() {
    let client =
        |number: usize| format!("- {{name: a{number}, certificates: [c{number}], may: [read]}}");
    let clients = |count: usize| {
        (0..count).fold("clients:\n".to_owned(), |mut text, number| {
            let _ = writeln!(text, "{}", client(number));
            text
        })
    };
    let names = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("n{number}")).collect();
        format!("clients: [{{name: a, certificates: [{}], may: [read]}}]", names.join(", "))
    };
    let cases = BTreeMap::from([
        (clients(256), None),
        (clients(257), Some("clients")),
        (names(64), None),
        (names(65), Some("clients[0].certificates")),
        (format!("{}# {}", clients(1), "x".repeat(256 << 10)), Some("")),
    ]);
    for (text, place) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("access.yaml");
        fs::write(&path, &text).expect("written");
        let parsed = AccessFile::read(&path);
        assert_eq!(parsed.as_ref().err().map(|error| error.place.as_str()), place, "{parsed:?}");
    }
}

#[test]
fn a_token_over_plain_text_is_refused_beyond_loopback() {
    let case = vectors("decisions.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    let access = control(&write(folder.path(), &case));
    let token = Some("Bearer 0123456789abcdef0123456789abcdef");
    for (address, is_encrypted, is_known) in [
        ("127.0.0.1:1", false, true),
        ("[::1]:1", false, true),
        ("192.0.2.1:1", true, true),
        ("192.0.2.1:1", false, false),
    ] {
        let caller = Caller::new(&access, peer(address, is_encrypted, None), token);
        assert_eq!(caller.may(Right::Read, None), is_known, "{address}");
    }
    let caller = Caller::new(&access, peer("192.0.2.1:1", false, None), token);
    let refusal = caller.require(Right::Read, None, "call").expect_err("plain text");
    assert_eq!(refusal.message, "unknown client: token over plain text");
}

#[test]
fn messages_name_the_client_and_the_right_without_control_characters() {
    let case = vectors("decisions.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    let access = control(&write(folder.path(), &case));
    let message = |names: Option<&[&str]>, token, right, node| {
        let caller = Caller::new(&access, peer("192.0.2.1:1", true, names), token);
        caller.require(right, node, "call").expect_err("refused").message
    };
    let noc = Some("Bearer 0123456789abcdef0123456789abcdef");
    let names: &[&str] = &["a", "b\n"];
    assert_eq!(
        message(Some(names), None, Right::Read, None),
        "unknown client: certificate a, b\\n"
    );
    assert_eq!(
        message(None, None, Right::Read, None),
        "unknown client: no certificate and no token"
    );
    assert_eq!(
        message(None, Some("Basic YTpi"), Right::Read, None),
        "unknown client: token not known"
    );
    assert_eq!(message(None, noc, Right::Control, None), "client noc: no right to control");
    let south: &[&str] = &["south.example.org"];
    assert_eq!(
        message(Some(south), None, Right::Control, Some("gnb-\u{7}")),
        "client south: no access to node gnb-\\x07"
    );
}

#[test]
fn a_changed_file_is_taken_over_and_a_bad_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.yaml");
    let file = |right: &str| format!("clients: [{{name: a, certificates: [a], may: [{right}]}}]");
    fs::write(&path, file("read")).expect("written");
    let access = control(&path);
    let names: &[&str] = &["a"];
    let caller = Caller::new(&access, peer("192.0.2.1:1", true, Some(names)), None);
    assert!(caller.may(Right::Read, None) && !caller.may(Right::Control, None));
    fs::write(&path, file("control")).expect("written");
    access.reload();
    assert!(!caller.may(Right::Read, None) && caller.may(Right::Control, None));
    fs::write(&path, file("everything")).expect("written");
    access.reload();
    access.reload();
    assert!(caller.may(Right::Control, None));
    fs::remove_file(&path).expect("removed");
    access.reload();
    assert!(caller.may(Right::Control, None));
}
