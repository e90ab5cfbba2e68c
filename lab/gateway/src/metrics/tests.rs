//! The text of a scrape: values, conventions of Prometheus, and how many series nodes and bearers add.

use bytes::Bytes;
use lab_world::{
    BearerDelay, BearerSample, ByKind, CellSample, DelayDistribution, Direction, DownlinkDelays,
    FlowSample, GnbCounters,
};

use super::*;
use crate::slot_lateness::SlotLateness;

fn flow(name: &str, goodput_bytes: u64, rtt_us: Option<u64>) -> FlowSample {
    FlowSample {
        name: name.to_owned(),
        kind: "any",
        direction: Direction::Down,
        rnti: 17,
        drb: 1,
        goodput_bytes,
        rtt_us,
    }
}

/// A busy node of `bearers` bearers.
fn scrape(bearers: u16) -> Scrape {
    let delay = |sum_us| DelayDistribution { bins: [3, 1, 0, 0, 0, 0, 0, 0, 2], sum_us };
    Scrape {
        now_us: 2_500_000,
        node_id: "gnb".to_owned(),
        bearers: (0..bearers)
            .map(|number| BearerSample {
                rnti: 17 + number,
                drb: 1,
                hol_us: 1_250_000,
                rlc_occupancy_bytes: 1500,
                tc_backlog_bytes: 9000,
                by_forecast: Some(number > 0),
                ..BearerSample::default()
            })
            .collect(),
        bearer_delays: (0..bearers)
            .map(|number| BearerDelay {
                rnti: 17 + number,
                drb: 1,
                packets: 2,
                delay_us: 200_000 + u64::from(number),
            })
            .collect(),
        counters: GnbCounters {
            delays: DownlinkDelays {
                pdcp: delay(1_500_000),
                f1: delay(20_000),
                rlc: delay(500_000),
                sojourn: delay(2_020_000),
            },
            by_kind: ByKind { sparse: delay(20_000), bulk: delay(2_000_000), ..ByKind::default() },
            aqm_dropped: 5,
            overflow_dropped: 6,
            policer_dropped: 0,
            rlc_dropped: 7,
            unattached_dropped: 9,
            released_dropped: 4,
            marked: 8,
        },
        slot_lateness: None,
        flows: vec![flow("bulk", 77, None), flow("ping", 0, Some(12_500))],
        prb_last_second: Some(CellSample { used_prb: 50, available_prb: 200 }),
        subscribers: 2,
    }
}

/// A gateway that has met everything it counts.
fn busy() -> GatewayMetrics {
    let metrics = GatewayMetrics::default();
    let counters = metrics.indications("1.143");
    counters.sent.inc_by(3);
    counters.dropped.inc();
    counters.coalesced.inc_by(2);
    metrics.control_answered(&ControlReply {
        acknowledged: false,
        outcome: Bytes::new(),
        cause: Some("stale_revision"),
        detail: String::new(),
    });
    metrics.subscription(tonic::Code::Ok);
    metrics.lateness(Duration::from_micros(30));
    metrics.forecasts(ForecastOutcome::Taken, 2);
    metrics.forecast_stream(true);
    metrics.serving().refused("grpc", "right");
    metrics.serving().certificate_not_after("http", 1_800_000_000);
    metrics
}

fn text(detail: &[MetricsDetail], top: u16, scrape: Scrape) -> String {
    Exposition::new(busy(), "gnb-lab", detail, top).text(scrape).expect("a text")
}

fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_scrape_has_metrics_of_build_gateway_and_node() {
    let text = text(&[], 20, scrape(2));
    let version = env!("CARGO_PKG_VERSION");
    assert_lines(
        &text,
        &[
            &format!(r#"sojourn_build_info{{program="gnb-lab",version="{version}"}} 1"#),
            r#"sojourn_cu_forecasts_total{result="taken"} 2"#,
            "sojourn_cu_forecast_stream_open 1",
            "sojourn_node_time_seconds_total 2.5",
            r#"sojourn_gateway_indications_total{ran_function_oid="1.143"} 3"#,
            r#"sojourn_gateway_indications_dropped_total{ran_function_oid="1.143"} 1"#,
            r#"sojourn_gateway_indications_coalesced_total{ran_function_oid="1.143"} 2"#,
            r#"sojourn_gateway_controls_total{outcome="failed",cause="stale_revision"} 1"#,
            r#"sojourn_gateway_step_lateness_seconds_bucket{le="0.0001"} 1"#,
            "sojourn_gateway_indication_streams 2",
            r#"sojourn_access_refused_total{server="grpc",reason="right"} 1"#,
            r#"sojourn_tls_certificate_not_after_seconds{use="http"} 1800000000"#,
            r#"sojourn_prb_used_ratio{node="gnb"} 0.25"#,
            r#"sojourn_gnb_delivered_packets_total{node="gnb"} 6"#,
            r#"sojourn_gnb_delay_seconds_total{node="gnb",part="pdcp"} 1.5"#,
            r#"sojourn_gnb_delay_seconds_total{node="gnb",part="f1"} 0.02"#,
            r#"sojourn_gnb_delay_seconds_total{node="gnb",part="rlc"} 0.5"#,
            r#"sojourn_gnb_dropped_packets_total{node="gnb",cause="aqm"} 5"#,
            r#"sojourn_gnb_dropped_packets_total{node="gnb",cause="overflow"} 6"#,
            r#"sojourn_gnb_dropped_packets_total{node="gnb",cause="rlc"} 7"#,
            r#"sojourn_gnb_dropped_packets_total{node="gnb",cause="unattached"} 9"#,
            r#"sojourn_gnb_dropped_packets_total{node="gnb",cause="released"} 4"#,
            r#"sojourn_gnb_marked_packets_total{node="gnb"} 8"#,
            r#"sojourn_cu_paced_bearers{node="gnb",by="forecast"} 1"#,
            r#"sojourn_cu_paced_bearers{node="gnb",by="measurements"} 1"#,
            r#"sojourn_rlc_hol_seconds{node="gnb",ue="17",drb="1"} 1.25"#,
            r#"sojourn_gnb_rlc_hol_max_seconds{node="gnb"} 1.25"#,
            "# EOF",
        ],
    );
    if cfg!(target_os = "linux") {
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_start_time_seconds",
            "process_open_fds",
        ] {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let value: f64 = value.and_then(|value| value.parse().ok()).expect(name);
            assert!(value >= 0.0 && (value > 0.0 || name.contains("cpu")), "{name} {value}");
        }
        for (name, least) in
            [("sojourn_process_run_queue_wait_seconds_total", 0.0), ("sojourn_process_nice", -20.0)]
        {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let value: f64 = value.and_then(|value| value.parse().ok()).expect(name);
            assert!(value >= least, "{name} {value}");
        }
    }
}

/// What `gnb-lab live` adds: whether it kept up.
#[test]
fn slots_of_a_node_between_real_hosts_are_shown_and_of_others_not() {
    assert!(!text(&[], 20, scrape(1)).contains("live_"));
    let slots = SlotLateness { slots: 2_000, late_slots: 3, worst_us: 1_893 };
    let text = text(&[], 20, Scrape { slot_lateness: Some(slots), ..scrape(1) });
    assert_lines(
        &text,
        &[
            r#"sojourn_live_slots_total{node="gnb"} 2000"#,
            r#"sojourn_live_late_slots_total{node="gnb"} 3"#,
            r#"sojourn_live_slot_lateness_max_seconds{node="gnb"} 0.001893"#,
        ],
    );
}

