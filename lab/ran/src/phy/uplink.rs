//! Uplink adaptation: the gNB measures what it receives, and an outer loop corrects it.

use std::collections::VecDeque;

use super::adaptation::{AdaptationConfig, MAX_OFFSET_DB, OuterLoop};

/// What a gNB knows of the SNR of one UE.
#[derive(Debug, Clone)]
pub(crate) struct UplinkAdaptation {
    config: AdaptationConfig,
    /// Measurements under way: when they count, and the SNR in dB.
    measured: VecDeque<(u64, f64)>,
    snr_db: f64,
    offset_db: f64,
}

impl UplinkAdaptation {
    pub(crate) fn new(config: AdaptationConfig, snr_db: f64) -> Self {
        Self { config, measured: VecDeque::new(), snr_db, offset_db: 0.0 }
    }

    /// The gNB measures `snr_db` at `now_us`, by a sounding signal or a block.
    pub(crate) fn measure(&mut self, snr_db: f64, now_us: u64) {
        self.measured.push_back((now_us + u64::from(self.config.cqi_delay_us), snr_db));
    }

    /// Takes what is measured and processed by `now_us`.
    pub(crate) fn advance(&mut self, now_us: u64) {
        while let Some((_, snr_db)) = self.measured.front().filter(|(at_us, _)| *at_us <= now_us) {
            self.snr_db = *snr_db;
            self.measured.pop_front();
        }
    }

    /// SNR and its correction, dB.
    pub(crate) fn known_db(&self) -> (f64, f64) {
        (self.snr_db, self.offset_db)
    }

    /// A first transmission was received or not. OAI's window applies to the downlink alone here; the
    /// uplink then has steps to the same target.
    pub(crate) fn received(&mut self, received: bool) {
        let step_up_db = match self.config.outer_loop {
            OuterLoop::Off { .. } => return,
            OuterLoop::Steps { step_up_db, .. } => step_up_db,
            OuterLoop::Window { .. } => super::adaptation::STEP_UP_DB,
        };
        let target = self.config.target_bler();
        let step_db = if received { step_up_db * target / (1.0 - target) } else { -step_up_db };
        self.offset_db = (self.offset_db + step_db).clamp(-MAX_OFFSET_DB, MAX_OFFSET_DB);
    }
}
