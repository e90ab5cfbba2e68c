//! File formats of a run's tables.

use std::fmt;
use std::str::FromStr;

/// A format in which a run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
    /// A JSON array of objects, one per line.
    Json,
    /// A data file of flent, version 4, for its plots and its GUI.
    Flent,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Parquet, Self::Csv, Self::Json, Self::Flent];

    /// Name on the command line; of tables also the extension of the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Flent => "flent",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("'{text}': no such format; expected one of {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_format_is_refused_with_the_known_ones() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "xlsx".parse::<Format>().unwrap_err();
        assert_eq!(error, "'xlsx': no such format; expected one of parquet, csv, json, flent");
    }
}
