//! The program at the other end of the pipe, and the frames between: u32 length of what follows, u8
//! kind, body; integers little-endian (`rlc_forecaster.lockstep.frames` has the table).

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
/// Starting, loading a model and measuring it takes a second or two; a busy machine a multiple.
const HELLO_WITHIN: Duration = Duration::from_secs(60);
/// A step is microseconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// Of what it says on standard error, the end is kept.
const STDERR_BYTES: usize = 4_096;

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// `rlc-forecaster`, or what stands for it.
    pub command: PathBuf,
    /// Model directory.
    pub model: PathBuf,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lockstep --model {}", self.command.display(), self.model.display())
    }
}

/// Why there is no model in the loop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServedError {
    /// It cannot be started.
    #[error("{program}: {why}")]
    NotStarted {
        /// What was started.
        program: String,
        /// What the system says.
        why: String,
    },
    /// It said why it cannot go on.
    #[error("{program}: {why}")]
    Refused {
        /// What was started.
        program: String,
        /// Its own words.
        why: String,
    },
    /// It ended.
    #[error("{program}: ended{}{}", status, last_words(said))]
    Ended {
        /// What was started.
        program: String,
        /// How, ` with exit status: 1` or nothing.
        status: String,
        /// The last line on its standard error.
        said: String,
    },
    /// It says nothing.
    #[error("{program}: no answer within {} s", within.as_secs())]
    Silent {
        /// What was started.
        program: String,
        /// How long was waited.
        within: Duration,
    },
    /// It says what it should not.
    #[error("{program}: answered {why}")]
    Garbage {
        /// What was started.
        program: String,
        /// What it said, and what was expected.
        why: String,
    },
    /// It is another than that which was asked before.
    #[error("{program}: serves {now}; it was {before} with another digest when T_m was measured")]
    Changed {
        /// What was started.
        program: String,
        /// Model of before.
        before: String,
        /// Model of now.
        now: String,
    },
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

/// What the thread that reads its answers has read.
type Incoming = Result<(u8, Vec<u8>), Unread>;

/// Why nothing can be read any more.
enum Unread {
    /// The pipe is closed.
    End,
    /// No frame.
    NoFrame(String),
}

/// A running program. It ends when this is dropped.
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
    /// Starts the program and waits for its hello, with T_m measured for so many bearers.
    pub(super) fn start(program: &Program, measure: &[u32]) -> Result<(Self, Hello), ServedError> {
        let name = program.to_string();
        let failed = |why: String| ServedError::NotStarted { program: name.clone(), why };
        let mut command = Command::new(&program.command);
        command.arg("lockstep").arg("--model").arg(&program.model).arg("--measure");
        command.args(measure.iter().map(u32::to_string));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for this program, which ends that one by closing the pipe.
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
        let hello = child.receive(HELLO, HELLO_WITHIN)?;
        let hello: Hello = serde_json::from_slice(&hello)
            .map_err(|error| child.garbage(format!("a hello that is none: {error}")))?;
        match hello.complaint() {
            None => Ok((child, hello)),
            Some(why) => Err(child.garbage(why)),
        }
    }

    /// Hands it an indication; the answer, to an RLC report.
    pub(super) fn hand(&mut self, report: &Report) -> Result<Option<Vec<u8>>, ServedError> {
        let Some(kind) = report.frame_kind() else { return Ok(None) };
        let length = 1 + size_of::<u64>() + report.message.len();
        self.frame.clear();
        self.frame.extend_from_slice(&(length as u32).to_le_bytes());
        self.frame.push(kind);
        self.frame.extend_from_slice(&report.collected_at_us.to_le_bytes());
        self.frame.extend_from_slice(&report.message);
        // One that is gone is found by what it said last.
        let gone = self.to.write_all(&self.frame).and_then(|()| self.to.flush()).is_err();
        if kind == RLC || gone {
            return self.receive(FORECASTS, ANSWER_WITHIN).map(Some);
        }
        Ok(None)
    }

    pub(super) fn garbage(&self, why: String) -> ServedError {
        ServedError::Garbage { program: self.program.clone(), why }
    }

    fn receive(&mut self, wanted: u8, within: Duration) -> Result<Vec<u8>, ServedError> {
        match self.from.recv_timeout(within) {
            Ok(Ok((kind, body))) if kind == wanted => Ok(body),
            Ok(Ok((ERROR, body))) => Err(self.refused(&body)),
            Ok(Ok((kind, _))) => {
                Err(self.garbage(format!("a frame of kind {kind:#04x}; expected {wanted:#04x}")))
            }
            Ok(Err(Unread::NoFrame(why))) => Err(self.garbage(why)),
            Ok(Err(Unread::End)) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => {
                Err(ServedError::Silent { program: self.program.clone(), within })
            }
        }
    }

    fn refused(&self, body: &[u8]) -> ServedError {
        let said = serde_json::from_slice::<serde_json::Value>(body).ok();
        match said.as_ref().and_then(|said| said.get("error")?.as_str()) {
            Some(why) => {
                ServedError::Refused { program: self.program.clone(), why: why.to_owned() }
            }
            None => self.garbage("an error without a sentence".to_owned()),
        }
    }

    fn ended(&mut self) -> ServedError {
        // What closes its standard output without ending is ended.
        let _ = self.process.kill();
        let status = self.process.wait();
        let said = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        ServedError::Ended {
            program: self.program.clone(),
            status: status.map_or_else(|_| String::new(), |status| format!(" with {status}")),
            said: said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned(),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It holds nothing that would need a goodbye.
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
        return Err(Unread::NoFrame(format!(
            "{shown:?}, the head of a frame of {length} bytes and kind {kind:#04x}"
        )));
    }
    let mut body = vec![0; length - 1];
    out.read_exact(&mut body).map_err(|_| Unread::End)?;
    Ok((kind, body))
}

/// The end of what comes.
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
