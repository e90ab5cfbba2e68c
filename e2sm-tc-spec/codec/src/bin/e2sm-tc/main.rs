//! `e2sm-tc`: encodes and decodes messages of the E2SM-TC service model, line by line.

mod vectors;

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use bounded_input::{Line, read_line};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use e2sm_tc::json::{self, CodecError, Encoding, Kind};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest line of input; those of the published vectors are below 8 kB.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Codec of the E2SM-TC service model.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  \
        echo 2a000000 | e2sm-tc decode --encoding v0 --type control-header\n  \
        echo '{\"periodic\": {\"period_ms\": 10}}' | e2sm-tc encode --type event-trigger\n\n\
        An invalid line is answered with {\"error\": …}; later lines are processed."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Decode: one hex string a line in, one {"value": …} or {"error": …} a line out.
    Decode(Message),
    /// Encode: one JSON value, or {"value": …}, a line in, one {"hex": …} or {"error": …} out.
    Encode(Message),
    /// Print the vectors of an encoding, one {"name", "kind", "hex", "value"} a line.
    Vectors {
        /// Encoding.
        #[arg(long, default_value = "v1", value_parser = encodings())]
        encoding: Encoding,
        /// Append those that this file of published vectors does not have yet, instead. Refused if
        /// one that it has is now another: published vectors stay as they are.
        #[arg(long, value_name = "FILE")]
        append_to: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Message {
    /// v0: FlexRIC's plain layout; v1: aligned PER.
    #[arg(long, default_value = "v1", value_parser = encodings())]
    encoding: Encoding,
    /// Message; v0 has no action-definition, ran-function-definition or pipeline.
    #[arg(long = "type", value_name = "TYPE", value_parser = kinds())]
    kind: Kind,
}

fn encodings() -> impl TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(Encoding::ALL.map(|(_, name)| name))
        .try_map(|name| name.parse::<Encoding>())
}

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(|(_, name)| name)).try_map(|name| name.parse::<Kind>())
}

fn main() -> ExitCode {
    let (input, output) = (io::stdin().lock(), io::stdout().lock());
    let done = match Cli::parse().command {
        Command::Decode(message) => answer_lines(input, output, |line| decode(&message, line)),
        Command::Encode(message) => answer_lines(input, output, |line| encode(&message, line)),
        Command::Vectors { encoding, append_to: None } => vectors::write(encoding, output),
        Command::Vectors { encoding, append_to: Some(file) } => vectors::append(encoding, &file),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            // A failure to report the error cannot be reported.
            let _ = writeln!(io::stderr(), "e2sm-tc: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers every line of `input`, errors included. Flushes before a read that may block, because a
/// peer may wait for an answer before it sends the next line.
fn answer_lines(
    input: impl Read,
    output: impl Write,
    answer: impl Fn(&str) -> Result<String, String>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut output = BufWriter::new(output);
    let mut line = Vec::new();
    loop {
        if input.buffer().is_empty() {
            output.flush()?;
        }
        let answered = match read_line(&mut input, &mut line, MAX_LINE_BYTES)? {
            Line::End => return output.flush(),
            Line::TooLong => Err(format!("line: expected at most {MAX_LINE_BYTES} bytes")),
            Line::Whole => std::str::from_utf8(&line)
                .map_err(|error| {
                    format!("line: expected UTF-8, found byte {}", error.valid_up_to())
                })
                .and_then(&answer),
        };
        match answered {
            Ok(answer) => writeln!(output, "{answer}")?,
            Err(error) => writeln!(output, "{}", serde_json::json!({ "error": error }))?,
        }
    }
}

fn decode(message: &Message, line: &str) -> Result<String, String> {
    let bytes = from_hex(line.trim())?;
    let value = json::decode(message.encoding, message.kind, &bytes);
    value.map(|value| format!("{{\"value\": {value}}}")).map_err(|error| error.to_string())
}

fn encode(message: &Message, line: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        value: &'a RawValue,
    }
    // No message has a component `value`, so this key always wraps the message.
    let wrapped: Result<Wrapped<'_>, _> = serde_json::from_str(line);
    let value = wrapped.as_ref().map_or(line, |wrapped| wrapped.value.get());
    let bytes: Result<Vec<u8>, CodecError> = json::encode(message.encoding, message.kind, value);
    bytes
        .map(|bytes| format!("{{\"hex\": \"{}\"}}", to_hex(&bytes)))
        .map_err(|error| error.to_string())
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(format!("hex: expected an even number of digits, found {}", digits.len()));
    }
    let digit = |at: usize| {
        let found = digits.get(at).copied().unwrap_or_default();
        char::from(found)
            .to_digit(16)
            .ok_or_else(|| format!("hex: expected a digit at {at}, found byte {found:#04x}"))
    };
    (0..digits.len() / 2)
        .map(|pair| Ok((digit(2 * pair)? << 4 | digit(2 * pair + 1)?) as u8))
        .collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
