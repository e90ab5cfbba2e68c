//! A line of progress on stderr, where a person is looking.

use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Shows how far a run has come.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    end_us: u64,
    begun: Instant,
    percent: Option<u64>,
}

impl Progress {
    pub(super) fn new(end_us: u64) -> Self {
        let shown = std::io::stderr().is_terminal();
        Self { shown, end_us: end_us.max(1), begun: Instant::now(), percent: None }
    }

    pub(super) fn at(&mut self, now_us: u64) {
        let percent = now_us * 100 / self.end_us;
        if !self.shown || self.percent == Some(percent) {
            return;
        }
        self.percent = Some(percent);
        let took_s = self.begun.elapsed().as_secs_f64().max(1e-9);
        let now_s = now_us as f64 / 1e6;
        eprint!("\r{percent:3} %  {now_s:.1} s of virtual time, {:.0} s/s  ", now_s / took_s);
        // Progress that cannot be shown is not worth failing for.
        let _ = std::io::stderr().flush();
    }

    pub(super) fn end(&self) {
        if self.percent.is_some() {
            eprint!("\r{:60}\r", "");
        }
    }
}
