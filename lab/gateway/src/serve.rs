//! `gnb-lab serve`: the gateway as a process.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    error::ServeError,
    local_client::LocalClient,
    node::{E2Node, Recording},
    options::ServeOptions,
    server::Gateway,
};

/// Most gRPC threads.
const MAX_WORKERS: usize = 2;
/// Tasks that a thread runs before it looks for events of sockets: in a flood of calls a report or a
/// control waits for this many.
const EVENT_INTERVAL: u32 = 8;

/// Serves the world on the wall clock until SIGINT, SIGTERM or the end of its duration.
///
/// Prints one JSON line on stdout when it is ready
/// (`{"event":"ready","listen":"127.0.0.1:41234","metrics":null}`); logs go to stderr. `start` is
/// called after the ready line, and its result is dropped before the gateway stops.
///
/// # Errors
/// When the gateway or `start` fails, or the summary or the recording cannot be written. The summary
/// is written even if the recording failed.
pub fn serve<W: E2Node, T>(
    world: W,
    recording: Option<Box<dyn Recording<W>>>,
    options: ServeOptions,
    start: impl FnOnce(LocalClient) -> Result<T, ServeError>,
) -> Result<(), ServeError> {
    check_summary_folder(&options)?;
    set_nice(&options);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .event_interval(EVENT_INTERVAL)
        .thread_name("e2-gateway")
        .enable_all()
        .build()
        .map_err(|source| ServeError::System { what: "the gRPC threads", source })?;
    let result = runtime.block_on(run(world, recording, &options, start));
    write_summary(options.summary.as_deref(), &result)?;
    result.map(drop)
}

/// Sets the nice value of `--nice` for this thread, which those to come inherit; a warning if that is not
/// permitted.
pub fn set_nice(options: &ServeOptions) {
    let Some(nice) = options.nice else { return };
    if let Err(error) = rustix::process::setpriority_process(None, nice) {
        let present = rustix::process::getpriority_process(None).unwrap_or_default();
        tracing::warn!(
            nice,
            present,
            %error,
            "--nice is not permitted; expected the present value or more, CAP_SYS_NICE, or a limit"
        );
    }
}

/// Writes the summary of a run, if there is one, to the file of `--summary`.
///
/// # Errors
/// The file cannot be written.
pub fn write_summary(
    path: Option<&Path>,
    result: &Result<Value, ServeError>,
) -> Result<(), ServeError> {
    if let Some(path) = path
        && let Ok(summary) | Err(ServeError::Recording { summary, .. }) = result
    {
        fs::write(path, format!("{summary:#}\n"))
            .map_err(|source| ServeError::Summary { path: path.to_owned(), source })?;
    }
    Ok(())
}

/// Fails at the start, not after a long run, if the folder of `--summary` does not exist.
///
/// # Errors
/// The folder cannot be read.
pub fn check_summary_folder(options: &ServeOptions) -> Result<(), ServeError> {
    let Some(path) = &options.summary else { return Ok(()) };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::read_dir(folder)
        .map(|_| ())
        .map_err(|source| ServeError::Summary { path: path.to_owned(), source })
}

/// gRPC threads beside the world's on this machine. On two cores it is one: a second would be woken for each
/// report to look for work, where the world, the first or the reader would run.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.saturating_sub(1).clamp(1, MAX_WORKERS)
}

async fn run<W: E2Node, T>(
    world: W,
    recording: Option<Box<dyn Recording<W>>>,
    options: &ServeOptions,
    start: impl FnOnce(LocalClient) -> Result<T, ServeError>,
) -> Result<Value, ServeError> {
    let mut interrupt = listen_for(SignalKind::interrupt())?;
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut gateway = Gateway::start_recorded(world, recording, options).await?;
    announce(&gateway);
    let component = tokio::task::block_in_place(|| start(gateway.local()))?;
    let reason = tokio::select! {
        () = gateway.ended() => "the world ended",
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    };
    tracing::info!(reason, "stopping");
    tokio::task::block_in_place(|| drop(component));
    gateway.stop().await
}

fn listen_for(kind: SignalKind) -> Result<Signal, ServeError> {
    signal(kind).map_err(|source| ServeError::System { what: "signal handlers", source })
}

fn announce(gateway: &Gateway) {
    let listen = gateway.address().to_string();
    let metrics = gateway.metrics_address().map(|address| address.to_string());
    tracing::info!(listen, metrics, "the E2 gateway is open");
    let line = json!({ "event": "ready", "listen": listen, "metrics": metrics });
    let mut stdout = io::stdout().lock();
    if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        tracing::warn!(%error, "the ready line was not written to stdout");
    }
}
