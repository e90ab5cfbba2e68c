//! EQP's segmentation avoidance (irazabal2021 Algorithm 5): which packets to send whole.
//!
//! The paper's recursion decides at each packet whether to take it or to go on with the next queue,
//! and memoises results by queue, packet and remaining capacity. They do not depend on earlier
//! decisions, so the same table is filled here from the last packet to the first: O(N·C) steps for N
//! packets and a capacity of C, without recursion.

use std::ops::Range;

/// Packets of one queue, in the order they must leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Its packets in the list of [`SegAvoid::solve`].
    pub packets: Range<usize>,
    /// Quantum of its slice: the RBs it has lent.
    pub quantum_prb: i64,
}

/// RBs of all packets of a queue up to and including one, without rounding to RBGs:
/// `⌈(1500 + 500)/88⌉ = 23` for the second packet of the paper's example (§IV-B).
pub type PrbSum = u16;

/// Objective, in lexicographic order (lines 26 and 28).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Value {
    packets: u32,
    quantum_prb: i64,
}

/// The table, reused to avoid allocations.
#[derive(Debug, Clone, Default)]
pub struct SegAvoid {
    best: Vec<Value>,
    columns: usize,
}

/// The RBs to share: groups of `rbg_prb`, of which the last may be smaller.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    rbg_prb: u32,
    /// RBs that the last group lacks.
    missing_prb: u32,
}

/// Groups needed by a packet.
#[derive(Debug, Clone, Copy)]
struct Need {
    /// Groups beyond those of the previous packets of its queue.
    groups: usize,
    /// Groups that must be left: one more if the smaller last group does not suffice.
    least: usize,
}

impl Capacity {
    /// `adjust_rbgs` of line 11: the need of a packet that takes its queue from `before` to `sum`
    /// RBs. RBs left over by rounding to groups are used first.
    fn need(self, before: PrbSum, sum: PrbSum) -> Need {
        let own_prb = u32::from(before).div_ceil(self.rbg_prb) * self.rbg_prb;
        let more_prb = u32::from(sum).saturating_sub(own_prb);
        let groups = more_prb.div_ceil(self.rbg_prb);
        let as_last_prb = (groups * self.rbg_prb).saturating_sub(self.missing_prb);
        let least = groups + u32::from(more_prb > as_last_prb);
        Need { groups: groups as usize, least: least as usize }
    }
}

impl SegAvoid {
    /// Selects packets to send whole in `total_prb` RBs in groups of `rbg_prb`: as many as possible,
    /// and of such selections the one whose slices have lent most. `taken` gets the number of packets
    /// of each queue, from its head. `sums` has the [`PrbSum`] of each packet, ascending within a
    /// queue.
    pub fn solve(
        &mut self,
        total_prb: u16,
        rbg_prb: u16,
        queues: &[Queue],
        sums: &[PrbSum],
        taken: &mut Vec<usize>,
    ) {
        let rbg_prb = u32::from(rbg_prb.max(1));
        let groups = u32::from(total_prb).div_ceil(rbg_prb);
        let capacity = Capacity { rbg_prb, missing_prb: groups * rbg_prb - u32::from(total_prb) };
        self.columns = groups as usize + 1;
        self.best.clear();
        self.best.resize((sums.len() + 1) * self.columns, Value::default());
        // An empty queue shares the row of the next queue with packets; the last row, without
        // packets, stays zero (lines 4–6), as does a capacity of 0 (1–3).
        for queue in queues.iter().rev() {
            for packet in queue.packets.clone().rev() {
                let need = capacity.need(before(queue, packet, sums), sums[packet]);
                for groups in 1..self.columns {
                    let best = self.choose(queue, packet, groups, need).0;
                    self.best[packet * self.columns + groups] = best;
                }
            }
        }
        taken.clear();
        let mut left = groups as usize;
        for queue in queues {
            let mut count = 0;
            for packet in queue.packets.clone() {
                let need = capacity.need(before(queue, packet, sums), sums[packet]);
                if !self.choose(queue, packet, left, need).1 {
                    break;
                }
                left -= need.groups;
                count += 1;
            }
            taken.push(count);
        }
    }

    /// Lines 10–30 for one packet and the groups left: the best value, and whether it includes the
    /// packet.
    fn choose(&self, queue: &Queue, packet: usize, groups: usize, need: Need) -> (Value, bool) {
        if groups == 0 {
            return (Value::default(), false);
        }
        // Line 24, and lines 12–16 for a packet that does not fit: the next queue.
        let dont_take = self.best[queue.packets.end * self.columns + groups];
        if groups < need.least {
            return (dont_take, false);
        }
        // Lines 17–23: the next packet; after the last one, the first of the next queue.
        let rest = self.best[(packet + 1) * self.columns + groups - need.groups];
        let take = Value {
            packets: rest.packets + 1,
            quantum_prb: rest.quantum_prb.saturating_add(queue.quantum_prb),
        };
        // Lines 25–30: more packets, or as many with more quantum; ties go to the later queues.
        if take > dont_take { (take, true) } else { (dont_take, false) }
    }
}

