//! Uploads: what UEs send shares the cell's uplink.

use lab_world::{Bound, Summary, World};
use traffic::Direction;

use crate::common::flow;
use crate::setup::load;

fn run(ues: usize, flows: &str, seconds: u64) -> (World, Summary) {
    let text = format!(
        "
seed: 1
duration_s: {seconds}
cell: {{ rat: nr, n_prb: 106, scs_khz: 30, tdd: {{ pattern: DDDDDDDMUU }} }}
split: {{ core_delay_us: 5000 }}
ues: [{{ rnti: 1, count: {ues}, channel: {{ fixed_mcs: 27 }}, drbs: [{{ id: 1 }}] }}]
flows: [{flows}]
"
    );
    let mut world = World::new(&load(&text)).unwrap();
    world.step_until(seconds * 1_000_000, &mut |_| {});
    let summary = world.summary();
    (world, summary)
}

/// 106 PRBs of 156 resource elements in two of ten slots at 256QAM 948/1024: 49.0 Mbit/s of blocks.
#[test]
fn uploads_of_many_ues_share_the_carrier() {
    for ues in [1, 20, 40] {
        let flows = "{ name: up, kind: udp_cbr, rnti: each, rate_kbps: 60000, direction: up, \
                     packet_bytes: 1400 }";
        let (world, summary) = run(ues, flows, 4);
        let total: f64 = summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
        assert!((43.0..49.0).contains(&total), "{ues} UEs: {total}");
        assert!(summary.flows.iter().all(|flow| flow.direction == Direction::Up));
        assert!(matches!(summary.cell.bound, Bound::Uplink { .. }), "{:?}", summary.cell.bound);
        assert_eq!(world.packet_account().uplink.unaccounted(), 0);
        let is_bounded = ues == 1 || world.packet_account().uplink.dropped_by_ue > 0;
        assert!(is_bounded, "{ues} UEs: queues hold 10000 packets");
    }
}

#[test]
fn a_tcp_upload_takes_the_uplink_and_its_acknowledgements_the_downlink() {
    let flows = "{ name: up, kind: tcp, rnti: 1, direction: up }, \
                 { name: down, kind: udp_cbr, rnti: 1, rate_kbps: 1000 }";
    let (world, summary) = run(1, flows, 10);
    let up = flow(&summary, "up");
    assert!((35.0..48.0).contains(&up.goodput_mbps), "{}", up.goodput_mbps);
    assert!(up.one_way_delay_ms.p95 > 20.0, "its own queue: {:?}", up.one_way_delay_ms);
    let down = flow(&summary, "down");
    assert_eq!(down.direction, Direction::Down);
    assert!(down.one_way_delay_ms.p95 < 15.0, "{:?}", down.one_way_delay_ms);
    let account = world.packet_account();
    assert_eq!((account.uplink.unaccounted(), account.downlink.unaccounted()), (0, 0));
}

#[test]
fn an_upload_delays_the_acknowledgements_of_a_download_of_the_same_ue() {
    let download = "{ name: down, kind: tcp, rnti: 1 }";
    let alone = run(1, download, 6).1;
    let upload = "{ name: up, kind: udp_cbr, rnti: 1, rate_kbps: 80000, direction: up, \
                  packet_bytes: 1400 }";
    let beside = run(1, &format!("{download}, {upload}"), 6).1;
    let (alone, beside) = (flow(&alone, "down").goodput_mbps, flow(&beside, "down").goodput_mbps);
    assert!(beside < 0.5 * alone, "{beside} {alone}");
}
