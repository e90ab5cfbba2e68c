//! One answer for each line, whatever the line is.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

/// Answers every line of `input`; a refusal is an answer too.
///
/// Answers are written out before a read that may wait, so that a peer can hold a conversation.
pub(crate) fn answer(
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
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return output.flush();
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let answered = std::str::from_utf8(text)
            .map_err(|error| format!("line: expected UTF-8, found byte {}", error.valid_up_to()))
            .and_then(&answer);
        match answered {
            Ok(answer) => writeln!(output, "{answer}")?,
            Err(refusal) => writeln!(output, "{}", serde_json::json!({ "error": refusal }))?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_gets_one_answer_even_if_it_is_no_text() {
        let mut output = Vec::new();
        let echo = |line: &str| match line {
            "bad" => Err("so \"bad\"".to_owned()),
            line => Ok(line.to_owned()),
        };
        answer(&b"one\nbad\n\n\xff\nlast"[..], &mut output, echo).unwrap();
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "one\n{\"error\":\"so \\\"bad\\\"\"}\n\n\
             {\"error\":\"line: expected UTF-8, found byte 0\"}\nlast\n"
        );
    }
}
