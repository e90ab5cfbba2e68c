//! Loads of the benchmarks: what is timed is also what is counted in instructions.

mod cells;
mod forecasts;
mod packet;
mod packets;
pub mod reference;

use std::error::Error;

pub use packets::{BearersLoad, DISCIPLINES};

/// Something that can be repeated.
pub trait Load {
    /// Repeats it: packets in and as many out, reports, or milliseconds of a cell.
    fn pass(&mut self, times: u64);
}

/// The loads that [`load`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    packets::names().chain(cells::names()).chain([forecasts::NAME])
}

/// The load of a name; `None` for a name that is not among [`names`].
///
/// # Errors
/// A pipeline that the TC function refuses, a scenario that cannot be read.
pub fn load(name: &str) -> Result<Option<Box<dyn Load>>, Box<dyn Error>> {
    if name == forecasts::NAME {
        return Ok(Some(Box::new(forecasts::Forecasts::new()?)));
    }
    if let Some(load) = cells::load(name)? {
        return Ok(Some(load));
    }
    Ok(packets::load(name)?)
}
