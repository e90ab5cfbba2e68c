//! Cases in the words of the service model.

use serde_json::{Value, json};

use super::{Summary, run};

fn answer(case: &Value) -> Value {
    let mut output = Vec::new();
    run(case.to_string().as_bytes(), &mut output).expect("memory does not fail");
    serde_json::from_slice(&output).expect("JSON")
}

fn steps(queues: Value, scheduler: Value, events: &[Value]) -> Vec<Value> {
    let case = json!({"id": 1, "queues": queues, "scheduler": scheduler, "events": events});
    match answer(&case)["steps"].take() {
        Value::Array(steps) => steps,
        _ => panic!("{}", answer(&case)),
    }
}

fn set(first: u16, count: u16, discipline: Value) -> Value {
    json!({"first": first, "count": count, "discipline": discipline})
}

fn enq(t_us: u64, queue: u16, ecn: &str) -> Value {
    json!({"t_us": t_us, "enq": {"flow": queue, "queue": queue, "size": 1500, "ecn": ecn}})
}

fn deq(t_us: u64, count: u32) -> Value {
    json!({"t_us": t_us, "deq": count})
}

fn codel() -> Value {
    json!({"target_us": 5_000, "interval_us": 100_000, "ecn": true, "l4s": false})
}

fn pie() -> Value {
    let (alpha_milli, beta_milli) = (125, 1_250);
    json!({"pie": {"target_us": 15_000, "update_us": 15_000, "alpha_milli": alpha_milli,
        "beta_milli": beta_milli, "ecn": false}})
}

fn dual_pi2() -> Value {
    json!({"dual_pi2": {"target_us": 15_000, "update_us": 16_000, "coupling_milli": 2_000}})
}

#[test]
fn every_kind_of_queue_shows_its_inner_state() {
    let red = json!({"red": {"min_bytes": 3_000, "max_bytes": 9_000, "max_probability_milli": 100,
        "ecn": false}});
    let kinds = [
        ("fifo", json!({"fifo": {"drop": "head"}}), vec![]),
        ("codel", json!({"codel": codel()}), vec!["dropping", "count", "drop_next_us"]),
        ("pie", pie(), vec!["drop_prob", "qdelay_us", "burst_allowance_us", "accu_prob"]),
        ("red", red, vec!["avg_bytes", "count"]),
        ("cobalt", json!({"cobalt": codel()}), vec!["p_blue", "dropping", "count"]),
        ("bode", json!({"bode": {"bound_us": 20_000}}), vec!["bound_us", "spare_bytes"]),
        (
            "l4s_marking",
            json!({"l4s_marking": {"threshold_us": 1_000, "ramp_us": 1_000}}),
            vec!["recur"],
        ),
        (
            "adaptive_codel",
            json!({"adaptive_codel": {"target_us": 5_000, "max_target_us": 9_000,
                "interval_us": 100_000, "ecn": true}}),
            vec!["dropping", "count", "target_us", "peak_bytes_per_s"],
        ),
        ("dual_pi2", dual_pi2(), vec!["p", "p_c", "p_cl", "l_sojourn_us", "c_sojourn_us"]),
    ];
    for (kind, discipline, keys) in kinds {
        let events = [enq(0, 0, "ect1"), enq(1, 1, "ect0"), deq(10, 5)];
        let steps = steps(json!([set(0, 2, discipline)]), json!("round_robin"), &events);
        assert_eq!(steps[0]["dequeued"].as_array().map(Vec::len), Some(2), "{kind}");
        for queue in steps[0]["queues"].as_array().expect("a list") {
            assert_eq!(queue["kind"], kind);
            for key in &keys {
                assert!(!queue["state"][key].is_null(), "{kind}: {key}");
            }
        }
    }
}

