//! The access file: which client may do what on which nodes.
//!
//! Shared test vectors with the Python programs: `gateway/access/vectors`.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use bounded_input::read_text;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::glob::Glob;

const MAX_FILE_BYTES: u64 = 256 << 10;
const MAX_CLIENTS: usize = 256;
/// Certificate names, and node globs, of one client.
const MAX_NAMES: usize = 64;
const MAX_NAME_CHARS: usize = 64;
const TOKEN_CHARS: std::ops::RangeInclusive<usize> = 32..=512;

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// List nodes, reflection, metrics.
    Read,
    /// Receive indications.
    Subscribe,
    /// Send RIC controls.
    Control,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Subscribe, Self::Control];

    /// The name of the right in the access file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Subscribe => "subscribe",
            Self::Control => "control",
        }
    }
}

/// A client of the access file.
#[derive(Debug)]
pub struct Client {
    pub name: String,
    rights: Vec<Right>,
    nodes: Vec<Glob>,
}

impl Client {
    pub fn may(&self, right: Right) -> bool {
        self.rights.contains(&right)
    }

    pub fn may_access(&self, node_id: &str) -> bool {
        self.nodes.iter().any(|glob| glob.matches(node_id))
    }
}

/// SHA-256: all that is kept of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest256([u8; 32]);

impl Digest256 {
    /// The digest of a text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }
}

impl fmt::Debug for Digest256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest256")
    }
}

/// A valid access file.
#[derive(Debug, Default)]
pub struct AccessFile {
    clients: Vec<Client>,
    /// Name of a certificate to index of its client.
    certificates: HashMap<String, usize>,
    tokens: Vec<(Digest256, usize)>,
    /// SHA-256 of the file's text.
    text: Option<Digest256>,
    /// Those of the file and its token files that a group may write.
    group_writable: Vec<PathBuf>,
}

/// Why an access file is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{}", file.display(), place_prefix(place), problem(found, expected))]
pub struct AccessError {
    file: PathBuf,
    /// Path of the element, e.g. `clients[0].may[1]`; empty for the file as a whole.
    pub place: String,
    found: String,
    expected: String,
}

fn place_prefix(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("{place}: ") }
}

/// `found; expected …`; what was found may say itself what was expected.
fn problem(found: &str, expected: &str) -> String {
    match (found, expected) {
        (found, "") => found.to_owned(),
        ("", expected) => format!("expected {expected}"),
        _ => format!("{found}; expected {expected}"),
    }
}

impl AccessFile {
    /// Reads the file and its token files.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let parser = Parser { file: path };
        let text = read_text(path, MAX_FILE_BYTES)
            .map_err(|error| parser.error("", &error.to_string(), ""))?;
        let mut access = Self::parse(path, &text)?;
        if parser.is_group_writable(path, "")? {
            access.group_writable.push(path.to_owned());
        }
        Ok(access)
    }

    /// Reports in the log which of its files more than their owner may write.
    pub fn warn_of_writers(&self) {
        for path in &self.group_writable {
            let file = path.display();
            tracing::warn!(%file, "the group of this file may change who has access; expected chmod g-w");
        }
    }

    /// Reads the text of the file at `path`, and its token files.
    pub fn parse(path: &Path, text: &str) -> Result<Self, AccessError> {
        let parser = Parser { file: path };
        let value: Value = serde_saphyr::from_str(text)
            .map_err(|error| parser.error("", &error.to_string(), "YAML"))?;
        let mut access = Self { text: Some(Digest256::of(text)), ..Self::default() };
        for (index, client) in parser.clients(&value)?.iter().enumerate() {
            parser.client(client, &format!("clients[{index}]"), &mut access)?;
        }
        Ok(access)
    }

    /// Whether files and tokens are the same.
    pub fn has_same_text(&self, other: &Self) -> bool {
        self.text == other.text && self.tokens == other.tokens
    }

    /// The client of a token.
    pub fn by_token(&self, token: Digest256) -> Option<&Client> {
        let mut found = None;
        // Without early exit: the time taken is independent of the position of the token.
        for (known, index) in &self.tokens {
            if bool::from(known.0.ct_eq(&token.0)) {
                found = Some(*index);
            }
        }
        found.and_then(|index| self.clients.get(index))
    }

    /// The first client that has one of the names of a certificate.
    pub fn by_certificate(&self, names: &[String]) -> Option<&Client> {
        let index = names.iter().filter_map(|name| self.certificates.get(name)).min()?;
        self.clients.get(*index)
    }
}

