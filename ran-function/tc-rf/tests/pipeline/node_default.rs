//! What bearers to come are set up with.

use crate::util::random;
use crate::util::*;
use e2sm_tc::v1::*;
use proptest::prelude::*;
use tc_rf::{NodeDefaultState, templates};

fn named(name: &str) -> Pipeline {
    templates::by_name(name).expect("a template")
}

fn rule(rule: BearerMatch, pipeline: &str) -> DefaultRule {
    DefaultRule { rule, pipeline: Some(named(pipeline)), lease_ms: Some(800), as_safe: false }
}

fn every(pipeline: &str) -> DefaultRule {
    rule(BearerMatch::default(), pipeline)
}

fn set(rules: Vec<DefaultRule>, lease_ms: Option<u32>) -> NodeDefault {
    let change = NodeDefaultChange::Set(rules);
    NodeDefault { owner: Some("a".to_owned()), lease_ms, dry_run: false, change }
}

fn changed(change: NodeDefaultChange, lease_ms: Option<u32>) -> NodeDefault {
    NodeDefault { owner: None, lease_ms, dry_run: false, change }
}

fn accepted(revision: u32, lease_ms: Option<u32>) -> ControlOutcome {
    ControlOutcome::Accepted { revision, lease_ms }
}

fn refusal(outcome: &ControlOutcome) -> (Cause, &str) {
    let ControlOutcome::Refused { cause, element, .. } = outcome else { panic!("{outcome:?}") };
    (*cause, element)
}

/// A bearer set up at this time.
fn set_up(default: &NodeDefaultState, now_us: u64, events: &mut Recorder) -> Control {
    let mut tc = control(named("transparent"));
    if let Some(start) = default.start_of(BEARER.drb, &tc.qos(), now_us) {
        tc.start_with(start, now_us, events);
    }
    tc
}

type Control = tc_rf::TrafficControl<TestPacket>;

#[test]
fn a_bearer_has_its_pipeline_before_its_first_packet_and_it_is_one_as_any_other() {
    let mut default = NodeDefaultState::default();
    assert_eq!(
        default.apply(&set(vec![every("fq_codel")], Some(2_000)), 0),
        accepted(1, Some(2_000))
    );
    let mut events = Recorder::default();
    let mut tc = set_up(&default, 1_000_000, &mut events);
    let name = "fq_codel".to_owned();
    assert_eq!(events.events, [EventKind::PipelineChanged { revision: 2, name }]);
    let status = tc.status(1_005_000);
    assert_eq!((status.revision, status.name.as_str(), status.safe), (2, "fq_codel", false));
    assert_eq!((status.owner.as_deref(), status.lease_left_ms), (Some("a"), Some(795)));
    assert_eq!(status.by_default, Some(ByDefault { revision: 1, rule: 0, age_ms: 5 }));
    // A renewal keeps it, the end of its lease does not, and the initial pipeline is what returns.
    let renewal = LeaseRenewal { bearer: BEARER, revision: 2, lease_ms: 300, owner: None };
    assert_eq!(tc.renew_lease(&renewal, 1_700_000), accepted(2, Some(300)));
    assert!(tc.status(1_900_000).by_default.is_some());
    tc.tick(2_000_000, &mut events);
    let status = tc.status(2_000_000);
    assert_eq!((status.name.as_str(), status.safe, status.by_default), ("transparent", true, None));
    // A transaction addresses it by its revision.
    let mut tc = set_up(&default, 1_000_000, &mut events);
    let request = Transaction { expected_revision: Some(2), ..replace(named("bdp_only")) };
    assert_eq!(tc.apply(&request, 1_100_000, &mut events), accepted(3, None));
    assert_eq!(tc.status(1_100_000).by_default, None);
}

#[test]
fn as_safe_it_stays_and_the_initial_pipeline_is_still_known() {
    let mut default = NodeDefaultState::default();
    default.apply(&set(vec![DefaultRule { as_safe: true, ..every("fq_codel") }], None), 0);
    let mut tc = set_up(&default, 10, &mut Recorder::default());
    let status = tc.status(3_600_000_000);
    assert_eq!((status.safe, status.lease_left_ms, status.owner), (true, None, None));
    assert!(status.by_default.is_some());
    tc.apply(&change(PipelineChange::Initial), 20, &mut ());
    assert_eq!(tc.status(20).name, "transparent");
}

