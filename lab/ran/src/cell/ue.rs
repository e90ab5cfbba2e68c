//! State of a UE in the MAC.

use std::sync::Arc;

use super::BearerIndex;
use crate::channel::{Channel, ChannelState};
use crate::config::{CellConfig, UeConfig};
use crate::mac::drx::Drx;
use crate::mac::harq::{BlockErrors, Processes};
use crate::mac::pf::Average;
use crate::mac::prioritisation::LogicalChannel;
use crate::mac::report::MacCounters;
use crate::phy::LinkTables;
use crate::rng::Rng;
use crate::uplink::Uplink;

#[derive(Debug, Clone)]
pub(super) struct Ue {
    pub(super) rnti: u16,
    pub(super) channel: ChannelState,
    /// Number of channels so far, which selects the random stream.
    channels: u64,
    /// Index of its slice.
    pub(super) slice: usize,
    /// Its bearers in the order of service.
    pub(super) bearers: Vec<BearerIndex>,
    priorities: Vec<u8>,
    /// Whether a bearer has had a prioritised bit rate.
    pub(super) has_prioritised_rate: bool,
    /// Transport block bytes that empty all its queues.
    pub(super) backlog_bytes: u64,
    /// Whether it is in its slice's list of backlogged UEs.
    pub(super) is_backlogged: bool,
    /// Average rate under proportional fair.
    pub(super) average: Average,
    pub(super) errors: BlockErrors,
    pub(super) processes: Processes,
    pub(super) uplink: Uplink,
    /// Whether it is in the cell's list of UEs with uplink traffic.
    pub(super) uplink_is_active: bool,
    /// Average uplink rate under proportional fair.
    pub(super) uplink_average: Average,
    pub(super) counters: MacCounters,
    pub(super) drx: Option<Drx>,
    pub(super) rng: Rng,
}

/// Random stream of the `number`th channel of a UE; the stream of the RNTI alone is that of HARQ.
pub(super) fn channel_stream(seed: u64, rnti: u16, number: u64) -> Rng {
    Rng::new(seed, u64::from(rnti) | 1 << 16 | number << 17)
}

impl Ue {
    pub(super) fn new(
        config: UeConfig,
        slice: usize,
        cell: &CellConfig,
        tables: &Arc<LinkTables>,
        uplink: Uplink,
        now_us: u64,
    ) -> Self {
        let random = channel_stream(cell.seed, config.rnti, 0);
        Self {
            rnti: config.rnti,
            channel: ChannelState::new(config.channel, cell, tables, random, now_us),
            channels: 1,
            slice,
            bearers: Vec::new(),
            priorities: Vec::new(),
            has_prioritised_rate: false,
            backlog_bytes: 0,
            is_backlogged: false,
            average: Average::default(),
            errors: config.errors.unwrap_or(cell.harq.errors),
            processes: Processes::default(),
            uplink,
            uplink_is_active: false,
            uplink_average: Average::default(),
            counters: MacCounters::default(),
            drx: config.drx.map(Drx::new),
            rng: Rng::new(cell.seed, u64::from(config.rnti)),
        }
    }

    /// Replaces its channel from `now_us` on.
    pub(super) fn set_channel(
        &mut self,
        channel: Channel,
        cell: &CellConfig,
        tables: &Arc<LinkTables>,
        now_us: u64,
    ) {
        let random = channel_stream(cell.seed, self.rnti, self.channels);
        self.channel = ChannelState::new(channel, cell, tables, random, now_us);
        self.channels += 1;
    }

    /// Begins the slot at `now_us`.
    pub(super) fn begin_slot(&mut self, now_us: u64) {
        let is_requesting = self.is_requesting(now_us);
        let is_active = self.drx.as_mut().is_none_or(|drx| drx.begin_slot(is_requesting, now_us));
        self.channel.advance(is_active, now_us);
    }

    /// Whether it monitors the PDCCH of the slot that was begun last.
    pub(super) fn is_active(&self) -> bool {
        self.drx.as_ref().is_none_or(Drx::is_active)
    }

    /// Whether it monitors that of a slot that begins at `now_us`, by what has happened so far.
    pub(super) fn is_active_at(&self, now_us: u64) -> bool {
        let is_active = |drx: &Drx| drx.is_active_at(self.is_requesting(now_us), now_us);
        self.drx.as_ref().is_none_or(is_active)
    }

    fn is_requesting(&self, now_us: u64) -> bool {
        matches!(&self.uplink, Uplink::Scheduled(uplink) if uplink.is_requesting(now_us))
    }

    /// Whether it receives a retransmission in the slot at `now_us` that was due at `due_us`.
    pub(super) fn receives_again(&self, due_us: u64, now_us: u64) -> bool {
        self.drx.as_ref().is_none_or(|drx| drx.receives_again(due_us, now_us))
    }

    /// The PDCCH of the slot at `now_us` indicates a new transmission.
    pub(super) fn count_new_transmission(&mut self, now_us: u64) {
        if let Some(drx) = &mut self.drx {
            drx.transmitted(now_us);
        }
    }

    pub(super) fn logical_channels(&self) -> impl Iterator<Item = (BearerIndex, u8)> + '_ {
        self.bearers.iter().copied().zip(self.priorities.iter().copied())
    }

    pub(super) fn add_bearer(&mut self, index: BearerIndex, channel: &LogicalChannel) {
        let priority = channel.priority;
        self.has_prioritised_rate |= channel.has_rate();
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

    /// Rotates the bearers of each priority.
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