#[test]
fn every_declared_scheduler_is_taken() {
    let target = json!({"first": 0, "count": 1});
    let schedulers = [
        ("round_robin", json!("round_robin")),
        ("deficit_round_robin", json!({"deficit_round_robin": {"quantum_bytes": 1514}})),
        ("strict_priority", json!({"strict_priority": {"order": [target]}})),
        (
            "weighted",
            json!({"weighted": {"quantum_bytes": 1514,
                "weights": [{"target": target, "weight": 2, "shared": false}]}}),
        ),
        (
            "guaranteed",
            json!({"guaranteed": {"quantum_bytes": 1514, "shares": [{"target": target,
                "weight": 2, "guarantee": {"rate_kbps": 1_000, "burst_bytes": 3_000}}]}}),
        ),
        (
            "conditional_priority",
            json!({"conditional_priority": {"l4s": 0, "classic": 1, "time_shift_us": 30_000}}),
        ),
        (
            "earliest_deadline_first",
            json!({"earliest_deadline_first": {
                "budgets": [{"target": target, "budget_us": 5_000}]}}),
        ),
    ];
    let declared = tc_rf::capabilities().schedulers;
    for (name, scheduler) in schedulers {
        let fifo = set(0, 2, json!({"fifo": {"drop": "tail"}}));
        let events = [enq(0, 1, "not-ect"), enq(0, 0, "not-ect"), deq(10, 5)];
        let case = json!({"queues": [fifo], "scheduler": scheduler, "events": events});
        let answer = answer(&case);
        if declared.iter().any(|declared| declared == name) {
            let dequeued = &answer["steps"][0]["dequeued"];
            assert_eq!(dequeued.as_array().map(Vec::len), Some(2), "{answer}");
        } else {
            let error = answer["error"].as_str().expect("an error");
            assert!(error.starts_with(&format!("scheduler.{name}: ")), "{error}");
        }
    }
}

#[test]
fn pie_is_watched_update_by_update() {
    let mut events: Vec<Value> = (0..9).map(|_| enq(0, 0, "not-ect")).collect();
    events.extend([deq(14_000, 1), deq(15_000, 0), deq(29_000, 1), deq(30_000, 0)]);
    let steps = steps(json!([set(0, 1, pie())]), json!("round_robin"), &events);
    let state = |n: usize| &steps[n]["queues"][0]["state"];
    // 0.017375 / 2048, then 0.0205 / 512 more (RFC 8033 §4.2).
    let drop_prob = |n: usize| state(n)["drop_prob"].as_f64().expect("a number");
    assert_eq!(drop_prob(0), 0.0);
    assert!((drop_prob(1) - 8.483_886_718_75e-6).abs() < 1e-15);
    assert!((drop_prob(3) - 4.852_294_921_875e-5).abs() < 1e-15);
    assert_eq!(state(3)["qdelay_us"], 29_000);
    assert_eq!(state(3)["burst_allowance_us"], 120_000);
}

#[test]
fn drops_name_the_packet_and_the_reason() {
    let mut events: Vec<Value> = (0..5).map(|_| enq(0, 7, "not-ect")).collect();
    events.push(deq(30_000, 1));
    let bode = set(7, 1, json!({"bode": {"bound_us": 20_000}}));
    let steps = steps(json!([bode]), json!("round_robin"), &events);
    let drop = |seq: u64| json!({"t_us": 30_000, "flow": 7, "seq": seq, "reason": "bode"});
    assert_eq!(steps[0]["dropped"], json!([drop(0), drop(1)]));
    assert_eq!(
        steps[0]["dequeued"],
        json!([{"queue": 7, "flow": 7, "size": 1500, "seq": 2, "sojourn_us": 30_000,
            "marked": false}])
    );
}

