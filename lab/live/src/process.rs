//! The user's commands, each in a namespace.
#![allow(unsafe_code, reason = "a hook between fork and exec; it states why it is sound")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::sync::oneshot;

use crate::error::LiveError;
use crate::net::Namespace;

/// Time for a command to end after a signal.
const GRACE: Duration = Duration::from_secs(3);
/// Period of looking at the sockets of a command.
const SOCKET_CHECK: Duration = Duration::from_millis(5);

/// Whether a command shares the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// It is of this process's group and gets what the user types, Ctrl-C too.
    Foreground,
    /// It leads a group of its own and reads nothing.
    Background,
}

/// A running command.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    pid: Pid,
    ground: Ground,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
}

impl Process {
    /// Starts a command in a namespace. It gets a SIGKILL if this process dies, however that happens.
    pub(crate) fn start(
        namespace: &Arc<Namespace>,
        arguments: &[OsString],
        environment: &[(&'static str, String)],
        ground: Ground,
    ) -> Result<Self, LiveError> {
        let name = arguments.iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let failed = |source| LiveError::Command { command: name.clone(), source };
        let [program, rest @ ..] = arguments else {
            return Err(failed(io::Error::from(io::ErrorKind::InvalidInput)));
        };
        let mut command = Command::new(program);
        command.args(rest).envs(environment.iter().map(|(key, value)| (key, value)));
        if ground == Ground::Background {
            command.process_group(0).stdin(std::process::Stdio::null());
        }
        // SAFETY: the hook makes one system call, which is async-signal-safe, and touches no memory.
        unsafe {
            command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?));
        }
        let (started, start) = std::sync::mpsc::channel();
        let (send, ended) = oneshot::channel();
        let namespace = Arc::clone(namespace);
        // The signal at a parent's death is for that of the thread that forked, so it waits.
        let run = move || {
            let child = namespace.enter().and_then(|()| command.spawn());
            match child {
                Ok(mut child) => {
                    let _ = started.send(Ok(child.id()));
                    let _ = send.send(child.wait());
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        };
        thread::Builder::new().name("command".to_owned()).spawn(run).map_err(failed)?;
        let gone = || io::Error::other("the command's thread ended");
        let id = start.recv().map_err(|_| failed(gone()))?.map_err(failed)?;
        Ok(Self { pid: Pid::from_raw(id as i32), name, ground, ended })
    }

    /// Waits for its end.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        (&mut self.ended)
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the command's thread ended")))
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        // Fails only when it has ended.
        let _ = match self.ground {
            Ground::Foreground => kill(self.pid, signal),
            Ground::Background => killpg(self.pid, signal),
        };
    }

    /// Ends it: by `signal`, and by SIGKILL if that takes too long.
    pub(crate) async fn stop(&mut self, signal: Signal) -> io::Result<ExitStatus> {
        self.signal(signal);
        match tokio::time::timeout(GRACE, self.wait()).await {
            Ok(status) => status,
            Err(_) => {
                tracing::warn!(command = self.name, "is killed: it did not end after {signal}");
                self.signal(Signal::SIGKILL);
                self.wait().await
            }
        }
    }

    /// Waits until it has opened a socket for others to connect to, has ended, or `limit` has passed.
    pub(crate) async fn listening(&mut self, limit: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < limit && !has_open_socket(self.pid) && self.ended.is_empty() {
            tokio::time::sleep(SOCKET_CHECK).await;
        }
    }
}

/// Whether a TCP socket listens or a UDP socket is bound in the namespace of a process.
fn has_open_socket(pid: Pid) -> bool {
    /// State of listening TCP sockets in /proc/net/tcp.
    const LISTEN: &str = "0A";
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let is_open =
            |line: &str| table.starts_with("udp") || line.split_whitespace().nth(3) == Some(LISTEN);
        text.lines().skip(1).any(is_open)
    })
}

/// A command line for `sh -c`.
pub(crate) fn shell(command: &str) -> Vec<OsString> {
    [OsStr::new("sh"), OsStr::new("-c"), OsStr::new(command)].map(OsStr::to_owned).to_vec()
}

/// The exit code of a command as a shell gives it: that of its exit, or 128 and its signal.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).map_or(1, |code| code as u8)
}
