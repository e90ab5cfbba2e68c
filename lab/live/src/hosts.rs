//! The hosts of a run: the sides and the user's commands on them.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::LiveOptions;
use crate::error::LiveError;
use crate::net::{Side, Tun};
use crate::process::{Ground, Process, exit_code, shell};
use crate::table::FlowTable;

/// Time for the server's command to open a socket.
const SERVER_READY: Duration = Duration::from_secs(2);

/// The server side, and the UEs' with their RNTIs.
pub(crate) struct Hosts {
    server: Side,
    ues: Vec<(u16, Side)>,
}

impl Hosts {
    /// Makes the sides: namespaces, devices, addresses, routes.
    pub(crate) fn new(table: &FlowTable, mtu_bytes: u32) -> Result<Self, LiveError> {
        Ok(Self {
            server: Side::server(mtu_bytes)?,
            ues: table
                .rntis()
                .map(|rnti| Ok((rnti, Side::ue(rnti, mtu_bytes)?)))
                .collect::<Result<_, LiveError>>()?,
        })
    }

    /// The device of the server, and those of the UEs in their order.
    pub(crate) fn devices(&self) -> (Arc<Tun>, Vec<Arc<Tun>>) {
        let ues = self.ues.iter().map(|(_, side)| Arc::clone(&side.tun)).collect();
        (Arc::clone(&self.server.tun), ues)
    }

    /// Runs the commands until COMMAND or the user ends them, or the `world` ends; ends what still
    /// runs. Returns the exit code of COMMAND.
    pub(crate) async fn run(
        &self,
        args: &LiveOptions,
        world: impl Future<Output = ()>,
    ) -> Result<u8, LiveError> {
        let mut others = Vec::new();
        if let Some(command) = &args.server {
            let mut server = self.start(&self.server, &shell(command), Ground::Background)?;
            server.listening(SERVER_READY).await;
            others.push(server);
        }
        for own in &args.ue {
            let side = self.ues.iter().find(|(rnti, _)| *rnti == own.rnti);
            if let Some((_, side)) = side {
                others.push(self.start(side, &shell(&own.command), Ground::Background)?);
            }
        }
        let result = self.foreground(args, world).await;
        for other in &mut others {
            // Their exit codes are theirs to report.
            let _ = other.stop(Signal::SIGTERM).await;
        }
        result
    }

    async fn foreground(
        &self,
        args: &LiveOptions,
        world: impl Future<Output = ()>,
    ) -> Result<u8, LiveError> {
        let listen_for = |kind| signal(kind).map_err(LiveError::setup("signal handlers"));
        let mut interrupt = listen_for(SignalKind::interrupt())?;
        let mut terminate = listen_for(SignalKind::terminate())?;
        let mut hangup = listen_for(SignalKind::hangup())?;
        let mut world = pin!(world);
        let Some((_, ue)) = self.ues.first() else { return Ok(0) };
        let arguments = if args.command.is_empty() {
            vec![std::env::var_os("SHELL").unwrap_or_else(|| "sh".into())]
        } else {
            args.command.clone()
        };
        let mut command = self.start(ue, &arguments, Ground::Foreground)?;
        // At a terminal Ctrl-C reaches the command as well, and what it does then is its own affair.
        let is_terminal = std::io::stdin().is_terminal();
        let status = loop {
            tokio::select! {
                status = command.wait() => break status,
                () = &mut world => break command.stop(Signal::SIGTERM).await,
                _ = interrupt.recv() => if !is_terminal { break command.stop(Signal::SIGINT).await },
                _ = terminate.recv() => break command.stop(Signal::SIGTERM).await,
                _ = hangup.recv() => break command.stop(Signal::SIGHUP).await,
            }
        };
        let failed = |source| LiveError::Command { command: format!("{arguments:?}"), source };
        Ok(exit_code(status.map_err(failed)?))
    }

    /// Starts a command on a side; it finds the addresses in its environment.
    fn start(
        &self,
        side: &Side,
        arguments: &[OsString],
        ground: Ground,
    ) -> Result<Process, LiveError> {
        let mut environment = vec![
            ("SOJOURN_SERVER", self.server.address.to_string()),
            ("SOJOURN_SERVER_V6", self.server.address_v6.to_string()),
        ];
        let is_ue = |(_, ue): &&(u16, Side)| Arc::ptr_eq(&ue.tun, &side.tun);
        if let Some((_, ue)) = self.ues.iter().find(is_ue).or(self.ues.first()) {
            environment.push(("SOJOURN_UE", ue.address.to_string()));
            environment.push(("SOJOURN_UE_V6", ue.address_v6.to_string()));
        }
        Process::start(&side.namespace, arguments, &environment, ground)
    }
}
