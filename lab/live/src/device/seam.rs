//! Where devices can be: the seams between kernels, gNB and radio.

use std::path::PathBuf;
use std::str::FromStr;

/// A seam, named by its side and by the direction seen from the host there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seam {
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

impl Seam {
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

impl FromStr for Seam {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|seam| seam.name() == text);
        found.ok_or_else(|| format!("seam {text:?}; expected one of {}", Self::names()))
    }
}

/// `SEAM=FILE`: what passes a seam goes to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeamFile {
    pub(crate) seam: Seam,
    pub(crate) path: PathBuf,
}

impl FromStr for SeamFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected SEAM=FILE with SEAM one of {}", Seam::names());
        let (seam, path) = text.split_once('=').ok_or_else(expected)?;
        if path.is_empty() {
            return Err(expected());
        }
        Ok(Self { seam: seam.parse()?, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_and_a_file_are_read_and_mistakes_name_what_is_expected() {
        let parsed: SeamFile = "ue-out=out/a=b.pcapng".parse().unwrap();
        assert_eq!(parsed, SeamFile { seam: Seam::UeOut, path: "out/a=b.pcapng".into() });
        for seam in Seam::ALL {
            assert_eq!(seam.name().parse(), Ok(seam));
        }
        for (wrong, expected) in [
            ("ue-out", "expected SEAM=FILE"),
            ("ue-out=", "expected SEAM=FILE"),
            (
                "radio=a",
                "seam \"radio\"; expected one of server-in, ue-in, air, ue-out, server-out",
            ),
        ] {
            let error = wrong.parse::<SeamFile>().unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
