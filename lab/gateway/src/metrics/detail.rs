//! Metrics beyond the default, which costs few series per node.

use std::str::FromStr;

/// Metrics beyond the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsDetail {
    /// Distributions of delays per node.
    Distributions,
    /// Goodput and round trips of flows.
    Flows,
}

impl FromStr for MetricsDetail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "distributions" => Ok(Self::Distributions),
            "flows" => Ok(Self::Flows),
            _ => Err("expected distributions or flows".to_owned()),
        }
    }
}
