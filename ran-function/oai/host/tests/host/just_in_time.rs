//! Packets wait above PDCP until the transport block that carries them.

use sojourn_gnb::Taken;

use crate::fake::*;

const STEP_US: u64 = SLOT_US as u64;
/// 30 Mbit/s in every slot.
const BLOCK: u32 = 1_875;

#[test]
fn without_a_pacer_packets_go_on_at_once_and_the_mac_sees_the_rlc_alone() {
    let (host, fake) = host("transparent");
    for number in 0..20 {
        assert_eq!(host.packet_in(UE, DRB, &packet(1, number, 1_000), 10), Taken::Yes);
    }
    assert_eq!(host.status_asked(RNTI, LCID, SLOT_US, 20_060, 500), 0);
    let below = fake.0.lock().expect("unpoisoned");
    let queue = &below.rlc[&(UE, DRB)];
    let numbers: Vec<_> = queue.iter().map(|one| (read(&one.sdu).1, one.sequence)).collect();
    assert_eq!(numbers, (0..20).map(|n| (n, n)).collect::<Vec<_>>());
    assert_eq!(queue[3].sdu, packet(1, 3, 1_000), "as it came");
}

#[test]
fn blocks_are_filled_and_the_rlc_holds_the_rest_of_one_sdu() {
    let (host, fake) = host("low_latency");
    let mut number = 0;
    let (mut carried, mut blocks) = (0, 0);
    for n in 0..4_000_u64 {
        let now_us = n * STEP_US;
        // 60 Mbit/s offered: twice what the radio carries.
        for _ in 0..(2 + n % 3) {
            host.packet_in(UE, DRB, &packet(1, number, 1_250), now_us + 100);
            number += 1;
        }
        if let Some(bytes) = slot(&host, &fake, BLOCK, now_us + 300) {
            carried += bytes;
            blocks += 1;
        }
        let below = fake.0.lock().expect("unpoisoned");
        assert!(below.rlc_bytes(UE, DRB) <= 1_253, "slot {n}");
    }
    assert!(blocks >= 3_990);
    let share = carried as f64 / (f64::from(blocks) * f64::from(BLOCK));
    assert!(share > 0.98, "{share}");
}

#[test]
fn an_rlc_that_cannot_send_gets_no_more_than_a_block() {
    let (host, fake) = host("low_latency");
    let mut most = 0;
    for n in 0..200_u64 {
        let now_us = n * STEP_US;
        host.packet_in(UE, DRB, &packet(1, n as u32, 1_250), now_us + 100);
        // A stalled window: blocks are granted and carry nothing, and the RLC says what it holds.
        let in_rlc = fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB);
        host.status_asked(RNTI, LCID, SLOT_US, in_rlc, now_us + 300);
        host.block_pulled(RNTI, LCID, SLOT_US, BLOCK, in_rlc, now_us + 300);
        most = most.max(fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB));
    }
    assert!(most <= BLOCK + 1_253, "{most} B wait in an RLC that sends nothing");
}

#[test]
fn a_radio_that_lags_behind_the_wall_leaves_decisions_to_the_mac() {
    let (host, fake) = host("low_latency");
    let (mut number, mut now_us, mut most) = (0, 0, 0);
    // A fifth of real time, three slots of ten without downlink, and 300 ms without a slot each 2 s.
    for n in 0..8_000_u64 {
        now_us += if n % 800 == 799 { 300_000 } else { 5 * STEP_US };
        // 30 Mbit/s in real time.
        while u64::from(number) * 1_250 * 8 < now_us * 30 {
            host.packet_in(UE, DRB, &packet(1, number, 1_250), now_us - 1);
            number += 1;
        }
        if n % 10 < 7 {
            slot(&host, &fake, BLOCK, now_us);
        }
        host.slot_took(0, SLOT_US, 0, 0);
        host.poll(now_us);
        if n > 0 {
            most = most.max(fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB));
        }
    }
    assert!(most <= 1_253, "{most} B in the RLC");
    // A UE that the MAC does not ask about while the radio goes on: the pipeline decides.
    let before = host.status(now_us).bearers[0].counts.forwarded_packets;
    for n in 0..300_u64 {
        host.slot_took(0, SLOT_US, 0, 0);
        host.packet_in(UE, DRB, &packet(1, number, 1_250), now_us + n * STEP_US);
        number += 1;
    }
    assert!(host.status(now_us).bearers[0].counts.forwarded_packets > before);
}

