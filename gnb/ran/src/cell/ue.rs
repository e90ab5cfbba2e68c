//! One UE at the MAC.

use super::BearerIndex;
use crate::channel::Channel;
use crate::config::UeConfig;
use crate::mac::report::MacCounters;
use crate::rng::SplitMix64;

#[derive(Debug, Clone)]
pub(super) struct Ue {
    pub(super) rnti: u16,
    pub(super) channel: Channel,
    /// Index of its slice.
    pub(super) slice: usize,
    /// Its bearers, the one to be served first in front.
    pub(super) bearers: Vec<BearerIndex>,
    priorities: Vec<u8>,
    /// Bytes of transport block that would empty all its queues.
    pub(super) backlog_bytes: u64,
    /// Whether it is in its slice's list.
    pub(super) is_backlogged: bool,
    pub(super) counters: MacCounters,
    pub(super) rng: SplitMix64,
}

impl Ue {
    pub(super) fn new(config: UeConfig, slice: usize, seed: u64) -> Self {
        Self {
            rnti: config.rnti,
            channel: config.channel,
            slice,
            bearers: Vec::new(),
            priorities: Vec::new(),
            backlog_bytes: 0,
            is_backlogged: false,
            counters: MacCounters::default(),
            rng: SplitMix64::new(seed, u64::from(config.rnti)),
        }
    }

    pub(super) fn logical_channels(&self) -> impl Iterator<Item = (BearerIndex, u8)> + '_ {
        self.bearers.iter().copied().zip(self.priorities.iter().copied())
    }

    pub(super) fn add_bearer(&mut self, index: BearerIndex, priority: u8) {
        let at = self.priorities.partition_point(|p| *p <= priority);
        self.priorities.insert(at, priority);
        self.bearers.insert(at, index);
    }

    pub(super) fn remove_bearer(&mut self, index: BearerIndex) {
        if let Some(at) = self.bearers.iter().position(|i| *i == index) {
            self.bearers.remove(at);
            self.priorities.remove(at);
        }
    }

    /// Bearers of one priority take turns to be first.
    pub(super) fn rotate_equals(&mut self) {
        if self.bearers.len() < 2 {
            return;
        }
        let mut from = 0;
        for equals in self.priorities.chunk_by(|a, b| a == b) {
            self.bearers[from..from + equals.len()].rotate_left(1);
            from += equals.len();
        }
    }
}