#[test]
fn the_first_rule_that_matches_applies_and_the_unknown_matches_no_list() {
    let slice = SNssai { sst: 1, sd: Some(5) };
    let of = |five_qis: &[u8], s_nssais: &[SNssai], drbs: &[u8]| BearerMatch {
        five_qis: five_qis.to_vec(),
        s_nssais: s_nssais.to_vec(),
        drbs: drbs.to_vec(),
    };
    let bare = DefaultRule { pipeline: None, ..rule(of(&[], &[], &[7]), "fq_codel") };
    let rules = vec![
        rule(of(&[1, 2], &[], &[]), "l4s"),
        rule(of(&[9], &[slice], &[]), "bdp_only"),
        bare,
        every("fq_codel"),
    ];
    let mut default = NodeDefaultState::default();
    default.apply(&set(rules, None), 0);
    let qos = |five_qis: &[u8], s_nssai| BearerQos { five_qis: five_qis.to_vec(), s_nssai };
    let name = |drb, qos: BearerQos| {
        let mut tc = control(named("transparent"));
        if let Some(start) = default.start_of(drb, &qos, 0) {
            tc.start_with(start, 0, &mut ());
        }
        tc.status(0).name
    };
    assert_eq!(name(1, qos(&[8, 2], None)), "l4s");
    assert_eq!(name(1, qos(&[9], Some(slice))), "bdp_only");
    assert_eq!(name(1, qos(&[9], Some(SNssai { sd: None, ..slice }))), "fq_codel");
    assert_eq!(name(1, qos(&[9], None)), "fq_codel");
    assert_eq!(name(7, BearerQos::default()), "transparent");
    assert_eq!(name(8, BearerQos::default()), "fq_codel");
}

#[test]
fn a_bearer_that_has_been_given_a_pipeline_keeps_it() {
    let mut default = NodeDefaultState::default();
    default.apply(&set(vec![every("fq_codel")], None), 0);
    let mut tc = control(named("transparent"));
    tc.apply(&replace(named("bdp_only")), 0, &mut ());
    let start = default.start_of(BEARER.drb, &tc.qos(), 0).expect("one");
    tc.start_with(start, 0, &mut ());
    assert_eq!((tc.status(0).name.as_str(), tc.revision()), ("bdp_only", 2));
}

#[test]
fn a_refusal_names_the_rule_and_changes_nothing() {
    let mut default = NodeDefaultState::default();
    default.apply(&set(vec![every("fq_codel")], Some(500)), 0);
    let mut broken = every("bdp_only");
    broken.pipeline.as_mut().expect("one").buffer.bytes = 10;
    let outcome = default.apply(&set(vec![every("l4s"), broken], Some(9_000)), 1);
    let place = "change.set[1].pipeline.buffer.bytes";
    assert_eq!(refusal(&outcome), (Cause::OutOfRange, place));
    let mut invalid = every("bdp_only");
    invalid.pipeline.as_mut().expect("one").queues.clear();
    let outcome = default.apply(&set(vec![invalid], None), 1);
    assert!(refusal(&outcome).1.starts_with("change.set[0].pipeline."), "{outcome:?}");
    let outcome = default.apply(&set(vec![every("fq_codel"); 17], None), 1);
    assert_eq!(refusal(&outcome), (Cause::Capacity, "change.set"));
    let mut large = every("fq_codel");
    let host = Prefix::V6 { address: std::net::Ipv6Addr::LOCALHOST, length: 128 };
    let between = FlowMatch { source: Some(host), destination: Some(host), ..FlowMatch::default() };
    let filters = vec![(between, target(0, 1)); 256];
    large.pipeline.as_mut().expect("one").classifier = osi(filters, target(0, 1));
    let outcome = default.apply(&set(vec![large; 16], None), 1);
    assert_eq!(refusal(&outcome), (Cause::Capacity, "change.set"));
    for stale in [0, 2] {
        let outcome = default.apply(&changed(NodeDefaultChange::Renew(stale), Some(1)), 1);
        assert_eq!(refusal(&outcome), (Cause::StaleRevision, "change.renew"));
    }
    let start = default.start_of(1, &BearerQos::default(), 499_999);
    assert!(start.is_some() && default.start_of(1, &BearerQos::default(), 500_000).is_none());
}

