//! The world paced to the wall clock, behind a lock.
//!
//! The pacer's thread holds the lock for a step at a time. A thread that uses the local client steps
//! the world itself, which saves waking another thread and waiting for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use e2sm_tc::v1::{BearerForecast, Cause};
use lab_world::{CellSample, ControlReply, ControlRequest, Report, SubscribeError};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::{
    clock::{WallClock, micros},
    command::{Command, ControlFailure, Scrape},
    forecasts::ForecastOutcome,
    hub::Hub,
    metrics::GatewayMetrics,
    node::{E2Node, Recorder, Recording, RecordingError},
};

/// Shortest time between two steps without output or command: an NR slot at 30 kHz. The world's work is
/// at slot boundaries; shorter strides only cost wake-ups.
const MIN_STRIDE_US: u64 = 500;
/// Longest virtual time of one step.
const MAX_STEP_US: u64 = 5_000;
/// Work that may delay a report or a control.
const WORK_AHEAD_US: f64 = 50.0;
/// Weight of the newest step in the moving mean of load.
const STEP_WEIGHT: f64 = 1.0 / 16.0;
/// A longer lag is skipped, not caught up: stalls of a busy machine are shorter, and a node too large for
/// its machine still reports recent state.
const MAX_LAG_US: u64 = 250_000;
/// Period of removing readers that left.
const PRUNE_US: u64 = 100_000;
/// Window of the PRB ratio; period of checking the system clock.
const SECOND_US: u64 = 1_000_000;

/// State of the pacer for other threads.
#[derive(Debug)]
pub(super) struct PacerState {
    /// Set to stop it.
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

/// How far virtual time may lag before a step if nothing is due: long for small cells, where a wake-up
/// costs as much as a slot; short for large cells, where the next report would wait for the work.
#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    /// Work per virtual time, moving mean.
    load: f64,
}

impl Stride {
    /// Records the duration of a step through `virtual_us`.
    fn stepped(&mut self, virtual_us: u64, took: Duration) {
        if virtual_us > 0 {
            let load = took.as_secs_f64() * 1e6 / virtual_us as f64;
            self.load += STEP_WEIGHT * (load - self.load);
        }
    }

    fn us(self) -> u64 {
        // Clamped as a float: an idle world has load 0.
        (WORK_AHEAD_US / self.load).clamp(MIN_STRIDE_US as f64, MAX_STEP_US as f64) as u64
    }
}

/// The world and the receivers of its outputs.
pub(super) struct Paced<W> {
    world: W,
    recorder: Recorder<W>,
    hub: Hub,
    clock: WallClock,
    state: Arc<PacerState>,
    metrics: GatewayMetrics,
    end_us: Option<u64>,
    stride: Stride,
    /// Time of the next step planned by the pacer's thread.
    planned_us: u64,
    prune_at_us: u64,
    second_at_us: u64,
    prb_before: Option<CellSample>,
    prb_last_second: Option<CellSample>,
    uses_cumulated_drain: watch::Sender<bool>,
}

impl<W: E2Node> Paced<W> {
    pub(super) fn new(
        world: W,
        recording: Option<Box<dyn Recording<W>>>,
        hub: Hub,
        clock: WallClock,
        state: Arc<PacerState>,
        metrics: GatewayMetrics,
        duration: Option<Duration>,
    ) -> Self {
        let now_us = world.now_us();
        Self {
            hub,
            clock,
            state,
            metrics,
            end_us: duration.map(|duration| now_us.saturating_add(micros(duration))),
            stride: Stride::default(),
            planned_us: now_us,
            prune_at_us: now_us,
            second_at_us: now_us,
            prb_before: None,
            prb_last_second: None,
            recorder: Recorder::new(recording),
            uses_cumulated_drain: watch::Sender::new(world.uses_cumulated_drain()),
            world,
        }
    }

    /// Whether a pacer uses the cumulated drain of forecasts, as of the last second.
    pub(super) fn uses_cumulated_drain(&self) -> watch::Receiver<bool> {
        self.uses_cumulated_drain.subscribe()
    }

    /// Starts the mapping of virtual time to the wall clock now.
    pub(super) fn anchor(&mut self) {
        self.set_clock(WallClock::anchored_at(self.world.now_us()));
    }

    fn set_clock(&mut self, clock: WallClock) {
        self.clock = clock;
        self.world.set_epoch_us(self.clock.epoch_us());
        self.world.set_wall_clock(self.clock);
        self.hub.set_clock(self.clock);
    }

