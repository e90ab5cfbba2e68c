//! The forms of a congestion control: what a kernel adds to RFC or draft, and leaves out.

use serde::{Deserialize, Serialize};

/// Whose form of a congestion control a sender has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Linux's. `cubic`, `c2tcp`: its HyStart, and at least 5 % of growth per RTT before the first
    /// reduction. `reno`, `westwood`: no HyStart; growth by acknowledged segments. `bbr`: aggregated
    /// acknowledgements in the window, a pacing margin of 1 %.
    #[default]
    Linux,
    /// That of RFC or draft. `cubic`, `c2tcp`: RFC 9438 with HyStart++ (RFC 9406). `reno`, `westwood`:
    /// RFC 5681 with HyStart++; growth by acknowledgements. `bbr`: the draft alone.
    Rfc,
}
