//! The thread that steps the world, from its start to the summary of the run.

use std::{
    panic::{self, AssertUnwindSafe},
    thread,
};

use serde_json::Value;
use tokio::sync::oneshot;

use super::{error::ServeError, node::E2Node, pacer::Pacer};

/// A running or ended world.
#[derive(Debug)]
pub(super) struct WorldThread {
    thread: thread::JoinHandle<()>,
    summary: oneshot::Receiver<Result<Value, ServeError>>,
    end: WorldEnd,
}

#[derive(Debug)]
enum WorldEnd {
    Running,
    /// Summary of the run.
    Completed(Result<Value, ServeError>),
    Panicked,
}

impl WorldThread {
    pub(super) fn spawn<W: E2Node>(pacer: Pacer<W>) -> Result<Self, ServeError> {
        let (send, summary) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("world".to_owned())
            .spawn(move || {
                // After a panic the recording can still be completed.
                let run = panic::catch_unwind(AssertUnwindSafe(|| pacer.run()));
                let recorded = pacer.paced.lock().finish_recording();
                drop(pacer);
                if let (Err(failure), Err(_)) = (&recorded, &run) {
                    tracing::error!(%failure, "the recording is incomplete");
                }
                if let Ok(summary) = run {
                    // No receiver if the gateway was dropped.
                    let _ = send.send(match recorded {
                        Ok(()) => Ok(summary),
                        Err(error) => {
                            Err(ServeError::Recording { reason: error.to_string(), summary })
                        }
                    });
                }
            })
            .map_err(|source| ServeError::System { what: "the world's thread", source })?;
        Ok(Self { thread, summary, end: WorldEnd::Running })
    }

    /// Waits until the world ends by itself: its duration has passed, or its thread panicked.
    pub(super) async fn ended(&mut self) {
        if matches!(self.end, WorldEnd::Running) {
            self.end = match (&mut self.summary).await {
                Ok(summary) => WorldEnd::Completed(summary),
                Err(_) => WorldEnd::Panicked,
            };
        }
    }

    /// Summary of the run; if it `has_ended`, its thread has as well.
    pub(super) fn summary(self, has_ended: bool) -> Result<Value, ServeError> {
        if has_ended {
            // A panic shows as a missing summary.
            let _ = self.thread.join();
        }
        match self.end {
            WorldEnd::Completed(summary) => summary,
            WorldEnd::Running | WorldEnd::Panicked => Err(ServeError::World),
        }
    }
}