    /// Time from now until the pacer's thread has something to do.
    pub(super) fn until_next_step(&mut self) -> Duration {
        let world_us = self.world.now_us();
        self.planned_us = self
            .world
            .next_output_us()
            .map_or(u64::MAX, |output_us| output_us.max(world_us))
            .min(world_us.saturating_add(self.stride.us()));
        Duration::from_micros(self.planned_us.saturating_sub(self.clock.now_us()))
    }

    /// Records how late the planned step is.
    pub(super) fn record_lateness(&self) {
        let late_us = self.clock.now_us().saturating_sub(self.planned_us);
        self.metrics.lateness(Duration::from_micros(late_us));
    }

    /// Whether the run's duration is over.
    pub(super) fn has_ended(&self) -> bool {
        self.end_us.is_some_and(|end_us| self.world.now_us() >= end_us)
    }

    /// Completes the recording.
    pub(super) fn finish_recording(&mut self) -> Result<(), RecordingError> {
        self.recorder.finish(&mut self.world)
    }

    pub(super) fn summary(&self) -> serde_json::Value {
        self.world.summary()
    }

    /// Steps towards now, by `MAX_STEP_US` at most.
    pub(super) fn step(&mut self) {
        let now_us = self.clock.now_us();
        let world_us = self.world.now_us();
        let lag_us = now_us.saturating_sub(world_us);
        if lag_us > MAX_LAG_US {
            tracing::warn!(lag_ms = lag_us / 1000, "the node fell behind; its time skips ahead");
            self.metrics.skipped(Duration::from_micros(lag_us));
            self.anchor();
            return;
        }
        let mut target_us = now_us.min(world_us.saturating_add(MAX_STEP_US));
        if let Some(end_us) = self.end_us {
            target_us = target_us.min(end_us);
        }
        let began = Instant::now();
        self.world.step_until(target_us, &mut self.hub);
        let took = began.elapsed();
        self.stride.stepped(target_us.saturating_sub(world_us), took);
        self.metrics.stepped(took);
        self.recorder.stepped(&mut self.world);
        self.log_pacing_changes();
        self.hub.publish_nodes(&self.world);
        self.state.stepped();
    }

    /// One line for simultaneous changes, as when the forecaster stops.
    fn log_pacing_changes(&mut self) {
        let (to, from): (Vec<_>, Vec<_>) = self
            .world
            .take_pacing_changes()
            .into_iter()
            .partition(|(_, _, by_forecast)| *by_forecast);
        if let Some((rnti, drb, _)) = from.first() {
            let bearers = from.len();
            tracing::warn!(
                bearers,
                rnti,
                drb,
                "pacers use their own measurements: no forecast covers the present"
            );
        }
        if let Some((rnti, drb, _)) = to.first() {
            let bearers = to.len();
            tracing::info!(bearers, rnti, drb, "pacers use forecasts");
        }
    }

    pub(super) fn serve(&mut self, command: Command) {
        // The requester of a reply may be gone.
        match command {
            Command::Reschedule => {}
            Command::Forecasts { node_id, forecasts } => {
                for forecast in &forecasts {
                    let outcome = self.feed_forecast(&node_id, forecast);
                    self.metrics.forecasts(outcome, 1);
                }
            }
            Command::Subscribe { request, reading, account, reply } => {
                let world = &mut self.world;
                let _ = reply.send(self.hub.subscribe(world, request, reading, &account));
            }
            Command::AddCallback { request, callback, reply } => {
                let _ = reply.send(self.hub.add_callback(&mut self.world, request, callback));
            }
            Command::Control { request, reply } => {
                self.hub.control(&mut self.world, request, reply);
            }
            Command::Measure { reply } => {
                let _ = reply.send(Scrape {
                    now_us: self.world.now_us(),
                    node_id: self.world.node_id().to_owned(),
                    bearers: self.world.bearer_samples(),
                    bearer_delays: self.world.bearer_delays(),
                    counters: self.world.gnb_counters(),
                    slot_lateness: self.world.slot_lateness(),
                    flows: self.world.flow_samples(),
                    prb_last_second: self.prb_last_second,
                    subscribers: self.hub.subscribers(),
                });
            }
        }
    }

