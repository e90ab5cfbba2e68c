//! The E2 interface: reports, subscriptions, controls and their refusals.

use crate::common::{flow, run, scenario};
use crate::setup::{RNTI, bearer, control, encode, replace};
use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, ActionDefinition, BearerId, BearerMatch, BearerQos, Cause, ControlMessage,
    ControlOutcome, DefaultRule, EventKind, EventTrigger, ForecastFeed, IndicationHeader,
    IndicationMessage, LeaseRenewal, NodeDefault, NodeDefaultChange, NodeLease, Quantity,
    ReportStyle, SNssai, Transaction, UeId,
};
use lab_world::{
    ControlError, ControlRequest, Indication, Output, Payload, RanFunction, RouteError,
    SubscribeError, SubscriptionRequest, World,
};

const NODE: &str = "gnb-001-01-0xe00";

fn request(function: RanFunction, event_trigger: Vec<u8>) -> SubscriptionRequest {
    SubscriptionRequest { event_trigger: event_trigger.into(), ..periodic(function, 1) }
}

fn periodic(function: RanFunction, period_ms: u32) -> SubscriptionRequest {
    SubscriptionRequest::periodic(NODE, function, period_ms)
}

pub(crate) fn tc(trigger: &EventTrigger, styles: &[ReportStyle]) -> SubscriptionRequest {
    let action = |style: &ReportStyle| {
        let action = ActionDefinition { style: *style, bearers: Vec::new(), top_flows: 4 };
        v1::encode(&action).unwrap().into()
    };
    SubscriptionRequest {
        action_definitions: styles.iter().map(action).collect(),
        ..request(RanFunction::TcV1, v1::encode(trigger).unwrap())
    }
}

fn indications(world: &mut World, until_us: u64) -> Vec<Indication> {
    let mut arrived = Vec::new();
    world.step_until(until_us, &mut |output| {
        if let Output::Indication(indication) = output {
            arrived.push(indication);
        }
    });
    arrived
}

fn bytes(indication: &Indication) -> &[u8] {
    match &indication.report.payload {
        Payload::Message(bytes) => bytes,
        Payload::Kpm(report) => panic!("{report:?}"),
    }
}

