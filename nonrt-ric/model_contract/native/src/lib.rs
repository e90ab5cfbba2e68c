//! Per-value arithmetic of the forecaster: before a model's step, after it, and on outcomes.
//!
//! NumPy passes over all values once per operation, and for one bearer its call overhead exceeds the
//! model's step; here each value is loaded once. The operations are defined in `rlc_model`, scores
//! in the forecaster.

mod calibrate;
mod checks;
mod compare;
mod cumulated;
mod drain;
mod forecast;
mod index;
mod judge;
mod losses;
mod mix;
mod naive;
mod replay;
mod ridge;
mod sample;
mod score;
mod simple;
mod skill;
mod track;
mod weights;
mod windows;

pub use calibrate::Stretch;
pub use checks::Checks;
pub use compare::{Due, Past, compare};
pub use cumulated::{Cumulated, Drained};
pub use drain::RecentDrain;
pub use forecast::{ModelOutput, Steps, all_finite, sort_groups};
pub use index::{ArrayError, Index, Outcomes};
pub use judge::{JUDGED, JudgedWindow, Labels, Tracks, WindowLosses};
pub use losses::{Judged, LossSums};
pub use mix::{Checked, Forecasts, Losses, Mix, Newest, PointTimes, Quantities};
pub use replay::{Replay, Replayed};
use sample::check;
pub use sample::{COLUMNS, Fields, LengthError, MAX_RATE_BYTES_PER_MS, Previous, samples, scale};
pub use score::{Coverage, update_outside_ratio};
pub use simple::SIMPLE;
pub use skill::{Skill, SkillUpdate};
pub use track::{Axes, Offsets};
pub use weights::EXPERTS;
