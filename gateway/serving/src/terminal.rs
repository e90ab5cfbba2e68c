//! Text for people on standard output, standard error and in logs.

use std::fmt::Write;

/// Text for people with an escape for each character that a terminal obeys, but line feeds and tabs.
/// Names and keys of a scenario may have any.
pub fn escaped(text: &str) -> String {
    escaped_but(text, &['\n', '\t'])
}

/// The text with an escape, as `\x1b` and as the Python programs write it, for each character that a
/// terminal obeys: control characters, and the formatting ones that reorder or hide text (Unicode UTS
/// #39 §3.1). Those of `kept` stay.
pub fn escaped_but(text: &str, kept: &[char]) -> String {
    let obeyed = |c: char| {
        c.is_control() && !kept.contains(&c)
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(obeyed) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let _ = match (obeyed(c), u32::from(c)) {
            (false, _) => shown.write_char(c),
            (true, _) if matches!(c, '\n' | '\r' | '\t') => write!(shown, "{}", c.escape_default()),
            (true, code @ ..=0xff) => write!(shown, "\\x{code:02x}"),
            // All that are obeyed are in the basic plane.
            (true, code) => write!(shown, "\\u{code:04x}"),
        };
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_the_python_programs() {
        let text = "a\u{1b}[2J\r\n\u{9b}\u{202e}é\t\\";
        assert_eq!(escaped(text), "a\\x1b[2J\\r\n\\x9b\\u202eé\t\\");
        assert_eq!(escaped_but(text, &[]), "a\\x1b[2J\\r\\n\\x9b\\u202eé\\t\\");
    }
}