/// RBs of the packets of a queue before `packet`.
fn before(queue: &Queue, packet: usize, sums: &[PrbSum]) -> PrbSum {
    if packet > queue.packets.start { sums[packet - 1] } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Queues and sums as [`SegAvoid::solve`] takes them.
    fn lay_out(queues: &[(i64, Vec<PrbSum>)]) -> (Vec<Queue>, Vec<PrbSum>) {
        let mut sums = Vec::new();
        let laid = queues.iter().map(|(quantum_prb, own)| {
            let start = sums.len();
            sums.extend(own);
            Queue { packets: start..sums.len(), quantum_prb: *quantum_prb }
        });
        (laid.collect(), sums)
    }

    fn solve(total: u16, rbg: u16, queues: &[(i64, Vec<PrbSum>)]) -> Vec<usize> {
        let (laid, sums) = lay_out(queues);
        let mut taken = Vec::new();
        SegAvoid::default().solve(total, rbg, &laid, &sums, &mut taken);
        taken
    }

    /// Figure 4 of the paper: four buffers with a packet of four RBs each and four RBs a TTI. The
    /// whole TTI goes to one of them.
    #[test]
    fn one_whole_packet_rather_than_a_quarter_of_four() {
        let queues = vec![(0, vec![4]); 4];
        let taken = solve(4, 1, &queues);
        assert_eq!(taken.iter().sum::<usize>(), 1, "{taken:?}");
    }

    /// §IV-B: of a queue with 1500 and 500 bytes at 88 bytes an RB, 18 RBs and 5 more.
    #[test]
    fn the_second_packet_costs_what_it_adds() {
        assert_eq!(solve(22, 1, &[(0, vec![18, 23])]), [1]);
        assert_eq!(solve(23, 1, &[(0, vec![18, 23])]), [2]);
    }

    #[test]
    fn order_within_a_queue_holds() {
        // The small packet waits behind the large one, which does not fit.
        assert_eq!(solve(10, 1, &[(0, vec![12, 13])]), [0]);
        assert_eq!(solve(10, 1, &[(0, vec![12, 13]), (0, vec![9])]), [0, 1]);
    }

    #[test]
    fn many_small_packets_go_before_one_large() {
        assert_eq!(solve(18, 1, &[(0, vec![18]), (0, vec![3, 6, 9])]), [0, 3]);
    }

    #[test]
    fn of_equal_counts_the_lender_goes_first() {
        assert_eq!(solve(18, 1, &[(5, vec![18]), (-5, vec![18])]), [1, 0]);
        assert_eq!(solve(18, 1, &[(-5, vec![18]), (5, vec![18])]), [0, 1]);
        assert_eq!(solve(18, 1, &[(0, vec![18]), (0, vec![18])]), [0, 1], "a tie: the later one");
    }

    #[test]
    fn groups_are_given_whole_and_their_rest_is_used() {
        // 3 and 3 RBs are two groups of two each: a third queue has no room in five groups of two
        // (the last a single RB), but a second packet of the first queue fits in its rest.
        assert_eq!(solve(9, 2, &[(0, vec![3]), (0, vec![3]), (0, vec![2])]), [0, 1, 1]);
        assert_eq!(solve(6, 2, &[(0, vec![3, 4])]), [2]);
        assert_eq!(solve(4, 2, &[(0, vec![3, 4])]), [1], "lines 1–3: no capacity, no packet");
        assert_eq!(solve(9, 2, &[(0, vec![3]), (0, vec![3]), (0, vec![1])]), [1, 1, 1]);
    }

    #[test]
    fn without_rbs_or_packets_nothing_is_selected() {
        assert_eq!(solve(0, 2, &[(0, vec![1])]), [0]);
        assert_eq!(solve(25, 2, &[]), Vec::<usize>::new());
        assert_eq!(solve(25, 2, &[(0, vec![]), (0, vec![1]), (0, vec![])]), [0, 1, 0]);
    }

    /// Whether a selection can be sent, packet by packet in whole groups; no packet is sent without
    /// capacity (lines 1–3).
    fn fits(total: u16, rbg: u16, queues: &[(i64, Vec<PrbSum>)], taken: &[usize]) -> bool {
        let mut left = total;
        for ((_, sums), count) in queues.iter().zip(taken) {
            let mut own = 0;
            for sum in &sums[..*count] {
                if left == 0 || *sum > own + left {
                    return false;
                }
                let more = (sum.saturating_sub(own)).div_ceil(rbg) * rbg;
                own += more;
                left -= more.min(left);
            }
        }
        true
    }

    /// Enumerates every selection of prefixes.
    fn brute_force(total: u16, rbg: u16, queues: &[(i64, Vec<PrbSum>)]) -> (usize, i64) {
        let mut best = (0, i64::MIN);
        let mut taken = vec![0; queues.len()];
        loop {
            if fits(total, rbg, queues, &taken) {
                let packets: usize = taken.iter().sum();
                let lent = queues.iter().zip(&taken).map(|((q, _), n)| q * *n as i64).sum();
                best = best.max((packets, lent));
            }
            let Some(at) = (0..queues.len()).find(|at| taken[*at] < queues[*at].1.len()) else {
                return best;
            };
            taken[at] += 1;
            taken[..at].fill(0);
        }
    }

    fn queue() -> impl Strategy<Value = (i64, Vec<PrbSum>)> {
        (-100i64..100, prop::collection::vec(0u16..12, 0..4)).prop_map(|(quantum, sizes)| {
            let sums = sizes.iter().scan(1, |sum, size| {
                *sum += size;
                Some(*sum)
            });
            (quantum, sums.collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn as_many_packets_and_quantum_as_any_selection_has(
            total in 0u16..40,
            rbg in 1u16..5,
            queues in prop::collection::vec(queue(), 1..5),
        ) {
            let taken = solve(total, rbg, &queues);
            prop_assert!(fits(total, rbg, &queues, &taken), "{taken:?}");
            let packets: usize = taken.iter().sum();
            let lent: i64 = queues.iter().zip(&taken).map(|((q, _), n)| q * *n as i64).sum();
            prop_assert_eq!((packets, lent), brute_force(total, rbg, &queues));
        }
    }
}
