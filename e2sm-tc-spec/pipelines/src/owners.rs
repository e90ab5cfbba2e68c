//! The clients of a RIC and the owners that they are (E2SM-TC v1 §7.4). An owner is a name that refusals
//! tell everybody; what keeps others from using it is that a RIC binds it to the client that holds the
//! node under it.

use std::collections::HashMap;

use e2sm_tc::v1::{self, Cause, ControlMessage, ControlOutcome, Holder, NodeLease};

/// Longest instance of a client.
pub const MAX_INSTANCE_BYTES: usize = 64;

/// A client of a RIC. Two starts of one program, and two programs of one name, are two clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Name by certificate or token; empty if it has neither.
    name: String,
    start: Start,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Start {
    /// The secret number of a start.
    Instance(Box<[u8]>),
    /// The address of the connection, for clients that send no instance.
    Connection(String),
}

impl Client {
    /// A client by its name, the address of its connection and its instance, which may be empty.
    ///
    /// # Errors
    /// The instance is longer than [`MAX_INSTANCE_BYTES`]; what was found and expected.
    pub fn new(name: &str, connection: &str, instance: &[u8]) -> Result<Self, String> {
        if instance.len() > MAX_INSTANCE_BYTES {
            let found = instance.len();
            return Err(format!("instance: {found} bytes, expected at most {MAX_INSTANCE_BYTES}"));
        }
        let start = if instance.is_empty() {
            Start::Connection(connection.to_owned())
        } else {
            Start::Instance(instance.into())
        };
        Ok(Self { name: name.to_owned(), start })
    }
}

/// A node lease that was admitted; [`Owners::answered`] takes it back.
#[derive(Debug)]
#[must_use]
pub struct Asked {
    node_id: String,
    lease: NodeLease,
    client: Client,
}

/// What became of a node lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The node answered with this `ControlOutcome`.
    Outcome(&'a [u8]),
    /// It took no effect: it was not sent, or was refused without an outcome.
    NotCarriedOut,
    /// Unknown: it may have taken effect.
    Lost,
}

/// Which client each owner of a node is. Times are the RIC's, in µs.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    nodes: HashMap<String, Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The one that took the node last.
    holder: Option<Binding>,
    /// Node leases without an answer so far.
    asking: Vec<(NodeLease, Client)>,
}

#[derive(Clone, Debug)]
struct Binding {
    owner: String,
    client: Client,
    ends_us: u64,
}

impl Owners {
    /// Whether a client may send a node this `ControlMessage`; the node lease, if it is one.
    ///
    /// # Errors
    /// The refusal to answer with: the owner that it names is another client.
    pub fn admit(
        &mut self,
        node_id: &str,
        message: &[u8],
        client: &Client,
        now_us: u64,
    ) -> Result<Option<Asked>, ControlOutcome> {
        let (owner, asked) = match v1::decode::<ControlMessage>(message) {
            Ok(ControlMessage::NodeLease(lease)) => (lease.owner.clone(), Some(lease)),
            Ok(ControlMessage::Transaction(it)) => (it.owner.unwrap_or_default(), None),
            Ok(ControlMessage::LeaseRenewal(it)) => (it.owner.unwrap_or_default(), None),
            Ok(ControlMessage::NodeDefault(it)) => (it.owner.unwrap_or_default(), None),
            Ok(ControlMessage::QosFlowMapping(it)) => (it.owner.unwrap_or_default(), None),
            // Without an owner, or for the node to refuse.
            Ok(ControlMessage::ForecastFeed(_)) | Err(_) => return Ok(None),
        };
        if let Some(node) = self.nodes.get(node_id)
            && let Some(left_ms) = node.left_of_another_ms(&owner, client, now_us)
        {
            return Err(refusal(owner, left_ms));
        }
        Ok(asked.map(|lease| {
            let asking = &mut self.nodes.entry(node_id.to_owned()).or_default().asking;
            asking.push((lease.clone(), client.clone()));
            Asked { node_id: node_id.to_owned(), lease, client: client.clone() }
        }))
    }

    /// Takes in what became of a node lease.
    pub fn answered(&mut self, asked: Asked, answer: Answer<'_>, now_us: u64) {
        let Some(node) = self.nodes.get_mut(&asked.node_id) else { return };
        node.answered(asked.lease, asked.client, answer, now_us);
        if node.asking.is_empty() && node.live(now_us).is_none() {
            self.nodes.remove(&asked.node_id);
        }
    }
}

