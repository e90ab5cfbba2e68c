//! E2SM-TC through the host.

use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, ActionDefinition, BearerId, BearerMatch, Cause, ControlMessage, ControlOutcome,
    DefaultRule, EventKind, EventTrigger, IndicationHeader, IndicationMessage, LeaseRenewal,
    NodeDefault, NodeDefaultChange, NodeLease, Quantity, RanFunctionDefinition, ReportStyle, UeId,
};
use sojourn_gnb::Host;
use tc_rf::templates;

use crate::fake::*;

fn codel() -> Vec<u8> {
    let message = v0::ControlMessage::Queue(v0::QueueControl::Add(v0::QueueParameters::Codel {
        target_ms: 5,
        interval_ms: 100,
    }));
    v0::encode_control(&message).expect("encodes")
}

#[test]
fn a_lease_that_ends_brings_the_safe_pipeline_back_without_traffic() {
    let (host, _fake) = host("transparent");
    let pipeline = templates::by_name("low_latency").expect("a template");
    install(&host, RNTI, pipeline, 0);
    assert_eq!(host.status(1_000).bearers[0].pipeline.as_deref(), Some("low_latency"));
    host.poll(60_000_001);
    let status = host.status(60_001_000);
    assert_eq!(status.bearers[0].pipeline.as_deref(), Some("transparent"));
    assert!(status.events.iter().any(|event| event.what == "lease_expired"));
}

#[test]
fn an_unknown_bearer_and_a_foreign_owner_are_refused_with_their_cause() {
    let (host, _fake) = host("transparent");
    let renewal = LeaseRenewal { bearer: id(9), revision: 1, lease_ms: 100, owner: None };
    let refusal = control(&host, &ControlMessage::LeaseRenewal(renewal), 0);
    assert!(
        matches!(&refusal, ControlOutcome::Refused { cause: Cause::UnknownBearer, detail, .. }
            if detail == "no DRB 1 of RNTI 9 here now"),
        "{refusal:?}"
    );
    let lease = NodeLease { owner: "a".to_owned(), lease_ms: Some(1_000) };
    let taken = control(&host, &ControlMessage::NodeLease(lease), 0);
    assert!(matches!(taken, ControlOutcome::Accepted { .. }), "{taken:?}");
    let refusal = install(&host, RNTI, templates::by_name("fq_codel").expect("one"), 10);
    assert!(
        matches!(&refusal, ControlOutcome::Refused { cause: Cause::NotOwner, .. }),
        "{refusal:?}"
    );
    assert!(host.control_v0(&[0; 4], &codel(), 20).expect_err("held").contains("'a' holds"));
}

#[test]
fn a_bearer_that_is_set_up_starts_with_the_node_default() {
    let (host, fake) = host("transparent");
    let definition = Host::definition_v1().expect("encodes");
    let definition: RanFunctionDefinition = v1::decode(&definition).expect("a definition");
    let support = definition.capabilities.node_default.expect("one");
    assert_eq!(support.matches, ["drb"], "PDCP knows neither 5QI nor slice");
    let rule = |rule| DefaultRule {
        rule,
        pipeline: templates::by_name("low_latency"),
        lease_ms: Some(60_000),
        as_safe: false,
    };
    let default = |rule| {
        let change = NodeDefaultChange::Set(vec![rule]);
        ControlMessage::NodeDefault(NodeDefault {
            owner: None,
            lease_ms: Some(1_000),
            dry_run: false,
            change,
        })
    };
    let by_qi = rule(BearerMatch { five_qis: vec![9], ..BearerMatch::default() });
    let refusal = control(&host, &default(by_qi), 0);
    assert!(
        matches!(&refusal, ControlOutcome::Refused { cause: Cause::Unsupported, element, .. }
            if element == "change.set[0].match.five_qis"),
        "{refusal:?}"
    );
    let by_drb = rule(BearerMatch { drbs: vec![DRB], ..BearerMatch::default() });
    let taken = control(&host, &default(by_drb), 0);
    assert_eq!(taken, ControlOutcome::Accepted { revision: 1, lease_ms: Some(1_000) });
    host.bearer_up(UE, DRB, false, 500_000).expect("a DRB identity");
    // Before its first packet, which then waits for the block that carries it.
    let status = host.status(500_020);
    assert_eq!(status.bearers[0].pipeline.as_deref(), Some("low_latency"));
    let events: Vec<_> = status.events.iter().map(|event| event.what).collect();
    assert!(events.ends_with(&["bearer_up", "pipeline_changed"]), "{events:?}");
    assert_eq!(host.status_asked(RNTI, LCID, SLOT_US, 0, 500_030), 0);
    host.packet_in(UE, DRB, &packet(1, 0, 100), 500_040);
    assert!(!fake.0.lock().expect("unpoisoned").rlc.contains_key(&(UE, DRB)));
    assert!(slot(&host, &fake, 1_500, 500_500).is_some(), "the MAC asks and gets it");
    host.bearer_up(UE, DRB, false, 1_000_000).expect("a DRB identity");
    let status = host.status(1_000_010);
    assert_eq!(status.bearers[0].pipeline.as_deref(), Some("transparent"), "its lease has ended");
}

