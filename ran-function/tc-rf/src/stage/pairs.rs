//! Queues that are coupled to each other: L and C of DualPI2.

use crate::queue::{Discipline, DualPi2, Member, QueueConfig, State};

/// Index for queues that are in no pair.
const NONE: u32 = u32::MAX;

/// Two coupled queues by index, and the state they share. A partner may be missing when queues are
/// put together by hand; it counts as empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// L and C.
    pub(super) queues: [Option<u32>; 2],
    pub(super) state: DualPi2,
}

/// All pairs of a stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    pairs: Vec<Pair>,
    /// Pair of each queue, by queue index; empty when there is no pair at all.
    of_queue: Vec<u32>,
}

impl Pairs {
    pub(super) fn new(configs: &[QueueConfig]) -> Self {
        let coupled = |config: &QueueConfig| match config.rules.discipline {
            Discipline::DualPi2(params, member) => Some((params, member)),
            _ => None,
        };
        let mut this = Self::default();
        if !configs.iter().any(|config| coupled(config).is_some()) {
            return this;
        }
        let mut open = None;
        for (index, config) in configs.iter().enumerate() {
            let queue = Some(index as u32);
            let (pair, opens) = match coupled(config) {
                None => (NONE, None),
                Some((params, Member::LowLatency)) => (this.add([queue, None]), Some(params)),
                Some((params, Member::Classic)) if open == Some(params) => {
                    let last = this.pairs.len() - 1;
                    this.pairs[last].queues[1] = queue;
                    (last as u32, None)
                }
                Some((_, Member::Classic)) => (this.add([None, queue]), None),
            };
            open = opens;
            this.of_queue.push(pair);
        }
        this
    }

    fn add(&mut self, queues: [Option<u32>; 2]) -> u32 {
        self.pairs.push(Pair { queues, state: DualPi2::default() });
        (self.pairs.len() - 1) as u32
    }

    /// The pair of a queue.
    pub(super) fn of(&self, queue: usize) -> u32 {
        self.of_queue.get(queue).copied().unwrap_or(NONE)
    }

    #[inline]
    pub(super) fn get(&self, pair: u32) -> Option<&Pair> {
        self.pairs.get(pair as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, pair: u32) -> Option<&mut Pair> {
        self.pairs.get_mut(pair as usize)
    }

    /// Whether updates of a queue's pair fell due, if it is in one.
    #[inline]
    pub(super) fn is_due(&self, discipline: &Discipline, aqm: &State, now_us: u64) -> bool {
        let (Discipline::DualPi2(params, _), State::DualPi2(pair)) = (discipline, aqm) else {
            return false;
        };
        self.get(*pair).is_some_and(|pair| pair.state.is_due(params, now_us))
    }

    /// State of a pair.
    pub(crate) fn state(&self, pair: u32) -> DualPi2 {
        self.get(pair).map_or_else(DualPi2::default, |pair| pair.state)
    }

    /// Takes over the state that the pair of a queue had before, if it was in one.
    pub(super) fn inherit(&mut self, ours: &State, previous: &Self, theirs: &State) {
        let (State::DualPi2(ours), State::DualPi2(theirs)) = (ours, theirs) else { return };
        if let (Some(new), Some(old)) = (self.get_mut(*ours), previous.get(*theirs)) {
            new.state = old.state;
        }
    }
}
