//! Vectors of v1.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use e2sm_tc::json::Kind;
use e2sm_tc::v1::*;

use super::Vectors;
use super::pipelines::{self, buffer, codel, fq_codel, full_filter, queue_set, target};

const BEARER: BearerId = BearerId { ue: UeId::Rnti(0x4601), drb: 1 };
const OWNER: &str = "near-rt-ric-0/1700000000";
const OTHER: BearerId = BearerId { ue: UeId::GnbCuUeF1apId(4_000_000_000), drb: 32 };

pub(super) fn all(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    for (name, pipeline) in pipelines::all() {
        vectors.v1(Kind::Pipeline, &format!("pipeline_{name}"), &pipeline)?;
    }
    controls(vectors)?;
    outcomes(vectors)?;
    triggers(vectors)?;
    indications(vectors)?;
    ran_function(vectors)?;
    node_default(vectors)?;
    inelastic(vectors)?;
    qos_flows(vectors)?;
    base_stock(vectors)
}

fn controls(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    for (name, style, correlation_id) in
        [("smallest", 1, 0), ("lease", 2, 7), ("node_lease", 4, 8), ("largest", 255, u32::MAX)]
    {
        let header = ControlHeader { style, correlation_id };
        vectors.v1(Kind::ControlHeader, &format!("control_header_{name}"), &header)?;
    }
    let transaction = |change| Transaction {
        bearer: BEARER,
        expected_revision: Some(41),
        lease_ms: Some(2_000),
        owner: None,
        dry_run: false,
        as_safe: false,
        change,
    };
    let changes = [
        ("replace", PipelineChange::Replace(fq_codel())),
        ("delta", PipelineChange::Delta(edits())),
        ("safe", PipelineChange::Safe),
        ("initial", PipelineChange::Initial),
    ];
    for (name, change) in changes {
        let message = ControlMessage::Transaction(transaction(change));
        vectors.v1(Kind::Control, &format!("transaction_{name}"), &message)?;
    }
    for edit in edits() {
        let name = format!("edit_{}", edit.kind());
        let message = ControlMessage::Transaction(Transaction {
            bearer: OTHER,
            expected_revision: None,
            lease_ms: None,
            owner: None,
            dry_run: true,
            as_safe: false,
            change: PipelineChange::Delta(vec![edit]),
        });
        vectors.v1(Kind::Control, &name, &message)?;
    }
    let owned = ControlMessage::Transaction(Transaction {
        owner: Some(OWNER.to_owned()),
        as_safe: true,
        ..transaction(PipelineChange::Replace(fq_codel()))
    });
    vectors.v1(Kind::Control, "transaction_owned_as_safe", &owned)?;
    for (name, owner) in [("lease_renewal", None), ("lease_renewal_owned", Some(OWNER.to_owned()))]
    {
        let renewal = LeaseRenewal { bearer: BEARER, revision: 42, lease_ms: 1, owner };
        vectors.v1(Kind::Control, name, &ControlMessage::LeaseRenewal(renewal))?;
    }
    for (name, owner, lease_ms) in [
        ("node_lease", OWNER.to_owned(), Some(3_000)),
        ("node_lease_given_up", "~".repeat(64), None),
    ] {
        let lease = NodeLease { owner, lease_ms };
        vectors.v1(Kind::Control, name, &ControlMessage::NodeLease(lease))?;
    }
    let feed = ForecastFeed { bearers: vec![forecast(BEARER, 8), forecast(OTHER, 1)] };
    vectors.v1(Kind::Control, "forecast_feed", &ControlMessage::ForecastFeed(feed))
}

