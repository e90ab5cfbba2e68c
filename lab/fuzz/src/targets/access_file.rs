//! Access files and, after a line `---`, a token file and a node id. A file is refused with its place,
//! or decides for every token and node.

use lab_gateway::fuzzing;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let (access, rest) = text.split_once("\n---\n").unwrap_or((text, ""));
    fuzzing::access_file(access, rest);
}