struct Parser<'a> {
    file: &'a Path,
}

impl Parser<'_> {
    fn error(&self, place: &str, found: &str, expected: &str) -> AccessError {
        AccessError {
            file: self.file.to_owned(),
            place: place.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// Whether the group may write a file; an error if everyone may, who would then have every right.
    fn is_group_writable(&self, path: &Path, place: &str) -> Result<bool, AccessError> {
        const OF_GROUP: u32 = 0o020;
        const OF_OTHERS: u32 = 0o002;
        // The file behind links, as a kubelet makes them of a Secret.
        let Ok(found) = fs::metadata(path) else { return Ok(false) };
        let mode = found.permissions().mode() & 0o7777;
        if found.is_file() && mode & OF_OTHERS != 0 {
            let found = format!("{}: everyone may write it (mode {mode:04o})", path.display());
            return Err(self.error(place, &found, "a file that its owner alone may write"));
        }
        Ok(found.is_file() && mode & OF_GROUP != 0)
    }

    fn clients<'v>(&self, file: &'v Value) -> Result<&'v [Value], AccessError> {
        let sections = self.object(file, "", "a mapping with `clients`", &["clients"])?;
        let expected = format!("a list of 1 to {MAX_CLIENTS} clients");
        self.list(sections.get("clients"), "clients", MAX_CLIENTS, &expected)
    }

    fn client(
        &self,
        value: &Value,
        place: &str,
        access: &mut AccessFile,
    ) -> Result<(), AccessError> {
        const KEYS: [&str; 5] = ["name", "certificates", "token_file", "may", "nodes"];
        let client = self.object(value, place, "a mapping", &KEYS)?;
        let index = access.clients.len();
        let name = self.name(client.get("name"), &format!("{place}.name"))?;
        if access.clients.iter().any(|other| other.name == name) {
            let place = format!("{place}.name");
            return Err(self.error(&place, &format!("{name:?} is used before"), "another name"));
        }
        let certificates = client.get("certificates");
        let token_file = client.get("token_file");
        if certificates.is_none() && token_file.is_none() {
            return Err(self.error(place, "", "`certificates`, `token_file` or both"));
        }
        if certificates.is_some() {
            let place = format!("{place}.certificates");
            for (number, name) in self.names(certificates, &place)?.into_iter().enumerate() {
                match access.certificates.entry(name) {
                    Entry::Vacant(entry) => {
                        entry.insert(index);
                    }
                    Entry::Occupied(entry) if *entry.get() == index => {}
                    Entry::Occupied(entry) => {
                        let place = format!("{place}[{number}]");
                        let found = format!("{:?} is that of another client", entry.key());
                        return Err(self.error(&place, &found, "one client per name"));
                    }
                }
            }
        }
        if let Some(token_file) = token_file {
            let place = format!("{place}.token_file");
            let (token, path) = self.token(token_file, &place)?;
            if self.is_group_writable(&path, &place)? {
                access.group_writable.push(path);
            }
            if access.tokens.iter().any(|(other, _)| *other == token) {
                return Err(self.error(&place, "the token of another client", "another token"));
            }
            access.tokens.push((token, index));
        }
        let rights = self.rights(client.get("may"), &format!("{place}.may"))?;
        let nodes = match client.get("nodes") {
            None => vec!["*".to_owned()],
            globs => self.names(globs, &format!("{place}.nodes"))?,
        };
        let nodes = nodes.iter().map(|glob| Glob::new(glob)).collect();
        access.clients.push(Client { name, rights, nodes });
        Ok(())
    }

    fn name(&self, value: Option<&Value>, place: &str) -> Result<String, AccessError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        match value {
            Some(Value::String(name))
                if (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(allowed) =>
            {
                Ok(name.clone())
            }
            value => {
                let expected = format!("1 to {MAX_NAME_CHARS} of A-Z, a-z, 0-9, '.', '_', '-'");
                Err(self.error(place, &shown(value), &expected))
            }
        }
    }

    fn rights(&self, value: Option<&Value>, place: &str) -> Result<Vec<Right>, AccessError> {
        const EXPECTED: &str = "a list of read, subscribe, control";
        let rights = self.list(value, place, MAX_NAMES, EXPECTED)?;
        let rights = rights.iter().enumerate().map(|(index, value)| {
            let right = Right::ALL.into_iter().find(|right| value.as_str() == Some(right.name()));
            right.ok_or_else(|| {
                let place = format!("{place}[{index}]");
                self.error(&place, &shown(Some(value)), "read, subscribe or control")
            })
        });
        rights.collect()
    }

    fn names(&self, value: Option<&Value>, place: &str) -> Result<Vec<String>, AccessError> {
        let expected = format!("a list of 1 to {MAX_NAMES} strings");
        let names = self.list(value, place, MAX_NAMES, &expected)?;
        let names = names.iter().enumerate().map(|(index, value)| match value {
            Value::String(name) if !name.is_empty() => Ok(name.clone()),
            value => {
                let place = format!("{place}[{index}]");
                Err(self.error(&place, &shown(Some(value)), "a string that is not empty"))
            }
        });
        names.collect()
    }

    /// A token and its file.
    fn token(&self, value: &Value, place: &str) -> Result<(Digest256, PathBuf), AccessError> {
        const EXPECTED: &str =
            "a file whose first line has 32 to 512 printable ASCII characters without spaces";
        let Value::String(file) = value else {
            return Err(self.error(place, &shown(Some(value)), "a file name"));
        };
        let path = self.file.parent().unwrap_or(Path::new("")).join(file);
        let text = read_text(&path, MAX_FILE_BYTES)
            .map_err(|error| self.error(place, &format!("{}: {error}", path.display()), ""))?;
        match first_line_token(&text) {
            Some(token) => Ok((Digest256::of(token), path)),
            // The text may be most of a secret: it is not shown.
            None => Err(self.error(place, &path.display().to_string(), EXPECTED)),
        }
    }

    fn object<'v>(
        &self,
        value: &'v Value,
        place: &str,
        expected: &str,
        keys: &[&str],
    ) -> Result<&'v Map<String, Value>, AccessError> {
        let Value::Object(object) = value else {
            return Err(self.error(place, &shown(Some(value)), expected));
        };
        match object.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(object),
            Some(key) => {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                Err(self.error(&place, "unknown key", &keys.join(", ")))
            }
        }
    }

    fn list<'v>(
        &self,
        value: Option<&'v Value>,
        place: &str,
        most: usize,
        expected: &str,
    ) -> Result<&'v [Value], AccessError> {
        match value {
            Some(Value::Array(list)) if (1..=most).contains(&list.len()) => Ok(list),
            Some(Value::Array(list)) => {
                Err(self.error(place, &format!("a list of {}", list.len()), expected))
            }
            value => Err(self.error(place, &shown(value), expected)),
        }
    }
}

/// The token in the first line of a token file, if valid.
pub fn first_line_token(text: &str) -> Option<&str> {
    let line = text.lines().next()?;
    let is_valid =
        TOKEN_CHARS.contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_graphic());
    is_valid.then_some(line)
}

/// A value as quoted in an error.
fn shown(value: Option<&Value>) -> String {
    const LONGEST: usize = 80;
    let text = value.map_or_else(|| "missing".to_owned(), Value::to_string);
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
