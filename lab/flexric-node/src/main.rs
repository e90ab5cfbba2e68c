//! `flexric-node`: the lab's gNB, paced to the wall clock, as an E2 node of a FlexRIC near-RT RIC.

use std::{net::Ipv4Addr, path::Path, process::ExitCode};

use flexric_node::{
    agent::{Agent, Identity},
    cli::Cli,
    libraries,
    message_log::{MessageLog, MessageLogs},
    node::Node,
    recording::CsvRecording,
};
use lab_gateway::{
    LocalClient, ServeError,
    cli::{Failure, exit_code, serve_scenario},
};
use lab_world::{NodeInfo, RanFunction};
use tempfile::TempDir;

/// Digits of the lab's MNC.
const MNC_DIGITS: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse_arguments();
    cli.log.start();
    exit_code("flexric-node", run(cli))
}

fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { ric, libraries, nb_id, record_controls, record_reports, serve, log: _ } = cli;
    let models = TempDir::with_prefix("flexric-node-").map_err(|error| {
        Failure::Machine(format!(
            "cannot create a temporary folder for links to service models: {error}"
        ))
    })?;
    let path = libraries::gather(&libraries, models.path(), libraries::as_compiled)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let logs = MessageLogs {
        controls: log("--record-controls", record_controls.as_deref())?,
        reports: log("--record-reports", record_reports.as_deref())?,
    };
    serve_scenario("flexric-node", serve, CsvRecording::begin, |client, node| {
        let agent = start(client, node, logs, nb_id, ric, &path);
        // The service models are loaded; a killed node must not leave the folder behind.
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
    // FlexRIC prints to stdout, which only carries the ready line.
    rustix::stdio::dup2_stdout(std::io::stderr())
        .map_err(|error| ServeError::System { what: "stdout", source: error.into() })?;
    let failed = |error: &dyn std::error::Error| ServeError::Component(error.to_string());
    let identity = identity(info, nb_id)?;
    let tc = info.ran_functions.iter().find(|served| served.function == RanFunction::TcV1);
    let definition = tc.map(|served| served.definition.clone()).unwrap_or_default();
    let node = Node::new(client, &info.id, definition, logs).map_err(|error| failed(&error))?;
    let agent = Agent::start(node, identity, ric, libraries).map_err(|error| failed(&error))?;
    tracing::info!(%ric, ?identity, "E2 setup started");
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