fn tc_message(indication: &Indication) -> IndicationMessage {
    let header: IndicationHeader = v1::decode(&indication.report.header).unwrap();
    assert_eq!(header.collected_at_us, indication.report.collected_at_us);
    v1::decode(bytes(indication)).unwrap()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn apply(world: &mut World, style: u8, message: &ControlMessage) -> ControlOutcome {
    let reply = control(world, style, message);
    let outcome: ControlOutcome = v1::decode(&reply.outcome).unwrap();
    assert_eq!(reply.acknowledged, matches!(outcome, ControlOutcome::Accepted { .. }));
    assert_eq!(reply.detail.is_empty(), reply.acknowledged);
    outcome
}

fn cause(outcome: &ControlOutcome) -> (Cause, &str) {
    match outcome {
        ControlOutcome::Refused { cause, element, .. } => (*cause, element),
        ControlOutcome::Accepted { .. } => panic!("{outcome:?}"),
    }
}

#[test]
fn rlc_and_mac_reports_arrive_each_ms_with_the_state_of_the_bearer() {
    let mut world = run("default.yaml", 1.0, &[]);
    world.set_epoch_us(1_700_000_000_000_000);
    let rlc = world.subscribe(&periodic(RanFunction::Rlc, 1)).unwrap();
    let mac = world.subscribe(&periodic(RanFunction::Mac, 1)).unwrap();
    let arrived = indications(&mut world, 2_000_000);
    for (id, record_bytes) in [(rlc, 152), (mac, 176)] {
        let own: Vec<_> = arrived.iter().filter(|i| i.subscription == id).collect();
        assert_eq!(own.len(), 1000);
        for (sequence, indication) in (0..).zip(&own) {
            assert_eq!(indication.sequence, sequence);
            assert_eq!(indication.report.header[..], [0; 4]);
            let message = bytes(indication);
            assert_eq!(message.len(), 4 + record_bytes + 8);
            let tstamp = u64::from_le_bytes(message[4 + record_bytes..].try_into().unwrap());
            assert_eq!(tstamp, 1_700_000_001_001_000 + sequence * 1000);
            assert_eq!(indication.report.collected_at_us, tstamp);
        }
    }
    let last = bytes(arrived.iter().rfind(|i| i.subscription == rlc).unwrap()).to_vec();
    let sample = world.bearer_samples()[0];
    let record = &last[4..];
    assert_eq!(u32_at(record, 40), sample.rlc_occupancy_bytes);
    assert_eq!(u64::from(u32_at(record, 120)), sample.hol_us);
    assert_eq!((u32_at(record, 144), record[148], record[149]), (u32::from(RNTI), 1, 1));
    assert!(sample.hol_us > 50_000, "the default bearer queues: {} µs", sample.hol_us);
}

#[test]
fn kpm_reports_supported_measurements_and_lists_unsupported_ones() {
    let mut world = run("default.yaml", 5.0, &["ues[0].channel={fixed_mcs: 10}"]);
    let wanted = ["DRB.UEThpDl", "RRU.PrbTotDl", "DRB.Unknown"].map(str::to_owned);
    let request = SubscriptionRequest {
        kpm_measurements: wanted.to_vec(),
        ..periodic(RanFunction::Kpm, 1000)
    };
    world.subscribe(&request).unwrap();
    let arrived = indications(&mut world, 6_000_000);
    let Payload::Kpm(report) = &arrived[0].report.payload else { panic!("{arrived:?}") };
    assert_eq!((report.period_ms, report.ues[0].rnti), (1000, RNTI));
    assert_eq!(*report.unsupported, ["DRB.Unknown"]);
    let values = &report.ues[0].values;
    assert_eq!(values.len(), 2);
    assert!((38_000.0..43_000.0).contains(&values["DRB.UEThpDl"]), "{values:?}");
    // Five D slots and one M slot of 106 PRB in each 5 ms.
    assert!((120_000.0..=127_200.0).contains(&values["RRU.PrbTotDl"]), "{values:?}");
}

#[test]
fn a_report_does_not_reset_the_counters_of_another() {
    let status = |triggers: &[EventTrigger]| {
        // The queue of a sparse flow is mostly empty at a report, and listed only for the packets
        // forwarded since the previous one.
        let mut world = run("default.yaml", 3.0, &["ues[0].drbs[0].pipeline=fq_codel"]);
        let styles = [ReportStyle::PipelineStatus];
        let period = EventTrigger::Periodic { period_ms: 100 };
        let first = world.subscribe(&tc(&period, &styles)).unwrap();
        for trigger in triggers {
            world.subscribe(&tc(trigger, &styles)).unwrap();
        }
        let arrived = indications(&mut world, 4_000_000);
        let own = arrived.iter().filter(|indication| indication.subscription == first);
        own.map(tc_message).collect::<Vec<_>>()
    };
    let alone = status(&[]);
    assert!(alone.len() >= 9);
    let shows_an_empty_queue = alone.iter().any(|message| match message {
        IndicationMessage::PipelineStatus(states) => {
            states[0].queues.iter().any(|queue| queue.backlog_packets == 0)
        }
        other => panic!("{other:?}"),
    });
    assert!(shows_an_empty_queue, "a queue that is listed for its counters only");
    let never = |quantity| EventTrigger::Threshold {
        quantity,
        above: u32::MAX,
        hysteresis: 0,
        min_interval_ms: 0,
    };
    let others = [
        never(Quantity::HeadOfLineAgeUs),
        never(Quantity::MeanSojournUs),
        EventTrigger::Periodic { period_ms: 7 },
    ];
    assert_eq!(status(&others), alone);
}

#[test]
fn tc_status_and_inventory_show_pipeline_and_flows() {
    let mut world = run("default.yaml", 3.0, &["ues[0].drbs[0].pipeline=fq_codel"]);
    let styles = [ReportStyle::PipelineStatus, ReportStyle::FlowInventory];
    world.subscribe(&tc(&EventTrigger::Periodic { period_ms: 100 }, &styles)).unwrap();
    let arrived = indications(&mut world, 3_100_000);
    assert_eq!(arrived.len(), 2);
    let IndicationMessage::PipelineStatus(status) = tc_message(&arrived[0]) else { panic!() };
    assert_eq!((status[0].name.as_str(), status[0].safe), ("fq_codel", false));
    assert_eq!(status[0].bearer, bearer());
    assert!(status[0].queues[0].backlog_bytes > 0 && status[0].pacer.drain_kbps > 20_000);
    let IndicationMessage::FlowInventory(inventory) = tc_message(&arrived[1]) else { panic!() };
    assert_eq!(inventory[0].active_flows, 3);
    let top = &inventory[0].flows[0];
    assert_eq!((top.flow.protocol, top.flow.source_port), (6, 5201));
    assert!(top.rate_kbps > 20_000, "{top:?}");
}

#[test]
fn a_transaction_takes_effect_and_its_lease_ends() {
    let mut world = run("default.yaml", 3.0, &[]);
    world.subscribe(&tc(&EventTrigger::OnChange, &[ReportStyle::Events])).unwrap();
    let transaction = Transaction { lease_ms: Some(500), ..replace("fq_codel") };
    let outcome = apply(&mut world, 1, &ControlMessage::Transaction(transaction));
    let ControlOutcome::Accepted { revision, lease_ms } = outcome else { panic!("{outcome:?}") };
    assert_eq!(lease_ms, Some(500));
    let renewal = LeaseRenewal { bearer: bearer(), revision, lease_ms: 1000, owner: None };
    world.step_until(3_400_000, &mut |_| {});
    apply(&mut world, 2, &ControlMessage::LeaseRenewal(renewal));
    let arrived = indications(&mut world, 6_000_000);
    assert_eq!(arrived.len(), 1, "the lease ends: {arrived:?}");
    let IndicationMessage::Events(events) = tc_message(&arrived[0]) else { panic!() };
    let at_us = events[0].at_us - world.epoch_us();
    assert!((4_400_000..=4_401_000).contains(&at_us), "{at_us}");
    assert!(matches!(events[0].kind, EventKind::LeaseExpired { .. }), "{events:?}");
    assert_eq!(world.summary().bearers[0].pipeline, "transparent");
}

#[test]
fn a_change_of_pipeline_under_load_loses_no_packet() {
    let flows = "flows=[{name: a, kind: udp_cbr, rate_kbps: 45000, stop_s: 4}, \
                 {name: b, kind: voip, stop_s: 4}]";
    for split in ["split={}", "split={f1_delay_us: 10000}", "split={recall: false}"] {
        let mut world = World::new(&scenario("default.yaml", &[flows, split])).unwrap();
        for (at_s, template) in (1..).zip(["fq_codel", "bdp_only", "transparent", "fq_codel"]) {
            world.step_until(at_s * 800_000, &mut |_| {});
            let transaction = ControlMessage::Transaction(replace(template));
            let outcome = apply(&mut world, 1, &transaction);
            assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
        }
        world.step_until(20_000_000, &mut |_| {});
        let summary = world.summary();
        let bearer = &summary.bearers[0];
        let drops = bearer.tc_dropped_packets + bearer.rlc_dropped_packets;
        let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
        let received: u64 = summary.flows.iter().map(|flow| flow.received_packets).sum();
        assert_eq!(received + drops, sent, "{split}");
        assert_eq!(bearer.drained_packets + drops, bearer.ingress_packets, "{split}");
    }
}

#[test]
fn a_threshold_reports_the_crossing_once_until_it_rearms() {
    let mut world = run("default.yaml", 0.1, &["ues[0].drbs[0].pipeline=bdp_only"]);
    let trigger = EventTrigger::Threshold {
        quantity: Quantity::BacklogBytes,
        above: 500_000,
        hysteresis: 100_000,
        min_interval_ms: 10,
    };
    world.subscribe(&tc(&trigger, &[ReportStyle::Events, ReportStyle::PipelineStatus])).unwrap();
    let arrived = indications(&mut world, 4_000_000);
    assert_eq!(arrived.len(), 2, "one crossing, two actions");
    let IndicationMessage::Events(events) = tc_message(&arrived[0]) else { panic!() };
    let EventKind::ThresholdCrossed { value, .. } = events[0].kind else { panic!("{events:?}") };
    assert!((500_001..600_000).contains(&value), "{value}");
    let IndicationMessage::PipelineStatus(status) = tc_message(&arrived[1]) else { panic!() };
    assert_eq!(status.len(), 1);
}

#[test]
fn refusals_name_cause_and_element() {
    let mut world = run("default.yaml", 1.0, &[]);
    let unknown = BearerId { ue: UeId::Rnti(1), drb: 1 };
    let elsewhere = Transaction { bearer: unknown, ..replace("fq_codel") };
    let by_f1ap = Transaction {
        bearer: BearerId { ue: UeId::GnbCuUeF1apId(1), drb: 1 },
        ..elsewhere.clone()
    };
    let stale = Transaction { expected_revision: Some(99), ..replace("fq_codel") };
    let uneven = v1::BearerForecast { drain_bytes: vec![1, 2], ..forecast() };
    let of_unknown = v1::BearerForecast { bearer: unknown, ..forecast() };
    let ahead = v1::BearerForecast { origin_us: u64::MAX, ..forecast() };
    let feed = |forecast| ControlMessage::ForecastFeed(ForecastFeed { bearers: vec![forecast] });
    let table = [
        (1, ControlMessage::Transaction(elsewhere), Cause::UnknownBearer, "bearer"),
        (1, ControlMessage::Transaction(by_f1ap), Cause::UnknownBearer, "bearer.ue"),
        (1, ControlMessage::Transaction(stale), Cause::StaleRevision, "expected_revision"),
        (2, ControlMessage::Transaction(replace("fq_codel")), Cause::Inconsistent, "header.style"),
        (3, feed(of_unknown), Cause::UnknownBearer, "forecast_feed.bearers[0].bearer"),
        (3, feed(ahead), Cause::OutOfRange, "forecast_feed.bearers[0].origin_us"),
        (3, feed(uneven), Cause::Inconsistent, "forecast_feed.bearers[0].drain_bytes"),
    ];
    for (style, message, expected, element) in table {
        let outcome = apply(&mut world, style, &message);
        assert_eq!(cause(&outcome), (expected, element), "{outcome:?}");
    }
    assert_eq!(world.summary().bearers[0].revision, 1, "nothing changed");
}

#[test]
fn a_pacer_follows_a_forecast_feed() {
    // F1 delay is 10 ms. The feed forecasts almost no drain and a limit of one packet; the pacer
    // follows it until it is wrong for long or stale.
    let pipeline = "ues[0].drbs[0].pipeline={name: ahead, classifier: {round_robin: {first: 0, \
                    count: 1}}, queues: [{first: 0, count: 1, discipline: {fifo: {drop: tail}}, \
                    limit_packets: null, limit_bytes: null, policer: null, shaper: null}], \
                    scheduler: round_robin, pacer: {forecast: {stale_us: 200000}}, \
                    buffer: {packets: 4000, bytes: 6000000, overflow: tail}}";
    let flows = "flows=[{name: udp, kind: udp_cbr, rate_kbps: 60000}]";
    let split = "split={f1_delay_us: 10000}";
    let mut world = World::new(&scenario("default.yaml", &[pipeline, flows, split])).unwrap();
    let goodput = |world: &mut World, until_us| {
        let before = world.flow_samples()[0].goodput_bytes;
        let from_us = world.now_us();
        world.step_until(until_us, &mut |_| {});
        (world.flow_samples()[0].goodput_bytes - before) * 8 / (until_us - from_us)
    };
    goodput(&mut world, 1_000_000);
    let unfed_mbps = goodput(&mut world, 2_000_000);
    assert!(unfed_mbps >= 36, "{unfed_mbps} Mbit/s by persistence");
    let before = world.flow_samples()[0].goodput_bytes;
    while world.now_us() < 2_200_000 {
        let little = v1::BearerForecast {
            origin_us: world.epoch_us() + world.now_us() - 10_000,
            // Covers packets sent until the next feed arrives.
            occupancy_bytes: vec![1_500; 40],
            limit_bytes: vec![1_500; 40],
            drain_bytes: vec![10; 40],
            ..forecast()
        };
        let feed = ControlMessage::ForecastFeed(ForecastFeed { bearers: vec![little] });
        let outcome = apply(&mut world, 3, &feed);
        assert!(matches!(outcome, ControlOutcome::Accepted { revision: 2, .. }), "{outcome:?}");
        let next_us = world.now_us() + 10_000;
        world.step_until(next_us, &mut |_| {});
    }
    let fed_mbps = (world.flow_samples()[0].goodput_bytes - before) * 8 / 200_000;
    assert!(fed_mbps < unfed_mbps / 2, "{fed_mbps} Mbit/s while fed, {unfed_mbps} before");
    goodput(&mut world, 3_000_000);
    let after_mbps = goodput(&mut world, 4_000_000);
    assert!(after_mbps >= 36, "{after_mbps} Mbit/s by persistence again");
}

fn forecast() -> v1::BearerForecast {
    v1::BearerForecast {
        bearer: bearer(),
        origin_us: 0,
        horizon_start_us: 0,
        step_us: 1000,
        occupancy_bytes: vec![0],
        limit_bytes: Vec::new(),
        drain_bytes: Vec::new(),
        cumulated_drain: None,
    }
}

#[test]
fn a_control_for_a_bearer_that_has_left_is_refused() {
    let ues = "ues=[{rnti: 17921, channel: {fixed_mcs: 10}, drbs: [{id: 1}], leave_at_s: 1}, \
               {rnti: 2, channel: {fixed_mcs: 10}, drbs: [{id: 1}]}]";
    let flows = "flows=[{name: udp, kind: udp_cbr, rnti: 17921, rate_kbps: 1000}]";
    let mut world = World::new(&scenario("default.yaml", &[flows, ues])).unwrap();
    world.step_until(999_000, &mut |_| {});
    let transaction = ControlMessage::Transaction(replace("bdp_only"));
    let outcome = apply(&mut world, 1, &transaction);
    assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
    world.subscribe(&tc(&EventTrigger::OnChange, &[ReportStyle::Events])).unwrap();
    let arrived = indications(&mut world, 1_000_000);
    let IndicationMessage::Events(events) = tc_message(&arrived[0]) else { panic!() };
    assert_eq!(events[0].kind, EventKind::BearerRemoved);
    let outcome = apply(&mut world, 1, &transaction);
    assert_eq!(cause(&outcome).0, Cause::UnknownBearer);
}

#[test]
fn damaged_bytes_are_refused_and_change_nothing() {
    let mut world = run("default.yaml", 0.5, &[]);
    let (header, good) = encode(1, &ControlMessage::Transaction(replace("fq_codel")));
    let oid = RanFunction::TcV1.oid();
    for length in 0..good.len() {
        let reply = world.control(oid, &header, &good[..length]).unwrap();
        let outcome: ControlOutcome = v1::decode(&reply.outcome).unwrap();
        assert_eq!(cause(&outcome).0, Cause::Malformed, "cut to {length}");
    }
    let oversized = [good.as_slice(), &[0; 100_000]].concat();
    let reply = world.control(oid, &header, &oversized).unwrap();
    assert!(!reply.acknowledged && reply.detail.contains("follow"), "{}", reply.detail);
    for bit in 0..good.len() * 8 {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // Some flips give other valid transactions; all get an outcome.
        assert!(!world.control(oid, &header, &flipped).unwrap().outcome.is_empty());
    }
    world.step_until(1_000_000, &mut |_| {});
    assert!(flow(&world.summary(), "ping").received_packets > 0);
}

#[test]
fn v0_controls_the_only_bearer_and_is_refused_with_several() {
    let header = v0::encode_control_header(&v0::ControlHeader { dummy: 0 }).unwrap();
    let add = |parameters| v0::ControlMessage::Queue(v0::QueueControl::Add(parameters));
    let codel = v0::QueueParameters::Codel { target_ms: 5, interval_ms: 100 };
    let filter = v0::NewFilter {
        src_addr: -1,
        dst_addr: -1,
        src_port: -1,
        dst_port: -1,
        protocol: 6,
        dst_queue: 1,
    };
    let pacer = v0::ModifyPacer::Bdp5g { drb_sz: 0, tstamp: 0 };
    let steps = [
        add(codel),
        v0::ControlMessage::Classifier(v0::ClassifierControl::Add(v0::AddClassifier::Osi(filter))),
        v0::ControlMessage::Pacer(v0::PacerControl::Modify(pacer)),
    ];
    let mut world = run("default.yaml", 2.0, &[]);
    world.subscribe(&periodic(RanFunction::TcV0, 10)).unwrap();
    let oid = RanFunction::TcV0.oid();
    for step in &steps {
        let message = v0::encode_control(step).unwrap();
        let reply = world.control(oid, &header, &message).unwrap();
        assert!(reply.acknowledged, "{step:?}: {}", reply.detail);
        assert_eq!(v0::decode_control_outcome(&reply.outcome), Ok(v0::ControlOutcome::Ok));
    }
    // irazabal2024's low-latency case: the greedy flow in a CoDel queue of its own, 5G-BDP.
    let arrived = indications(&mut world, 8_000_000);
    let message = v0::decode_indication(bytes(&arrived[arrived.len() - 1])).unwrap();
    assert_eq!((message.q.len(), message.pcr.kind), (2, v0::PacerType::Bdp5g));
    assert_eq!(message.tstamp as u64, world.epoch_us() + 8_000_000);
    assert!(world.bearer_samples()[0].hol_us < 30_000, "{:?}", world.bearer_samples());

    let wrong = v0::encode_control(&v0::ControlMessage::Queue(v0::QueueControl::Delete {
        id: 7,
        queue_type: v0::QueueType::Codel,
    }));
    let reply = world.control(oid, &header, &wrong.unwrap()).unwrap();
    assert!(!reply.acknowledged && reply.outcome.is_empty(), "{reply:?}");

    let ues = "ues=[{rnti: 1, count: 2, channel: {fixed_mcs: 10}, drbs: [{id: 1}]}]";
    let mut two = World::new(&scenario("default.yaml", &["flows=[]", ues])).unwrap();
    two.step_until(1_000, &mut |_| {});
    let message = v0::encode_control(&steps[0]).unwrap();
    let reply = two.control(oid, &header, &message).unwrap();
    assert!(reply.detail.contains("cannot say which bearer"), "{}", reply.detail);
}

#[test]
fn e2_delays_apply_to_reports_and_controls() {
    let split = "split={e2_report_delay_us: 10000, e2_control_delay_us: 7000}";
    let mut world = World::new(&scenario("default.yaml", &[split])).unwrap();
    world.subscribe(&periodic(RanFunction::Rlc, 10)).unwrap();
    assert_eq!(world.next_output_us(), Some(20_000));
    assert_eq!(indications(&mut world, 19_999).len(), 0);
    let arrived = indications(&mut world, 20_000);
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].received_at_us - arrived[0].report.collected_at_us, 10_000);

    let (header, message) = encode(1, &ControlMessage::Transaction(replace("bdp_only")));
    let request = ControlRequest {
        node_id: NODE.to_owned(),
        ran_function_oid: RanFunction::TcV1.oid().to_owned(),
        header: header.into(),
        message: message.into(),
    };
    let ticket = world.submit_control(request).unwrap();
    let revision = |world: &World| world.summary().bearers[0].revision;
    world.step_until(26_999, &mut |_| {});
    assert_eq!(revision(&world), 1);
    let mut answered = Vec::new();
    world.step_until(50_000, &mut |output| {
        if let Output::ControlDone { ticket, reply } = output {
            answered.push((ticket, reply.acknowledged));
        }
    });
    assert_eq!(revision(&world), 2);
    assert_eq!(answered, [(ticket, true)]);
}

