//! Capture points, where devices can be: between kernels, gNB and radio.

use std::path::PathBuf;
use std::str::FromStr;

/// A capture point, named by its side and by the direction seen from the host there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CapturePoint {
    /// What the server sends, before the gNB.
    ServerIn,
    /// What a UE sends, before the gNB.
    UeIn,
    /// Downlink packets that the UEs' PDCP delivers.
    Air,
    /// Downlink packets behind the gNB, on the way to the UE's kernel.
    UeOut,
    /// Uplink packets behind the gNB, on the way to the server's kernel.
    ServerOut,
}

impl CapturePoint {
    pub(crate) const ALL: [Self; 5] =
        [Self::ServerIn, Self::UeIn, Self::Air, Self::UeOut, Self::ServerOut];

    /// Its name in options, files and summaries.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ServerIn => "server-in",
            Self::UeIn => "ue-in",
            Self::Air => "air",
            Self::UeOut => "ue-out",
            Self::ServerOut => "server-out",
        }
    }

    /// What passes it.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::ServerIn => "sent by the server, before the gNB",
            Self::UeIn => "sent by the UE, before the gNB",
            Self::Air => "delivered by the UE's PDCP",
            Self::UeOut => "behind the gNB, to the UE",
            Self::ServerOut => "behind the gNB, to the server",
        }
    }

    /// Whether packets on it are on their way into the gNB.
    pub(crate) fn is_inbound(self) -> bool {
        matches!(self, Self::ServerIn | Self::UeIn)
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl FromStr for CapturePoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|point| point.name() == text);
        found.ok_or_else(|| format!("capture point {text:?}; expected one of {}", Self::names()))
    }
}

/// `POINT=FILE`: what passes a capture point goes to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PointFile {
    pub(crate) point: CapturePoint,
    pub(crate) path: PathBuf,
}

impl FromStr for PointFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected POINT=FILE with POINT one of {}", CapturePoint::names());
        let (point, path) = text.split_once('=').ok_or_else(expected)?;
        if path.is_empty() {
            return Err(expected());
        }
        Ok(Self { point: point.parse()?, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_point_and_a_file_are_read_and_mistakes_name_what_is_expected() {
        let parsed: PointFile = "ue-out=out/a=b.pcapng".parse().unwrap();
        assert_eq!(parsed, PointFile { point: CapturePoint::UeOut, path: "out/a=b.pcapng".into() });
        for point in CapturePoint::ALL {
            assert_eq!(point.name().parse(), Ok(point));
        }
        for (wrong, expected) in [
            ("ue-out", "expected POINT=FILE"),
            ("ue-out=", "expected POINT=FILE"),
            (
                "radio=a",
                "capture point \"radio\"; expected one of server-in, ue-in, air, ue-out, server-out",
            ),
        ] {
            let error = wrong.parse::<PointFile>().unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
