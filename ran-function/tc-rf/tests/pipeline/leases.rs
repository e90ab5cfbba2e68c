//! A leased pipeline goes when its xApp falls silent.

use crate::util::*;
use e2sm_tc::v1::*;

fn leased(lease_ms: u32) -> Transaction {
    Transaction { lease_ms: Some(lease_ms), ..replace(by_port(3)) }
}

fn renewal(revision: u32, lease_ms: u32) -> LeaseRenewal {
    LeaseRenewal { bearer: BEARER, revision, lease_ms, owner: None }
}

#[test]
fn the_safe_pipeline_returns_when_the_lease_ends() {
    let mut tc = control(by_port(1));
    let mut events = Recorder::default();
    let outcome = tc.apply(&leased(500), 1_000_000, &mut events);
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 2, lease_ms: Some(500) });
    assert_eq!(tc.status(1_200_000).lease_left_ms, Some(300));
    assert_eq!(tc.next_deadline_us(1_200_000), Some(1_500_000));
    tc.tick(1_499_999, &mut events);
    assert!(!tc.status(1_499_999).safe);
    tc.tick(1_500_000, &mut events);
    let status = tc.status(1_500_000);
    assert_eq!((status.safe, status.revision, status.lease_left_ms), (true, 3, None));
    assert_eq!(tc.pipeline(), &by_port(1));
    assert_eq!(events.events.last(), Some(&EventKind::LeaseExpired { revision: 3 }));
    assert_eq!(tc.next_deadline_us(1_500_000), None);
}

#[test]
fn packets_survive_the_end_of_a_lease_in_order() {
    let mut tc = control(by_port(1));
    tc.apply(&leased(10), 0, &mut ());
    for number in 0..30 {
        tc.ingress(packet((number % 3) as u16, 100, number), 5_000, &mut ());
    }
    // Egress notices the end by itself: one FIFO in order of arrival, not three in turn.
    let out = numbers(&egress(&mut tc, 10_000));
    assert_eq!(out, (0..30).collect::<Vec<_>>());
    assert!(tc.status(10_000).safe);
}

#[test]
fn a_renewal_keeps_the_pipeline() {
    let mut tc = control(by_port(1));
    tc.apply(&leased(500), 0, &mut ());
    let outcome = tc.renew_lease(&renewal(2, 800), 400_000);
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 2, lease_ms: Some(800) });
    tc.tick(1_199_999, &mut ());
    assert!(!tc.status(1_199_999).safe);
    tc.tick(1_200_000, &mut ());
    assert!(tc.status(1_200_000).safe);
}

#[test]
fn renewals_that_renew_nothing_are_refused() {
    let refused = |outcome| match outcome {
        ControlOutcome::Refused { cause, element, .. } => (cause, element),
        ControlOutcome::Accepted { .. } => panic!("accepted"),
    };
    let mut tc = control(by_port(1));
    let outcome = tc.renew_lease(&renewal(1, 500), 0);
    assert_eq!(refused(outcome), (Cause::Inconsistent, "lease_ms".to_owned()), "no lease");
    tc.apply(&leased(500), 0, &mut ());
    let outcome = tc.renew_lease(&renewal(1, 500), 0);
    assert_eq!(refused(outcome), (Cause::StaleRevision, "revision".to_owned()));
    let outcome = tc.renew_lease(&renewal(2, 0), 0);
    assert_eq!(refused(outcome), (Cause::OutOfRange, "lease_ms".to_owned()));
    let other = LeaseRenewal { bearer: BearerId { drb: 9, ..BEARER }, ..renewal(2, 500) };
    let outcome = tc.renew_lease(&other, 0);
    assert_eq!(refused(outcome), (Cause::UnknownBearer, "bearer".to_owned()));
    let outcome = tc.renew_lease(&renewal(2, 500), 500_000);
    assert_eq!(refused(outcome), (Cause::StaleRevision, "revision".to_owned()), "too late");
}

#[test]
fn a_transaction_after_the_lease_sees_the_safe_pipeline() {
    let mut tc = control(by_port(1));
    tc.apply(&leased(500), 0, &mut ());
    let late = Transaction { expected_revision: Some(2), ..leased(500) };
    let outcome = tc.apply(&late, 600_000, &mut ());
    assert!(matches!(
        outcome,
        ControlOutcome::Refused { cause: Cause::StaleRevision, revision: Some(3), .. }
    ));
}

