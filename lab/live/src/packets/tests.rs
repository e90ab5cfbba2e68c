//! Packets through the devices of a command line, to the files.

use super::*;
use crate::device::testing::packet_in_flight;

fn facts() -> RunFacts {
    let flows = ["any@17921", "any@17922"].map(Arc::from);
    RunFacts { seed: 5, rntis: [17_921, 17_922].into(), flows: flows.into() }
}

fn args(capture: &[String], packet_log: &[String], fault: &[&str]) -> PacketArgs {
    PacketArgs {
        capture: capture.iter().map(|text| text.parse().unwrap()).collect(),
        packet_log: packet_log.iter().map(|text| text.parse().unwrap()).collect(),
        packet_log_limit: 1,
        fault: fault.iter().map(|text| text.parse().unwrap()).collect(),
    }
}

/// Type and body of each block of a pcapng file, whose lengths have to fit.
fn blocks(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "both lengths of the block at {at}");
        found.push((word(at), bytes[at + 8..at + length - 4].to_vec()));
        at += length;
    }
    found
}

#[test]
fn a_capture_of_two_capture_points_has_their_packets_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.pcapng");
    let to = |point: &str| format!("{point}={}", path.display());
    let captures = [to("server-in"), to("ue-out")];
    let (mut points, mut files) =
        set_up(&args(&captures, &[], &["server-in:loss=0.5"]), &facts()).unwrap();
    points.epoch().set_unix_us(1_000);
    let mut passed = 0_u64;
    for number in 0..100 {
        let mut packet = packet_in_flight(number * 1_000 + 7, &[number as u8; 3]);
        packet.ue = 1;
        points.push(CapturePoint::ServerIn, packet, &mut |_| passed += 1);
    }
    points.push(CapturePoint::UeOut, packet_in_flight(500_000, &[9]), &mut |_| {});
    let summary = files.finish();
    assert!((30..70).contains(&passed), "{passed}");
    let expected = FileSummary {
        option: CAPTURE,
        path: path.display().to_string(),
        received_packets: passed + 1,
        left_out_packets: 0,
    };
    assert_eq!(summary, [expected]);

    let blocks = blocks(&std::fs::read(&path).unwrap());
    let of = |kind: u32| blocks.iter().filter(move |(own, _)| *own == kind).map(|(_, body)| body);
    assert_eq!(blocks[0].0, 0x0a0d_0d0a);
    let names: Vec<_> = of(1).map(|body| String::from_utf8_lossy(body).into_owned()).collect();
    for (name, expected) in
        names.iter().zip(["server-in 17921", "server-in 17922", "ue-out 17921", "ue-out 17922"])
    {
        assert!(name.contains(expected), "{name:?}");
    }
    assert_eq!((names.len(), of(6).count() as u64, of(5).count()), (4, passed + 1, 4));
    let last = of(6).next_back().unwrap();
    assert_eq!(last[..4], 2_u32.to_le_bytes(), "interface of ue-out 17921");
    let nanoseconds = 1_000_000_u32 + 500_000;
    assert_eq!(last[4..12], [[0; 4], nanoseconds.to_le_bytes()].concat());
}

#[test]
fn a_log_has_dropped_packets_with_their_cause_and_passed_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.jsonl");
    let logs = [format!("server-in={}", path.display())];
    let (mut points, mut files) =
        set_up(&args(&[], &logs, &["server-in:loss=0.5,corrupt=1"]), &facts()).unwrap();
    for number in 0..50 {
        points.push(CapturePoint::ServerIn, packet_in_flight(number, &[1, 2]), &mut |_| {});
    }
    assert_eq!(files.finish()[0].left_out_packets, 0);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let with =
        |verdict: &str| lines.iter().filter(|line| line["verdict"] == verdict).count() as u64;
    let faults = points.counts(CapturePoint::ServerIn).faults;
    assert_eq!((with("lost"), with("passed")), (faults.lost_packets, faults.corrupted_packets));
    assert_eq!(with("lost") + with("passed"), 50);
    assert_eq!(lines[50]["received_packets"], 50, "the last line");
    let passed = lines.iter().find(|line| line["verdict"] == "passed").unwrap();
    assert_eq!((&passed["flow"], &passed["faults"][0]), (&"any@17921".into(), &"corrupted".into()));
}

#[test]
fn options_in_each_others_way_are_refused() {
    let refused = |capture: &[&str], log: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        set_up(&args(&owned(capture), &owned(log), &[]), &facts()).unwrap_err().to_string()
    };
    let twice = refused(&["air=/tmp/x", "air=/tmp/x"], &[]);
    assert_eq!(twice, "--capture air=/tmp/x: given twice; expected once");
    let shared = refused(&["air=/tmp/x"], &["air=/tmp/x"]);
    assert_eq!(shared, "--packet-log air=/tmp/x: the file of a capture; expected another");
    let nowhere = refused(&["air=/nowhere/x"], &[]);
    assert!(nowhere.starts_with("--capture: /nowhere/x: "), "{nowhere}");
}