#[test]
fn requests_that_no_ran_function_accepts_are_errors() {
    let mut world = run("default.yaml", 0.1, &[]);
    let unknown = SubscriptionRequest {
        ran_function_oid: "1.2.3".to_owned(),
        ..periodic(RanFunction::Rlc, 1)
    };
    let error = world.subscribe(&unknown).unwrap_err();
    let (node_id, oid) = (NODE.to_owned(), "1.2.3".to_owned());
    assert_eq!(error, SubscribeError::Route(RouteError::UnknownRanFunction { node_id, oid }));
    let elsewhere =
        SubscriptionRequest { node_id: "gnb-x".to_owned(), ..periodic(RanFunction::Rlc, 1) };
    let error = world.subscribe(&elsewhere).unwrap_err();
    let node_id = "gnb-x".to_owned();
    assert_eq!(error, SubscribeError::Route(RouteError::UnknownNode { node_id }));
    for trigger in [vec![], vec![1, 0], vec![0, 0, 0, 0], vec![1, 0, 0, 0, 0], vec![0xff; 4]] {
        let error = world.subscribe(&request(RanFunction::Rlc, trigger.clone())).unwrap_err();
        assert!(matches!(error, SubscribeError::EventTrigger { .. }), "{trigger:?}: {error}");
    }
    let no_action = tc(&EventTrigger::OnChange, &[]);
    let error = world.subscribe(&no_action).unwrap_err();
    assert!(matches!(error, SubscribeError::ActionDefinition { index: 0, .. }), "{error}");
    let bad_action =
        SubscriptionRequest { action_definitions: vec![vec![0xff; 9].into()], ..no_action };
    let error = world.subscribe(&bad_action).unwrap_err();
    assert!(matches!(error, SubscribeError::ActionDefinition { index: 0, .. }), "{error}");
    let extra = SubscriptionRequest {
        action_definitions: vec![vec![1].into()],
        ..periodic(RanFunction::Rlc, 1)
    };
    assert!(world.subscribe(&extra).is_err());
    let error = world.control("1.2.3", &[], &[]).unwrap_err();
    assert!(matches!(error, ControlError::Route(RouteError::UnknownRanFunction { .. })), "{error}");
    let error = world.control(RanFunction::Rlc.oid(), &[], &[]).unwrap_err();
    assert!(matches!(error, ControlError::NotControllable { .. }), "{error}");
}