fn edits() -> Vec<PipelineEdit> {
    let fifo = QueueDiscipline::Fifo { drop: FifoDrop::Head };
    vec![
        PipelineEdit::SetClassifier(Classifier::RoundRobin(target(0, 4096))),
        PipelineEdit::AddFilter { position: 255, filter: full_filter() },
        PipelineEdit::RemoveFilter(12),
        PipelineEdit::AddQueues(queue_set(2_000, 1, fifo)),
        PipelineEdit::ModifyQueues(queue_set(0, 1024, QueueDiscipline::Cobalt(codel()))),
        PipelineEdit::RemoveQueues(target(2_000, 1)),
        PipelineEdit::SetScheduler(Scheduler::RoundRobin),
        PipelineEdit::SetPacer(Pacer::E5gBdp),
        PipelineEdit::SetBuffer(buffer()),
        PipelineEdit::SetName(
            "~ a name of the longest length there is, in printable ASCII ~ ~ ".to_owned(),
        ),
    ]
}

fn forecast(bearer: BearerId, points: u32) -> BearerForecast {
    BearerForecast {
        bearer,
        origin_us: 1_700_000_000_654_321,
        horizon_start_us: 10_000,
        step_us: 1_000,
        occupancy_bytes: (0..points).map(|point| 300 * point * point * point).collect(),
        limit_bytes: (1..points)
            .map(|_| 100_000)
            .take(8)
            .chain([9])
            .take(points as usize)
            .collect(),
        drain_bytes: Vec::new(),
        cumulated_drain: None,
    }
}

fn outcomes(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    let kind = Kind::ControlOutcome;
    for lease_ms in [None, Some(2_000)] {
        let name = if lease_ms.is_some() { "accepted_leased" } else { "accepted" };
        vectors.v1(kind, name, &ControlOutcome::Accepted { revision: 42, lease_ms })?;
    }
    for cause in CAUSES {
        let unknown = cause == Cause::UnknownBearer;
        let outcome = ControlOutcome::Refused {
            cause,
            element: "queues[2].shaper.rate_kbps".to_owned(),
            detail: if unknown { String::new() } else { "expected ≥ 1, found 0".to_owned() },
            revision: if unknown { None } else { Some(42) },
            holder: (cause == Cause::NotOwner)
                .then(|| Holder { owner: OWNER.to_owned(), lease_left_ms: 2_500 }),
        };
        vectors.v1(kind, &format!("refused_{}", cause.kind()), &outcome)?;
    }
    let longest = ControlOutcome::Refused {
        cause: Cause::Malformed,
        element: "e".repeat(255),
        detail: "µ".repeat(1_023),
        revision: None,
        holder: None,
    };
    vectors.v1(kind, "refused_longest_texts", &longest)
}

const CAUSES: [Cause; 11] = [
    Cause::UnknownBearer,
    Cause::StaleRevision,
    Cause::UnknownQueue,
    Cause::UnknownFilter,
    Cause::DuplicateId,
    Cause::OutOfRange,
    Cause::Inconsistent,
    Cause::Unsupported,
    Cause::Capacity,
    Cause::Malformed,
    Cause::NotOwner,
];

const QUANTITIES: [Quantity; 4] =
    [Quantity::HeadOfLineAgeUs, Quantity::MeanSojournUs, Quantity::BacklogBytes, Quantity::Drops];

fn triggers(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    for period_ms in [1, 10, 60_000] {
        let name = format!("trigger_periodic_{period_ms}");
        vectors.v1(Kind::EventTrigger, &name, &EventTrigger::Periodic { period_ms })?;
    }
    for quantity in QUANTITIES {
        let name = format!("trigger_threshold_{}", quantity.kind());
        let above = 25_000;
        let trigger =
            EventTrigger::Threshold { quantity, above, hysteresis: 5_000, min_interval_ms: 100 };
        vectors.v1(Kind::EventTrigger, &name, &trigger)?;
    }
    vectors.v1(Kind::EventTrigger, "trigger_on_change", &EventTrigger::OnChange)?;
    for (style, bearers, top_flows) in [
        (ReportStyle::PipelineStatus, vec![], 1),
        (ReportStyle::FlowInventory, vec![BEARER, OTHER], 256),
        (ReportStyle::Events, vec![OTHER], 16),
    ] {
        let name = format!("action_{}", style.kind());
        let definition = ActionDefinition { style, bearers, top_flows };
        vectors.v1(Kind::ActionDefinition, &name, &definition)?;
    }
    Ok(())
}

