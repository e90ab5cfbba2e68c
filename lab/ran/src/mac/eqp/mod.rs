//! Elastic Quantum Partition (irazabal2021 §IV-B, Algorithms 4 and 5): slices own shares of the
//! RBs, and lend or borrow some so that packets leave whole.
//!
//! Where the paper is not explicit:
//!
//! - The packets of an indebted slice are "multiplied by an exponential function", given in §V-E as
//!   `5 × (quantum borrowed / quantum limit)^5`, which as a factor would shrink them at small debts.
//!   So it is *added*: the factor is `1 + 5·x⁵`, from 1 without debt to 6 at the limit.
//! - The scaled size is used to select packets; the real size is assigned and charged.
//! - The RBs shared are the sum of the slices' shares, each rounded down (12 of 25 for 50 %), so that
//!   the quanta sum to zero. At 25 and 75 % of 25 RBs one is never given, as in the paper (§VI-B1:
//!   "OAI's default resource distribution discards the last RB").
//! - "If the transmission of the following packet decreases the quantum beyond the minimum limit,
//!   the access to new RBs is denied": checked in line 2 and again at each assignment.
//! - With two slices the quantum stays within plus and minus the limit. With more, a lender can be
//!   owed more than the limit by all of them together.
//! - The paper has one UE per slice. With several, the selection prefers packets that take fewest
//!   RBs; the slice's scheduler assigns the RBs that are left (`next_rnti`).

pub mod seg_avoid;

use super::rbg;
use seg_avoid::{PrbSum, SegAvoid};

/// State of a slice.
#[derive(Debug, Clone, Copy)]
struct Slice {
    percent: u32,
    quantum_prb: i64,
    /// Denied RBs for the rest of the slot.
    denied: bool,
}

/// The RLC queue of a UE in one slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queue {
    /// Index of the UE.
    pub ue: usize,
    /// Index of its slice.
    pub slice: usize,
    /// End of its packets in the list of [`PacketSize`]; they begin where the previous queue's end.
    pub packets_end: usize,
    /// Fewest RBs of a transport block that carries data.
    pub min_prb: u16,
    /// RBs that drain it, at most those of the carrier.
    pub need_prb: u16,
    /// RBs given.
    pub prb: u16,
}

impl Queue {
    /// Whether it can use more RBs.
    pub fn needs_more(&self) -> bool {
        self.prb < self.need_prb
    }
}

/// RBs of the packets of a queue up to and including this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSize {
    /// Real size.
    pub prb: PrbSum,
    /// Size scaled by the debt of the slice, not less than `prb`.
    pub scaled_prb: PrbSum,
}

/// The scheduler's state: the quantum of each slice.
#[derive(Debug, Clone)]
pub struct Eqp {
    limit_prb: i64,
    slices: Vec<Slice>,
    seg_avoid: SegAvoid,
    // Reused to avoid allocations.
    selection: Vec<seg_avoid::Queue>,
    sums: Vec<PrbSum>,
    taken: Vec<usize>,
}

/// Multiplier of §V-E.
const SIZE_GAIN: f64 = 5.0;

