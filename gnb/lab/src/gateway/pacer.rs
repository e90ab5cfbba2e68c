//! The thread that owns the world and steps it to the wall clock.
//!
//! It sleeps until the next output of the world or a command, whichever is first. In between it
//! steps as often as it takes for a report or a control never to wait for a long stretch of work
//! behind it ([`Stride`]). After a stall it catches up in bounded bites, with commands served
//! between them; a lag beyond [`MAX_LAG_US`] is given up: virtual time is anchored anew and the loss
//! is counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::{Duration, Instant},
};

use super::{
    clock::{WallClock, micros},
    command::{Command, Scrape},
    e2_world::{CellMeasurement, E2World, PacingChange},
    hub::Hub,
    metrics::GatewayMetrics,
};

/// Shortest stretch of virtual time between two steps for want of anything else to do: an NR slot
/// at 30 kHz, to whose boundaries the world's work clusters. Shorter ones only cost wake-ups.
const MIN_STRIDE_US: u64 = 500;
/// Longest stretch of virtual time in one step.
const MAX_BITE_US: u64 = 5_000;
/// Work that a report or a control may find before it.
const WORK_AHEAD_US: f64 = 50.0;
/// Weight of the newest step in what a stretch of time is expected to cost.
const STEP_WEIGHT: f64 = 1.0 / 16.0;
/// A lag beyond this is not caught up: long enough for a busy machine's hiccups, short enough that
/// a node too large for its machine still reports something recent.
const MAX_LAG_US: u64 = 250_000;
/// Commands served between two steps.
const MAX_COMMANDS: usize = 64;
/// Between two looks for readers that left.
const PRUNE_US: u64 = 100_000;
/// Window of the PRB ratio, and between two looks at the system clock.
const SECOND_US: u64 = 1_000_000;

/// What other threads see of the pacer.
#[derive(Debug)]
pub(super) struct PacerState {
    /// Set to make it stop.
    pub(super) stop: AtomicBool,
    origin: Instant,
    stepped_after_us: AtomicU64,
}

impl PacerState {
    pub(super) fn new() -> Self {
        Self {
            stop: AtomicBool::new(false),
            origin: Instant::now(),
            stepped_after_us: AtomicU64::new(0),
        }
    }

    /// Time since the last finished step.
    pub(super) fn since_last_step(&self) -> Duration {
        let stepped = Duration::from_micros(self.stepped_after_us.load(Ordering::Relaxed));
        self.origin.elapsed().saturating_sub(stepped)
    }

    fn stepped(&self) {
        self.stepped_after_us.store(micros(self.origin.elapsed()), Ordering::Relaxed);
    }
}

/// How far virtual time may fall behind before it is stepped, though nothing is due.
///
/// A wake-up costs as much as a slot of a small cell, which has nothing to gain from it; of a cell
/// that fills half a core, a few milliseconds are work that the next report would wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    /// Work per virtual time, moving mean.
    load: f64,
}

impl Stride {
    /// A step through `virtual_us` took so long.
    fn stepped(&mut self, virtual_us: u64, took: Duration) {
        if virtual_us > 0 {
            let load = took.as_secs_f64() * 1e6 / virtual_us as f64;
            self.load += STEP_WEIGHT * (load - self.load);
        }
    }

    fn us(self) -> u64 {
        // As a float first: a world that does nothing may be left alone for ever.
        (WORK_AHEAD_US / self.load).clamp(MIN_STRIDE_US as f64, MAX_BITE_US as f64) as u64
    }
}

/// Everything the thread needs.
pub(super) struct Pacer<W> {
    world: W,
    hub: Hub,
    clock: WallClock,
    commands: Receiver<Command>,
    state: Arc<PacerState>,
    metrics: GatewayMetrics,
    end_us: Option<u64>,
    stride: Stride,
    prune_at_us: u64,
    second_at_us: u64,
    prb_before: Vec<CellMeasurement>,
    prb_last_second: Vec<CellMeasurement>,
}

