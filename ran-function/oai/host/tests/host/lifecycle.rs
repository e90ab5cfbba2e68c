//! Bearers and UEs that come, go and change their names.

use e2sm_tc::v1::ControlOutcome;
use sojourn_gnb::{Host, HostError, Settings, Taken};
use tc_rf::templates;

use crate::fake::*;

fn events(host: &Host) -> Vec<&'static str> {
    host.status(0).events.iter().map(|event| event.what).collect()
}

#[test]
fn a_ue_that_is_reestablished_keeps_pipeline_packets_and_order() {
    let (host, fake) = host("transparent");
    let sojourn = templates::by_name("low_latency").expect("a template");
    let outcome = install(&host, RNTI, sojourn, 1_000);
    assert!(matches!(outcome, ControlOutcome::Accepted { revision: 2, .. }), "{outcome:?}");
    host.status_asked(RNTI, LCID, SLOT_US, 0, 1_500);
    for number in 0..50 {
        host.packet_in(UE, DRB, &packet(1, number, 500), 2_000);
    }
    // 38.331 §5.3.7: a new C-RNTI; in OAI the RLC is notified, then the CU.
    host.rnti_changed(RNTI, 0x5555);
    assert_eq!(host.status_asked(RNTI, LCID, SLOT_US, 0, 2_500), 0, "the old name is void");
    host.ue_is(UE, 0x5555, 2_600);
    assert!(host.status_asked(0x5555, LCID, SLOT_US, 0, 3_000) > 25_000);
    host.block_pulled(0x5555, LCID, SLOT_US, 30_000, 0, 3_000);
    let below = fake.0.lock().expect("unpoisoned");
    let queue = &below.rlc[&(UE, DRB)];
    let numbers: Vec<_> = queue.iter().map(|one| read(&one.sdu).1).collect();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    assert!(queue.iter().all(|one| one.bearer.rnti == Some(0x5555)));
    drop(below);
    let status = host.status(3_000);
    assert_eq!((status.bearers[0].rnti, status.bearers[0].revision), (Some(0x5555), Some(2)));
    let unknown = install(&host, RNTI, templates::by_name("fq_codel").expect("one"), 4_000);
    assert!(matches!(unknown, ControlOutcome::Refused { .. }), "{unknown:?}");
}

#[test]
fn what_waits_for_a_removed_bearer_is_dropped_and_its_buffers_return() {
    let (host, _fake) = host("low_latency");
    host.status_asked(RNTI, LCID, SLOT_US, 0, 100);
    for number in 0..100 {
        host.packet_in(UE, DRB, &packet(1, number, 500), 200);
    }
    assert_eq!(host.status(300).buffers_free, 4_096 - 100);
    host.bearer_down(UE, DRB, 400);
    assert_eq!(host.packet_in(UE, DRB, &packet(1, 0, 500), 500), Taken::No, "as without a host");
    assert_eq!(host.status_asked(RNTI, LCID, SLOT_US, 0, 500), 0);
    host.poll(600);
    let status = host.status(700);
    assert_eq!((status.buffers_free, status.bearers.len()), (4_096, 0));
}

#[test]
fn a_bearer_that_is_set_up_anew_starts_anew() {
    let (host, fake) = host("low_latency");
    host.status_asked(RNTI, LCID, SLOT_US, 0, 100);
    host.packet_in(UE, DRB, &packet(1, 7, 500), 200);
    host.bearer_up(UE, DRB, false, 300).expect("a DRB identity");
    host.poll(400);
    assert_eq!(
        host.status_asked(RNTI, LCID, SLOT_US, 0, 500),
        0,
        "the packet was the old bearer's"
    );
    host.packet_in(UE, DRB, &packet(1, 8, 500), 600);
    host.status_asked(RNTI, LCID, SLOT_US, 0, 1_000);
    host.block_pulled(RNTI, LCID, SLOT_US, 2_000, 0, 1_000);
    let below = fake.0.lock().expect("unpoisoned");
    assert_eq!(below.rlc[&(UE, DRB)].iter().map(|one| read(&one.sdu).1).collect::<Vec<_>>(), [8]);
}

#[test]
fn bearers_of_many_ues_do_not_mix() {
    let (host, fake) = host("low_latency");
    for ue in 2..40_u64 {
        attach(&host, ue, RNTI + ue as u16);
        host.status_asked(RNTI + ue as u16, LCID, SLOT_US, 0, 100);
    }
    for ue in 2..40_u64 {
        host.packet_in(ue, DRB, &packet(ue as u16, 0, 300), 200);
    }
    host.ue_gone(20, 300);
    host.rnti_gone(RNTI + 20);
    for ue in (2..40_u64).rev() {
        let added = host.status_asked(RNTI + ue as u16, LCID, SLOT_US, 0, 400);
        assert_eq!(added > 0, ue != 20, "UE {ue}");
        host.block_pulled(RNTI + ue as u16, LCID, SLOT_US, 1_000, 0, 400);
    }
    let below = fake.0.lock().expect("unpoisoned");
    for ((ue, _), queue) in &below.rlc {
        assert!(queue.iter().all(|one| u64::from(read(&one.sdu).0) == *ue));
    }
    assert_eq!(below.rlc.len(), 37);
}

#[test]
fn a_ue_without_rnti_is_served_as_the_gnb_would() {
    let fake = Fake::default();
    let host = Host::new(Box::new(fake.clone()), Settings::default()).expect("defaults");
    host.bearer_up(9, 1, false, 0).expect("a DRB identity");
    assert_eq!(host.packet_in(9, 1, &packet(1, 0, 100), 10), Taken::Yes);
    assert_eq!(fake.0.lock().expect("unpoisoned").rlc[&(9, 1)][0].bearer.rnti, None);
    assert_eq!(events(&host), ["bearer_up"]);
}

#[test]
fn settings_that_cannot_be_used_are_refused_with_what_was_expected() {
    let refused = |settings: Settings| {
        Host::new(Box::new(Fake::default()), settings).expect_err("not usable").to_string()
    };
    let pipeline = "codell".to_owned();
    let text = refused(Settings { pipeline, ..Settings::default() });
    assert!(text.starts_with("pipeline \"codell\"; expected one of transparent"), "{text}");
    let text = refused(Settings { buffers: 3, ..Settings::default() });
    assert_eq!(text, "buffers 3; expected 64 to 1048576");
    let (host, _fake) = host("transparent");
    assert_eq!(host.bearer_up(1, 33, false, 0), Err(HostError::Drb { drb: 33 }));
}

#[test]
fn a_bearer_of_which_the_mac_does_not_ask_goes_on_by_polls() {
    let (host, fake) = host("low_latency");
    // A question makes the pacer wait for blocks; then the UE is not scheduled any more.
    host.status_asked(RNTI, LCID, SLOT_US, 0, 1_000);
    for number in 0..30 {
        host.packet_in(UE, DRB, &packet(1, number, 1_000), 1_100);
    }
    let held = host.status(1_200).bearers[0].counts.waiting_packets;
    assert!(held > 0);
    for ms in 2..1_000 {
        host.poll(ms * 1_000);
    }
    assert_eq!(host.status(1_000_000).bearers[0].counts.waiting_packets, 0);
    assert_eq!(fake.0.lock().expect("unpoisoned").rlc[&(UE, DRB)].len(), 30);
}