impl Eqp {
    /// Slices by their percentage of the RBs, and the most one may borrow.
    pub fn new(percents: impl IntoIterator<Item = u8>, quantum_limit_prb: u16) -> Self {
        let slices = percents.into_iter().map(|percent| Slice {
            percent: u32::from(percent),
            quantum_prb: 0,
            denied: false,
        });
        Self {
            limit_prb: i64::from(quantum_limit_prb.max(1)),
            slices: slices.collect(),
            seg_avoid: SegAvoid::default(),
            selection: Vec::new(),
            sums: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// RBs a slice has lent, or borrowed if negative; `None` for an unknown slice.
    pub fn quantum_prb(&self, slice: usize) -> Option<i64> {
        self.slices.get(slice).map(|slice| slice.quantum_prb)
    }

    /// Line 1: credits every slice with its share of `data_prb`, the RBs not used by retransmissions
    /// and control (§V-E). Returns the RBs to share in this slot.
    pub fn assign_quantum(&mut self, data_prb: u16) -> u16 {
        let mut total = 0;
        for slice in &mut self.slices {
            let share = u32::from(data_prb) * slice.percent / 100;
            slice.quantum_prb += i64::from(share);
            slice.denied = false;
            total += share;
        }
        total.min(u32::from(data_prb)) as u16
    }

    /// Scale of the packet sizes of a slice (§IV-B, §V-E).
    pub fn size_factor(&self, slice: usize) -> f64 {
        let quantum_prb = self.slices[slice].quantum_prb;
        if quantum_prb >= 0 {
            return 1.0;
        }
        let debt = (-quantum_prb) as f64 / self.limit_prb as f64;
        let square = debt * debt;
        1.0 + SIZE_GAIN * square * square * debt
    }

    /// Whether a slice may use `prb` more RBs within its quantum limit.
    pub fn allows(&self, slice: usize, prb: u16) -> bool {
        self.slices[slice].quantum_prb - i64::from(prb) >= -self.limit_prb
    }

    /// Lines 3–20: shares `total_prb`, the result of [`assign_quantum`](Self::assign_quantum), in
    /// groups of `rbg_prb` among `queues`. `next_rnti` returns the next queue of a slice that
    /// [`needs_more`](Queue::needs_more). `packets` are those of line 2, ascending within a queue.
    pub fn share(
        &mut self,
        total_prb: u16,
        rbg_prb: u16,
        queues: &mut [Queue],
        packets: &[PacketSize],
        mut next_rnti: impl FnMut(usize, &[Queue]) -> Option<usize>,
    ) {
        let mut left_prb = total_prb;
        self.send_whole(&mut left_prb, rbg_prb, queues, packets);
        // Lines 9–17: the slice with the highest quantum that has a queue with data left.
        while left_prb > 0 {
            let Some((slice, at)) = self.next_slice(queues, &mut next_rnti) else { break };
            let queue = &mut queues[at];
            // The first group of a UE must carry at least a byte.
            let want_prb = if queue.prb == 0 { queue.min_prb.max(1) } else { 1 };
            let prb = rbg::take(left_prb, want_prb, rbg_prb);
            if prb < want_prb {
                // The RBs left are too few for this queue in this slot.
                queue.need_prb = 0;
                continue;
            }
            // Line 11, and the quantum limit.
            let above = 4 * self.slices[slice].quantum_prb > -3 * self.limit_prb;
            if !above || !self.allows(slice, prb) {
                self.slices[slice].denied = true;
                continue;
            }
            queue.prb += prb;
            self.slices[slice].quantum_prb -= i64::from(prb);
            left_prb -= prb;
        }
        self.map_last_prb(left_prb);
    }

    /// Lines 3–8: packets sent whole.
    fn send_whole(
        &mut self,
        left_prb: &mut u16,
        rbg_prb: u16,
        queues: &mut [Queue],
        packets: &[PacketSize],
    ) {
        self.sums.clear();
        self.sums.extend(packets.iter().map(|packet| packet.scaled_prb));
        self.selection.clear();
        let mut start = 0;
        for queue in queues.iter() {
            let quantum_prb = self.slices[queue.slice].quantum_prb;
            let packets = start..queue.packets_end;
            start = queue.packets_end;
            self.selection.push(seg_avoid::Queue { packets, quantum_prb });
        }
        self.seg_avoid.solve(*left_prb, rbg_prb, &self.selection, &self.sums, &mut self.taken);
        for ((queue, own), taken) in queues.iter_mut().zip(&self.selection).zip(&self.taken) {
            // All queues of a slice together count against its limit.
            let chosen = &packets[own.packets.start..own.packets.start + taken];
            let fitting = chosen.iter().rev().find_map(|packet| {
                let prb = rbg::take(*left_prb, packet.prb, rbg_prb);
                self.allows(queue.slice, prb).then_some(prb)
            });
            let Some(prb) = fitting else { continue };
            queue.prb = prb;
            self.slices[queue.slice].quantum_prb -= i64::from(prb);
            *left_prb -= prb;
        }
    }

    /// Lines 9, 10, 15 and 16: the slice with the highest quantum that has data left, and its next
    /// queue.
    fn next_slice(
        &self,
        queues: &[Queue],
        next_rnti: &mut impl FnMut(usize, &[Queue]) -> Option<usize>,
    ) -> Option<(usize, usize)> {
        let waiting = |index: usize| queues.iter().any(|q| q.slice == index && q.needs_more());
        let open = self.slices.iter().enumerate().filter(|(_, slice)| !slice.denied);
        // `max_by_key` returns the last of equals; the first is wanted.
        let highest = open.rev().filter(|(index, _)| waiting(*index));
        let (slice, _) = highest.max_by_key(|(_, slice)| slice.quantum_prb)?;
        next_rnti(slice, queues).map(|at| (slice, at))
    }

    /// Lines 18–20: RBs that no queue could use are charged, one at a time, to the slice that has
    /// lent most, with data or without.
    fn map_last_prb(&mut self, left_prb: u16) {
        for _ in 0..left_prb {
            let Some(highest) = self.slices.iter_mut().rev().max_by_key(|s| s.quantum_prb) else {
                return;
            };
            highest.quantum_prb -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One slot with queues given by slice and packet sizes in RBs.
    fn slot(eqp: &mut Eqp, data_prb: u16, rbg_prb: u16, queues: &[(usize, &[u16])]) -> Vec<u16> {
        let total = eqp.assign_quantum(data_prb);
        let mut sizes = Vec::new();
        let mut laid = Vec::new();
        for (ue, (slice, packets)) in queues.iter().enumerate() {
            let factor = eqp.size_factor(*slice);
            let mut sum = 0;
            for packet in *packets {
                sum += packet;
                let scaled = (f64::from(sum) * factor).ceil();
                if scaled > f64::from(total) || !eqp.allows(*slice, sum) {
                    break;
                }
                sizes.push(PacketSize { prb: sum, scaled_prb: scaled as u16 });
            }
            let need_prb = packets.iter().sum::<u16>().min(total);
            let packets_end = sizes.len();
            laid.push(Queue { ue, slice: *slice, packets_end, min_prb: 1, need_prb, prb: 0 });
        }
        eqp.share(total, rbg_prb, &mut laid, &sizes, |slice, queues| {
            queues.iter().position(|q| q.slice == slice && q.needs_more())
        });
        laid.iter().map(|queue| queue.prb).collect()
    }

    fn quanta(eqp: &Eqp) -> Vec<i64> {
        (0..eqp.slices.len()).filter_map(|slice| eqp.quantum_prb(slice)).collect()
    }

    #[test]
    fn a_slice_borrows_to_send_a_packet_whole_and_gives_back() {
        let mut eqp = Eqp::new([50, 50], 100);
        // 12 RBs each; the packet of 18 leaves whole, the rest goes to the other slice.
        assert_eq!(slot(&mut eqp, 25, 2, &[(0, &[18]), (1, &[60])]), [18, 6]);
        assert_eq!(quanta(&eqp), [-6, 6]);
        // Slice 1 was short by 6, which it now has first.
        assert_eq!(slot(&mut eqp, 25, 2, &[(0, &[60]), (1, &[60])]), [6, 18]);
        assert_eq!(quanta(&eqp), [0, 0]);
    }

    #[test]
    fn a_slice_alone_borrows_up_to_three_quarters_of_the_limit() {
        let mut eqp = Eqp::new([25, 75], 100);
        let used: Vec<u16> = (0..20).map(|_| slot(&mut eqp, 25, 2, &[(0, &[600])])[0]).collect();
        // 18 a slot are lent until the debt passes 75, then it has its own 6 alone.
        assert_eq!(used[..4], [24, 24, 24, 24]);
        assert!(quanta(&eqp)[0] <= -75 && quanta(&eqp)[0] >= -100, "{:?}", quanta(&eqp));
        assert_eq!(used[19], 6);
        assert_eq!(quanta(&eqp).iter().sum::<i64>(), 0);
    }

    #[test]
    fn packets_of_an_indebted_slice_are_scaled_up() {
        let mut eqp = Eqp::new([50, 50], 100);
        for (quantum_prb, factor) in [(0, 1.0), (-100, 6.0), (-50, 1.0 + 5.0 / 32.0), (50, 1.0)] {
            eqp.slices[0].quantum_prb = quantum_prb;
            assert!((eqp.size_factor(0) - factor).abs() < 1e-12, "{quantum_prb}");
        }
    }

    #[test]
    fn a_limit_below_a_group_allows_no_borrowing() {
        let mut eqp = Eqp::new([50, 50], 1);
        for _ in 0..100 {
            assert_eq!(slot(&mut eqp, 24, 2, &[(0, &[90]), (1, &[90])]), [12, 12]);
        }
    }

    #[test]
    fn unused_rbs_are_charged_to_the_lender() {
        let mut eqp = Eqp::new([25, 75], 100);
        assert_eq!(slot(&mut eqp, 25, 2, &[(0, &[18]), (1, &[90])]), [18, 6]);
        assert_eq!(quanta(&eqp), [-12, 12]);
        slot(&mut eqp, 0, 2, &[(0, &[18])]);
        assert_eq!(quanta(&eqp), [-12, 12], "no RB, no change");
        // Unused RBs are charged to the lender: a debt shrinks by the debtor's share.
        for left in [[-6, 6], [0, 0], [0, 0]] {
            slot(&mut eqp, 25, 2, &[]);
            assert_eq!(quanta(&eqp), left);
        }
    }

    #[test]
    fn a_queue_that_no_group_can_serve_does_not_stall_the_slot() {
        let mut eqp = Eqp::new([50, 50], 100);
        let total = eqp.assign_quantum(8);
        let mut queues = [
            Queue { slice: 0, min_prb: 9, need_prb: 20, ..Queue::default() },
            Queue { ue: 1, slice: 1, min_prb: 1, need_prb: 20, ..Queue::default() },
        ];
        eqp.share(total, 2, &mut queues, &[], |slice, queues| {
            queues.iter().position(|q| q.slice == slice && q.needs_more())
        });
        assert_eq!(queues.map(|q| q.prb), [0, 8]);
    }

    proptest! {
        #[test]
        fn the_quanta_sum_to_zero_and_stay_in_their_limits(
            limit in 1u16..200,
            rbg in 1u16..5,
            percent in 4u8..97,
            slots in prop::collection::vec(
                (0u16..60, prop::collection::vec(
                    (0usize..2, prop::collection::vec(1u16..30, 0..5)), 0..5)),
                1..60,
            ),
        ) {
            let mut eqp = Eqp::new([percent, 100 - percent], limit);
            for (data_prb, queues) in slots {
                let laid: Vec<(usize, &[u16])> =
                    queues.iter().map(|(slice, packets)| (*slice, packets.as_slice())).collect();
                let before = eqp.clone();
                let got = slot(&mut eqp, data_prb, rbg, &laid);
                let total = before.clone().assign_quantum(data_prb);
                let given: u16 = got.iter().sum();
                prop_assert!(given <= total, "{got:?} of {total}");
                prop_assert_eq!(quanta(&eqp).iter().sum::<i64>(), 0);
                prop_assert!(quanta(&eqp).iter().all(|q| q.unsigned_abs() <= u64::from(limit)));
                // Work conserving up to the limit: RBs are left only if no slice with data left
                // may borrow another group.
                if given < total {
                    for (at, (slice, packets)) in laid.iter().enumerate() {
                        let wants = got[at] < packets.iter().sum::<u16>().min(total);
                        let quantum = eqp.quantum_prb(*slice).unwrap();
                        let limit = i64::from(limit);
                        let denied = 4 * quantum <= -3 * limit
                            || quantum - i64::from(rbg) < -limit;
                        prop_assert!(!wants || denied, "{at}: {quantum} of {limit}");
                    }
                }
            }
        }
    }
}
