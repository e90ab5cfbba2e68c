//! `gnb-lab sweep`, `sweep-run` and `compare`: the program of the Python distribution `gnb-lab`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use lab_gateway::cli::Failure;

use super::machine;

/// Program that takes these commands: beside this one, else on PATH.
const PROGRAM: &str = "gnb-lab-sweeps";

/// Arguments that the other program reads.
#[derive(Args, Debug)]
pub(super) struct SweepsArgs {
    /// Those of the command: see its --help.
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Replaces this process by that program with the same arguments; returns if that fails.
pub(super) fn replace() -> Failure {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM));
    let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
    machine(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{PROGRAM}: not found beside this program or on PATH; expected the Python distribution \
             gnb-lab[sweeps] to be installed"
        ),
        _ => format!("{}: {error}", program.display()),
    })
}
