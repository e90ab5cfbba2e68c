//! A wrong scenario is answered with its file, the path in the file and what was expected.

// The leniency of clippy.toml towards tests does not reach their helpers.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use gnb_lab::scenario::{LoadedScenario, Override};

const GOOD: &str = "
duration_s: 1
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 17921
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1 }]
flows:
  - { name: bulk, kind: tcp }
  - { name: ping, kind: ping }
";

fn load(text: &str, overrides: &[&str]) -> Result<LoadedScenario, String> {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    LoadedScenario::from_yaml(text, "scenario.yaml", Path::new(""), &overrides)
        .map_err(|error| error.to_string())
}

#[test]
fn the_base_of_these_tests_is_good() {
    let loaded = load(GOOD, &[]).unwrap();
    assert_eq!(loaded.scenario.flows.len(), 2);
}

#[test]
fn each_wrong_element_is_named() {
    let table = [
        ("cell.tdd.pattern=DDXU", "cell.tdd.pattern: 'DDXU' has 'X' at 2; expected D, M or U"),
        ("cell.tdd.pattern=DDDD", "cell.tdd.pattern: needs at least one D and one U"),
        ("cell.tdd.mixed_ul_symbols=9", "cell.tdd.mixed_ul_symbols: 9 is outside 0..=8"),
        ("cell.n_prb=276", "cell.n_prb: 276 is outside 1..=275"),
        ("cell.n_prb=many", "cell.n_prb: invalid type: string \"many\"; expected u16"),
        ("cell.rat=5g", "cell.rat: unknown value '5g'; expected 'nr' or 'lte'"),
        ("cell.scs_khz=20", "cell.scs_khz: 20; expected 15, 30, 60 or 120"),
        ("cell.antennas=4", "cell.antennas: unknown key 'antennas'; expected one of"),
        (
            "cell.reserved={period_slots: 10, slots: [2, 10], n_prb: 1}",
            "cell.reserved.slots[1]: 10",
        ),
        ("duration_s=0", "duration_s: 0 is below 0.001"),
        ("split.f1_delay_us=2000000", "split.f1_delay_us: 2000000 is outside 0..=1000000"),
        ("ues=[]", "ues: empty; expected at least one UE"),
        ("ues[0].rnti=0", "ues[0].rnti: 0 is outside 1..=65519"),
        ("ues[0].count=60000", "ues[0].count: 60000 is outside 1..=4096"),
        ("ues[0].channel.fixed_mcs=28", "ues[0].channel.fixed_mcs: 28 is outside 0..=27"),
        (
            "ues[0].channel={lucky: 1}",
            "ues[0].channel: unknown value 'lucky'; expected one of 'fixed_mcs'",
        ),
        (
            "ues[0].channel={mcs_series: {period_ms: 1000, values: [3, 99]}}",
            "ues[0].channel.mcs_series.values[1]: 99 is outside 0..=27",
        ),
        ("ues[0].leave_at_s=0", "ues[0].leave_at_s: 0 is not after join_at_s (0)"),
        ("ues[0].drbs=[{id: 1}, {id: 1}]", "ues[0].drbs[1].id: 1 is taken by an earlier DRB"),
        ("ues[0].drbs[0].rlc.limit_bytes=10", "ues[0].drbs[0].rlc.limit_bytes: 10 is outside"),
        ("ues[0].drbs[0].rlc.sn_bits=10", "ues[0].drbs[0].rlc.sn_bits: 10; expected 6 or 12"),
        ("ues[0].drbs[0].pipeline=7", "ues[0].drbs[0].pipeline: expected the name of a template"),
        (
            "ues[0].drbs[0].pipeline={name: x}",
            "ues[0].drbs[0].pipeline: .: missing key 'classifier'",
        ),
        ("ues[0].prb_share_percent=50", "ues[0].prb_share_percent: is for cell.scheduler"),
        ("cell.scheduler=fixed_partition", "ues[0].prb_share_percent: missing"),
        ("flows[1].kind=tpc", "flows[1].kind: unknown value 'tpc'; expected one of 'tcp'"),
        ("flows[1].name=bulk", "flows[1].name: 'bulk' is taken by an earlier flow"),
        ("flows[0].rnti=5", "flows[0].rnti: 5 is no UE of this scenario"),
        ("flows[0].rnti=all", "flows[0].rnti: invalid value: string \"all\"; expected an RNTI"),
        ("flows[0].drb=2", "flows[0].drb: 2 is no DRB of UE 17921"),
        ("flows[0].dscp=64", "flows[0].dscp: 64 is outside 0..=63"),
        ("flows[1].ecn=true", "flows[1].ecn: is for kind tcp alone, this is ping"),
        ("flows[0].kind=udp_cbr", "flows[0].rate_kbps: missing; kind udp_cbr needs it"),
        ("flows[0].stop_s=0", "flows[0].stop_s: 0 is not after start_s (0)"),
    ];
    let mut wrong = String::new();
    for (change, expected) in table {
        let error = load(GOOD, &[change]).expect_err(change);
        let expected = format!("scenario.yaml: {expected}");
        if !error.starts_with(&expected) {
            wrong.push_str(&format!("{change}\n  says {error}\n  not  {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_file_that_is_no_scenario_is_refused_in_one_line() {
    let table = [
        ("", "scenario.yaml: empty; expected a scenario"),
        ("  \n", "scenario.yaml: empty; expected a scenario"),
        ("[1, 2]", "scenario.yaml: expected a mapping"),
        ("hello", "scenario.yaml: expected a mapping"),
        ("a: [1", "scenario.yaml: not YAML: "),
        ("duration_s: 1\nduration_s: 2", "scenario.yaml: not YAML: "),
        ("duration_s: .inf", "scenario.yaml: not YAML: "),
        ("duration_s: 1", "scenario.yaml: missing key 'cell'"),
    ];
    for (text, expected) in table {
        let error = load(text, &[]).expect_err(text);
        assert!(error.starts_with(expected), "{text:?}\n  says {error}\n  not  {expected}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_huge_scenario_is_refused_by_its_size() {
    let text = format!("{GOOD}\ndescription: '{}'", "x".repeat(2 << 20));
    let error = load(&text, &[]).unwrap_err();
    assert!(error.contains("a scenario has at most 1048576"), "{error}");
}

#[test]
fn aliases_cannot_blow_a_small_file_up() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        let row = vec![previous; 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    let error = load(&text, &[]).unwrap_err();
    assert!(error.starts_with("scenario.yaml: not YAML: "), "{error}");
}

#[test]
fn a_typo_deep_in_a_pipeline_is_found() {
    let pipeline = "{name: p, classifier: {round_robin: {first: 0, count: 1}}, queues: [{first: 0, \
                    count: 1, discipline: {codel: {target_us: 5000, interval_us: 100000, ecn: \
                    false, ce_threshold_us: null, l4s: false, ecnn: true}}}], scheduler: \
                    round_robin, pacer: none, buffer: {packets: 10, bytes: 100000, overflow: \
                    tail}}";
    let change = format!("ues[0].drbs[0].pipeline={pipeline}");
    let error = load(GOOD, &[&change]).unwrap_err();
    assert!(error.contains("ues[0].drbs[0].pipeline: "), "{error}");
    assert!(error.contains("ecnn") && error.contains("unknown key"), "{error}");
    load(GOOD, &[&change.replace(", ecnn: true", "")]).unwrap();
}

#[test]
fn a_file_that_is_not_there_or_not_text_is_refused() {
    let directory = std::env::temp_dir().join(format!("gnb-lab-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let missing = directory.join("missing.yaml");
    let error = LoadedScenario::from_file(&missing, &[]).unwrap_err();
    assert!(error.message.starts_with("cannot be opened"), "{error}");
    let binary = directory.join("binary.yaml");
    std::fs::write(&binary, [0x61, 0xff, 0xfe]).unwrap();
    let error = LoadedScenario::from_file(&binary, &[]).unwrap_err();
    assert_eq!(error.message, "not UTF-8 at byte 1");
    let error = LoadedScenario::from_file(&directory, &[]).unwrap_err();
    assert!(error.message.contains("is a directory"), "{error}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_schema_describes_every_key_of_the_file() {
    let schema = gnb_lab::scenario::json_schema();
    for path in ["cell", "split", "ues", "flows", "seed", "duration_s"] {
        assert!(schema.pointer(&format!("/properties/{path}")).is_some(), "{path}");
    }
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema.pointer("/$defs/Cell/properties/n_prb/maximum"), Some(&275.into()));
}
