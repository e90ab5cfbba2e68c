//! What is done to every value of every bearer each millisecond: before a model's step, after it, and
//! when it is known what came.
//!
//! NumPy goes over all values once per operation and costs its call each time, which at one bearer
//! is more than the model's own step; here each value is loaded once. What the operations mean is
//! said where they are called from, in `rlc_model` and, of losses and coverage, in the forecaster.

mod forecast;
mod index;
mod range;
mod sample;
mod score;
mod track;

pub use forecast::{Answer, Forecasts, add_and_order, all_finite};
pub use index::{ArrayError, Index, Outcomes, outcomes};
pub use range::note_outside;
use sample::check;
pub use sample::{
    Before, COLUMNS, FROM_REPORT, Fields, LengthError, MAX_RATE_BYTES_PER_MS, samples,
};
pub use score::{Coverage, Losses, Rule, Verdict};
pub use track::{Axes, Offsets, said_at};