impl Node {
    fn live(&self, now_us: u64) -> Option<&Binding> {
        self.holder.as_ref().filter(|binding| now_us < binding.ends_us)
    }

    /// Time for which, as far as is known, another client is this owner; `None`: none is.
    fn left_of_another_ms(&self, owner: &str, client: &Client, now_us: u64) -> Option<u32> {
        let held = self.live(now_us).filter(|binding| binding.owner == owner);
        if let Some(held) = held {
            let left_ms = (held.ends_us - now_us).div_ceil(1000);
            return (held.client != *client).then(|| u32::try_from(left_ms).unwrap_or(u32::MAX));
        }
        let is_asked = self.asking.iter().any(|(lease, by)| lease.owner == owner && by != client);
        is_asked.then_some(1)
    }

    fn answered(&mut self, lease: NodeLease, client: Client, answer: Answer<'_>, now_us: u64) {
        if let Some(index) = self.asking.iter().position(|(it, by)| *it == lease && *by == client) {
            self.asking.swap_remove(index);
        }
        let is_own = |held: &Binding| held.owner == lease.owner && held.client == client;
        let is_taken = match answer {
            Answer::Outcome(outcome) => {
                matches!(v1::decode(outcome), Ok(ControlOutcome::Accepted { .. }))
            }
            Answer::NotCarriedOut => false,
            // A node that another holds has refused it.
            Answer::Lost => lease.lease_ms.is_some() && self.live(now_us).is_none_or(is_own),
        };
        if !is_taken {
            return;
        }
        let Some(lease_ms) = lease.lease_ms else {
            self.holder = self.holder.take().filter(|held| !is_own(held));
            return;
        };
        // The node's lease began before its answer came.
        let ends_us = now_us.saturating_add(u64::from(lease_ms) * 1000);
        let before_us = self.live(now_us).filter(|held| is_own(held)).map_or(0, |it| it.ends_us);
        let ends_us = ends_us.max(before_us);
        self.holder = Some(Binding { owner: lease.owner, client, ends_us });
    }
}

fn refusal(owner: String, lease_left_ms: u32) -> ControlOutcome {
    ControlOutcome::Refused {
        cause: Cause::NotOwner,
        element: "owner".to_owned(),
        detail: format!(
            "'{owner}' is another client, which holds this node for another {lease_left_ms} ms \
             unless it renews; expected an owner of your own"
        ),
        revision: None,
        holder: Some(Holder { owner, lease_left_ms }),
    }
}

#[cfg(test)]
mod tests {
    use e2sm_tc::v1::{BearerId, LeaseRenewal, PipelineChange, Transaction, UeId};

    use super::*;

    const BEARER: BearerId = BearerId { ue: UeId::Rnti(0x4601), drb: 1 };

    fn client(name: &str, instance: &[u8]) -> Client {
        Client::new(name, "10.0.0.1:4711", instance).expect("a client")
    }

    fn bytes(message: &ControlMessage) -> Vec<u8> {
        v1::encode(message).expect("a message")
    }

    fn lease(owner: &str, lease_ms: Option<u32>) -> Vec<u8> {
        bytes(&ControlMessage::NodeLease(NodeLease { owner: owner.to_owned(), lease_ms }))
    }

    fn transaction(owner: Option<&str>) -> Vec<u8> {
        bytes(&ControlMessage::Transaction(Transaction {
            bearer: BEARER,
            expected_revision: None,
            lease_ms: None,
            owner: owner.map(str::to_owned),
            dry_run: true,
            as_safe: false,
            change: PipelineChange::Safe,
        }))
    }

    fn renewal(owner: &str) -> Vec<u8> {
        let owner = Some(owner.to_owned());
        bytes(&ControlMessage::LeaseRenewal(LeaseRenewal {
            bearer: BEARER,
            revision: 1,
            lease_ms: 1000,
            owner,
        }))
    }

    fn accepted() -> Vec<u8> {
        v1::encode(&ControlOutcome::Accepted { revision: 1, lease_ms: None }).expect("an outcome")
    }

    /// A node that accepts.
    fn take(owners: &mut Owners, owner: &str, ms: Option<u32>, by: &Client, now_us: u64) -> bool {
        let Ok(asked) = owners.admit("n", &lease(owner, ms), by, now_us) else { return false };
        owners.answered(asked.expect("a node lease"), Answer::Outcome(&accepted()), now_us);
        true
    }

