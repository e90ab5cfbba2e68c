//! Loads of the benchmarks of the TC function: what is timed is also what is counted in instructions.

mod load;
mod packet;

pub use load::{BearersLoad, DISCIPLINES, Load, load, names};
