//! AQM conformance vectors: a queue set-up with arrivals and dequeue times in, what came out and
//! the inner state at each dequeue out. One JSON object a line each way.
//!
//! The queues are those of the TC RAN function, without classifier, policer and pacer. A case with
//! `queue` is one of three kinds:
//! - `fifo` and `codel` are one queue that refuses arrivals beyond `limit_pkts`; `flow` is a label.
//! - `fq_codel` has one CoDel queue per `flow` under deficit round robin; beyond `limit_pkts` in all
//!   queues, packets go from the head of the one with most bytes (RFC 8290 §4.1).
//!
//! A case with `queues` has any queue sets, `scheduler` and `buffer` in the words of the service
//! model (E2SM-TC v1, JSON notation), shapers included, and a `seed`; an arrival names its `queue`.
//! It is answered with the inner state of each discipline, under the names of its RFC or paper.
//!
//! A line that is not a case is answered with `{"id": …, "error": "place: reason"}`, with a null id
//! where it has none, and the next line is read.

mod case;
mod input;
mod json;
mod model;
#[cfg(test)]
mod model_tests;
mod output;
mod packet;
mod state;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Write};

use bounded_input::{Line, read_line};
use input::Case;
use output::{Answer, Failure, Steps};

/// Longest line of input: a case of a million events of 60 characters.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines answered with steps.
    pub cases: u64,
    /// Lines answered with an error.
    pub errors: u64,
}

/// Answers each line of `input` with one line on `output`; empty lines are passed over.
///
/// # Errors
/// When `input` cannot be read or `output` cannot be written.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<Summary> {
    let mut summary = Summary::default();
    let mut line = Vec::new();
    loop {
        match read_line(&mut input, &mut line, MAX_LINE_BYTES)? {
            Line::End => break,
            Line::TooLong => {
                summary.errors += 1;
                let error =
                    format!("line: longer than {MAX_LINE_BYTES} bytes; expected at most that");
                serde_json::to_writer(&mut output, &Failure::new(serde_json::Value::Null, error))?;
                output.write_all(b"\n")?;
                continue;
            }
            Line::Whole => {}
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match answer(&line) {
            Ok(answer) => {
                summary.cases += 1;
                serde_json::to_writer(&mut output, &answer)?;
            }
            Err(failure) => {
                summary.errors += 1;
                serde_json::to_writer(&mut output, &failure)?;
            }
        }
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(summary)
}

fn answer(line: &[u8]) -> Result<Answer, Failure> {
    let value = json::parse(line)
        .map_err(|error| Failure::new(serde_json::Value::Null, format!("line: {error}")))?;
    let id = value.get("id").cloned().unwrap_or_default();
    let steps = Case::parse(value).and_then(|case| match case {
        Case::Kind(case) => Ok(Steps::Kind(case::replay(&case))),
        Case::Model(case) => model::replay(case).map(Steps::Model),
    });
    match steps {
        Ok(steps) => Ok(Answer { id, steps }),
        Err(error) => Err(Failure::new(id, error)),
    }
}
