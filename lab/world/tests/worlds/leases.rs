//! Leases of bearers without traffic.

use crate::common::scenario;
use crate::setup::{control, replace};
use e2sm_tc::v1::{ControlMessage, Transaction};
use lab_world::World;

#[test]
fn a_lease_ends_without_traffic_whether_or_not_the_sdap_scheduler_sleeps() {
    for poll_us in [0, 200] {
        let split = format!("split={{sdap_poll_us: {poll_us}}}");
        let mut world = World::new(&scenario("default.yaml", &[&split, "flows=[]"])).unwrap();
        world.step_until(1_000_000, &mut |_| {});
        let transaction = Transaction { lease_ms: Some(100), ..replace("fq_codel") };
        let reply = control(&mut world, 1, &ControlMessage::Transaction(transaction));
        assert!(reply.acknowledged, "{reply:?}");
        let revision = |world: &mut World| world.bearer_samples()[0].tc_revision;
        world.step_until(1_099_000, &mut |_| {});
        assert_eq!(revision(&mut world), 2, "poll {poll_us} µs");
        world.step_until(1_101_000, &mut |_| {});
        assert_eq!(revision(&mut world), 3, "poll {poll_us} µs: the safe pipeline is back");
    }
}
