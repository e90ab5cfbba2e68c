//! Exclusive control of a node: one lease, held by one controller (E2SM-TC v1 §7.4).

use e2sm_tc::v1::{Cause, ControlOutcome, Holder, NodeLease};

use crate::lease::Lease;

/// The lease of one node. It belongs to the whole RAN function: whoever passes controls to bearers
/// asks [`admit`](Self::admit) first.
#[derive(Clone, Debug, Default)]
pub struct NodeLeaseState {
    /// Empty before the first lease.
    owner: String,
    lease: Option<Lease>,
    /// Grows by one whenever another takes the node.
    term: u32,
}

impl NodeLeaseState {
    /// Takes, renews or gives up the node. The outcome's revision is the term of the holder.
    pub fn apply(&mut self, request: &NodeLease, now_us: u64) -> ControlOutcome {
        if let Err(refusal) = self.admit(Some(&request.owner), now_us) {
            return refusal;
        }
        if request.lease_ms == Some(0) {
            let detail = "0, expected at least 1";
            return ControlOutcome::refused(Cause::OutOfRange, "lease_ms", detail, None);
        }
        if request.lease_ms.is_some() && (self.owner != request.owner || self.term == 0) {
            self.owner.clone_from(&request.owner);
            self.term = self.term.wrapping_add(1);
        }
        self.lease = request.lease_ms.map(|ms| Lease::new(Some(ms), now_us));
        ControlOutcome::Accepted { revision: self.term, lease_ms: request.lease_ms }
    }

    /// Whether `owner` may control bearers now: it holds the node, or nobody does.
    ///
    /// # Errors
    /// The refusal to answer with; it names the holder.
    pub fn admit(&self, owner: Option<&str>, now_us: u64) -> Result<(), ControlOutcome> {
        let Some(lease_left_ms) = self.left_ms(now_us) else { return Ok(()) };
        if owner == Some(&self.owner) {
            return Ok(());
        }
        let found = owner.map_or_else(|| "none".to_owned(), |owner| format!("'{owner}'"));
        let detail = format!(
            "{found}; '{}' holds this node, for another {lease_left_ms} ms unless it renews",
            self.owner
        );
        Err(ControlOutcome::Refused {
            cause: Cause::NotOwner,
            element: "owner".to_owned(),
            detail,
            revision: None,
            holder: Some(Holder { owner: self.owner.clone(), lease_left_ms }),
        })
    }

    /// Who holds the node now.
    pub fn holder(&self, now_us: u64) -> Option<&str> {
        self.left_ms(now_us).map(|_| self.owner.as_str())
    }

    /// Remaining lease; `None` if nobody holds the node.
    fn left_ms(&self, now_us: u64) -> Option<u32> {
        self.lease.filter(|lease| !lease.has_ended(now_us))?.left_ms(now_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(owner: &str, lease_ms: u32) -> NodeLease {
        NodeLease { owner: owner.to_owned(), lease_ms: Some(lease_ms) }
    }

    #[test]
    fn another_takes_the_node_when_the_lease_has_ended() {
        let mut node = NodeLeaseState::default();
        let accepted = |revision, lease_ms| ControlOutcome::Accepted { revision, lease_ms };
        assert_eq!(node.admit(None, 0), Ok(()), "nobody holds it");
        assert_eq!(node.apply(&take("a", 500), 0), accepted(1, Some(500)));
        assert_eq!(node.apply(&take("a", 500), 200_000), accepted(1, Some(500)), "renewed");
        let ControlOutcome::Refused { cause, holder, detail, .. } =
            node.apply(&take("b", 500), 699_999)
        else {
            panic!("the lease has not ended");
        };
        assert_eq!(cause, Cause::NotOwner);
        assert_eq!(holder, Some(Holder { owner: "a".to_owned(), lease_left_ms: 1 }));
        assert!(detail.contains("'b'") && detail.contains("'a' holds"), "{detail}");
        assert!(node.admit(None, 699_999).is_err(), "a control without an owner");
        assert_eq!(node.apply(&take("b", 500), 700_000), accepted(2, Some(500)));
        assert_eq!(node.holder(700_000), Some("b"));
        assert!(node.admit(Some("a"), 700_001).is_err());
    }

    #[test]
    fn a_holder_gives_the_node_up() {
        let mut node = NodeLeaseState::default();
        let give_up = |owner: &str| NodeLease { owner: owner.to_owned(), lease_ms: None };
        node.apply(&take("a", 500), 0);
        assert!(matches!(node.apply(&give_up("b"), 1), ControlOutcome::Refused { .. }));
        assert!(matches!(node.apply(&give_up("a"), 2), ControlOutcome::Accepted { .. }));
        assert_eq!(node.holder(3), None);
        assert!(matches!(node.apply(&take("b", 500), 3), ControlOutcome::Accepted { .. }));
        let zero = node.apply(&take("b", 0), 4);
        assert!(matches!(zero, ControlOutcome::Refused { cause: Cause::OutOfRange, .. }));
    }
}