fn indications(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    for (name, collected_at_us) in [("now", 1_700_000_000_654_321), ("zero", 0), ("end", u64::MAX)]
    {
        let header = IndicationHeader { collected_at_us };
        vectors.v1(Kind::IndicationHeader, &format!("indication_header_{name}"), &header)?;
    }
    let messages = [
        ("pipeline_status_none", IndicationMessage::PipelineStatus(vec![])),
        ("pipeline_status", IndicationMessage::PipelineStatus(vec![status(), idle_status()])),
        ("flow_inventory", IndicationMessage::FlowInventory(vec![inventory()])),
        ("events", IndicationMessage::Events(events())),
    ];
    for (name, message) in messages {
        vectors.v1(Kind::Indication, &format!("indication_{name}"), &message)?;
    }
    Ok(())
}

fn status() -> PipelineStatus {
    PipelineStatus {
        bearer: BEARER,
        revision: 42,
        name: "fq_codel".to_owned(),
        digest: Some(3_735_928_559),
        safe: false,
        lease_left_ms: Some(1_500),
        owner: Some(OWNER.to_owned()),
        head_of_line_age_us: 4_321,
        queues: vec![QueueStatus {
            id: 1_023,
            backlog_bytes: 150_000,
            backlog_packets: 100,
            forwarded_packets: 1 << 33,
            forwarded_bytes: 1 << 43,
            dropped_packets: 255,
            marked_packets: 256,
            policed_packets: 65_536,
            mean_sojourn_us: 5_200,
            last_sojourn_us: 4_900,
            shaped: true,
        }],
        pacer: PacerStatus {
            drain_kbps: 62_500,
            rlc_occupancy_bytes: 9_000,
            forwarded_bytes: u64::MAX,
            limit_bytes: Some(45_000),
            by_forecast: Some(true),
        },
        ingress_packets: 8_600_000_000,
        ingress_bytes: 12_900_000_000_000,
        dropped_packets: 255,
        by_default: None,
        qos: None,
        qos_flows: None,
    }
}

fn idle_status() -> PipelineStatus {
    PipelineStatus {
        bearer: OTHER,
        revision: 0,
        name: "s".to_owned(),
        digest: None,
        safe: true,
        lease_left_ms: None,
        owner: None,
        head_of_line_age_us: 0,
        queues: vec![],
        pacer: PacerStatus {
            drain_kbps: 0,
            rlc_occupancy_bytes: 0,
            forwarded_bytes: 0,
            limit_bytes: None,
            by_forecast: None,
        },
        ingress_packets: 0,
        ingress_bytes: 0,
        dropped_packets: 0,
        by_default: None,
        qos: None,
        qos_flows: None,
    }
}

fn inventory() -> FlowInventory {
    let flow = |source: IpAddr, destination: IpAddr, ecn, qfi| FlowRecord {
        flow: FiveTuple {
            source,
            destination,
            source_port: 5_201,
            destination_port: 0,
            protocol: 6,
        },
        qfi,
        dscp: 63,
        ecn,
        rate_kbps: 48_000,
        mean_packet_bytes: 1_448,
        backlog_bytes: 70_000,
        queue: 17,
        inelastic: None,
    };
    let v4 = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 5));
    let v6 = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x99));
    FlowInventory {
        bearer: BEARER,
        active_flows: 70_000,
        window_ms: 1_000,
        flows: vec![
            flow(v4, v4, Ecn::NotEct, None),
            flow(v4, v4, Ecn::Ect1, Some(9)),
            flow(v6, v6, Ecn::Ect0, Some(0)),
            flow(v6, v6, Ecn::Ce, None),
        ],
    }
}

fn events() -> Vec<Event> {
    let kinds = [
        EventKind::PipelineChanged { revision: 42, name: "fq_codel".to_owned() },
        EventKind::LeaseExpired { revision: 43 },
        EventKind::ThresholdCrossed { quantity: Quantity::Drops, value: 17 },
        EventKind::BearerAdded,
        EventKind::BearerRemoved,
        EventKind::PacingChanged { by_forecast: false },
    ];
    kinds
        .into_iter()
        .map(|kind| Event { bearer: BEARER, at_us: 1_700_000_000_654_321, kind })
        .collect()
}

