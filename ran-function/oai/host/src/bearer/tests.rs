//! What a panic in a pipeline leaves.

use std::sync::Mutex;

use tc_rf::templates;

use super::*;
use crate::gnb::Gnb;
use crate::sdu::BufferPool;

struct Kept(std::sync::Arc<Mutex<Vec<u8>>>);

impl Gnb for Kept {
    fn forward(&self, _bearer: Address, sdu: &[u8]) -> Option<u32> {
        self.0.lock().expect("unpoisoned").push(sdu[0]);
        Some(sdu.len() as u32)
    }
}

#[test]
fn a_panic_makes_the_bearer_transparent_and_loses_no_packet() {
    let kept = std::sync::Arc::default();
    let gnb = Box::new(Kept(std::sync::Arc::clone(&kept)));
    let around = Surroundings::new(gnb, BufferPool::new(64));
    let sojourn = templates::by_name("low_latency").expect("a template");
    let bearer = Bearer::new(1, 1, false, sojourn, 1).expect("a pipeline");
    bearer.status_asked(&around, 0, 500, 100);
    let packet = |number: u8| Sdu::copy(&around.pool, &[number; 60], false).expect("a buffer");
    for number in 1..=5 {
        bearer.packet_in(packet(number), &around, 200);
    }
    assert!(kept.lock().expect("unpoisoned").is_empty(), "they wait for a block");
    bearer.panic_next.store(true, Ordering::Relaxed);
    bearer.packet_in(packet(6), &around, 300);
    assert_eq!(*kept.lock().expect("unpoisoned"), [1, 2, 3, 4, 5, 6]);
    assert!(bearer.bypassed.load(Ordering::Relaxed));
    assert_eq!(bearer.status_asked(&around, 700, 500, 400), 0, "the MAC sees the RLC alone");
    bearer.packet_in(packet(7), &around, 500);
    assert_eq!(kept.lock().expect("unpoisoned").last(), Some(&7), "one that was on its way");
    assert!(bearer.configure(&around, 600, |_, _, _| ()).is_none(), "E2 is notified");
    let counts = bearer.counts.read();
    assert_eq!((counts.taken_packets, counts.forwarded_packets), (7, 7));
    assert_eq!(around.pool.free(), 64);
    let what = std::iter::from_fn(|| around.events.pop()).map(|event| event.what);
    assert!(matches!(what.last(), Some(Happening::PipelineFailed)));
}