#[test]
fn a_forecast_stream_that_was_not_asked_for_is_not_shown_as_closed() {
    let text = |metrics: GatewayMetrics| {
        Exposition::new(metrics, "gnb-lab", &[], 20).text(scrape(2)).expect("a text")
    };
    let metrics = GatewayMetrics::default();
    assert!(!metrics.is_forecast_stream_open());
    assert!(!text(metrics.clone()).contains("forecast_stream_open"));
    metrics.forecast_stream(false);
    assert_lines(&text(metrics), &["sojourn_cu_forecast_stream_open 0"]);
}

#[test]
fn details_are_shown_if_asked_for() {
    let plain = text(&[], 20, scrape(2));
    for name in ["sojourn_gnb_sojourn_seconds", "flow_"] {
        assert!(!plain.contains(name), "{name} is in\n{plain}");
    }
    let detail = [MetricsDetail::Distributions, MetricsDetail::Flows];
    let text = text(&detail, 1, scrape(2));
    assert_lines(
        &text,
        &[
            r#"sojourn_gnb_sojourn_seconds_bucket{le="0.005",node="gnb"} 3"#,
            r#"sojourn_gnb_sojourn_seconds_bucket{le="0.01",node="gnb"} 4"#,
            r#"sojourn_gnb_sojourn_seconds_bucket{le="+Inf",node="gnb"} 6"#,
            r#"sojourn_gnb_sojourn_seconds_sum{node="gnb"} 2.02"#,
            r#"sojourn_gnb_f1_delay_seconds_count{node="gnb"} 6"#,
            r#"sojourn_gnb_kind_sojourn_seconds_sum{node="gnb",kind="sparse"} 0.02"#,
            r#"sojourn_gnb_kind_sojourn_seconds_sum{node="gnb",kind="bulk"} 2.0"#,
            r#"sojourn_gnb_kind_sojourn_seconds_count{node="gnb",kind="inherited"} 0"#,
            r#"sojourn_flow_goodput_bytes_total{flow="bulk"} 77"#,
            r#"sojourn_flow_rtt_seconds{flow="ping"} 0.0125"#,
            r#"sojourn_rlc_occupancy_bytes{node="gnb",ue="18",drb="1"} 1500.0"#,
            r#"sojourn_tc_backlog_bytes{node="gnb",ue="18",drb="1"} 9000.0"#,
            r#"sojourn_cu_paced_by_forecast{node="gnb",ue="18",drb="1"} 1.0"#,
        ],
    );
    assert!(!text.contains(r#"rtt_seconds{flow="bulk"}"#), "bulk has no round trips");
    assert!(!text.contains(r#"rlc_occupancy_bytes{node="gnb",ue="17""#), "not the worst");
}

#[test]
fn every_family_has_help_and_a_conventional_name() {
    let detail = [MetricsDetail::Distributions, MetricsDetail::Flows];
    let text = text(&detail, 1, scrape(1));
    let mut help = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').expect("a help");
            assert!(words.len() > 10 && words.ends_with('.') && !words.ends_with(".."), "{line}");
            help = name;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!(name, help);
            assert!(name.starts_with("sojourn_") || name.starts_with("process_"), "{name}");
            let is_time = name.contains("delay") || name.contains("sojourn_s");
            assert!(kind != "histogram" || name.ends_with("_seconds"), "{name}");
            assert!(!is_time || name.ends_with("_seconds"), "{name}");
            for unit in ["_ms", "_us", "_kb", "_percent", "_total"] {
                assert!(!name.ends_with(unit), "{name}: the encoder adds _total");
            }
        }
    }
}

#[test]
fn a_node_adds_at_most_14_series_and_each_of_the_worst_bearers_five() {
    let series = |bearers| {
        let text = text(&[], 20, scrape(bearers));
        let of_node = |line: &&str| !line.starts_with('#') && line.contains(r#"node="gnb""#);
        text.lines().filter(of_node).count()
    };
    assert!(series(0) <= 14, "{}", series(0));
    assert_eq!(series(5) - series(0), 5 * 5);
    assert_eq!(series(1000) - series(0), 20 * 5);
    assert!(!text(&[], 0, scrape(5)).contains("ue="), "none if none is wanted");
}