fn ran_function(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    let names = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    // Those before the extension marker: this vector is published.
    let queues = QueueDiscipline::KINDS.get(..8).unwrap_or_default();
    let schedulers = Scheduler::KINDS.get(..7).unwrap_or_default();
    let pacers = Pacer::KINDS.get(..11).unwrap_or_default();
    let full = RanFunctionDefinition {
        short_name: SHORT_NAME.to_owned(),
        oid: OID.to_owned(),
        description: "Traffic control above the RLC".to_owned(),
        capabilities: Capabilities {
            classifiers: names(Classifier::KINDS),
            queues: names(queues),
            schedulers: names(schedulers),
            pacers: names(pacers),
            policer: true,
            shaper: true,
            node_lease: true,
            as_safe: true,
            max_queues: 4_096,
            max_filters: 256,
            max_bearers: 1_000,
            min_period_ms: 1,
            features: None,
            node_default: None,
        },
    };
    let least = RanFunctionDefinition {
        short_name: "T".to_owned(),
        oid: "1.2".to_owned(),
        description: String::new(),
        capabilities: Capabilities::default(),
    };
    let mut with_features = least.clone();
    with_features.capabilities.features = Some(names(&[INNER_HEADERS]));
    vectors.v1(Kind::RanFunctionDefinition, "ran_function_full", &full)?;
    vectors.v1(Kind::RanFunctionDefinition, "ran_function_least", &least)?;
    vectors.v1(Kind::RanFunctionDefinition, "ran_function_features", &with_features)?;
    let support = NodeDefaultSupport { max_rules: 16, matches: names(&["five_qi", "drb"]) };
    let with_default = RanFunctionDefinition {
        capabilities: Capabilities { node_default: Some(support), ..full.capabilities },
        ..full
    };
    vectors.v1(Kind::RanFunctionDefinition, "ran_function_node_default", &with_default)
}

fn node_default(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    let header = ControlHeader { style: 5, correlation_id: 9 };
    vectors.v1(Kind::ControlHeader, "control_header_node_default", &header)?;
    let slices = [SNssai { sst: 1, sd: None }, SNssai { sst: 2, sd: Some(0xff_ffff) }];
    let rules = vec![
        DefaultRule {
            rule: BearerMatch {
                five_qis: vec![1, 255],
                s_nssais: slices.to_vec(),
                drbs: vec![1, 32],
            },
            pipeline: Some(fq_codel()),
            lease_ms: Some(6_000),
            as_safe: false,
        },
        DefaultRule {
            rule: BearerMatch { drbs: vec![2], ..BearerMatch::default() },
            pipeline: None,
            lease_ms: None,
            as_safe: false,
        },
        DefaultRule {
            rule: BearerMatch::default(),
            pipeline: Some(fq_codel()),
            lease_ms: None,
            as_safe: true,
        },
    ];
    for (name, owner, lease_ms, dry_run, change) in [
        ("set", Some(OWNER), Some(6_000), false, NodeDefaultChange::Set(rules)),
        ("renew", Some(OWNER), Some(u32::MAX), true, NodeDefaultChange::Renew(u32::MAX)),
        ("withdraw", None, None, false, NodeDefaultChange::Withdraw),
    ] {
        let default = NodeDefault { owner: owner.map(str::to_owned), lease_ms, dry_run, change };
        let name = format!("node_default_{name}");
        vectors.v1(Kind::Control, &name, &ControlMessage::NodeDefault(default))?;
    }
    let by_default = Some(ByDefault { revision: 7, rule: 15, age_ms: 1_234 });
    let qos = |five_qis: &[u8], s_nssai| Some(BearerQos { five_qis: five_qis.to_vec(), s_nssai });
    let statuses = vec![
        PipelineStatus { by_default, qos: qos(&[8, 9], Some(slices[1])), ..idle_status() },
        PipelineStatus { by_default, ..idle_status() },
        PipelineStatus { qos: qos(&[], Some(slices[0])), ..idle_status() },
    ];
    let message = IndicationMessage::PipelineStatus(statuses);
    vectors.v1(Kind::Indication, "indication_status_by_default", &message)
}

