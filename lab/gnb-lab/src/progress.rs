//! Progress of many runs on stderr, if that is a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

use lab_reproduce::Progress;

/// The line that is written over and over.
pub(super) struct RunsLine {
    name: String,
    shown: bool,
    begun: Instant,
}

impl RunsLine {
    /// A line that begins with a name.
    pub(super) fn new(name: &str) -> Self {
        let shown = std::io::stderr().is_terminal();
        Self { name: name.to_owned(), shown, begun: Instant::now() }
    }

    pub(super) fn show(&self, at: Progress) {
        if self.shown {
            let took_s = self.begun.elapsed().as_secs_f64();
            eprint!("\r{}: {} of {} runs, {took_s:.0} s ", self.name, at.finished, at.total);
            let _ = std::io::stderr().flush();
        }
    }

    pub(super) fn clear(&self) {
        if self.shown {
            eprint!("\r{:60}\r", "");
        }
    }
}
