//! Cases worked out by hand from RFC 8289 §5 and RFC 8290 §4.

use serde_json::{Value, json};

use super::{Summary, run};

fn answers(lines: &[u8]) -> (Vec<Value>, Summary) {
    let mut output = Vec::new();
    let summary = run(lines, &mut output).expect("memory does not fail");
    let lines = output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    (lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect(), summary)
}

fn steps(queue: Value, events: Vec<Value>) -> Vec<Value> {
    let line = json!({"id": 1, "queue": queue, "events": events}).to_string();
    let (mut answers, summary) = answers(line.as_bytes());
    assert_eq!(summary, Summary { cases: 1, errors: 0 }, "{answers:?}");
    match answers[0]["steps"].take() {
        Value::Array(steps) => steps,
        other => panic!("{other}"),
    }
}

fn codel(extra: Value) -> Value {
    let mut queue = json!({
        "kind": "codel", "target_us": 5000, "interval_us": 100_000, "mtu_bytes": 1500,
        "limit_pkts": 1000, "ecn": false, "ce_threshold_us": null, "l4s": false,
        "quantum_bytes": 1514,
    });
    if let (Value::Object(queue), Value::Object(extra)) = (&mut queue, extra) {
        queue.extend(extra);
    }
    queue
}

fn enq(t_us: u64, flow: u32, size: u32, ecn: &str) -> Value {
    json!({"t_us": t_us, "enq": {"flow": flow, "size": size, "ecn": ecn}})
}

fn deq(t_us: u64, count: u32) -> Value {
    json!({"t_us": t_us, "deq": count})
}

fn sequence(step: &Value) -> Vec<u64> {
    let dequeued = step["dequeued"].as_array().expect("a list");
    dequeued.iter().filter_map(|packet| packet["seq"].as_u64()).collect()
}

#[test]
fn fifo_drops_at_the_tail() {
    let mut events: Vec<_> = (0..4).map(|n| enq(n, n as u32, 1000, "not-ect")).collect();
    events.push(deq(10, 9));
    let queue = json!({"kind": "fifo", "limit_pkts": 3});
    let expected = json!([{
        "t_us": 10,
        "dequeued": [
            {"flow": 0, "size": 1000, "seq": 0, "marked": false},
            {"flow": 1, "size": 1000, "seq": 1, "marked": false},
            {"flow": 2, "size": 1000, "seq": 2, "marked": false},
        ],
        "drops": 1, "marks": 0, "ce_threshold_marks": 0,
        "backlog_pkts": 0, "backlog_bytes": 0, "codel": null, "flows": [],
    }]);
    assert_eq!(Value::Array(steps(queue, events)), expected);
}

#[test]
fn codel_enters_the_dropping_state_after_an_interval() {
    let mut events: Vec<_> = (0..10).map(|_| enq(0, 0, 1500, "not-ect")).collect();
    events.extend([
        deq(5_000, 1),
        deq(104_999, 1),
        deq(105_000, 1),
        deq(204_999, 1),
        deq(205_000, 1),
    ]);
    let steps = steps(codel(json!({})), events);
    let states: Vec<_> = steps.iter().map(|step| step["codel"].clone()).collect();
    let state = |dropping: bool, count: u32, drop_next_us: u64| json!({"dropping": dropping, "count": count, "drop_next_us": drop_next_us});
    let expected = [
        state(false, 0, 0),
        state(false, 0, 0),
        state(true, 1, 205_000),
        state(true, 1, 205_000),
        // 205000 + 100000/√2.
        state(true, 2, 275_711),
    ];
    assert_eq!(states, expected);
    let drops: Vec<_> = steps.iter().filter_map(|step| step["drops"].as_u64()).collect();
    assert_eq!(drops, [0, 0, 1, 1, 2]);
    let sequences: Vec<_> = steps.iter().flat_map(sequence).collect();
    assert_eq!(sequences, [0, 1, 3, 4, 6]);
    assert_eq!(steps[4]["backlog_bytes"], json!(3 * 1500));
}

