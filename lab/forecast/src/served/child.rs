//! The child process and its frames: u32 length of kind and body, u8 kind, body; integers are
//! little-endian (`rlc_forecaster.lockstep.frames` has the table).

use std::fmt;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::hello::Hello;
use crate::Report;

pub(super) const RLC: u8 = 0x01;
pub(super) const MAC: u8 = 0x02;
pub(super) const TC_STATUS: u8 = 0x03;
const HELLO: u8 = 0x81;
const FORECASTS: u8 = 0x82;
const ERROR: u8 = 0x8f;

const MAX_FRAME_BYTES: usize = 16 << 20;
/// Start, load of the model and measurement take a second or two; more under load.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// An inference takes microseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Length of the end of standard error that is kept.
const STDERR_BYTES: usize = 4_096;

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// `rlc-forecaster` or a substitute.
    pub command: PathBuf,
    /// Model directory.
    pub model: PathBuf,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lockstep --model {}", self.command.display(), self.model.display())
    }
}

/// Failure of a served model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServedError {
    /// It cannot be started.
    #[error("{program}: {why}")]
    NotStarted {
        /// Command.
        program: String,
        /// Error of the operating system.
        why: String,
    },
    /// It reported an error.
    #[error("{program}: {why}")]
    Refused {
        /// Command.
        program: String,
        /// Its message.
        why: String,
    },
    /// It ended.
    #[error("{program}: ended{}{}", status, suffix(stderr))]
    Ended {
        /// Command.
        program: String,
        /// ` with exit status: 1`, or empty if unknown.
        status: String,
        /// The last line on its standard error.
        stderr: String,
    },
    /// It did not answer in time.
    #[error("{program}: no answer within {} s", timeout.as_secs())]
    Timeout {
        /// Command.
        program: String,
        /// Time-out.
        timeout: Duration,
    },
    /// It sent an invalid answer.
    #[error("{program}: answered {why}")]
    Unexpected {
        /// Command.
        program: String,
        /// What it sent, and what was expected.
        why: String,
    },
    /// It serves another model than before.
    #[error("{program}: serves {now}; it was {before} with another digest when T_m was measured")]
    Changed {
        /// Command.
        program: String,
        /// Model when T_m was measured.
        before: String,
        /// Model now.
        now: String,
    },
}

fn suffix(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(": {stderr}") }
}

/// A frame, or the end of frames.
type Incoming = Result<(u8, Vec<u8>), Unread>;

/// Why no more frames can be read.
enum Unread {
    /// The pipe is closed.
    End,
    /// Not a frame.
    Malformed(String),
}

/// A running program; killed on drop.
#[derive(Debug)]
pub(super) struct Child {
    program: String,
    process: process::Child,
    to: ChildStdin,
    from: Receiver<Incoming>,
    stderr: Option<thread::JoinHandle<Vec<u8>>>,
    frame: Vec<u8>,
}

