//! Downlink adaptation: what the gNB knows of a UE's SNR, and the MCS that it chooses.
//!
//! A UE measures each `cqi_period_us` and reports a CQI, which the gNB uses `cqi_delay_us` later.
//! An outer loop corrects what the CQI says by the acknowledgements of first transmissions, which
//! arrive `feedback_us` after their slot began.

use std::collections::VecDeque;

use super::{Combining, Levels, LinkTables, Radio};
use crate::error::{ConfigError, ensure};
use crate::mac::rbg::GroupSet;

/// Link adaptation of a cell's downlink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptationConfig {
    /// Time between two measurements of a UE.
    pub cqi_period_us: u32,
    /// Time from a measurement until the gNB uses its report: processing, wait for the PUCCH,
    /// decoding.
    pub cqi_delay_us: u32,
    /// Time from the start of a block's slot until the gNB knows whether it was received: k1 and
    /// decoding.
    pub feedback_us: u32,
    /// How acknowledgements correct the reports.
    pub outer_loop: OuterLoop,
    /// How a UE combines the transmissions of a block.
    pub combining: Combining,
    /// PRBs of a sub-band (38.214 §5.2.1.4): the UE reports a CQI for each beside that of the carrier, and
    /// proportional fair grants resource block groups by them; `None` for the carrier alone.
    pub subband_prb: Option<u16>,
}

/// Correction of the MCS by acknowledgements of first transmissions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OuterLoop {
    /// None: the highest MCS that the CQI allows at this error rate.
    Off {
        /// Target error rate of first transmissions.
        target_bler: f64,
    },
    /// An offset in dB that falls by `step_up_db` with each failure and rises by `step_up_db ·
    /// target / (1 - target)` with each success, so that it rests where the target fails (Pedersen
    /// et al., "Frequency domain scheduling for OFDMA with limited and noisy channel feedback", VTC
    /// 2007).
    Steps {
        /// Target error rate of first transmissions.
        target_bler: f64,
        /// Fall of the offset with a failure.
        step_up_db: f64,
    },
    /// OAI's `get_mcs_from_bler`, which knows no CQI: each 100 ms the MCS rises by one if the error
    /// rate, filtered with 0.9, is below `lower`, and falls by one above `upper`.
    Window {
        /// Error rate below which the MCS rises.
        lower: f64,
        /// Error rate above which the MCS falls.
        upper: f64,
    },
}

/// Target error rate of first transmissions, which 38.214 §5.2.2.1 and gNBs assume.
pub const TARGET_BLER: f64 = 0.1;
/// Step of [`OuterLoop::Steps`], that of `sionna.sys`.
pub const STEP_UP_DB: f64 = 1.0;
/// Limits of [`OuterLoop::Window`], OAI's defaults.
pub const OAI_WINDOW: [f64; 2] = [0.05, 0.15];

/// Largest offset of [`OuterLoop::Steps`].
pub(super) const MAX_OFFSET_DB: f64 = 20.0;

/// OAI's window of ten frames, filter, and the blocks below which a UE counts as idle.
const WINDOW_US: u64 = 100_000;
const WINDOW_FILTER: f64 = 0.9;
const IDLE_BLOCKS: u32 = 3;
/// MCS that OAI's loop does not go below for errors, and for a lack of blocks.
const LOWEST_OF_ERRORS: u8 = 6;
const LOWEST_OF_IDLE: u8 = 9;

impl Default for AdaptationConfig {
    /// A report each 5 ms that is used 4 ms later; acknowledgements after 4 ms; 10 % of first
    /// transmissions fail, by steps of 1 dB.
    fn default() -> Self {
        Self {
            cqi_period_us: 5000,
            cqi_delay_us: 4000,
            feedback_us: 4000,
            outer_loop: OuterLoop::Steps { target_bler: TARGET_BLER, step_up_db: STEP_UP_DB },
            combining: Combining::default(),
            subband_prb: None,
        }
    }
}

impl AdaptationConfig {
    /// Target error rate of first transmissions; the middle of OAI's window.
    pub(crate) fn target_bler(&self) -> f64 {
        match self.outer_loop {
            OuterLoop::Off { target_bler } | OuterLoop::Steps { target_bler, .. } => target_bler,
            OuterLoop::Window { lower, upper } => 0.5 * (lower + upper),
        }
    }