#[test]
fn dual_pi2_couples_its_two_queues() {
    let mut events: Vec<Value> = (0..50).map(|_| enq(0, 1, "not-ect")).collect();
    events.push(enq(16_000, 0, "ect1"));
    events.extend([deq(16_000, 1), deq(16_000, 1)]);
    let steps = steps(json!([set(0, 2, dual_pi2())]), json!("round_robin"), &events);
    for queue in [0, 1] {
        let state = &steps[1]["queues"][queue]["state"];
        let number = |key: &str| state[key].as_f64().expect("a number");
        assert!((number("p") - 0.048_16).abs() < 1e-12);
        assert!((number("p_c") - 0.048_16 * 0.048_16).abs() < 1e-12);
        assert!((number("p_cl") - 0.096_32).abs() < 1e-12);
        assert_eq!((number("l_sojourn_us"), number("c_sojourn_us")), (0.0, 16_000.0));
    }
}

#[test]
fn a_shaper_holds_its_queue_back() {
    let mut shaped = set(0, 1, json!({"fifo": {"drop": "tail"}}));
    shaped["shaper"] = json!({"rate_kbps": 12_000, "burst_bytes": 1_500});
    let fifo = set(1, 1, json!({"fifo": {"drop": "tail"}}));
    let mut events: Vec<Value> = (0..3).map(|_| enq(0, 0, "not-ect")).collect();
    events.extend([enq(0, 1, "not-ect"), deq(0, 9), deq(999, 9), deq(1_000, 9)]);
    let steps = steps(json!([shaped, fifo]), json!("round_robin"), &events);
    let counts: Vec<usize> =
        steps.iter().map(|step| step["dequeued"].as_array().expect("a list").len()).collect();
    assert_eq!(counts, [2, 0, 1]);
    assert_eq!(steps[0]["queues"][0]["list"], "shaped");
}

#[test]
fn the_seed_and_nothing_else_decides() {
    let case = |seed: u64| {
        let mut events: Vec<Value> = (0..400).map(|_| enq(0, 0, "not-ect")).collect();
        events.extend((1..=15).map(|n| deq(15_000 * n - 1_000, 1)));
        events.extend((0..400).map(|_| enq(226_000, 0, "not-ect")));
        events.push(deq(227_000, 1_000));
        let queues = json!([set(0, 1, pie())]);
        answer(&json!({"queues": queues, "seed": seed, "events": events}))
    };
    assert_eq!(case(1), case(1));
    assert_ne!(case(1), case(2));
}

#[test]
fn what_is_wrong_is_named() {
    let fifo = || set(0, 1, json!({"fifo": {"drop": "tail"}}));
    let mut policed = fifo();
    policed["policer"] = json!({"rate_kbps": 1, "burst_bytes": 1, "exceed": "drop"});
    let base = json!({"queues": [fifo()], "events": []});
    let with = |key: &str, value: Value| {
        let mut case = base.clone();
        case[key] = value;
        case
    };
    let cases = [
        (with("queue", json!({"kind": "fifo"})), "queues: beside queue"),
        (with("queues", json!([])), "queues: "),
        (with("queues", json!([{"first": 0}])), "queues[0]: missing field `count`"),
        (with("queues", json!([set(0, 1, json!({"sfb": {}}))])), "queues[0].discipline"),
        (
            with("queues", json!([set(0, 1, json!({"bode": {"bound_us": 0}}))])),
            "queues[0].discipline.bode.bound_us: 0",
        ),
        (with("queues", json!([set(0, 1, dual_pi2())])), "queues[0].count: 1"),
        (with("queues", json!([policed])), "queues[0].policer: "),
        (with("scheduler", json!("sfq")), "scheduler"),
        (
            with("buffer", json!({"packets": 0, "bytes": 9_000, "overflow": "tail"})),
            "buffer.packets: 0",
        ),
        (with("events", json!([enq(0, 9, "ect0")])), "events[0].enq.queue: 9"),
        (with("events", json!([deq(2, 1), deq(1, 1)])), "events[1].t_us: 1"),
    ];
    for (case, place) in cases {
        let answer = answer(&case);
        let error = answer["error"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(error.starts_with(place), "{error}, expected {place}");
    }
    let mut output = Vec::new();
    let summary = run(base.to_string().as_bytes(), &mut output).expect("memory does not fail");
    assert_eq!(summary, Summary { cases: 1, errors: 0 });
}
