//! What other figures are compared with: measured in the same run, on the same machine, under the same
//! load beside it.

use std::collections::VecDeque;
use std::hint::black_box;

use crate::Load;
use crate::packet::{BenchPacket, packets};

/// Turns of [`fixed_loop`]: about a microsecond.
const TURNS: u64 = 1000;
/// Packets that stand in the queue, as in the loads of the disciplines.
const STANDING: usize = 2048;
const PACKETS: u64 = 4096;

/// A thousand multiplications, each of which waits for the one before: a measure of the core alone.
pub fn fixed_loop() -> u64 {
    (0..TURNS).fold(black_box(1), |value, turn| (value ^ turn).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The packets of the disciplines through one queue of the standard library: no discipline, no scheduler, no
/// counters.
pub struct BareQueue {
    queue: VecDeque<BenchPacket>,
    packets: Vec<BenchPacket>,
    next: usize,
}

impl Default for BareQueue {
    fn default() -> Self {
        let packets = packets(PACKETS, PACKETS);
        let queue = packets.iter().take(STANDING).cloned().collect();
        Self { queue, packets, next: 0 }
    }
}

impl Load for BareQueue {
    /// One packet in, one packet out.
    fn pass(&mut self, packets: u64) {
        for _ in 0..packets {
            self.queue.push_back(self.packets[self.next].clone());
            self.next = (self.next + 1) % PACKETS as usize;
            black_box(&self.queue.pop_front());
        }
    }
}
