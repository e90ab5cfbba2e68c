//! The host: what the gNB's threads call.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use e2sm_tc::v1::{BearerQos, Pipeline};
use tc_rf::{NodeDefaultState, NodeLeaseState, templates};

use crate::bearer::Bearer;
use crate::capabilities::capabilities;
use crate::directory::{Directory, Registry};
use crate::events::{Event, Happening};
use crate::gnb::Gnb;
use crate::journal::{Journal, Position};
use crate::sdu::{BufferPool, Sdu};
use crate::slot_times::Cells;
use crate::subscriptions::Subscriptions;
use crate::surroundings::Surroundings;

/// Highest DRB identity (38.331 §6.3.2, DRB-Identity).
const MAX_DRB: u8 = 32;
/// A bearer about which the MAC has not asked for so long is polled: four radio frames.
const SILENCE_US: u64 = 40_000;

/// How a host is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Template of the pipeline that each bearer starts with and returns to; its parameters are the
    /// template's defaults.
    pub pipeline: String,
    /// Buffers for SDUs that wait, 2 KiB each, for all bearers.
    pub buffers: usize,
    /// Source of all randomness.
    pub seed: u64,
    /// Time 0 of the calls' clock, in µs of Unix time: reports and forecasts are in Unix time.
    pub epoch_us: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pipeline: "transparent".to_owned(), buffers: 16_384, seed: 1, epoch_us: 0 }
    }
}

/// Settings that cannot be used, or a bearer that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No template of that name.
    #[error("pipeline {name:?}; expected one of {}", templates::NAMES.join(", "))]
    UnknownPipeline {
        /// The name that was set.
        name: String,
    },
    /// Not a number of buffers.
    #[error("buffers {buffers}; expected 64 to 1048576")]
    Buffers {
        /// The number that was set.
        buffers: usize,
    },
    /// Not a DRB identity.
    #[error("DRB {drb}; expected 1 to {MAX_DRB}")]
    Drb {
        /// The identity that was given.
        drb: u8,
    },
    /// The pipeline is not acceptable.
    #[error("{0}")]
    Pipeline(#[from] tc_rf::PipelineError),
}

/// Whether the host took an SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It will be handed to PDCP or dropped by the host; it was copied.
    Yes,
    /// The bearer is transparent: the gNB goes on with it.
    No,
}