#[test]
fn an_ended_subscription_sends_nothing() {
    let mut world = run("default.yaml", 0.1, &[]);
    let id = world.subscribe(&periodic(RanFunction::Rlc, 1)).unwrap();
    assert_eq!(indications(&mut world, 110_000).len(), 10);
    assert!(world.unsubscribe(id));
    assert!(!world.unsubscribe(id));
    assert_eq!(indications(&mut world, 120_000).len(), 0);
    assert_eq!(world.next_output_us(), None);
}

#[test]
fn the_node_declares_its_ran_functions() {
    let world = run("default.yaml", 0.0, &[]);
    let node = world.nodes().remove(0);
    let ids: Vec<u32> = node.ran_functions.iter().map(|info| info.function.id()).collect();
    assert_eq!(ids, [2, 142, 143, 146, 1146]);
    let definition: v1::RanFunctionDefinition =
        v1::decode(&node.ran_functions[4].definition).unwrap();
    assert_eq!(definition.oid, RanFunction::TcV1.oid());
    let mut expected = tc_rf::capabilities();
    expected.features.as_mut().unwrap().push(v1::QOS_FLOW_MAPPING.to_owned());
    assert_eq!(definition.capabilities, expected);
}

#[test]
fn one_controller_holds_the_node_and_another_takes_over_when_its_lease_ends() {
    let mut world = run("default.yaml", 0.1, &[]);
    let lease = |owner: &str, lease_ms| {
        ControlMessage::NodeLease(NodeLease { owner: owner.to_owned(), lease_ms })
    };
    let owned = |owner: &str| {
        ControlMessage::Transaction(Transaction {
            owner: Some(owner.to_owned()),
            lease_ms: Some(5_000),
            ..replace("fq_codel")
        })
    };
    let outcome = apply(&mut world, 4, &lease("a", Some(200)));
    assert!(matches!(outcome, ControlOutcome::Accepted { revision: 1, .. }), "{outcome:?}");
    assert!(matches!(apply(&mut world, 1, &owned("a")), ControlOutcome::Accepted { .. }));
    let unnamed = ControlMessage::Transaction(replace("bdp_only"));
    for (style, message) in [(1, owned("b")), (1, unnamed), (4, lease("b", Some(200)))] {
        let outcome = apply(&mut world, style, &message);
        let ControlOutcome::Refused { cause: Cause::NotOwner, holder: Some(holder), .. } = outcome
        else {
            panic!("{outcome:?}");
        };
        assert_eq!(holder.owner, "a");
        assert!((100..=200).contains(&holder.lease_left_ms), "{holder:?}");
    }
    let revision = 2;
    let renewal = |owner: &str| {
        let owner = Some(owner.to_owned());
        ControlMessage::LeaseRenewal(LeaseRenewal {
            bearer: bearer(),
            revision,
            lease_ms: 5_000,
            owner,
        })
    };
    assert_eq!(cause(&apply(&mut world, 2, &renewal("b"))).0, Cause::NotOwner);
    world.step_until(world.now_us() + 250_000, &mut |_| {});
    assert!(matches!(
        apply(&mut world, 4, &lease("b", Some(200))),
        ControlOutcome::Accepted { revision: 2, .. }
    ));
    assert_eq!(cause(&apply(&mut world, 2, &renewal("a"))).0, Cause::NotOwner);
    let renewed = apply(&mut world, 2, &renewal("b"));
    assert!(matches!(renewed, ControlOutcome::Accepted { revision: 2, .. }), "{renewed:?}");
}

