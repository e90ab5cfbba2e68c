//! `flexric-node`: the lab's gNB, paced to the wall clock, as an E2 node of a FlexRIC near-RT RIC.

use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory, FromArgMatches, Parser};
use flexric_node::{
    agent::{Agent, Identity},
    libraries,
    message_log::{MessageLog, MessageLogs},
    node::Node,
    recording::CsvRecording,
};
use lab_gateway::{
    LocalClient, ServeError,
    cli::{self, Failure, ServeArgs},
};
use lab_world::{NodeInfo, World};
use tempfile::TempDir;

/// Digits of the lab's mobile network code.
const MNC_DIGITS: u8 = 2;

/// The lab's gNB, paced to the wall clock, as an E2 node of a FlexRIC near-RT RIC: RLC, MAC, KPM and
/// TC. The options of `gnb-lab serve` hold as well; its E2 gateway is open beside.
#[derive(Debug, Parser)]
#[command(name = "flexric-node", version)]
struct Cli {
    /// IPv4 address of the near-RT RIC; its port for E2 is 36421.
    #[arg(long, value_name = "ADDRESS")]
    ric: Ipv4Addr,

    /// FlexRIC's service models: the folder they are installed in, or FlexRIC's build tree.
    #[arg(long, value_name = "DIR", default_value = "/usr/local/lib/flexric")]
    libraries: PathBuf,

    /// gNB id, in place of the lab's 0xe00. Two nodes of one id make the near-RT RIC abort.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..1 << 28))]
    nb_id: Option<u32>,

    /// Write each control message that comes in to this file, as a line of hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    record_controls: Option<PathBuf>,

    /// Write each report of RLC, MAC and TC to this file, as a line of hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    record_reports: Option<PathBuf>,

    #[command(flatten)]
    serve: ServeArgs,
}

impl Cli {
    /// The gateway beside takes any free port: the lab's own is that of the RIC.
    fn parse_arguments() -> Self {
        let command = Self::command().mut_arg("listen", |arg| arg.default_value("127.0.0.1:0"));
        Self::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
    }
}

fn main() -> ExitCode {
    cli::exit_code("flexric-node", run(Cli::parse_arguments()))
}

fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { ric, libraries, nb_id, record_controls, record_reports, serve } = cli;
    let models = TempDir::with_prefix("flexric-node-").map_err(|error| {
        Failure::Machine(format!("no temporary folder for links to service models: {error}"))
    })?;
    let path = libraries::gather(&libraries, models.path(), libraries::as_compiled)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let logs = MessageLogs {
        controls: log("--record-controls", record_controls.as_deref())?,
        reports: log("--record-reports", record_reports.as_deref())?,
    };
    let record =
        |folder: &Path, world: &mut World| CsvRecording::begin(folder, &cli::command_line(), world);
    cli::serve_scenario(serve, record, |client, node| {
        let agent = start(client, node, logs, nb_id, ric, &path);
        // They are loaded, and a node that is killed leaves no folder behind.
        drop(models);
        agent
    })
}

fn log(option: &str, path: Option<&Path>) -> Result<Option<MessageLog>, Failure> {
    let Some(path) = path else { return Ok(None) };
    MessageLog::create(path).map(Some).map_err(|error| {
        Failure::Input(format!("{option} {}: cannot write: {error}", path.display()))
    })
}

fn start(
    client: LocalClient,
    info: &NodeInfo,
    logs: MessageLogs,
    nb_id: Option<u32>,
    ric: Ipv4Addr,
    libraries: &str,
) -> Result<Agent, ServeError> {
    // FlexRIC prints what it does on stdout, where the ready line was: whoever waited for that does
    // not read on.
    rustix::stdio::dup2_stdout(std::io::stderr())
        .map_err(|error| ServeError::System { what: "stdout", source: error.into() })?;
    let failed = |error: &dyn std::error::Error| ServeError::Component(error.to_string());
    let identity = identity(info, nb_id)?;
    let node = Node::new(client, &info.id, logs).map_err(|error| failed(&error))?;
    let agent = Agent::start(node, identity, ric, libraries).map_err(|error| failed(&error))?;
    tracing::info!(%ric, ?identity, "E2 SETUP is on its way to the near-RT RIC");
    Ok(agent)
}

fn identity(info: &NodeInfo, nb_id: Option<u32>) -> Result<Identity, ServeError> {
    let out_of_range =
        |what: &str| ServeError::Component(format!("{what} of {info:?} is out of range"));
    Ok(Identity {
        mcc: u16::try_from(info.mcc).map_err(|_| out_of_range("mcc"))?,
        mnc: u16::try_from(info.mnc).map_err(|_| out_of_range("mnc"))?,
        mnc_digits: MNC_DIGITS,
        nb_id: match nb_id {
            Some(nb_id) => nb_id,
            None => u32::try_from(info.nb_id).map_err(|_| out_of_range("nb_id"))?,
        },
    })
}
