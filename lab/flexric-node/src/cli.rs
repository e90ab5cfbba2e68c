//! The command line of `flexric-node`.

use std::{net::Ipv4Addr, path::PathBuf};

use clap::{Command, CommandFactory, FromArgMatches, Parser};
use lab_gateway::cli::{LogArgs, ServeArgs};

/// The lab's gNB on the wall clock as an E2 node of a FlexRIC near-RT RIC, with RLC, MAC, KPM and TC.
/// Takes the options of `gnb-lab serve`, whose E2 gateway runs too.
#[derive(Debug, Parser)]
#[command(
    name = "flexric-node",
    version,
    args_override_self = true,
    next_help_heading = "E2 agent",
    after_help = "Example:\n  flexric-node lab/scenarios/default.yaml --ric 127.0.0.1"
)]
pub struct Cli {
    /// IPv4 address of the near-RT RIC; its port for E2 is 36421.
    #[arg(long, value_name = "ADDRESS")]
    pub ric: Ipv4Addr,

    /// FlexRIC's service models: their installation folder, or FlexRIC's build tree.
    #[arg(long, value_name = "DIR", default_value = "/usr/local/lib/flexric")]
    pub libraries: PathBuf,

    /// gNB id, instead of the lab's 0xe00. The near-RT RIC aborts if two nodes have the same id.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..1 << 28))]
    pub nb_id: Option<u32>,

    /// Write each received control message to this file, one hexadecimal line each.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub record_controls: Option<PathBuf>,

    /// Write each RLC, MAC and TC report to this file, one hexadecimal line each.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub record_reports: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub serve: ServeArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub log: LogArgs,
}

impl Cli {
    /// Parses the arguments of the process; exits on an error.
    pub fn parse_arguments() -> Self {
        Self::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// The gateway listens on a free port by default: its usual port is that of the near-RT RIC.
fn command() -> Command {
    Cli::command().mut_arg("listen", |arg| arg.default_value("127.0.0.1:0"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_help_has_groups_an_example_and_the_log_level() {
        let help = super::command().render_help().to_string();
        for expected in
            ["E2 agent:", "Scenario:", "Gateway:", "Logging:", "--log-level", "Example:"]
        {
            assert!(help.contains(expected), "{expected:?} is not in {help}");
        }
        assert!(help.contains("[default: 127.0.0.1:0]"), "{help}");
    }
}