impl<W: E2World> Pacer<W> {
    pub(super) fn new(
        world: W,
        hub: Hub,
        clock: WallClock,
        commands: Receiver<Command>,
        state: Arc<PacerState>,
        metrics: GatewayMetrics,
        duration: Option<Duration>,
    ) -> Self {
        let now_us = world.now_us();
        Self {
            hub,
            clock,
            commands,
            state,
            metrics,
            end_us: duration.map(|duration| now_us.saturating_add(micros(duration))),
            stride: Stride::default(),
            prune_at_us: now_us,
            second_at_us: now_us,
            prb_before: Vec::new(),
            prb_last_second: Vec::new(),
            world,
        }
    }

    /// Runs until told to stop, the duration is over or every gateway task is gone, and gives the
    /// summary of the run.
    pub(super) fn run(mut self) -> serde_json::Value {
        ask_for_precise_timers();
        // Virtual time starts now, not when the world was built.
        self.anchor();
        let mut planned_us = self.world.now_us();
        let mut woken_by = None;
        while !self.state.stop.load(Ordering::Relaxed) {
            let now_us = self.clock.now_us();
            if woken_by.is_none() {
                self.metrics.lateness(Duration::from_micros(now_us.saturating_sub(planned_us)));
            }
            self.step(now_us);
            if !self.serve(woken_by.take()) {
                break;
            }
            self.housekeeping();
            let world_us = self.world.now_us();
            if self.end_us.is_some_and(|end_us| world_us >= end_us) {
                break;
            }
            planned_us = self
                .world
                .next_output_us()
                .map_or(u64::MAX, |output_us| output_us.max(world_us))
                .min(world_us.saturating_add(self.stride.us()));
            match self.wait_until(planned_us) {
                Ok(command) => woken_by = command,
                Err(Stopped) => break,
            }
        }
        self.world.summary()
    }

    fn anchor(&mut self) {
        self.keep_time_by(WallClock::anchored_at(self.world.now_us()));
    }

    fn keep_time_by(&mut self, clock: WallClock) {
        self.clock = clock;
        self.world.set_epoch_us(self.clock.epoch_us());
        self.hub.set_clock(self.clock);
    }

    /// Steps towards `now_us`, by no more than a bite.
    fn step(&mut self, now_us: u64) {
        let world_us = self.world.now_us();
        let lag_us = now_us.saturating_sub(world_us);
        if lag_us > MAX_LAG_US {
            tracing::warn!(lag_ms = lag_us / 1000, "the node fell behind; its time skips ahead");
            self.metrics.skipped(Duration::from_micros(lag_us));
            self.anchor();
            return;
        }
        let mut target_us = now_us.min(world_us.saturating_add(MAX_BITE_US));
        if let Some(end_us) = self.end_us {
            target_us = target_us.min(end_us);
        }
        let began = Instant::now();
        self.world.step_until(target_us, &mut self.hub);
        let took = began.elapsed();
        self.stride.stepped(target_us.saturating_sub(world_us), took);
        self.metrics.stepped(took);
        self.tell_pacing();
        self.hub.publish_nodes(&self.world);
        self.state.stepped();
    }

