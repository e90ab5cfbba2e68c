//! The thread that steps the world to the wall clock.
//!
//! It sleeps until the next output of the world or a command, whichever is first. In between it
//! steps as often as it takes for a report or a control never to wait for a long stretch of work
//! behind it (`Stride`). After a stall it catches up in bounded bites, with commands served between
//! them; a lag beyond a quarter of a second is given up: virtual time is anchored anew and the loss is
//! counted.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};

use super::{
    command::Command,
    node::E2Node,
    paced::{Paced, PacerState},
};

/// Commands served between two steps.
const MAX_COMMANDS: usize = 64;

/// Everything the thread needs.
pub(super) struct Pacer<W> {
    pub(super) paced: Arc<Mutex<Paced<W>>>,
    pub(super) commands: Receiver<Command>,
    pub(super) state: Arc<PacerState>,
}

impl<W: E2Node> Pacer<W> {
    /// Runs until told to stop, the duration is over or every gateway task is gone, and gives the
    /// summary of the run. The world goes with it.
    pub(super) fn run(&self) -> serde_json::Value {
        ask_for_precise_timers();
        self.paced.lock().anchor();
        let mut woken_by = None;
        while !self.state.stop.load(Ordering::Relaxed) {
            let mut paced = self.paced.lock();
            // Another thread may have stepped the world meanwhile, so that nothing is left to do here.
            paced.housekeeping();
            if paced.has_ended() {
                break;
            }
            if woken_by.is_none() {
                let rest = paced.until_next_step();
                if !rest.is_zero() {
                    drop(paced);
                    match self.wait(rest) {
                        Ok(command) => woken_by = command,
                        Err(Stopped) => break,
                    }
                    continue;
                }
                paced.record_lateness();
            }
            paced.step();
            if !self.serve(&mut paced, woken_by.take()) {
                break;
            }
            // Who waits for the world while it catches up has a turn.
            MutexGuard::unlock_fair(paced);
        }
        self.paced.lock().summary()
    }

    /// Serves the command that woke the thread and those behind it; false when no one is left
    /// who could send any.
    fn serve(&self, paced: &mut Paced<W>, first: Option<Command>) -> bool {
        if let Some(command) = first {
            paced.serve(command);
        }
        for _ in 0..MAX_COMMANDS {
            match self.commands.try_recv() {
                Ok(command) => paced.serve(command),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    fn wait(&self, rest: Duration) -> Result<Option<Command>, Stopped> {
        match self.commands.recv_timeout(rest) {
            Ok(command) => Ok(Some(command)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Stopped),
        }
    }
}

/// Every task that could send commands is gone.
struct Stopped;

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
