//! One run: sides, gateway, commands, end.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use lab_gateway::cli::Failure;
use lab_gateway::{Gateway, Recording, ServeError, check_summary_folder, set_nice, write_summary};
use lab_scenario::LoadedScenario;
use lab_world::World;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::args::LiveOptions;
use crate::datapath::Datapath;
use crate::device::{CapturePoints, FaultSpec};
use crate::error::LiveError;
use crate::hosts::Hosts;
use crate::inbox::Inbox;
use crate::net::allow_namespaces;
use crate::node::LiveNode;
use crate::packets::{FileSummary, RunFacts, set_up};
use crate::reader::{ReadCounts, Reader};
use crate::relay::Relay;
use crate::summary::LiveSummary;
use crate::table::FlowTable;
use crate::writer::Writer;

/// UEs with a namespace.
const MAX_UES: usize = 256;
/// Threads of the gateway; the world and the reader have their own.
const WORKERS: usize = 1;

/// Runs until COMMAND ends, the duration is over, or a signal; returns the exit code of COMMAND.
///
/// `record` starts a recording in the folder of `--out`; `print` shows the summary to the user. Call it
/// before any thread starts: as another user than root it enters a user namespace.
///
/// # Errors
/// Invalid input or a system error.
pub fn run<R: Recording<LiveNode>>(
    loaded: &LoadedScenario,
    args: &LiveOptions,
    record: impl FnOnce(&Path, &mut LiveNode) -> Result<R, Failure>,
    print: impl FnOnce(&LiveSummary),
) -> Result<ExitCode, Failure> {
    check_summary_folder(&args.gateway)?;
    let world = World::new(loaded)?;
    let table = FlowTable::new(&world.host_flows());
    check_ues(args, &table, &loaded.file)?;
    let facts = RunFacts {
        seed: loaded.scenario.seed,
        rntis: table.rntis().collect(),
        flows: world.flows().map(|(name, ..)| name.into()).collect(),
    };
    allow_namespaces()?;
    let hosts = Hosts::new(&table, args.mtu)?;
    if args.relay {
        let (server, ues) = hosts.devices();
        let _relay = Relay::start(server, ues, table)?;
        let code = runtime()?.block_on(hosts.run(args, std::future::pending()))?;
        return Ok(ExitCode::from(code));
    }
    set_nice(&args.gateway);
    let (points, mut files) = set_up(&args.packets, &facts)?;
    let checks = args.packets.fault.iter().any(FaultSpec::corrupts);
    let (mut node, reader) = between(&hosts, world, table, points, checks)?;
    let latest = node.latest_summary();
    let recording = match &args.out {
        Some(folder) => Some(Box::new(record(folder, &mut node)?) as Box<dyn Recording<LiveNode>>),
        None => None,
    };
    let (code, summary) = runtime()?.block_on(carry(node, recording, &hosts, args))?;
    drop(reader);
    let summary = with_files(summary, &latest, files.finish());
    write_summary(args.gateway.summary.as_deref(), &summary)?;
    if let Some(summary) = &*latest.lock() {
        print(summary);
    }
    summary?;
    Ok(ExitCode::from(code))
}

fn runtime() -> Result<Runtime, LiveError> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("e2-gateway")
        .enable_all()
        .build()
        .map_err(LiveError::setup("the gateway's threads"))
}

/// The summary of a run with what its files have, which is known only now.
fn with_files(
    summary: Result<Value, ServeError>,
    latest: &Mutex<Option<LiveSummary>>,
    files: Vec<FileSummary>,
) -> Result<Value, ServeError> {
    let mut latest = latest.lock();
    let Some(latest) = &mut *latest else { return summary };
    latest.live.files = files;
    summary.map(|json| latest.to_json().unwrap_or(json))
}

/// The world between the hosts' devices, and the thread that reads them. Packets may have wrong checksums
/// if `checks`.
fn between(
    hosts: &Hosts,
    world: World,
    table: FlowTable,
    points: CapturePoints,
    checks: bool,
) -> Result<(LiveNode, Reader), LiveError> {
    let (server, ues) = hosts.devices();
    let inbox = Arc::new(Inbox::default());
    let counts = Arc::new(ReadCounts::default());
    let writers = ues.iter().map(|tun| Writer::new(Arc::clone(tun), checks)).collect();
    let to_server = Writer::new(Arc::clone(&server), checks);
    let datapath = Datapath::new(&table, Arc::clone(&inbox), points, to_server, writers);
    let node = LiveNode::new(world, datapath, Arc::clone(&counts));
    Ok((node, Reader::start(server, ues, table, inbox, counts)?))
}

fn check_ues(args: &LiveOptions, table: &FlowTable, file: &str) -> Result<(), LiveError> {
    let found = table.rntis().count();
    if found > MAX_UES {
        return Err(LiveError::TooManyUes { file: file.to_owned(), found, most: MAX_UES });
    }
    let unknown = args.ue.iter().find(|own| !table.rntis().any(|rnti| rnti == own.rnti));
    unknown.map_or(Ok(()), |own| {
        let known = table.rntis().map(|rnti| rnti.to_string()).collect::<Vec<_>>().join(", ");
        Err(LiveError::UnknownUe { rnti: own.rnti, known })
    })
}

/// Runs the commands over the paced world; the exit code of COMMAND and the summary of the run.
async fn carry(
    node: LiveNode,
    recording: Option<Box<dyn Recording<LiveNode>>>,
    hosts: &Hosts,
    args: &LiveOptions,
) -> Result<(u8, Result<Value, ServeError>), LiveError> {
    let mut gateway = Gateway::start_recorded(node, recording, &args.gateway).await?;
    let listen = gateway.address().to_string();
    let metrics = gateway.metrics_address().map(|address| address.to_string());
    tracing::info!(listen, metrics, "the E2 gateway is open");
    let result = hosts.run(args, gateway.ended()).await;
    let summary = gateway.stop().await;
    Ok((result?, summary))
}