#[test]
fn the_mtu_guard_follows_mtu_bytes() {
    let run = |mtu_bytes: u32| {
        let mut events: Vec<_> = (0..4).map(|_| enq(0, 0, 1000, "not-ect")).collect();
        events.extend([deq(10_000, 1), deq(110_000, 1)]);
        steps(codel(json!({"mtu_bytes": mtu_bytes})), events)
    };
    // After the second dequeue 2000 bytes are left.
    assert_eq!(run(1999)[1]["drops"], json!(1));
    assert_eq!(run(2000)[1]["drops"], json!(0));
}

#[test]
fn marks_and_threshold_marks_are_told_apart() {
    let mut events: Vec<_> = (0..10).map(|_| enq(0, 0, 1500, "ect0")).collect();
    events.extend([deq(5_000, 1), deq(50_000, 1), deq(105_000, 1)]);
    let queue = codel(json!({"ecn": true, "ce_threshold_us": 20_000}));
    let steps = steps(queue, events);
    let counters = |step: &Value| {
        [&step["marks"], &step["ce_threshold_marks"], &step["dequeued"][0]["marked"]]
            .map(Value::clone)
    };
    assert_eq!(counters(&steps[0]), [json!(0), json!(0), json!(false)]);
    assert_eq!(counters(&steps[1]), [json!(0), json!(1), json!(true)]);
    assert_eq!(counters(&steps[2]), [json!(1), json!(1), json!(true)]);
    assert_eq!(steps[2]["drops"], json!(0));
}

#[test]
fn l4s_marks_ect1_above_the_threshold_only() {
    let mut events: Vec<_> = (0..4).map(|_| enq(0, 0, 1500, "ect1")).collect();
    events.extend((0..4).map(|_| enq(0, 0, 1500, "ect0")));
    events.extend([deq(1_000, 2), deq(1_001, 2), deq(10_000, 1), deq(110_000, 1)]);
    let queue = codel(json!({"ecn": true, "ce_threshold_us": 1_000, "l4s": true}));
    let steps = steps(queue, events);
    let counters: Vec<_> = steps
        .iter()
        .map(|step| (step["marks"].as_u64(), step["ce_threshold_marks"].as_u64()))
        .collect();
    let pair = |marks, threshold| (Some(marks), Some(threshold));
    assert_eq!(counters, [pair(0, 0), pair(0, 2), pair(0, 2), pair(1, 2)]);
}