impl Child {
    /// Starts the program and waits for its hello, with T_m measured for these numbers of bearers.
    pub(super) fn start(program: &Program, measure: &[u32]) -> Result<(Self, Hello), ServedError> {
        let name = program.to_string();
        let failed = |why: String| ServedError::NotStarted { program: name.clone(), why };
        let mut command = Command::new(&program.command);
        command.arg("lockstep").arg("--model").arg(&program.model).arg("--measure");
        command.args(measure.iter().map(u32::to_string));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C must reach this process only, which ends the child.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn().map_err(|error| failed(error.to_string()))?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(to), Some(out), Some(err)) = pipes else {
            return Err(failed("has no pipes".to_owned()));
        };
        let (sender, from) = mpsc::channel();
        thread::spawn(move || {
            let mut out = BufReader::new(out);
            loop {
                let incoming = read(&mut out);
                let is_last = incoming.is_err();
                if sender.send(incoming).is_err() || is_last {
                    return;
                }
            }
        });
        let stderr = Some(thread::spawn(move || tail(err)));
        let mut child = Self { program: name, process, to, from, stderr, frame: Vec::new() };
        let hello = child.receive(HELLO, HELLO_TIMEOUT)?;
        let hello: Hello = serde_json::from_slice(&hello)
            .map_err(|error| child.unexpected(format!("an invalid hello: {error}")))?;
        hello.validate().map_err(|why| child.unexpected(why))?;
        Ok((child, hello))
    }

    /// Sends a report; returns the answer, which only RLC reports have.
    pub(super) fn send_report(&mut self, report: &Report) -> Result<Option<Vec<u8>>, ServedError> {
        let Some(kind) = report.frame_kind() else { return Ok(None) };
        let length = 1 + size_of::<u64>() + report.message.len();
        self.frame.clear();
        self.frame.extend_from_slice(&(length as u32).to_le_bytes());
        self.frame.push(kind);
        self.frame.extend_from_slice(&report.collected_at_us.to_le_bytes());
        self.frame.extend_from_slice(&report.message);
        // After a failed write `receive` returns the reason.
        let failed = self.to.write_all(&self.frame).and_then(|()| self.to.flush()).is_err();
        if kind == RLC || failed {
            return self.receive(FORECASTS, ANSWER_TIMEOUT).map(Some);
        }
        Ok(None)
    }

    pub(super) fn unexpected(&self, why: String) -> ServedError {
        ServedError::Unexpected { program: self.program.clone(), why }
    }

    fn receive(&mut self, expected: u8, timeout: Duration) -> Result<Vec<u8>, ServedError> {
        match self.from.recv_timeout(timeout) {
            Ok(Ok((kind, body))) if kind == expected => Ok(body),
            Ok(Ok((ERROR, body))) => Err(self.refused(&body)),
            Ok(Ok((kind, _))) => {
                Err(self
                    .unexpected(format!("a frame of kind {kind:#04x}; expected {expected:#04x}")))
            }
            Ok(Err(Unread::Malformed(why))) => Err(self.unexpected(why)),
            Ok(Err(Unread::End)) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => {
                Err(ServedError::Timeout { program: self.program.clone(), timeout })
            }
        }
    }

    fn refused(&self, body: &[u8]) -> ServedError {
        let report = serde_json::from_slice::<serde_json::Value>(body).ok();
        match report.as_ref().and_then(|report| report.get("error")?.as_str()) {
            Some(why) => {
                ServedError::Refused { program: self.program.clone(), why: why.to_owned() }
            }
            None => self.unexpected("an error frame without a message".to_owned()),
        }
    }

    fn ended(&mut self) -> ServedError {
        // It may have closed its standard output without exiting.
        let _ = self.process.kill();
        let status = self.process.wait();
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr);
        let last_line = stderr.lines().rfind(|line| !line.trim().is_empty());
        ServedError::Ended {
            program: self.program.clone(),
            status: status.map_or_else(|_| String::new(), |status| format!(" with {status}")),
            stderr: last_line.unwrap_or_default().to_owned(),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read(out: &mut BufReader<ChildStdout>) -> Incoming {
    let mut head = [0; 5];
    out.read_exact(&mut head).map_err(|_| Unread::End)?;
    let [a, b, c, d, kind] = head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if !(1..=MAX_FRAME_BYTES).contains(&length) || ![HELLO, FORECASTS, ERROR].contains(&kind) {
        let shown = String::from_utf8_lossy(&head).into_owned();
        return Err(Unread::Malformed(format!(
            "{shown:?}, the head of a frame of {length} bytes and kind {kind:#04x}"
        )));
    }
    let mut body = vec![0; length - 1];
    out.read_exact(&mut body).map_err(|_| Unread::End)?;
    Ok((kind, body))
}

/// The last bytes until the end of the stream.
fn tail(mut from: ChildStderr) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut part = [0; 1_024];
    while let Ok(read @ 1..) = from.read(&mut part) {
        kept.extend_from_slice(&part[..read]);
        let surplus = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..surplus);
    }
    kept
}
