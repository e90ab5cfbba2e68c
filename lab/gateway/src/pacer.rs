//! The thread that steps the world to the wall clock.
//!
//! It sleeps until the next output of the world or a command, and steps in between so that a report or
//! a control never waits for much work (`Stride`). After a stall it catches up in bounded steps and
//! serves commands between them. A lag beyond a quarter of a second is skipped: virtual time gets a new
//! anchor and the loss is counted.

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

/// State of the thread.
pub(super) struct Pacer<W> {
    pub(super) paced: Arc<Mutex<Paced<W>>>,
    pub(super) commands: Receiver<Command>,
    pub(super) state: Arc<PacerState>,
}

impl<W: E2Node> Pacer<W> {
    /// Runs until stopped, the duration is over or every gateway task has ended; returns the summary.
    pub(super) fn run(&self) -> serde_json::Value {
        request_precise_timers();
        self.paced.lock().anchor();
        let mut woken_by = None;
        while !self.state.stop.load(Ordering::Relaxed) {
            let mut paced = self.paced.lock();
            // Another thread may have stepped the world meanwhile.
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
            // Fair, so that a waiting thread gets the world while this one catches up.
            MutexGuard::unlock_fair(paced);
        }
        self.paced.lock().summary()
    }

    /// Serves the command that woke the thread and queued ones; false if every sender is gone.
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

/// Linux delays a thread's wake-ups by up to 50 µs by default (`man 2 prctl`, `PR_SET_TIMERSLACK`).
#[cfg(target_os = "linux")]
fn request_precise_timers() {
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::debug!(%error, "timer slack is unchanged");
    }
}

#[cfg(not(target_os = "linux"))]
fn request_precise_timers() {}