fn inelastic(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    let verdicts =
        [Inelastic::Admitted, Inelastic::OverPart, Inelastic::Grew, Inelastic::Unsteady].map(Some);
    let all = inventory();
    let flows = all.flows.into_iter().zip(verdicts);
    let flows = flows.map(|(flow, inelastic)| FlowRecord { inelastic, ..flow }).collect();
    let message = IndicationMessage::FlowInventory(vec![FlowInventory { flows, ..all }]);
    vectors.v1(Kind::Indication, "indication_flows_inelastic", &message)
}

fn qos_flows(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    let header = ControlHeader { style: 6, correlation_id: 10 };
    vectors.v1(Kind::ControlHeader, "control_header_qos_flow_mapping", &header)?;
    for (name, bearer, qfi, expected_revision, owner, dry_run) in [
        ("least", BEARER, 0, None, None, false),
        ("most", OTHER, 63, Some(u32::MAX), Some(OWNER.to_owned()), true),
    ] {
        let mapping = QosFlowMapping { bearer, qfi, expected_revision, owner, dry_run };
        let name = format!("qos_flow_mapping_{name}");
        vectors.v1(Kind::Control, &name, &ControlMessage::QosFlowMapping(mapping))?;
    }
    let refused = ControlOutcome::refused(Cause::UnknownQosFlow, "qfi", "no QFI 5", Some(3));
    vectors.v1(Kind::ControlOutcome, "refused_unknown_qos_flow", &refused)?;
    let flows = |revision, qfis| Some(QosFlows { revision, qfis });
    let statuses = vec![
        PipelineStatus { qos_flows: flows(0, vec![]), ..idle_status() },
        PipelineStatus {
            qos: Some(BearerQos { five_qis: vec![1], s_nssai: None }),
            qos_flows: flows(u32::MAX, (0..64).collect()),
            ..status()
        },
    ];
    let message = IndicationMessage::PipelineStatus(statuses);
    vectors.v1(Kind::Indication, "indication_status_qos_flows", &message)?;
    let definition = RanFunctionDefinition {
        short_name: "T".to_owned(),
        oid: "1.2".to_owned(),
        description: String::new(),
        capabilities: Capabilities {
            features: Some(vec![QOS_FLOW_MAPPING.to_owned()]),
            ..Capabilities::default()
        },
    };
    vectors.v1(Kind::RanFunctionDefinition, "ran_function_qos_flow_mapping", &definition)
}

fn base_stock(vectors: &mut Vectors<impl Write>) -> io::Result<()> {
    for (name, stale_us, level_milli, bound_us) in
        [("least", 1_000, 1, None), ("most", 60_000_000, 999, Some(60_000_000))]
    {
        let pacer = Pacer::BaseStock { stale_us, level_milli, bound_us };
        let pipeline = Pipeline { pacer, ..fq_codel() };
        vectors.v1(Kind::Pipeline, &format!("pipeline_pacer_base_stock_{name}"), &pipeline)?;
    }
    let sums = |cumulated_drain| BearerForecast {
        cumulated_drain: Some(cumulated_drain),
        ..forecast(BEARER, 1)
    };
    let one = CumulatedDrain { points_us: vec![0], levels_milli: vec![500], bytes: vec![0] };
    let all = CumulatedDrain {
        points_us: (1..=64).map(|point| 1_000 * point).collect(),
        levels_milli: (0..16).map(|level| 999 - 60 * (15 - level)).collect(),
        bytes: (0..1_024).map(|sum| sum * sum * 4_096).collect(),
    };
    for (name, cumulated_drain) in [("least", one), ("most", all)] {
        let feed = ForecastFeed { bearers: vec![sums(cumulated_drain)] };
        let name = format!("forecast_feed_cumulated_{name}");
        vectors.v1(Kind::Control, &name, &ControlMessage::ForecastFeed(feed))?;
    }
    Ok(())
}