const ROOM: usize = 32 << 10;

fn action(style: ReportStyle, bearers: Vec<BearerId>) -> Vec<u8> {
    v1::encode(&ActionDefinition { style, bearers, top_flows: 4 }).expect("an action")
}

fn periodic(period_ms: u32) -> Vec<u8> {
    v1::encode(&EventTrigger::Periodic { period_ms }).expect("a trigger")
}

fn message(host: &Host, request: u32, now_us: u64) -> Option<IndicationMessage> {
    let (_, message) = host.report_v1(request, ROOM, now_us)?;
    Some(v1::decode(&message).expect("a message"))
}

#[test]
fn reports_name_the_bearer_and_the_time_of_the_clock_on_the_wall() {
    let (host, _fake) = host("low_latency");
    host.packet_in(UE, DRB, &packet(1, 0, 100), 10);
    let status = action(ReportStyle::PipelineStatus, vec![]);
    assert_eq!(host.subscribe_v1(1, &periodic(20), &status), Ok(20));
    let flows = action(ReportStyle::FlowInventory, vec![id(RNTI)]);
    assert_eq!(host.subscribe_v1(2, &periodic(1_000), &flows), Ok(1_000));
    let (header, _) = host.report_v1(1, ROOM, 1_000).expect("a report");
    let header: IndicationHeader = v1::decode(&header).expect("a header");
    assert_eq!(header.collected_at_us, 1_700_000_000_001_000);
    let Some(IndicationMessage::PipelineStatus(states)) = message(&host, 1, 2_000) else {
        panic!("another style");
    };
    assert_eq!((states[0].bearer.ue, states[0].ingress_packets), (UeId::Rnti(RNTI), 1));
    assert!(states[0].queues.is_empty(), "no traffic since the report before");
    let Some(IndicationMessage::FlowInventory(flows)) = message(&host, 2, 2_000) else {
        panic!("another style");
    };
    assert_eq!(flows[0].flows.len(), 1);
    assert_eq!(host.report_v1(1, 3, 3_000), None, "no room");
    host.unsubscribe_v1(1);
    assert_eq!(host.report_v1(1, ROOM, 4_000), None);
    let definition = Host::definition_v1().expect("encodes");
    let definition: RanFunctionDefinition = v1::decode(&definition).expect("a definition");
    assert_eq!(definition.oid, v1::OID);
}

#[test]
fn events_are_reported_once_to_each_subscription_that_they_concern() {
    let (host, _fake) = host("transparent");
    let on_change = v1::encode(&EventTrigger::OnChange).expect("a trigger");
    let events = |bearers| action(ReportStyle::Events, bearers);
    host.subscribe_v1(1, &on_change, &events(vec![])).expect("accepted");
    host.subscribe_v1(2, &on_change, &events(vec![id(9)])).expect("accepted");
    assert_eq!(message(&host, 1, 10), None, "what was before it does not count");
    install(&host, RNTI, templates::by_name("fq_codel").expect("one"), 20);
    host.status(30);
    let Some(IndicationMessage::Events(seen)) = message(&host, 1, 40) else {
        panic!("another style, or none");
    };
    let changed = EventKind::PipelineChanged { revision: 2, name: "fq_codel".to_owned() };
    assert_eq!((seen.len(), &seen[0].kind, seen[0].bearer), (1, &changed, id(RNTI)));
    assert_eq!(seen[0].at_us, 1_700_000_000_000_020);
    assert_eq!(message(&host, 1, 50), None);
    assert_eq!(message(&host, 2, 50), None);
    host.ue_is(UE, 9, 60);
    let Some(IndicationMessage::Events(seen)) = message(&host, 2, 70) else {
        panic!("another style, or none");
    };
    assert_eq!((&seen[0].kind, seen[0].bearer), (&EventKind::BearerAdded, id(9)));
}

#[test]
fn subscriptions_that_this_node_cannot_serve_are_refused_with_the_reason() {
    let (host, _fake) = host("transparent");
    let status = action(ReportStyle::PipelineStatus, vec![]);
    let refused = |trigger: &[u8], action: &[u8]| {
        host.subscribe_v1(1, trigger, action).expect_err("not to be served")
    };
    let threshold = EventTrigger::Threshold {
        quantity: Quantity::BacklogBytes,
        above: 10,
        hysteresis: 1,
        min_interval_ms: 5,
    };
    let threshold = v1::encode(&threshold).expect("a trigger");
    assert_eq!(
        refused(&threshold, &status),
        "event trigger: threshold; expected periodic or on_change"
    );
    assert_eq!(refused(&periodic(60_000), &status), "period_ms: 60000; expected at most 10000");
    assert!(refused(&[], &status).starts_with("event trigger: "));
    assert!(refused(&periodic(10), &[0xff]).starts_with("action definition: "));
    for request in 1..=64 {
        host.subscribe_v1(request, &periodic(10), &status).expect("accepted");
    }
    let refusal = host.subscribe_v1(65, &periodic(10), &status);
    assert_eq!(refusal, Err("64 subscriptions; expected no more".to_owned()));
}