    fn is_admitted(owners: &mut Owners, message: &[u8], by: &Client, now_us: u64) -> bool {
        owners.admit("n", message, by, now_us).is_ok()
    }

    fn ask(owners: &mut Owners, by: &Client, now_us: u64) -> Asked {
        let asked = owners.admit("n", &lease("a", Some(3_000)), by, now_us);
        asked.expect("admitted").expect("a node lease")
    }

    #[test]
    fn nobody_else_speaks_for_the_owner_of_a_node() {
        let mut owners = Owners::default();
        let holder = client("controller", &[1; 16]);
        assert!(take(&mut owners, "a", Some(3_000), &holder, 0));
        for other in [
            client("intruder", &[1; 16]),
            client("controller", &[2; 16]),
            client("controller", &[]),
            client("", &[1; 16]),
        ] {
            for message in
                [lease("a", Some(1)), lease("a", None), transaction(Some("a")), renewal("a")]
            {
                let Err(ControlOutcome::Refused { cause, holder, .. }) =
                    owners.admit("n", &message, &other, 2_000_000)
                else {
                    panic!("{other:?} is 'a'");
                };
                let held = Some(Holder { owner: "a".to_owned(), lease_left_ms: 1_000 });
                assert_eq!((cause, holder), (Cause::NotOwner, held));
            }
            assert!(owners.admit("other", &transaction(Some("a")), &other, 0).is_ok());
            // The node compares these with its holder.
            assert!(is_admitted(&mut owners, &transaction(Some("b")), &other, 0));
            assert!(is_admitted(&mut owners, &transaction(None), &other, 0));
        }
        assert!(is_admitted(&mut owners, &transaction(Some("a")), &holder, 1));
        assert!(take(&mut owners, "a", Some(3_000), &holder, 2_000_000), "it renews");
        let other = client("controller", &[2; 16]);
        assert!(!take(&mut owners, "a", Some(3_000), &other, 4_999_999));
        assert!(take(&mut owners, "a", Some(3_000), &other, 5_000_000), "the lease has ended");
        assert!(!is_admitted(&mut owners, &transaction(Some("a")), &holder, 5_000_001));
    }

    #[test]
    fn a_connection_stands_for_a_client_without_instance() {
        let at = |address: &str| Client::new("", address, &[]).expect("a client");
        let mut owners = Owners::default();
        assert!(take(&mut owners, "a", Some(3_000), &at("127.0.0.1:1"), 0));
        assert!(!is_admitted(&mut owners, &renewal("a"), &at("127.0.0.1:2"), 1));
        assert!(is_admitted(&mut owners, &renewal("a"), &at("127.0.0.1:1"), 1));
        assert!(Client::new("", "", &[0; MAX_INSTANCE_BYTES]).is_ok());
        let error = Client::new("", "", &[0; MAX_INSTANCE_BYTES + 1]).expect_err("too long");
        assert!(error.contains("65 bytes, expected at most 64"), "{error}");
    }

    #[test]
    fn an_owner_that_gives_up_or_is_refused_is_free_for_others() {
        let (mut owners, one, two) = (Owners::default(), client("x", &[1]), client("x", &[2]));
        assert!(take(&mut owners, "a", Some(60_000), &one, 0));
        assert!(take(&mut owners, "a", None, &one, 1));
        assert!(owners.nodes.is_empty());
        let asked = ask(&mut owners, &one, 2);
        assert!(!is_admitted(&mut owners, &renewal("a"), &two, 2), "another asks in this name now");
        owners.answered(asked, Answer::NotCarriedOut, 3);
        assert!(owners.nodes.is_empty());
        assert!(take(&mut owners, "a", Some(60_000), &two, 4));
    }

    #[test]
    fn a_node_lease_without_answer_may_have_been_taken() {
        let (mut owners, one, two) = (Owners::default(), client("x", &[1]), client("x", &[2]));
        let asked = ask(&mut owners, &one, 0);
        owners.answered(asked, Answer::Lost, 10);
        assert!(!is_admitted(&mut owners, &transaction(Some("a")), &two, 3_000_000));
        assert!(is_admitted(&mut owners, &transaction(Some("a")), &two, 3_000_010));
        // Under another name it was refused: the node is held.
        assert!(take(&mut owners, "b", Some(3_000), &two, 4_000_000));
        let asked = ask(&mut owners, &one, 4_000_001);
        owners.answered(asked, Answer::Lost, 4_000_002);
        assert!(!is_admitted(&mut owners, &transaction(Some("b")), &one, 4_000_003));
    }
}
