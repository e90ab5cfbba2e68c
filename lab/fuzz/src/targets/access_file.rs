//! Access files and, after a line `---`, a token file and a node id. A file is refused with its place,
//! or decides for every token and node.

use std::path::Path;

use serving::access::{AccessFile, Digest256, first_line_token};

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let (access, rest) = text.split_once("\n---\n").unwrap_or((text, ""));
    let Ok(file) = AccessFile::parse(Path::new("access.yaml"), access) else { return };
    if let Some(token) = first_line_token(rest) {
        let _ = file.by_token(Digest256::of(token));
    }
    let names: Vec<String> = rest.lines().map(str::to_owned).collect();
    let Some(client) = file.by_certificate(&names) else { return };
    let _ = client.may_access(rest);
}
