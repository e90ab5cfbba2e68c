//! Channels: how many bytes a UE's radio carries, slot by slot.

pub mod fading;
pub mod gauss_markov;
mod lines;
pub mod mahimahi;
pub mod measured;
pub mod mobility;
pub mod path_loss;
pub mod rate;
pub mod route;
pub mod series;
mod snr;
mod state;
pub mod tdl;
pub mod ucc;

pub use fading::{Fading, Interference, MeanSnr};
pub use gauss_markov::GaussMarkov;
pub use mahimahi::MahimahiTrace;
pub use measured::Missing;
pub use mobility::{McsChain, MobilityModel, MobilityPattern};
pub use path_loss::{Deployment, LinkBudget, Shadowing};
pub use rate::RateSeries;
pub use route::Route;
pub use series::{AtEnd, CqiSeries, CqiToMcs, McsSeries, SnrSeries};
pub(crate) use state::ChannelState;
pub use state::SnrProbe;
pub use tdl::TdlProfile;
pub use ucc::{UccColumn, UccTrace};

use crate::error::{ConfigError, ensure};

/// The channel of one UE.
#[derive(Debug, Clone, PartialEq)]
pub enum Channel {
    /// A constant MCS.
    FixedMcs(u8),
    /// An MCS that changes with time.
    McsSeries(McsSeries),
    /// A CQI that changes with time.
    CqiSeries(CqiSeries),
    /// An SNR that changes with time.
    SnrSeries(SnrSeries),
    /// A bit rate that changes with time, as measured by a download.
    Rate(RateSeries),
    /// Delivery opportunities recorded from a cellular link.
    Mahimahi(MahimahiTrace),
    /// An SNR drawn from the cell's seed by an autoregressive process.
    GaussMarkov(GaussMarkov),
    /// An SNR of a UE that moves, by models of 38.901 and the cell's seed.
    Fading(Fading),
    /// An MCS drawn from the cell's seed by a Markov chain.
    Mobility(McsChain),
    /// A channel of SNR or CQI that the gNB knows in each slot, and on which no block fails but by
    /// the configured error rate.
    Ideal(Box<Channel>),
}

/// Why a recorded trace cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A value out of its range or out of order, or a trace without values.
    #[error("{found}; expected {expected}")]
    Invalid {
        /// Line, column and value.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// The reader failed.
    #[error("line {line}: cannot read: {message}")]
    Read {
        /// Number of the line, from 1.
        line: usize,
        /// Error of the reader.
        message: String,
    },
}

impl TraceError {
    fn invalid(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Invalid { found: found.into(), expected: expected.into() }
    }

    fn read(line: usize, error: &dyn std::fmt::Display) -> Self {
        Self::Read { line, message: error.to_string() }
    }
}

/// A first line without the byte order mark that editors of Windows write.
fn without_mark(line: &str) -> &str {
    line.strip_prefix('\u{feff}').unwrap_or(line)
}

/// Whether the first line of a trace is that of a JSON document.
fn is_json(line: &str) -> bool {
    line.trim_start().starts_with(['{', '['])
}

impl Channel {
    pub(crate) fn validate(&self, max_mcs: u8) -> Result<(), ConfigError> {
        let check =
            |path: &str, mcs: u8| ensure(mcs <= max_mcs, path, mcs, format!("MCS 0 to {max_mcs}"));
        let check_all = |path: &str, values: &[u8]| {
            let mut values = values.iter().enumerate();
            values.try_for_each(|(at, mcs)| check(&format!("{path}[{at}]"), *mcs))
        };
        match self {
            Self::FixedMcs(mcs) => check("channel.mcs", *mcs),
            Self::McsSeries(series) => check_all("channel.values", series.values()),
            Self::CqiSeries(series) => series
                .cqi_to_mcs()
                .map_or(Ok(()), |mapping| check_all("channel.cqi_to_mcs", mapping)),
            Self::GaussMarkov(config) => config.validate(),
            Self::Fading(config) => config.validate(),
            Self::Mobility(chain) => check("channel.max_mcs", chain.max_mcs()),
            Self::Ideal(channel) => channel.validate(max_mcs),
            Self::Mahimahi(_) | Self::Rate(_) | Self::SnrSeries(_) => Ok(()),
        }
    }
}
