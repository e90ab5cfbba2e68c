//! `gnb-lab compare`: recorded runs side by side.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use lab_gateway::cli::Failure;
use lab_sweep::{Comparison, compare};

use super::sweep::failure;
use super::{machine, print_line};

/// Arguments of `gnb-lab compare`.
#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// Folders of runs and of sweeps; the others are compared with the first. Runs of a sweep that
    /// differ in their seed alone count as one, with mean and confidence interval.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    /// Write all measures as a JSON array.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write plots and tables as a page without external resources.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
}

/// Prints the tables and writes the files.
pub(super) fn compare_runs(args: &CompareArgs) -> Result<(), Failure> {
    let comparison = Comparison::read(&args.runs).map_err(failure)?;
    for warning in &comparison.warnings {
        tracing::warn!("{warning}");
    }
    print_line(&compare::text(&comparison))?;
    if let Some(path) = &args.json {
        write(path, &compare::json(&comparison))?;
    }
    if let Some(path) = &args.html {
        write(path, &compare::page(&comparison))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| machine(format!("{}: {error}", path.display())))
}
