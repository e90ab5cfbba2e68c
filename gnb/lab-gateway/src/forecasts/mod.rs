//! The CU's own way to forecasts: it subscribes to the forecast stream of `rlc-forecaster` and hands
//! each forecast to its bearer's pacer, as a forecast feed of E2SM-TC does (style 3) that needs no
//! RIC control. A stream that stalls or ends costs nothing: pacers go by what they measure themselves
//! from one step after the last point on, and [`stream`] looks for the forecaster until it is back.

mod convert;
mod stream;

pub(super) use convert::bearer_forecasts;
pub(super) use stream::ForecastStream;

/// Generated from `interfaces/proto/forecast.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub(crate) mod proto {
    include!(concat!(env!("OUT_DIR"), "/sojourn.forecast.v1.rs"));
}

/// What became of a bearer's forecast; a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ForecastOutcome {
    /// Its pacer has it.
    Taken,
    /// Non-finite values, mismatched lengths, or an impossible bearer.
    Malformed,
    /// Of a node that is not here.
    UnknownNode,
    /// Of a bearer that is not here now.
    UnknownBearer,
    /// The pipeline would not have it: it rests on samples of the future.
    Refused,
    /// The node was too busy to take it.
    Dropped,
}

impl ForecastOutcome {
    /// Its name as a label.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Malformed => "malformed",
            Self::UnknownNode => "unknown_node",
            Self::UnknownBearer => "unknown_bearer",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}
