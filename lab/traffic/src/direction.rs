//! The direction of a flow.

use serde::{Deserialize, Serialize};

/// The direction of a flow's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Server to UE.
    #[default]
    Down,
    /// UE to server.
    Up,
}

impl Direction {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}
