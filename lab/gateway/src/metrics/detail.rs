//! Metrics beyond the default, which costs few series per node and bearer.

use std::str::FromStr;

/// Metrics beyond the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsDetail {
    /// Distributions of delays per node.
    Distributions,
    /// Goodput and round trips of flows.
    Flows,
    /// Queues and pacing of the bearers whose packets wait longest.
    Top(usize),
}

impl MetricsDetail {
    const MOST_BEARERS: usize = 1_000;
}

impl FromStr for MetricsDetail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.strip_prefix("top:").map(str::parse);
        match (text, count) {
            ("distributions", _) => Ok(Self::Distributions),
            ("flows", _) => Ok(Self::Flows),
            (_, Some(Ok(count))) if (1..=Self::MOST_BEARERS).contains(&count) => {
                Ok(Self::Top(count))
            }
            _ => Err(format!(
                "expected distributions, flows or top:N with N from 1 to {}",
                Self::MOST_BEARERS
            )),
        }
    }
}