#[test]
fn a_lease_of_zero_is_refused() {
    let mut tc = control(by_port(1));
    assert!(matches!(
        tc.apply(&leased(0), 0, &mut ()),
        ControlOutcome::Refused { cause: Cause::OutOfRange, element, .. } if element == "lease_ms"
    ));
}

#[test]
fn a_pipeline_without_lease_stays_and_safe_ends_a_lease() {
    let mut tc = control(by_port(1));
    tc.apply(&replace(by_port(3)), 0, &mut ());
    tc.tick(u64::MAX, &mut ());
    assert!(!tc.status(u64::MAX).safe);
    tc.apply(&leased(500), 0, &mut ());
    let safe = Transaction { lease_ms: Some(500), ..change(PipelineChange::Safe) };
    let outcome = tc.apply(&safe, 0, &mut ());
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 4, lease_ms: None });
    let status = tc.status(0);
    assert_eq!((status.safe, status.lease_left_ms), (true, None));
}

#[test]
fn a_lease_falls_back_to_the_pipeline_that_a_transaction_set_as_safe() {
    let mut tc = control(by_port(1));
    let as_safe = Transaction {
        as_safe: true,
        owner: Some("a".to_owned()),
        lease_ms: Some(500),
        ..replace(by_port(2))
    };
    let outcome = tc.apply(&as_safe, 0, &mut ());
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 2, lease_ms: None });
    let status = tc.status(0);
    assert_eq!((status.safe, status.lease_left_ms, status.owner), (true, None, None));
    let owned = Transaction { owner: Some("a".to_owned()), ..leased(500) };
    tc.apply(&owned, 1_000, &mut ());
    assert_eq!(tc.status(1_000).owner.as_deref(), Some("a"));
    let mut events = Recorder::default();
    tc.tick(501_000, &mut events);
    assert_eq!(tc.pipeline(), &by_port(2));
    assert_eq!(events.events.last(), Some(&EventKind::LeaseExpired { revision: 4 }));
    assert_eq!((tc.status(501_000).safe, tc.status(501_000).owner), (true, None));
}

#[test]
fn initial_returns_to_the_pipeline_of_before_any_control() {
    let mut tc = control(by_port(1));
    tc.apply(&Transaction { as_safe: true, ..replace(by_port(2)) }, 0, &mut ());
    tc.apply(&leased(500), 0, &mut ());
    tc.apply(&change(PipelineChange::Safe), 0, &mut ());
    assert_eq!(tc.pipeline(), &by_port(2));
    let initial = Transaction { lease_ms: Some(500), ..change(PipelineChange::Initial) };
    let outcome = tc.apply(&initial, 0, &mut ());
    assert_eq!(outcome, ControlOutcome::Accepted { revision: 5, lease_ms: None });
    assert_eq!((tc.pipeline(), tc.status(0).safe), (&by_port(1), true));
    tc.apply(&leased(500), 0, &mut ());
    tc.tick(500_000, &mut ());
    assert_eq!(tc.pipeline(), &by_port(1), "the safe pipeline is the initial one again");
}

#[test]
fn a_dry_run_sets_no_safe_pipeline() {
    let mut tc = control(by_port(1));
    tc.apply(&Transaction { dry_run: true, as_safe: true, ..replace(by_port(2)) }, 0, &mut ());
    tc.apply(&change(PipelineChange::Safe), 0, &mut ());
    assert_eq!(tc.pipeline(), &by_port(1));
}

#[test]
fn the_status_has_the_digest_of_the_pipeline_in_force() {
    let mut tc = control(by_port(1));
    let of = |pipeline| Some(e2sm_tc::v1::digest(&pipeline).unwrap());
    assert_eq!(tc.status(0).digest, of(by_port(1)));
    tc.apply(&leased(500), 0, &mut ());
    assert_eq!(tc.status(0).digest, of(tc.pipeline().clone()));
    assert_ne!(tc.status(0).digest, of(by_port(1)));
    tc.tick(500_000, &mut ());
    assert_eq!(tc.status(500_000).digest, of(by_port(1)));
}
