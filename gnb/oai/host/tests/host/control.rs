//! E2SM-TC through the host.

use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, Cause, ControlMessage, ControlOutcome, IndicationHeader, IndicationMessage, LeaseRenewal,
    NodeLease, RanFunctionDefinition, UeId,
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
    let pipeline = templates::by_name("sojourn").expect("a template");
    install(&host, RNTI, pipeline, 0);
    assert_eq!(host.status(1_000).bearers[0].pipeline.as_deref(), Some("sojourn"));
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
fn reports_name_the_bearer_and_the_time_of_the_clock_on_the_wall() {
    let (host, _fake) = host("sojourn");
    host.packet_in(UE, DRB, &packet(1, 0, 100), 10);
    let (header, message) = host.status_v1(32 << 10, 1_000).expect("a report");
    let header: IndicationHeader = v1::decode(&header).expect("a header");
    assert_eq!(header.collected_at_us, 1_700_000_000_001_000);
    let IndicationMessage::PipelineStatus(states) = v1::decode(&message).expect("a message") else {
        panic!("another style");
    };
    assert_eq!((states[0].bearer.ue, states[0].ingress_packets), (UeId::Rnti(RNTI), 1));
    let (_, message) = host.flows_v1(4, 32 << 10, 2_000).expect("a report");
    let IndicationMessage::FlowInventory(flows) = v1::decode(&message).expect("a message") else {
        panic!("another style");
    };
    assert_eq!(flows[0].flows.len(), 1);
    assert_eq!(host.status_v1(3, 3_000), None, "no room");
    let definition = Host::definition_v1().expect("encodes");
    let definition: RanFunctionDefinition = v1::decode(&definition).expect("a definition");
    assert_eq!(definition.oid, v1::OID);
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
