//! What `run` and `sweep` write of a run.

use clap::Args;
use lab_recording::{Contents, Format};

/// Formats of tables, and which there are.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct ContentsArgs {
    /// Formats of the tables, separated by commas: parquet, csv, json, and flent for a data file that
    /// flent plots.
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', default_value = "parquet")]
    format: Vec<Format>,

    /// Also write the table packets: a row per downlink packet.
    #[arg(long)]
    packets: bool,
}

impl ContentsArgs {
    /// Each format once, in a fixed order.
    pub(super) fn contents(&self) -> Contents {
        let mut formats = self.format.clone();
        formats.sort_unstable();
        formats.dedup();
        Contents { formats, packets: self.packets }
    }
}
