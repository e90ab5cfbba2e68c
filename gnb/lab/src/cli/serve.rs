//! `gnb-lab serve`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use e2sm_tc::v1::BearerForecast;

use super::Failure;
use super::load::{ScenarioArgs, command_line};
use crate::gateway::{
    self, Admitted, CellMeasurement, ControlRefusal, ControlRequest, ControlTicket, E2World,
    ForecastOutcome, LocalDoor, Measurements, NodeState, PacingChange, Report, ServeError,
    ServeOptions, SubscribeError, SubscriptionId, SubscriptionRequest, WorldSink,
};
use crate::recording::{Recorder, RecordingError};
use crate::world::{NodeInfo, World};

/// Virtual time between two writes of the recording.
const NOTE_PERIOD_US: u64 = 1_000_000;

/// Arguments of `gnb-lab serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,

    /// Folder for summary.json, bearers.parquet, flows.parquet and report.html, written as it
    /// ends; nothing is recorded when absent.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    options: ServeOptions,
}

/// Serves until told to stop.
pub(super) fn serve(args: ServeArgs) -> Result<(), Failure> {
    serve_beside(args, |_, _| Ok(()))
}

/// Serves until told to stop, with something beside the gateway that reaches the world through the
/// local door; what `start` gives is dropped before the gateway stops.
///
/// # Errors
/// What the user or the machine did wrong, and what `start` says.
pub fn serve_beside<T>(
    args: ServeArgs,
    start: impl FnOnce(LocalDoor, &NodeInfo) -> Result<T, ServeError>,
) -> Result<(), Failure> {
    let loaded = args.scenario.load(&[])?;
    let mut world = World::new(&loaded)?;
    let node = world.node();
    let start = |door| start(door, &node);
    let Some(folder) = args.out else {
        return gateway::serve_beside(world, args.options, start).map_err(Failure::from);
    };
    let recorder = Recorder::begin(&folder, &command_line(), &mut world, false)?;
    let recorded =
        Recorded(Arc::new(Mutex::new(Inner { world, recorder, failed: None, noted_us: 0 })));
    let kept = recorded.clone();
    let served = gateway::serve_beside(recorded, args.options, start);
    // What was recorded is written however serving ended.
    let written = kept.finish();
    served?;
    Ok(written?)
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Address { .. }
            | ServeError::Plaintext { .. }
            | ServeError::PlaintextForecasts { .. }
            | ServeError::TlsFile { .. }
            | ServeError::Tls(_) => Self::Input(error.to_string()),
            _ => Self::Machine(error.to_string()),
        }
    }
}

/// A world that is recorded while the gateway owns it, and that is still there when the gateway is
/// gone.
#[derive(Clone)]
struct Recorded(Arc<Mutex<Inner>>);

struct Inner {
    world: World,
    recorder: Recorder,
    /// The first failure to write; the gateway goes on without.
    failed: Option<RecordingError>,
    noted_us: u64,
}

impl Recorded {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic of the gateway's thread leaves a world that can still be written down.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(self) -> Result<(), RecordingError> {
        let Some(inner) = Arc::into_inner(self.0) else { return Ok(()) };
        let mut inner = inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        match inner.failed {
            Some(error) => Err(error),
            None => inner.recorder.finish(&mut inner.world),
        }
    }
}

impl E2World for Recorded {
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
        let Inner { world, recorder, failed, noted_us } = &mut *inner;
        if failed.is_none() && world.now_us() >= *noted_us + NOTE_PERIOD_US {
            *noted_us = world.now_us();
            *failed = recorder.note(world).err();
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