    /// Checks every field for slots of `slot_us`.
    pub(crate) fn validate(&self, slot_us: u32) -> Result<(), ConfigError> {
        let Self { cqi_period_us, cqi_delay_us, feedback_us, outer_loop, .. } = *self;
        let second_us = 1_000_000;
        for (field, us) in [
            ("cqi_period_us", cqi_period_us),
            ("cqi_delay_us", cqi_delay_us),
            ("feedback_us", feedback_us),
        ] {
            let expected = format!("{slot_us} (a slot) to {second_us} µs");
            ensure(
                (slot_us..=second_us).contains(&us),
                format!("adaptation.{field}"),
                us,
                expected,
            )?;
        }
        let rate = |path: &str, value: f64| {
            ensure((1e-6..=0.9).contains(&value), path, value, "0.000001 to 0.9")
        };
        match outer_loop {
            OuterLoop::Off { target_bler } => rate("adaptation.target_bler", target_bler),
            OuterLoop::Steps { target_bler, step_up_db } => {
                rate("adaptation.target_bler", target_bler)?;
                let path = "adaptation.step_up_db";
                ensure((0.001..=10.0).contains(&step_up_db), path, step_up_db, "0.001 to 10 dB")
            }
            OuterLoop::Window { lower, upper } => {
                rate("adaptation.lower", lower)?;
                rate("adaptation.upper", upper)?;
                let expected = format!("more than lower = {lower}");
                ensure(upper > lower, "adaptation.upper", upper, expected)
            }
        }
    }
}

/// What a gNB knows of one UE.
#[derive(Debug, Clone)]
pub(crate) struct LinkAdaptation {
    config: AdaptationConfig,
    /// Reports under way: when the gNB uses them, their CQI, and its differences by sub-band.
    reports: VecDeque<(u64, u8, Levels)>,
    /// Acknowledgements under way: when they arrive, and whether the block was received.
    feedback: VecDeque<(u64, bool)>,
    known: Known,
}

/// The state that determines the MCS.
#[derive(Debug, Clone, Copy)]
struct Known {
    cqi: u8,
    levels: Levels,
    offset_db: f64,
    mcs: u8,
    /// OAI's window: its end, blocks, failures, and the filtered error rate.
    window_end_us: u64,
    sent: u32,
    failed: u32,
    bler: f64,
}

impl LinkAdaptation {
    /// A UE whose first report is `cqi`, with `levels` by sub-band.
    pub(crate) fn new(
        config: AdaptationConfig,
        tables: &LinkTables,
        (cqi, levels): (u8, Levels),
        now_us: u64,
    ) -> Self {
        let mut known = Known {
            cqi,
            levels,
            offset_db: 0.0,
            mcs: 0,
            window_end_us: now_us + WINDOW_US,
            sent: 0,
            failed: 0,
            bler: 0.0,
        };
        known.choose(config.outer_loop, tables);
        Self { config, reports: VecDeque::new(), feedback: VecDeque::new(), known }
    }

    /// A UE measures `cqi` at `now_us`, with `levels` by sub-band.
    pub(crate) fn report(&mut self, (cqi, levels): (u8, Levels), now_us: u64) {
        self.reports.push_back((now_us + u64::from(self.config.cqi_delay_us), cqi, levels));
    }

    /// A first transmission in the slot that begins at `now_us` is received or not.
    pub(crate) fn transmitted(&mut self, received: bool, now_us: u64) {
        self.feedback.push_back((now_us + u64::from(self.config.feedback_us), received));
    }

    /// Takes what has arrived by `now_us`.
    pub(crate) fn advance(&mut self, tables: &LinkTables, now_us: u64) {
        let mut changed = false;
        while self.reports.front().is_some_and(|(at_us, ..)| *at_us <= now_us) {
            let Some((_, cqi, levels)) = self.reports.pop_front() else { break };
            changed |= std::mem::replace(&mut self.known.cqi, cqi) != cqi;
            self.known.levels = levels;
        }
        while self.feedback.front().is_some_and(|(at_us, _)| *at_us <= now_us) {
            let Some((_, received)) = self.feedback.pop_front() else { break };
            self.known.acknowledge(self.config.outer_loop, tables, received);
        }
        changed |= self.known.end_window(self.config.outer_loop, tables, now_us);
        if changed {
            self.known.choose(self.config.outer_loop, tables);
        }
    }

