//! A world that is recorded while the gateway serves it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use e2sm_tc::v1::BearerForecast;
use lab_world::World;

use crate::cli::Failure;
use crate::{
    Admitted, CellMeasurement, ControlRefusal, ControlRequest, ControlTicket, E2World,
    ForecastOutcome, Measurements, NodeState, PacingChange, Report, SubscribeError, SubscriptionId,
    SubscriptionRequest, WorldSink,
};

/// Virtual time between two writes of the recording.
const NOTE_PERIOD_US: u64 = 1_000_000;

/// Writes a run down as it goes.
pub trait Recording: Send + 'static {
    /// Writes what happened since the last call.
    ///
    /// # Errors
    /// When it cannot be written.
    fn note(&mut self, world: &mut World) -> Result<(), Failure>;

    /// Writes the rest and closes.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(self, world: &mut World) -> Result<(), Failure>;
}

/// A world that is recorded while the gateway owns it, and that is still there when the gateway is
/// gone.
#[derive(Debug)]
pub struct Recorded<R>(Arc<Mutex<Inner<R>>>);

#[derive(Debug)]
struct Inner<R> {
    world: World,
    recording: R,
    /// The first failure to write; the gateway goes on without.
    failed: Option<Failure>,
    noted_us: u64,
}

impl<R> Clone for Recorded<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Recording> Recorded<R> {
    /// `world`, recorded by `recording`.
    pub fn new(world: World, recording: R) -> Self {
        Self(Arc::new(Mutex::new(Inner { world, recording, failed: None, noted_us: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner<R>> {
        // A panic of the gateway's thread leaves a world that can still be written down.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes the recording once the gateway is gone.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn finish(self) -> Result<(), Failure> {
        let Some(inner) = Arc::into_inner(self.0) else { return Ok(()) };
        let mut inner = inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        match inner.failed {
            Some(error) => Err(error),
            None => inner.recording.finish(&mut inner.world),
        }
    }
}

impl<R: Recording> E2World for Recorded<R> {
    fn now_us(&self) -> u64 {
        self.lock().world.now_us()
    }

    fn set_epoch_us(&mut self, unix_us: u64) {
        self.lock().world.set_epoch_us(unix_us);
    }

    fn next_output_us(&self) -> Option<u64> {
        self.lock().world.next_output_us()
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn WorldSink) {
        let mut inner = self.lock();
        E2World::step_until(&mut inner.world, t_us, sink);
        let Inner { world, recording, failed, noted_us } = &mut *inner;
        if failed.is_none() && world.now_us() >= *noted_us + NOTE_PERIOD_US {
            *noted_us = world.now_us();
            *failed = recording.note(world).err();
        }
    }

    fn nodes(&self) -> Vec<NodeState> {
        E2World::nodes(&self.lock().world)
    }

    fn subscribe(&mut self, request: &SubscriptionRequest) -> Result<Admitted, SubscribeError> {
        E2World::subscribe(&mut self.lock().world, request)
    }

    fn unsubscribe(&mut self, subscription: SubscriptionId) {
        E2World::unsubscribe(&mut self.lock().world, subscription);
    }

    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        E2World::report_now(&mut self.lock().world, node_id, oid)
    }

    fn control(&mut self, request: &ControlRequest) -> Result<ControlTicket, ControlRefusal> {
        E2World::control(&mut self.lock().world, request)
    }

    fn forecast(&mut self, node_id: &str, forecast: &BearerForecast) -> ForecastOutcome {
        E2World::forecast(&mut self.lock().world, node_id, forecast)
    }

    fn pacing_changes(&mut self) -> Vec<PacingChange> {
        self.lock().world.pacing_changes()
    }

    fn measurements(&mut self) -> Measurements {
        self.lock().world.measurements()
    }

    fn cells(&mut self) -> Vec<CellMeasurement> {
        self.lock().world.cells()
    }

    fn summary(&mut self) -> serde_json::Value {
        E2World::summary(&mut self.lock().world)
    }
}