    fn feed_forecast(&mut self, node_id: &str, forecast: &BearerForecast) -> ForecastOutcome {
        if node_id != self.world.node_id() {
            return ForecastOutcome::UnknownNode;
        }
        match self.world.feed_forecast(forecast) {
            Ok(()) => ForecastOutcome::Taken,
            Err(Cause::UnknownBearer) => ForecastOutcome::UnknownBearer,
            Err(_) => ForecastOutcome::Refused,
        }
    }

    pub(super) fn housekeeping(&mut self) {
        let now_us = self.world.now_us();
        if now_us >= self.prune_at_us {
            self.prune_at_us = now_us + PRUNE_US;
            self.hub.prune(&mut self.world);
        }
        if now_us >= self.second_at_us {
            let since_us = now_us.saturating_sub(self.second_at_us.saturating_sub(SECOND_US));
            self.hub.measure_loads(since_us as f64 / 1e6);
            self.second_at_us = now_us + SECOND_US;
            if let Some(clock) = self.clock.resynced() {
                tracing::info!("the system clock was set; time stamps follow it");
                self.set_clock(clock);
            }
            let uses = self.world.uses_cumulated_drain();
            self.uses_cumulated_drain
                .send_if_modified(|used| std::mem::replace(used, uses) != uses);
            let cell = self.world.cell_sample();
            self.prb_last_second = self.prb_before.map(|before| CellSample {
                used_prb: cell.used_prb.saturating_sub(before.used_prb),
                available_prb: cell.available_prb.saturating_sub(before.available_prb),
            });
            self.prb_before = Some(cell);
        }
    }

    /// Whether the world's next output is earlier than the pacer's next step.
    fn sooner_than_planned(&self) -> bool {
        self.world.next_output_us().is_some_and(|output_us| output_us < self.planned_us)
    }
}

/// Result of a direct access, and whether the pacer's thread has to reschedule its next step.
pub(super) struct Done<T> {
    pub(super) result: T,
    pub(super) reschedule: bool,
}

/// Access to a [`Paced`] world for a thread other than the pacer's.
pub(super) trait DirectAccess: Send + Sync {
    /// A report of the present state; `None` if the world is locked for longer than `limit`.
    fn report_now(
        &self,
        node_id: &str,
        oid: &str,
        limit: Duration,
    ) -> Option<Done<Result<Report, SubscribeError>>>;

    /// Sends a control on its way; if the world applies it at once, `reply` has its answer.
    fn control(
        &self,
        request: ControlRequest,
        reply: oneshot::Sender<Result<ControlReply, ControlFailure>>,
        limit: Duration,
    ) -> Option<Done<()>>;
}

impl<W: E2Node> DirectAccess for Mutex<Paced<W>> {
    fn report_now(
        &self,
        node_id: &str,
        oid: &str,
        limit: Duration,
    ) -> Option<Done<Result<Report, SubscribeError>>> {
        let mut paced = self.try_lock_for(limit)?;
        paced.step();
        let result = paced.world.report_now(node_id, oid);
        Some(Done { result, reschedule: paced.sooner_than_planned() })
    }

    fn control(
        &self,
        request: ControlRequest,
        reply: oneshot::Sender<Result<ControlReply, ControlFailure>>,
        limit: Duration,
    ) -> Option<Done<()>> {
        let mut guard = self.try_lock_for(limit)?;
        let paced = &mut *guard;
        paced.step();
        paced.hub.control(&mut paced.world, request, reply);
        paced.step();
        Some(Done { result: (), reschedule: paced.sooner_than_planned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stride at a load of `work_us_per_ms`.
    fn stride_us(work_us_per_ms: u64) -> u64 {
        let mut stride = Stride::default();
        for _ in 0..200 {
            stride.stepped(1_000, Duration::from_micros(work_us_per_ms));
        }
        stride.us()
    }

    #[test]
    fn the_stride_shrinks_with_the_load_of_the_cell() {
        assert_eq!(stride_us(0), MAX_STEP_US, "an idle world");
        assert_eq!(stride_us(5), MAX_STEP_US);
        // 20 µs of work a millisecond: 50 µs of it are 2.5 ms.
        assert!((2_499..=2_501).contains(&stride_us(20)), "{}", stride_us(20));
        assert_eq!(stride_us(900), MIN_STRIDE_US, "at least a slot");
    }

    #[test]
    fn a_step_through_no_virtual_time_does_not_change_the_stride() {
        let mut stride = Stride::default();
        stride.stepped(0, Duration::from_secs(1));
        assert_eq!(stride.us(), MAX_STEP_US);
    }
}
