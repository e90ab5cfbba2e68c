//! Who may do what: the identity of a client, its rights, and the audit log.
//!
//! Without an access file a listener admits whom its TLS admits; see [`AccessControl`].

mod audit;
mod audit_file;
mod file;
mod glob;
mod identifiers;

use std::{path::PathBuf, sync::Arc};

use futures_util::{StreamExt, stream::BoxStream};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tonic::{Code, Status};

pub use audit::{Audit, Entry};
pub use file::{AccessError, AccessFile, Digest256, Right, first_line_token};
pub use identifiers::check_identifiers;

use self::{file::Client, identifiers::MAX_IDENTIFIER_BYTES};
use super::{
    address::Address,
    incoming::{Peer, Protocol},
    limits::ClientKey,
    metrics::ServingMetrics,
    terminal::escaped_but,
};

/// The access file in force, shared by the listeners of a program.
///
/// Without an access file everything is allowed; a client CA of a listener then requires a certificate.
#[derive(Debug)]
pub struct AccessControl {
    path: Option<PathBuf>,
    current: watch::Sender<Option<Arc<AccessFile>>>,
    /// The last reason why a changed file was not taken over.
    rejected: Mutex<Option<String>>,
    /// The audit log of the program.
    pub audit: Audit,
    metrics: ServingMetrics,
}

impl AccessControl {
    /// Reads the access file at `path`; everything is allowed without one.
    ///
    /// # Errors
    /// The file is not valid.
    pub fn new(
        path: Option<PathBuf>,
        audit: Audit,
        metrics: ServingMetrics,
    ) -> Result<Self, AccessError> {
        let file = path.as_deref().map(AccessFile::read).transpose()?.map(Arc::new);
        file.iter().for_each(|file| file.warn_of_writers());
        let (current, _) = watch::channel(file);
        let rejected = Mutex::default();
        Ok(Self { path, current, rejected, audit, metrics })
    }

    /// A listener for `protocol` is served: its refusals are counted from 0.
    pub fn expect(&self, protocol: Protocol) {
        for reason in Reason::ALL {
            self.metrics.expect_refusals(protocol.name(), reason.name());
        }
    }

    /// Whether there is an access file.
    pub fn is_limited(&self) -> bool {
        self.current.borrow().is_some()
    }

    /// Changes of the access file from now on.
    pub fn changes(&self) -> AccessChanges {
        WatchStream::from_changes(self.current.subscribe()).map(|_| ()).boxed()
    }

    /// Takes over a changed access file; keeps the present one if the new one is not valid.
    pub fn reload(&self) {
        let Some(path) = &self.path else { return };
        let mut rejected = self.rejected.lock();
        let outcome = match AccessFile::read(path) {
            Ok(file) => {
                *rejected = None;
                let is_same =
                    self.current.borrow().as_ref().is_some_and(|now| now.has_same_text(&file));
                if is_same {
                    return;
                }
                file.warn_of_writers();
                self.current.send_replace(Some(Arc::new(file)));
                tracing::info!(file = %path.display(), "access file reloaded");
                "accepted".to_owned()
            }
            Err(error) => {
                let error = error.to_string();
                if rejected.as_ref() == Some(&error) {
                    return;
                }
                self.metrics.access_reload_failed();
                tracing::warn!(error, "access file refused, the list in force stays");
                let outcome = format!("rejected: {error}");
                *rejected = Some(error);
                outcome
            }
        };
        let entry =
            Entry { action: "reload", what: "access", outcome: &outcome, ..Entry::default() };
        self.audit.record(&entry);
    }
}

/// An item for each change of the access file.
pub type AccessChanges = BoxStream<'static, ()>;

/// The token of a call.
#[derive(Clone, Copy, Debug)]
enum Token {
    Absent,
    Sent(Digest256),
    /// Sent in plain text from beyond this machine.
    Exposed,
}

/// A client of one call or request. Each check is against the access file of that moment.
#[derive(Clone, Debug)]
pub struct Caller {
    access: Arc<AccessControl>,
    peer: Peer,
    token: Token,
}

impl Caller {
    /// The client behind a connection; `authorization` is that header of the call, empty if it is no
    /// text.
    pub fn new(access: &Arc<AccessControl>, peer: Peer, authorization: Option<&str>) -> Self {
        let may_send_token = peer.is_encrypted || peer.address.is_local() || peer.terms.is_insecure;
        let token = match authorization {
            None => Token::Absent,
            Some(_) if !may_send_token => Token::Exposed,
            Some(value) => Token::Sent(Digest256::of(bearer_token(value))),
        };
        Self { access: Arc::clone(access), peer, token }
    }

    /// Whether the client may do this now. A refusal is not written to the audit log.
    pub fn may(&self, right: Right, node_id: Option<&str>) -> bool {
        self.check(right, node_id).is_ok()
    }

    /// The client's name in the audit log. `what` is what it asked for.
    ///
    /// # Errors
    /// It may not do this now; counted, and written to the audit log.
    pub fn require(
        &self,
        right: Right,
        node_id: Option<&str>,
        what: &str,
    ) -> Result<String, Refusal> {
        self.check(right, node_id).inspect_err(|refusal| {
            self.access.metrics.refused(self.peer.terms.protocol.name(), refusal.reason.name());
            self.access.audit.refused(&Entry {
                who: &refusal.who,
                peer: Some(self.peer.address),
                action: "refused",
                node: node_id.unwrap_or_default(),
                what,
                outcome: &format!("refused: {}", refusal.message),
                ..Entry::default()
            });
        })
    }

