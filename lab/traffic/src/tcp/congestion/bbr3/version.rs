//! Gains of the states, and what is different in version 2.
//!
//! Version 2 is the branch `v2alpha` of Linux (`tcp_bbr2.c`, 2019 to 2023) and
//! draft-cardwell-iccrg-bbr-congestion-control-02; where they differ it follows Linux, as does who runs
//! it. It differs from version 3 in: the gains below; Startup ends after eight losses, not six, at one BDP;
//! a full pipe is judged by the maximum bandwidth; UP ends at 1.25 BDPs in flight, or at the bound of
//! the previous probe if that was too high, not when the bandwidth stops growing; a probe that stopped
//! at the bound without loss is repeated at once; marks cut the rate beside the volume.

use super::State;

/// Version of BBR since 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BbrVersion {
    /// `v2alpha` of Linux.
    Two,
    /// draft-ietf-ccwg-bbr-02.
    Three,
}

/// Gains of a state, §4.6.1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gains {
    pub(super) pacing: f64,
    pub(super) window: f64,
}

/// Version 2, `bbr_high_gain` and `bbr_startup_cwnd_gain`: 2/ln 2.
const V2_HIGH_GAIN: f64 = 2.885;

impl BbrVersion {
    pub(super) fn gains(self, state: State) -> Gains {
        let (pacing, window) = match (state, self) {
            // `bbr_update_gains` of v2alpha.
            (State::Startup, Self::Two) => (V2_HIGH_GAIN, V2_HIGH_GAIN),
            (State::Drain, Self::Two) => (1.0 / V2_HIGH_GAIN, V2_HIGH_GAIN),
            (State::ProbeBwDown, Self::Two) => (0.75, 2.0),
            (State::ProbeBwUp, Self::Two) => (1.25, 2.0),
            // §4.3.1.1, BBRStartupPacingGain: 4 ln 2.
            (State::Startup, Self::Three) => (2.77, 2.0),
            // §4.3.2. The table of §4.6.1 has 0.5, the text and Linux 0.35.
            (State::Drain, Self::Three) => (0.35, 2.0),
            (State::ProbeBwDown, Self::Three) => (0.9, 2.0),
            (State::ProbeBwUp, Self::Three) => (1.25, 2.25),
            (State::ProbeBwCruise | State::ProbeBwRefill, _) => (1.0, 2.0),
            (State::ProbeRtt, _) => (1.0, 0.5),
        };
        Gains { pacing, window }
    }

    /// Losses in a round of Startup that end it: v2alpha, `bbr_full_loss_cnt`, acknowledgements that
    /// report some; §4.3.1.3, BBRStartupFullLossCnt, discontiguous ranges.
    pub(super) fn startup_full_losses(self) -> u32 {
        match self {
            Self::Two => 8,
            Self::Three => 6,
        }
    }
}