#[test]
fn the_load_of_a_subscription_is_about_what_its_reports_take() {
    let mut world = run("many_bearers.yaml", 1.0, &[]);
    let names = ["DRB.UEThpDl", "RRU.PrbTotDl", "DRB.Unknown"].map(str::to_owned);
    let kpm =
        SubscriptionRequest { kpm_measurements: names.to_vec(), ..periodic(RanFunction::Kpm, 10) };
    let status = tc(&EventTrigger::Periodic { period_ms: 10 }, &[ReportStyle::PipelineStatus]);
    for request in [kpm, periodic(RanFunction::Rlc, 10), periodic(RanFunction::Mac, 10), status] {
        let load = world.report_load(&request).unwrap();
        assert!((load.reports_per_s - 100.0).abs() < 1e-9, "{load:?}");
        let id = world.subscribe(&request).unwrap();
        let until_us = world.now_us() + 100_000;
        let arrived = indications(&mut world, until_us);
        let taken: usize = arrived.iter().map(|arrived| arrived.report.len_bytes()).sum();
        let ratio = (load.report_bytes * arrived.len() as u64) as f64 / taken as f64;
        assert!((0.5..2.0).contains(&ratio), "{load:?} for {request:?}: {ratio}");
        assert!(world.unsubscribe(id));
    }
}