#[test]
fn a_list_that_the_node_cannot_match_is_refused_by_name() {
    let known = NodeDefaultSupport { max_rules: 1, matches: vec!["drb".to_owned()] };
    let mut default = NodeDefaultState::new(Some(known));
    let by_qi = BearerMatch { five_qis: vec![1], ..BearerMatch::default() };
    let outcome = default.apply(&set(vec![rule(by_qi, "fq_codel")], None), 0);
    assert_eq!(refusal(&outcome), (Cause::Unsupported, "change.set[0].match.five_qis"));
    let outcome = default.apply(&set(vec![every("fq_codel"), every("fq_codel")], None), 0);
    assert_eq!(refusal(&outcome), (Cause::Capacity, "change.set"));
    let outcome = NodeDefaultState::new(None).apply(&set(vec![every("fq_codel")], None), 0);
    assert_eq!(refusal(&outcome), (Cause::Unsupported, "change"));
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Set(Vec<Pipeline>, Option<u32>, bool),
    Renew { stale: bool, lease_ms: Option<u32>, dry_run: bool },
    Withdraw { dry_run: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let lease_ms = || prop::option::of(1_u32..3_000);
    let pipelines = prop::collection::vec(random::composed(), 1..3);
    prop_oneof![
        (0_u64..2_000_000).prop_map(Step::Wait),
        (pipelines, lease_ms(), any::<bool>()).prop_map(|(all, ms, dry)| Step::Set(all, ms, dry)),
        (any::<bool>(), lease_ms(), any::<bool>())
            .prop_map(|(stale, lease_ms, dry_run)| Step::Renew { stale, lease_ms, dry_run }),
        any::<bool>().prop_map(|dry_run| Step::Withdraw { dry_run }),
    ]
}

proptest! {
    /// What a bearer is set up with is the newest pipelines that were accepted, for as long as their
    /// lease or its renewals last, whatever was asked for in between.
    #[test]
    fn what_was_accepted_last_holds_until_its_lease_ends(steps in prop::collection::vec(step(), 1..30)) {
        let mut default = NodeDefaultState::default();
        let mut now_us = 0_u64;
        let (mut revision, mut expected): (u32, Option<Pipeline>) = (0, None);
        let mut ends_us = u64::MAX;
        let end = |now_us: u64, ms: Option<u32>| ms.map_or(u64::MAX, |ms| now_us + u64::from(ms) * 1000);
        for step in steps {
            if now_us >= ends_us {
                expected = None;
            }
            match step {
                Step::Wait(us) => now_us += us,
                Step::Set(pipelines, lease_ms, dry_run) => {
                    let rules = pipelines.iter().map(|pipeline| DefaultRule {
                        pipeline: Some(pipeline.clone()), ..every("fq_codel")
                    });
                    let request = NodeDefault { dry_run, ..set(rules.collect(), lease_ms) };
                    let is_taken = matches!(default.apply(&request, now_us), ControlOutcome::Accepted { .. });
                    if is_taken && !dry_run {
                        revision += 1;
                        expected = pipelines.first().cloned();
                        ends_us = end(now_us, lease_ms);
                    }
                }
                Step::Renew { stale, lease_ms, dry_run } => {
                    let change = NodeDefaultChange::Renew(revision.wrapping_sub(stale.into()));
                    let request = NodeDefault { dry_run, ..changed(change, lease_ms) };
                    let is_taken = matches!(default.apply(&request, now_us), ControlOutcome::Accepted { .. });
                    prop_assert_eq!(is_taken, !stale && expected.is_some());
                    if is_taken && !dry_run {
                        ends_us = end(now_us, lease_ms);
                    }
                }
                Step::Withdraw { dry_run } => {
                    let request = NodeDefault { dry_run, ..changed(NodeDefaultChange::Withdraw, None) };
                    default.apply(&request, now_us);
                    if !dry_run {
                        revision += 1;
                        expected = None;
                        ends_us = u64::MAX;
                    }
                }
            }
            let in_force = expected.as_ref().filter(|_| now_us < ends_us);
            let mut tc = control(by_port(1));
            let start = default.start_of(1, &BearerQos::default(), now_us);
            prop_assert_eq!(start.is_some(), in_force.is_some());
            if let Some(start) = start {
                tc.start_with(start, now_us, &mut ());
                prop_assert_eq!(Some(tc.pipeline()), in_force);
                let by_default = tc.status(now_us).by_default.map(|it| it.revision);
                prop_assert_eq!(by_default, Some(revision));
            }
        }
    }
}
