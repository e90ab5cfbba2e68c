//! The papers, one module each.

pub mod abbasloo2019;
pub mod irazabal2021;
pub mod irazabal2024;
pub mod kumar2018;
pub mod stolidis2024;

use super::{Paper, ReproduceError};

/// All papers.
pub const ALL: [Paper; 5] = [
    abbasloo2019::PAPER,
    irazabal2021::PAPER,
    irazabal2024::PAPER,
    kumar2018::PAPER,
    stolidis2024::PAPER,
];

/// Finds a paper by name.
///
/// # Errors
/// [`ReproduceError::UnknownPaper`] with the known names.
pub fn by_name(name: &str) -> Result<Paper, ReproduceError> {
    ALL.into_iter().find(|paper| paper.name == name).ok_or_else(|| ReproduceError::UnknownPaper {
        name: name.to_owned(),
        known: ALL.map(|paper| paper.name).join(", "),
    })
}