    /// Writes an action of this client to the audit log.
    pub fn record(&self, entry: &Entry<'_>) {
        self.access.audit.record(&Entry { peer: Some(self.peer.address), ..entry.clone() });
    }

    /// Writes an attempt of this client that reached no node, as seldom as refusals.
    pub fn record_attempt(&self, entry: &Entry<'_>) {
        self.access.audit.refused(&Entry { peer: Some(self.peer.address), ..entry.clone() });
    }

    /// The client whose limits apply: by its name in the access file, else by its certificate, else by
    /// its address.
    pub fn client_key(&self) -> ClientKey {
        let file = self.access.current.borrow().clone();
        match (&file, self.certified()) {
            (Some(file), certified) => match self.client(file) {
                Some(client) => ClientKey::named(&client.name),
                None => ClientKey::unlisted(certified.as_deref(), self.peer.address),
            },
            (None, Some(name)) => ClientKey::named(&name),
            (None, None) => ClientKey::at(self.peer.address),
        }
    }

    /// Its name by the access file, else by its certificate.
    pub fn name(&self) -> Option<String> {
        let file = self.access.current.borrow().clone();
        match &file {
            Some(file) => self.client(file).map(|client| client.name.clone()),
            None => self.certified(),
        }
    }

    /// The address of its connection.
    pub fn address(&self) -> Address {
        self.peer.address
    }

    /// Its name in the audit log, or what it showed of its identity.
    pub fn who(&self) -> String {
        let file = self.access.current.borrow().clone();
        match file {
            Some(file) => match self.client(&file) {
                Some(client) => client.name.clone(),
                None => self.shown(),
            },
            None => self.check_without_file().unwrap_or_else(|refusal| refusal.who),
        }
    }

    /// Whether a node is listed for the client.
    pub fn sees(&self, node_id: &str) -> bool {
        let file = self.access.current.borrow().clone();
        file.is_none_or(|file| self.client(&file).is_some_and(|client| client.may_access(node_id)))
    }

    /// The first name of the certificate.
    fn certified(&self) -> Option<String> {
        self.peer.certificate.as_deref()?.first().map(|name| escaped(name))
    }

    /// Whether accepted actions are written to the audit log.
    pub fn is_audited(&self) -> bool {
        self.access.audit.records_accepted()
    }

    /// Changes of the access file from now on.
    pub fn access_changes(&self) -> AccessChanges {
        self.access.changes()
    }

    fn check(&self, right: Right, node_id: Option<&str>) -> Result<String, Refusal> {
        let file = self.access.current.borrow().clone();
        let Some(file) = file else { return self.check_without_file() };
        let client = self.client(&file).ok_or_else(|| self.unknown())?;
        let who = client.name.clone();
        if !client.may(right) {
            let message = format!("client {who}: no right to {}", right.name());
            return Err(Refusal { reason: Reason::Right, message, who });
        }
        if let Some(node_id) = node_id
            && !client.may_access(node_id)
        {
            let message = format!("client {who}: no access to node {}", escaped(node_id));
            return Err(Refusal { reason: Reason::Node, message, who });
        }
        Ok(who)
    }

    fn check_without_file(&self) -> Result<String, Refusal> {
        match &self.peer.certificate {
            Some(names) => Ok(escaped(names.first().map_or("certificate", String::as_str))),
            None if self.peer.terms.has_client_ca => Err(self.unknown()),
            None if self.peer.address.is_local() => Ok("local".to_owned()),
            None => Ok("anonymous".to_owned()),
        }
    }

    fn client<'a>(&self, file: &'a AccessFile) -> Option<&'a Client> {
        match self.token {
            Token::Sent(token) => file.by_token(token),
            Token::Exposed => None,
            Token::Absent => file.by_certificate(self.peer.certificate.as_deref()?),
        }
    }

    /// What it showed of its identity.
    fn shown(&self) -> String {
        match (self.token, &self.peer.certificate) {
            (Token::Sent(_), _) => "token not known".to_owned(),
            (Token::Exposed, _) => "token over plain text".to_owned(),
            (Token::Absent, Some(names)) => escaped(&format!("certificate {}", names.join(", "))),
            (Token::Absent, None) => "no certificate and no token".to_owned(),
        }
    }

    fn unknown(&self) -> Refusal {
        let who = self.shown();
        let message = format!("unknown client: {who}");
        Refusal { reason: Reason::Unauthenticated, message, who }
    }
}

/// The token of an `authorization` header, whose scheme has no case (RFC 9110 §11.1); empty, and so no
/// client's, for another scheme.
fn bearer_token(header: &str) -> &str {
    let header = header.trim();
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    }
}

/// The text without control characters, at most [`MAX_IDENTIFIER_BYTES`] characters long.
fn escaped(text: &str) -> String {
    const MAX: usize = MAX_IDENTIFIER_BYTES;
    let start: String = text.chars().take(MAX).collect();
    escaped_but(&start, &[]).chars().take(MAX).collect()
}

/// Why a client was refused; a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No client of the access file, or no certificate where one is required.
    Unauthenticated,
    /// The client lacks the right.
    Right,
    /// The node is outside the client's nodes.
    Node,
}

impl Reason {
    const ALL: [Self; 3] = [Self::Unauthenticated, Self::Right, Self::Node];

    /// The name in metrics and audit lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::Right => "right",
            Self::Node => "node",
        }
    }
}

/// A refused call or request.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The kind.
    pub reason: Reason,
    /// The sentence for the client.
    pub message: String,
    who: String,
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.reason {
            Reason::Unauthenticated => Code::Unauthenticated,
            Reason::Right | Reason::Node => Code::PermissionDenied,
        };
        Self::new(code, refusal.message)
    }
}

#[cfg(test)]
mod tests;
