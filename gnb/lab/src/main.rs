//! `gnb-lab`, the command line; see [`gnb_lab::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    gnb_lab::cli::main()
}
