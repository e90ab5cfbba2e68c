//! The command-line tool as a process.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_e2sm-tc"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = tool(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

fn answers(output: &Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{output:?}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn published(encoding: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../vectors/{encoding}.jsonl"));
    std::fs::read_to_string(path).unwrap()
}

/// Vectors are in the file in the order in which they were added.
#[test]
fn published_vectors_are_what_the_tool_prints() {
    for encoding in ["v0", "v1"] {
        let output = run(&["vectors", "--encoding", encoding], b"");
        let printed = String::from_utf8(output.stdout).unwrap();
        let published = published(encoding);
        let [mut printed, mut published] =
            [&printed, &published].map(|text| text.lines().collect::<Vec<_>>());
        printed.sort_unstable();
        published.sort_unstable();
        assert_eq!(printed, published);
    }
}

#[test]
fn new_vectors_are_appended_and_published_ones_stay() {
    let folder = std::env::temp_dir().join(format!("e2sm-tc-vectors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("v1.jsonl");
    let append = || run(&["vectors", "--append-to", file.to_str().unwrap()], b"");
    let all = published("v1");
    let (first, rest) = all.split_once('\n').unwrap();
    // The vector that the file lacks is the first that is printed.
    std::fs::write(&file, rest).unwrap();
    assert!(append().status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{rest}{first}\n"));
    assert!(append().status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{rest}{first}\n"));

    let changed = all.replacen("\"hex\": \"00", "\"hex\": \"01", 1);
    std::fs::write(&file, &changed).unwrap();
    let refused = append();
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("v1.jsonl:") && text.contains("extension markers"), "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), changed);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_vector_round_trips() {
    for encoding in ["v0", "v1"] {
        for line in published(encoding).lines() {
            let vector: serde_json::Value = serde_json::from_str(line).unwrap();
            let (kind, hex) = (vector["kind"].as_str().unwrap(), vector["hex"].as_str().unwrap());
            let flags = ["--encoding", encoding, "--type", kind];
            let decoded = run(&[&["decode"], &flags[..]].concat(), hex.as_bytes());
            assert_eq!(answers(&decoded), [serde_json::json!({ "value": vector["value"] })]);
            let bare = vector["value"].to_string();
            // Accepted inputs: the answer of decode, the bare value, the whole vector.
            let input = [&decoded.stdout[..], bare.as_bytes(), b"\n", line.as_bytes()].concat();
            let encoded = answers(&run(&[&["encode"], &flags[..]].concat(), &input));
            assert_eq!(encoded, vec![serde_json::json!({ "hex": hex }); 3]);
        }
    }
}

#[test]
fn a_bad_line_gets_an_error_and_later_lines_are_processed() {
    let flags = ["--encoding", "v0", "--type", "control-header"];
    let input = b"2a000000\r\n\nxyz\n2a0000\n\xff\xfe\n2A000000";
    let decoded = answers(&run(&[&["decode"], &flags[..]].concat(), input));
    let forty_two = serde_json::json!({ "value": { "dummy": 42 } });
    assert_eq!(decoded.len(), 6);
    assert_eq!(decoded[0], forty_two);
    assert_eq!(decoded[1]["error"], "dummy at byte 0: needs 32 bits, but 0 are left");
    assert_eq!(decoded[2]["error"], "hex: expected an even number of digits, found 3");
    assert_eq!(decoded[3]["error"], "dummy at byte 0: needs 32 bits, but 24 are left");
    assert_eq!(decoded[4]["error"], "line: expected UTF-8, found byte 0");
    assert_eq!(decoded[5], forty_two);

    let input =
        b"{\"dummy\": 42}\n{\n{\"dummy\": -1}\n{\"value\": 3}\nnull\n{\"value\":{\"dummy\":1}}\n";
    let encoded = answers(&run(&[&["encode"], &flags[..]].concat(), input));
    assert_eq!(encoded.len(), 6);
    assert_eq!(encoded[0], serde_json::json!({ "hex": "2a000000" }));
    for refused in &encoded[1..5] {
        assert!(refused["error"].is_string(), "{refused}");
    }
    assert_eq!(
        encoded[2]["error"],
        "dummy: invalid value: integer `-1`, expected a whole number, 0 to 4294967295"
    );
    assert!(encoded[1]["error"].as_str().unwrap().starts_with("value: EOF"), "{}", encoded[1]);
    assert_eq!(encoded[5], serde_json::json!({ "hex": "01000000" }));
}

#[test]
fn each_line_is_answered_before_the_next_arrives() {
    let mut child = tool(&["encode", "--type", "event-trigger"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        writeln!(input, "\"on_change\"").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert_eq!(answer, "{\"hex\": \"40\"}\n");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_output_pipe_is_success_without_error_text() {
    let mut child = tool(&["decode", "--type", "control-header"]).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let lines = "00010107\n".repeat(100_000);
    // The tool may stop reading at any time.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn help_and_errors_list_the_message_types() {
    let help = run(&["decode", "--help"], b"");
    assert!(String::from_utf8(help.stdout).unwrap().contains("ran-function-definition"));
    let refused = run(&["decode", "--type", "controls"], b"");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("control-outcome"));
}