#[test]
fn v0_applies_to_the_only_bearer_and_is_refused_when_there_are_two() {
    let (host, _fake) = host("transparent");
    host.control_v0(&[0; 4], &codel(), 10).expect("applied");
    let report = host.report_v0(20).expect("a report");
    let report = v0::decode_indication(&report).expect("decodes");
    assert_eq!(report.q.len(), 2);
    assert_eq!(report.tstamp, 1_700_000_000_000_020);
    assert!(host.control_v0(&[0; 4], &[1], 30).expect_err("cut off").starts_with("message: "));
    attach(&host, 2, RNTI + 1);
    let refusal = host.control_v0(&[0; 4], &codel(), 40).expect_err("two bearers");
    assert_eq!(refusal, "v0 cannot say which bearer it means, and this node has 2; use v1");
    assert_eq!(host.report_v0(50), None);
}

/// Bytes of a report of some of many bearers.
const LITTLE_ROOM: usize = 600;

fn bearers_of(message: &[u8]) -> Vec<BearerId> {
    match v1::decode(message).expect("a message") {
        IndicationMessage::PipelineStatus(states) => states.iter().map(|s| s.bearer).collect(),
        IndicationMessage::FlowInventory(flows) => flows.iter().map(|f| f.bearer).collect(),
        IndicationMessage::Events(events) => events.iter().map(|e| e.bearer).collect(),
    }
}

#[test]
fn where_a_report_has_no_room_for_all_bearers_each_has_its_turn() {
    for style in [ReportStyle::PipelineStatus, ReportStyle::FlowInventory] {
        let (host, _fake) = host("low_latency");
        for ue in 0..100 {
            attach(&host, 1_000 + ue, 100 + ue as u16);
            host.packet_in(1_000 + ue, DRB, &packet(1, 0, 100), 10);
        }
        host.subscribe_v1(1, &periodic(10), &action(style, vec![])).expect("accepted");
        let mut seen = std::collections::BTreeMap::new();
        let mut reports = 0;
        while reports < 60 {
            let now_us = 1_000 + reports * 10_000;
            let (_, message) = host.report_v1(1, LITTLE_ROOM, now_us).expect("a report");
            assert!(message.len() <= LITTLE_ROOM);
            for bearer in bearers_of(&message) {
                *seen.entry(bearer).or_insert(0_u32) += 1;
            }
            reports += 1;
        }
        assert_eq!(seen.len(), 101, "{style:?}");
        let (least, most) = (seen.values().min(), seen.values().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{seen:?}");
        assert_eq!(host.status(1_000_000).partial_reports, reports);
    }
}

#[test]
fn traffic_of_a_bearer_that_had_no_room_is_in_its_next_report() {
    let (host, _fake) = host("low_latency");
    for ue in 0..40 {
        attach(&host, 1_000 + ue, 100 + ue as u16);
    }
    let status = action(ReportStyle::PipelineStatus, vec![]);
    host.subscribe_v1(1, &periodic(10), &status).expect("accepted");
    // Reports begin with the lowest RNTIs; this UE has the highest.
    host.packet_in(1_039, DRB, &packet(1, 0, 100), 10);
    host.poll(20_000);
    for report in 0..40 {
        let (_, message) = host.report_v1(1, LITTLE_ROOM, 30_000 + report).expect("a report");
        let IndicationMessage::PipelineStatus(states) = v1::decode(&message).expect("decodes")
        else {
            panic!("another style");
        };
        if let Some(state) = states.iter().find(|state| state.bearer == id(139)) {
            assert_eq!(state.queues.len(), 1, "the queue that had traffic since the subscription");
            assert!(report > 0, "it had no room in the first report");
            return;
        }
    }
    panic!("the bearer was never reported");
}

#[test]
fn events_and_changed_bearers_that_had_no_room_are_in_the_next_reports() {
    for style in [ReportStyle::Events, ReportStyle::PipelineStatus] {
        let (host, _fake) = host("low_latency");
        let on_change = v1::encode(&EventTrigger::OnChange).expect("a trigger");
        host.subscribe_v1(1, &on_change, &action(style, vec![])).expect("accepted");
        for ue in 0..100 {
            attach(&host, 1_000 + ue, 100 + ue as u16);
        }
        let mut seen = Vec::new();
        while let Some((_, message)) = host.report_v1(1, LITTLE_ROOM, 1_000) {
            assert!(message.len() <= LITTLE_ROOM);
            seen.extend(bearers_of(&message));
        }
        seen.sort_unstable();
        assert_eq!(seen, (100..200).map(id).collect::<Vec<_>>(), "{style:?}");
    }
}