/// The TC RAN function of a gNB. All times are µs of one monotonic clock.
pub struct Host {
    pub(crate) around: Surroundings,
    pub(crate) directory: ArcSwap<Directory>,
    registry: Mutex<Registry>,
    pub(crate) node_lease: Mutex<NodeLeaseState>,
    pub(crate) node_default: Mutex<NodeDefaultState>,
    pub(crate) journal: Journal,
    /// Position in the journal up to which the status file has shown events.
    pub(crate) shown: Mutex<Position>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) cells: Cells,
    initial: Pipeline,
    pub(crate) settings: Settings,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Host {
    /// A host without bearers.
    ///
    /// # Errors
    /// When a setting is not usable.
    pub fn new(gnb: Box<dyn Gnb>, settings: Settings) -> Result<Self, HostError> {
        let initial = templates::by_name(&settings.pipeline)
            .ok_or_else(|| HostError::UnknownPipeline { name: settings.pipeline.clone() })?;
        if !(64..=1 << 20).contains(&settings.buffers) {
            return Err(HostError::Buffers { buffers: settings.buffers });
        }
        let pool = BufferPool::new(settings.buffers);
        Ok(Self {
            around: Surroundings::new(gnb, pool),
            directory: ArcSwap::default(),
            registry: Mutex::default(),
            node_lease: Mutex::default(),
            node_default: Mutex::new(NodeDefaultState::new(capabilities().node_default)),
            journal: Journal::default(),
            shown: Mutex::default(),
            subscriptions: Subscriptions::default(),
            cells: Cells::default(),
            initial,
            settings,
        })
    }

    /// A bearer was set up, or set up anew; it starts with what the node default has for it. Takes no
    /// bearer's lock, as PDCP's may be held.
    ///
    /// # Errors
    /// When it cannot be served; it is transparent then.
    pub fn bearer_up(
        &self,
        ue: u64,
        drb: u8,
        sdap_header: bool,
        now_us: u64,
    ) -> Result<(), HostError> {
        if !(1..=MAX_DRB).contains(&drb) {
            return Err(HostError::Drb { drb });
        }
        // Each bearer hashes in its own way, reproducibly.
        let seed = self.settings.seed ^ (ue << 8 | u64::from(drb));
        let bearer = Arc::new(Bearer::new(ue, drb, sdap_header, self.initial.clone(), seed)?);
        // Its QoS flows are not known to PDCP.
        let start = self.node_default().start_of(drb, &BearerQos::default(), now_us);
        self.change(|registry| {
            registry.bearer_up(Arc::clone(&bearer));
            self.tell(&bearer, Happening::BearerUp, now_us);
            // Before other threads find the bearer.
            if let Some(start) = start {
                bearer.configure(&self.around, now_us, |control, now_us, sink| {
                    control.start_with(start, now_us, sink);
                });
            }
        });
        Ok(())
    }

    /// A bearer was removed.
    pub fn bearer_down(&self, ue: u64, drb: u8, now_us: u64) {
        if let Some(bearer) = self.change(|registry| registry.bearer_down(ue, drb)) {
            self.tell(&bearer, Happening::BearerDown, now_us);
        }
    }

    /// A UE and all its bearers were removed.
    pub fn ue_gone(&self, ue: u64, now_us: u64) {
        for bearer in self.change(|registry| registry.ue_gone(ue)) {
            self.tell(&bearer, Happening::BearerDown, now_us);
        }
    }

    /// RLC and MAC call this UE so from now on. Pipelines and what waits in them stay.
    pub fn ue_is(&self, ue: u64, rnti: u16, now_us: u64) {
        let renamed = self.change(|registry| {
            let is_new = registry.ue_is(ue, rnti);
            let bearers = registry.of_ue(ue).filter(|_| is_new);
            bearers.cloned().collect::<Vec<_>>()
        });
        for bearer in renamed {
            self.tell(&bearer, Happening::RntiChanged, now_us);
        }
    }

    /// A logical channel of this UE carries this DRB.
    pub fn channel_up(&self, rnti: u16, lcid: u8, drb: u8) {
        self.change(|registry| registry.channel_up(rnti, lcid, drb));
    }

    /// A logical channel was released.
    pub fn channel_down(&self, rnti: u16, lcid: u8) {
        self.change(|registry| registry.channel_down(rnti, lcid));
    }

    /// RLC removed this UE.
    pub fn rnti_gone(&self, rnti: u16) {
        self.change(|registry| registry.rnti_gone(rnti));
    }

    /// RLC calls a UE by another RNTI.
    pub fn rnti_changed(&self, from: u16, to: u16) {
        self.change(|registry| registry.rnti_changed(from, to));
    }

    /// A downlink SDU of a bearer, before PDCP numbers it.
    pub fn packet_in(&self, ue: u64, drb: u8, sdu: &[u8], now_us: u64) -> Taken {
        let directory = self.directory.load();
        let Some(bearer) = directory.of_drb(ue, drb) else { return Taken::No };
        if bearer.bypassed.load(Ordering::Relaxed) {
            return Taken::No;
        }
        match Sdu::copy(&self.around.pool, sdu, bearer.sdap_header) {
            Some(sdu) => bearer.packet_in(sdu, &self.around, now_us),
            None => {
                bearer.counts.taken.add(1);
                bearer.counts.dropped_full.add(1);
            }
        }
        Taken::Yes
    }

    /// The MAC asks, in a slot of `slot_us`, for the RLC's buffer status, which is `rlc_bytes`; returns the
    /// bytes to add.
    pub fn status_asked(
        &self,
        rnti: u16,
        lcid: u8,
        slot_us: u32,
        rlc_bytes: u32,
        now_us: u64,
    ) -> u32 {
        let directory = self.directory.load();
        let Some(bearer) = directory.of_channel(rnti, lcid) else { return 0 };
        bearer.status_asked(&self.around, rlc_bytes, slot_us, now_us)
    }

    /// The MAC is about to take `block_bytes` from the RLC, which has `rlc_bytes`, in a slot of `slot_us`:
    /// hands down what fills the block.
    pub fn block_pulled(
        &self,
        rnti: u16,
        lcid: u8,
        slot_us: u32,
        block_bytes: u32,
        rlc_bytes: u32,
        now_us: u64,
    ) {
        let directory = self.directory.load();
        let Some(bearer) = directory.of_channel(rnti, lcid) else { return };
        bearer.block(&self.around, block_bytes, rlc_bytes, slot_us, now_us);
    }

    /// A slot of a cell has passed, in which the MAC's calls took `own_ns` together, and PDCP and RLC for
    /// the SDUs that they handed down `below_ns`. Slots are the time of the radio, in which the MAC's
    /// questions are due.
    pub fn slot_took(&self, cell: u32, slot_us: u32, own_ns: u64, below_ns: u64) {
        let radio_us = self.cells.record(cell, slot_us, own_ns, below_ns);
        self.around.radio_has_reached(radio_us);
    }

    /// Returns packets of removed bearers, and serves bearers whose UE the MAC does not schedule.
    /// To be called a few times per second, by a thread that is not real-time.
    pub fn poll(&self, now_us: u64) {
        let retired = std::mem::take(&mut self.lock_registry().retired);
        for bearer in retired {
            bearer.bury();
        }
        for bearer in self.directory.load().bearers() {
            bearer.poll(&self.around, SILENCE_US, now_us);
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut Registry) -> R) -> R {
        let mut registry = self.lock_registry();
        let done = change(&mut registry);
        // Still locked, so that directories are stored in the order of changes.
        self.directory.store(Arc::new(registry.directory()));
        done
    }

    /// A poisoned registry is usable: a change is made as a whole.
    fn lock_registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, bearer: &Bearer, what: Happening, at_us: u64) {
        self.around.events.push(Event { at_us, bearer: bearer.address(), what });
    }
}