    /// MCS of a slot.
    pub(crate) fn radio(&self) -> Radio {
        self.known.radio()
    }

    /// MCS of a block over `groups` in this slot.
    pub(crate) fn radio_over(&self, tables: &LinkTables, groups: GroupSet) -> Radio {
        // OAI's window counts blocks wherever they are.
        let is_wideband = matches!(self.config.outer_loop, OuterLoop::Window { .. });
        if self.known.cqi == 0 || is_wideband {
            return self.radio();
        }
        let snr_db = self.reported_over_db(tables, groups);
        Radio::Mcs(tables.mcs_at(snr_db + self.known.offset_db))
    }

    /// SNR in dB over `groups`, as far as the last report says.
    pub(crate) fn reported_over_db(&self, tables: &LinkTables, groups: GroupSet) -> f64 {
        tables.lowest_snr_over_db((self.known.cqi, self.known.levels), groups)
    }

    /// MCS of a slot that begins at `now_us`, which has not begun.
    pub(crate) fn radio_ahead(&self, tables: &LinkTables, now_us: u64) -> Radio {
        let mut known = self.known;
        let outer_loop = self.config.outer_loop;
        for (_, cqi, _) in self.reports.iter().take_while(|(at_us, ..)| *at_us <= now_us) {
            known.cqi = *cqi;
        }
        for (_, received) in self.feedback.iter().take_while(|(at_us, _)| *at_us <= now_us) {
            known.acknowledge(outer_loop, tables, *received);
        }
        known.end_window(outer_loop, tables, now_us);
        known.choose(outer_loop, tables);
        known.radio()
    }

    /// The last report that the gNB has.
    pub(crate) fn cqi(&self) -> u8 {
        self.known.cqi
    }
}

impl Known {
    fn radio(&self) -> Radio {
        if self.cqi == 0 { Radio::OutOfRange } else { Radio::Mcs(self.mcs) }
    }

    /// Counts an acknowledgement, and chooses the MCS anew where that depends on it.
    fn acknowledge(&mut self, outer_loop: OuterLoop, tables: &LinkTables, received: bool) {
        self.sent += 1;
        self.failed += u32::from(!received);
        if let OuterLoop::Steps { target_bler, step_up_db } = outer_loop {
            // An offset that no MCS answers would only delay the way back.
            let at_end = if received { self.mcs == tables.max_mcs() } else { self.mcs == 0 };
            if at_end {
                return;
            }
            let step_db =
                if received { step_up_db * target_bler / (1.0 - target_bler) } else { -step_up_db };
            self.offset_db = (self.offset_db + step_db).clamp(-MAX_OFFSET_DB, MAX_OFFSET_DB);
            self.choose(outer_loop, tables);
        }
    }

    /// Ends OAI's window if it is over; returns whether it did.
    fn end_window(&mut self, outer_loop: OuterLoop, tables: &LinkTables, now_us: u64) -> bool {
        let OuterLoop::Window { lower, upper } = outer_loop else { return false };
        if now_us < self.window_end_us {
            return false;
        }
        if self.sent > 0 {
            let rate = f64::from(self.failed) / f64::from(self.sent);
            self.bler = WINDOW_FILTER * self.bler + (1.0 - WINDOW_FILTER) * rate;
        }
        let is_idle = self.sent <= IDLE_BLOCKS;
        if self.bler < lower && self.mcs < tables.max_mcs() && !is_idle {
            self.mcs += 1;
        } else if (self.bler > upper && self.mcs > LOWEST_OF_ERRORS)
            || (is_idle && self.mcs > LOWEST_OF_IDLE)
        {
            self.mcs -= 1;
        }
        (self.sent, self.failed) = (0, 0);
        self.window_end_us = now_us + WINDOW_US;
        true
    }

    fn choose(&mut self, outer_loop: OuterLoop, tables: &LinkTables) {
        if !matches!(outer_loop, OuterLoop::Window { .. }) {
            self.mcs = tables.mcs_at(tables.lowest_snr_db(self.cqi) + self.offset_db);
        }
    }
}