#[test]
fn a_call_beside_an_overload_waits_for_a_slot_not_for_the_overload() {
    let (host, fake) = host("low_latency");
    let (mut bulk, mut voice, mut worst_us) = (0, 0, 0);
    let mut sent_us = vec![];
    for n in 0..8_000_u64 {
        let now_us = n * STEP_US;
        for _ in 0..3 {
            host.packet_in(UE, DRB, &packet(1, bulk, 1_400), now_us);
            bulk += 1;
        }
        if n % 40 == 0 {
            host.packet_in(UE, DRB, &packet(2, voice, 200), now_us + 10);
            sent_us.push(now_us + 10);
            voice += 1;
        }
        slot(&host, &fake, BLOCK, now_us + 300);
        let mut below = fake.0.lock().expect("unpoisoned");
        for one in below.air.drain(..) {
            let (flow, number) = read(&one.sdu);
            if flow == 2 {
                worst_us = worst_us.max(now_us + STEP_US - sent_us[number as usize]);
            }
        }
    }
    assert_eq!(voice, 200);
    assert!(worst_us <= 2 * STEP_US, "{worst_us} µs");
}

#[test]
fn pdcp_numbers_in_the_order_of_the_air_without_gaps() {
    let (host, fake) = host("low_latency");
    for n in 0..2_000_u64 {
        for flow in 0..3 {
            host.packet_in(UE, DRB, &packet(flow, n as u32, 1_400), n * STEP_US);
        }
        slot(&host, &fake, BLOCK, n * STEP_US + 200);
    }
    let below = fake.0.lock().expect("unpoisoned");
    assert!(below.air.len() > 2_000);
    let expected = 0..below.air.len() as u32;
    assert!(below.air.iter().map(|one| one.sequence).eq(expected));
    let counts = host.status(2_000_000).bearers[0].counts;
    let ended = counts.forwarded_packets + counts.dropped_by_pipeline_packets;
    assert_eq!(counts.taken_packets, 6_000);
    assert_eq!(counts.taken_packets, ended + u64::from(counts.waiting_packets));
    assert!(counts.dropped_by_pipeline_packets > 0, "an overload needs drops");
}

#[test]
fn a_block_with_no_room_worth_a_segment_is_left_to_padding() {
    let (host, fake) = host("low_latency");
    host.status_asked(RNTI, LCID, SLOT_US, 0, 100);
    host.packet_in(UE, DRB, &packet(1, 0, 1_400), 200);
    assert_eq!(host.status_asked(RNTI, LCID, SLOT_US, 0, 600), 1_400 + 6, "with its headers");
    host.block_pulled(RNTI, LCID, SLOT_US, 40, 0, 600);
    assert_eq!(fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB), 0);
    host.block_pulled(RNTI, LCID, SLOT_US, 400, 0, 700);
    assert_eq!(
        fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB),
        1_403,
        "begun, to be segmented"
    );
    assert_eq!(host.status_asked(RNTI, LCID, SLOT_US, 1_007, 1_100), 0);
}

#[test]
fn what_pdcp_refuses_is_counted() {
    let (host, fake) = host("transparent");
    fake.0.lock().expect("unpoisoned").refuse = true;
    host.packet_in(UE, DRB, &packet(1, 0, 100), 10);
    let counts = host.status(20).bearers[0].counts;
    assert_eq!((counts.forwarded_packets, counts.refused_by_pdcp_packets), (1, 1));
}