    /// Serves the command that woke the thread and those behind it; false when no one is left
    /// who could send any.
    fn serve(&mut self, first: Option<Command>) -> bool {
        if let Some(command) = first {
            self.serve_one(command);
        }
        for _ in 0..MAX_COMMANDS {
            match self.commands.try_recv() {
                Ok(command) => self.serve_one(command),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    /// One line for what happened together, as when the forecaster stops.
    fn tell_pacing(&mut self) {
        let (to, from): (Vec<_>, Vec<_>) =
            self.world.pacing_changes().into_iter().partition(|change| change.by_forecast);
        if let Some(PacingChange { rnti, drb, .. }) = from.first() {
            let bearers = from.len();
            tracing::warn!(
                bearers,
                rnti,
                drb,
                "pacers go by what they measure: no forecast of now"
            );
        }
        if let Some(PacingChange { rnti, drb, .. }) = to.first() {
            let bearers = to.len();
            tracing::info!(bearers, rnti, drb, "pacers go by forecasts");
        }
    }

    fn serve_one(&mut self, command: Command) {
        // A requester that is gone is not told.
        match command {
            Command::Forecasts { node_id, forecasts } => {
                for forecast in &forecasts {
                    self.metrics.forecasts(self.world.forecast(&node_id, forecast), 1);
                }
            }
            Command::Subscribe { request, queue_depth, reply } => {
                let _ = reply.send(self.hub.subscribe(&mut self.world, request, queue_depth));
            }
            Command::Listen { request, listener, reply } => {
                let _ = reply.send(self.hub.listen(&mut self.world, request, listener));
            }
            Command::Read { node_id, oid, reply } => {
                let _ = reply.try_send(self.world.report_now(&node_id, &oid));
            }
            Command::Control { request, reply } => {
                self.hub.control(&mut self.world, request, reply);
            }
            Command::Measure { reply } => {
                let _ = reply.send(Scrape {
                    now_us: self.world.now_us(),
                    measurements: self.world.measurements(),
                    prb_last_second: self.prb_last_second.clone(),
                    subscribers: self.hub.subscribers(),
                });
            }
        }
    }

    fn housekeeping(&mut self) {
        let now_us = self.world.now_us();
        if now_us >= self.prune_at_us {
            self.prune_at_us = now_us + PRUNE_US;
            self.hub.prune(&mut self.world);
        }
        if now_us >= self.second_at_us {
            self.second_at_us = now_us + SECOND_US;
            if let Some(clock) = self.clock.resynced() {
                tracing::info!("the system clock was set; time stamps follow it");
                self.keep_time_by(clock);
            }
            let cells = self.world.cells();
            self.prb_last_second = growth(&self.prb_before, &cells);
            self.prb_before = cells;
        }
    }

    fn wait_until(&self, planned_us: u64) -> Result<Option<Command>, Stopped> {
        let wait_us = planned_us.saturating_sub(self.clock.now_us());
        if wait_us == 0 {
            return Ok(None);
        }
        match self.commands.recv_timeout(Duration::from_micros(wait_us)) {
            Ok(command) => Ok(Some(command)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Stopped),
        }
    }
}

/// Every task that could send commands is gone.
struct Stopped;

/// Growth of PRB totals; a cell that is new has none yet.
fn growth(before: &[CellMeasurement], now: &[CellMeasurement]) -> Vec<CellMeasurement> {
    now.iter()
        .filter_map(|cell| {
            let old = before.iter().find(|old| old.node_id == cell.node_id)?;
            Some(CellMeasurement {
                node_id: cell.node_id.clone(),
                used_prb: cell.used_prb.saturating_sub(old.used_prb),
                available_prb: cell.available_prb.saturating_sub(old.available_prb),
            })
        })
        .collect()
}

/// Linux rounds a thread's sleeps up by 50 µs unless asked not to (`man 2 prctl`,
/// `PR_SET_TIMERSLACK`). Without permission the sleeps are a little late, and lateness is measured.
#[cfg(target_os = "linux")]
fn ask_for_precise_timers() {
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::debug!(%error, "timer slack stays as it is");
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_precise_timers() {}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the stride becomes when each millisecond costs so much.
    fn stride_us(work_us_per_ms: u64) -> u64 {
        let mut stride = Stride::default();
        for _ in 0..200 {
            stride.stepped(1_000, Duration::from_micros(work_us_per_ms));
        }
        stride.us()
    }

    #[test]
    fn the_more_a_cell_costs_the_less_of_its_work_is_put_off() {
        assert_eq!(stride_us(0), MAX_BITE_US, "an idle world has nothing to do");
        assert_eq!(stride_us(5), MAX_BITE_US);
        // 20 µs of work a millisecond: 50 µs of it are 2.5 ms.
        assert!((2_499..=2_501).contains(&stride_us(20)), "{}", stride_us(20));
        assert_eq!(stride_us(900), MIN_STRIDE_US, "not below a slot, however dear");
    }

    #[test]
    fn a_step_through_no_time_says_nothing_of_its_cost() {
        let mut stride = Stride::default();
        stride.stepped(0, Duration::from_secs(1));
        assert_eq!(stride.us(), MAX_BITE_US);
    }

    #[test]
    fn the_prb_window_holds_growth_and_ignores_new_cells() {
        let cell = |node: &str, used_prb, available_prb| CellMeasurement {
            node_id: node.to_owned(),
            used_prb,
            available_prb,
        };
        let grown = growth(&[cell("a", 10, 20)], &[cell("a", 15, 30), cell("b", 1, 1)]);
        assert_eq!(grown, vec![cell("a", 5, 10)]);
    }
}
