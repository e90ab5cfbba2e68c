//! Per-value arithmetic of the forecaster: before a model's step, after it, and on outcomes.
//!
//! NumPy passes over all values once per operation, and for one bearer its call overhead exceeds the
//! model's step; here each value is loaded once. The operations are defined in `rlc_model`, losses
//! and coverage in the forecaster.

mod forecast;
mod index;
mod sample;
mod score;
mod track;

pub use forecast::{Forecasts, ModelOutput, add_and_order, all_finite};
pub use index::{ArrayError, Index, Outcomes};
use sample::check;
pub use sample::{COLUMNS, Fields, LengthError, MAX_RATE_BYTES_PER_MS, Previous, samples};
pub use score::{Coverage, Losses, Rule, ScoreUpdate, update_outside_ratio};
pub use track::{Axes, Offsets, forecasts_at};