#[test]
fn names_of_a_request_are_bounded_and_reports_share_them() {
    let mut world = run("default.yaml", 1.0, &[]);
    let asking = |names: Vec<String>| SubscriptionRequest {
        kpm_measurements: names,
        ..periodic(RanFunction::Kpm, 1)
    };
    // 870 kB in one request.
    let flood = asking((0..60_000).map(|number| format!("DRB.Made.{number}")).collect());
    let error = world.subscribe(&flood).unwrap_err();
    assert_eq!(error.to_string(), "kpm_measurements: 60000 names; expected at most 64");
    assert_eq!(world.report_load(&flood).unwrap_err(), error);
    world.subscribe(&asking((0..64).map(|number| format!("DRB.Made.{number}")).collect())).unwrap();
    let until_us = world.now_us() + 10_000;
    let arrived = indications(&mut world, until_us);
    let names: Vec<_> = arrived
        .iter()
        .map(|arrived| match &arrived.report.payload {
            Payload::Kpm(report) => report.unsupported.as_ptr(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(names.len() >= 9 && names.iter().all(|name| *name == names[0]), "{names:?}");
}

#[test]
fn a_ue_that_attaches_has_the_pipeline_of_the_node_default_before_its_first_packet() {
    let ues = "ues=[{rnti: 17921, channel: {fixed_mcs: 20}, drbs: [{id: 1}]}, \
        {rnti: 17922, channel: {fixed_mcs: 20}, join_at_s: 1.0, drbs: [\
        {id: 1, five_qi: 9, s_nssai: {sst: 1, sd: 5}}, {id: 2, five_qi: 1}, \
        {id: 3, pipeline: bdp_only}, {id: 4, s_nssai: {sst: 1}}]}]";
    let flows = "flows=[{name: bulk, rnti: 17922, drb: 1, kind: tcp}]";
    let mut world = World::new(&scenario("default.yaml", &[ues, flows])).unwrap();
    let subscription = tc(
        &EventTrigger::Periodic { period_ms: 1 },
        &[ReportStyle::PipelineStatus, ReportStyle::Events],
    );
    world.subscribe(&subscription).unwrap();
    world.step_until(500_000, &mut |_| {});
    let rule = |rule, template: &str| DefaultRule {
        rule,
        pipeline: Some(tc_rf::templates::by_name(template).unwrap()),
        lease_ms: Some(6_000),
        as_safe: false,
    };
    let slice = SNssai { sst: 1, sd: Some(5) };
    let rules = vec![
        rule(BearerMatch { five_qis: vec![1], ..BearerMatch::default() }, "bode_diffserv"),
        rule(BearerMatch { s_nssais: vec![slice], ..BearerMatch::default() }, "fq_codel"),
        DefaultRule {
            as_safe: true,
            ..rule(BearerMatch { drbs: vec![3, 4], ..BearerMatch::default() }, "low_latency")
        },
    ];
    let default = |owner: &str, change| {
        ControlMessage::NodeDefault(NodeDefault {
            owner: Some(owner.to_owned()),
            lease_ms: Some(2_000),
            dry_run: false,
            change,
        })
    };
    let lease = NodeLease { owner: "a".to_owned(), lease_ms: Some(60_000) };
    apply(&mut world, 4, &ControlMessage::NodeLease(lease));
    let change = NodeDefaultChange::Set(rules);
    let foreign = apply(&mut world, 5, &default("b", change.clone()));
    assert_eq!(cause(&foreign).0, Cause::NotOwner);
    let outcome = apply(&mut world, 5, &default("a", change));
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 1, lease_ms: Some(2_000) });
    let mut first = Vec::new();
    world.step_until(1_010_000, &mut |output| {
        let Output::Indication(indication) = output else { return };
        let Payload::Message(message) = &indication.report.payload else { return };
        if let Ok(IndicationMessage::PipelineStatus(all)) = v1::decode(message) {
            let new = all.into_iter().filter(|status| status.bearer.ue == UeId::Rnti(17_922));
            first = if first.is_empty() { new.collect() } else { std::mem::take(&mut first) };
        }
    });
    let seen: Vec<_> = first
        .iter()
        .map(|it| (it.name.as_str(), it.revision, it.by_default.map(|by| by.rule), it.safe))
        .collect();
    let expected = [
        ("fq_codel", 2, Some(1), false),
        ("bode_diffserv", 2, Some(0), false),
        ("bdp_only", 2, None, false),
        ("low_latency", 2, Some(2), true),
    ];
    assert_eq!(seen, expected);
    assert!(first.iter().all(|status| status.ingress_packets == 0), "before their first packets");
    let qos = BearerQos { five_qis: vec![9], s_nssai: Some(slice) };
    assert_eq!((first[0].qos.clone(), first[2].qos.clone()), (Some(qos), None));
}
