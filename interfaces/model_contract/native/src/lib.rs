//! What is done to every value of every bearer each millisecond, on both sides of a model's step.
//!
//! NumPy goes over all values once per operation and costs its call each time, which at one bearer
//! is more than the model's own step; here each value is loaded once. What the operations mean is
//! said where they are called from, in `rlc_model`.

mod forecast;
mod sample;

pub use forecast::{add_and_order, all_finite, unscaled};
pub use sample::{
    Before, COLUMNS, FROM_REPORT, Fields, LengthError, MAX_RATE_BYTES_PER_MS, samples,
};
