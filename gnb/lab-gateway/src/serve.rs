//! `gnb-lab serve`: the gateway as a process.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
};

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{
    error::ServeError,
    local_client::LocalClient,
    node::{E2Node, Recording},
    options::{LogFormat, ServeOptions},
    server::Gateway,
};

/// Threads of the gRPC side. The world has its own; together they leave a two-core machine room.
const WORKERS: usize = 2;

/// Serves the world on the wall clock until SIGINT, SIGTERM or the end of its duration.
///
/// Prints one JSON line on stdout when it is ready
/// (`{"event":"ready","listen":"127.0.0.1:41234","metrics":null}`); logs go to stderr. `start` is
/// called after the ready line, and its result is dropped before the gateway stops.
///
/// # Errors
/// When the gateway or `start` fails, or the summary or the recording cannot be written.
pub fn serve<W: E2Node, T>(
    world: W,
    recording: Option<Box<dyn Recording<W>>>,
    options: ServeOptions,
    start: impl FnOnce(LocalClient) -> Result<T, ServeError>,
) -> Result<(), ServeError> {
    log_to_stderr(options.log_format);
    if let Some(path) = &options.summary {
        check_folder(path)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("e2-gateway")
        .enable_all()
        .build()
        .map_err(|source| ServeError::System { what: "the gRPC threads", source })?;
    let summary = runtime.block_on(run(world, recording, &options, start))?;
    match &options.summary {
        Some(path) => write_summary(path, &summary),
        None => Ok(()),
    }
}

fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr);
    // A program that serves from within its own logging keeps it.
    let _ = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
}

/// Says at the start, not after a long run, that there is no place for the summary.
fn check_folder(path: &Path) -> Result<(), ServeError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::read_dir(folder)
        .map(|_| ())
        .map_err(|source| ServeError::Summary { path: path.to_owned(), source })
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
        tracing::warn!(%error, "nobody reads stdout");
    }
}

fn write_summary(path: &Path, summary: &Value) -> Result<(), ServeError> {
    fs::write(path, format!("{summary:#}\n"))
        .map_err(|source| ServeError::Summary { path: path.to_owned(), source })
}