#[test]
fn fq_codel_shows_deficits_and_lists() {
    let mut events: Vec<_> = (0..3).map(|_| enq(0, 7, 1500, "not-ect")).collect();
    events.push(enq(0, 3, 500, "not-ect"));
    events.extend([deq(10, 2), deq(20, 1), deq(30, 1), deq(40, 1)]);
    let steps = steps(codel(json!({"kind": "fq_codel"})), events);
    let flows = |step: &Value| {
        let flows = step["flows"].as_array().expect("a list");
        flows
            .iter()
            .map(|flow| json!([flow["flow"], flow["deficit"], flow["list"], flow["backlog_pkts"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(sequence(&steps[0]), [0, 1]);
    assert_eq!(flows(&steps[0]), [json!([3, 1514, "new", 1]), json!([7, -1486, "new", 1])]);
    assert_eq!(sequence(&steps[1]), [3]);
    assert_eq!(flows(&steps[1]), [json!([3, 1014, "new", 0]), json!([7, 28, "old", 1])]);
    // Flow 3 gives nothing and goes behind flow 7.
    assert_eq!(sequence(&steps[2]), [2]);
    assert_eq!(flows(&steps[2]), [json!([3, 1014, "old", 0]), json!([7, -1472, "old", 0])]);
    assert!(sequence(&steps[3]).is_empty());
    assert_eq!(flows(&steps[3]), [json!([3, 1014, "inactive", 0]), json!([7, 42, "inactive", 0])]);
    assert_eq!(steps[3]["codel"], Value::Null);
    let inner = json!({"dropping": false, "count": 0, "drop_next_us": 0});
    assert_eq!(steps[3]["flows"][0]["codel"], inner);
}

#[test]
fn fq_codel_overflow_hits_the_fattest_flow() {
    let mut events: Vec<_> = (0..4).map(|_| enq(0, 1, 1500, "not-ect")).collect();
    events.extend([enq(1, 2, 100, "not-ect"), deq(2, 10)]);
    let queue = codel(json!({"kind": "fq_codel", "limit_pkts": 4}));
    let steps = steps(queue, events);
    assert_eq!(steps[0]["drops"], json!(2), "half of 6000 bytes");
    assert_eq!(sequence(&steps[0]), [2, 3, 4]);
}

#[test]
fn a_bad_line_names_the_place_and_the_next_is_read() {
    let good = json!({"id": "ok", "queue": {"kind": "fifo", "limit_pkts": 1}, "events": []});
    let with = |queue: Value, events: Value| {
        json!({"id": 5, "queue": queue, "events": events}).to_string()
    };
    let fifo = || json!({"kind": "fifo", "limit_pkts": 1});
    let cases = [
        ("{".to_owned(), Value::Null, "line: "),
        ("[1]".to_owned(), Value::Null, "line: "),
        ("\"x\"".to_owned(), Value::Null, "line: "),
        (r#"{"queue":{"kind":"fifo"}}"#.to_owned(), Value::Null, "line: "),
        (
            r#"{"id":5,"queue":{"kind":"fifo","kind":"codel"},"events":[]}"#.to_owned(),
            Value::Null,
            "line: key 'kind' given twice; expected it once at line 1 column 37",
        ),
        (with(json!({"kind": "red"}), json!([])), json!(5), "queue.kind: "),
        (
            with(json!({"kind": "fifo", "limit_pkts": 0}), json!([])),
            json!(5),
            "queue.limit_pkts: 0",
        ),
        (with(json!({"kind": "fifo", "limits": 1}), json!([])), json!(5), "queue.limits: "),
        (with(fifo(), json!([{"t_us": 1}])), json!(5), "events[0]: "),
        (with(fifo(), json!([{"t_us": -1, "deq": 1}])), json!(5), "events[0].t_us: "),
        (
            with(fifo(), json!([deq(5, 1), deq(4, 1)])),
            json!(5),
            "events[1].t_us: 4, expected at least 5",
        ),
        (
            with(fifo(), json!([deq(5, 1), enq(6, 1, 0, "ce")])),
            json!(5),
            "events[1].enq.size: 0, expected 1..=65535",
        ),
        (
            with(fifo(), json!([{"t_us": 1, "enq": {"flow": 1, "size": "x", "ecn": "ce"}}])),
            json!(5),
            "events[0].enq.size: ",
        ),
        (with(fifo(), json!([enq(1, 1, 9, "ect2")])), json!(5), "events[0].enq.ecn: "),
    ];
    for (line, id, place) in cases {
        let input = format!("{line}\n\n{good}\n");
        let (answers, summary) = answers(input.as_bytes());
        assert_eq!(summary, Summary { cases: 1, errors: 1 });
        assert_eq!(answers[0]["id"], id, "{line}");
        let error = answers[0]["error"].as_str().expect("an error");
        assert!(error.starts_with(place), "{line}: {error}");
        assert_eq!(answers[1], json!({"id": "ok", "steps": []}));
    }
}

#[test]
fn bytes_that_are_no_text_are_a_bad_line() {
    let (answers, summary) = answers(b"\xff\xfe\x00\n");
    assert_eq!(summary, Summary { cases: 0, errors: 1 });
    assert_eq!(answers[0]["id"], Value::Null);
}
