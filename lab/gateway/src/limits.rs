//! What one client may use of the node, beside calls and connections.

use std::sync::Arc;

use serving::limits::{
    Account, Hold, Limit, Pool, REPORT_SHARE_ALPHA, Rate, RateLimit, Refused, Share,
};

/// RAN procedures other than controls.
const PROCEDURES: RateLimit = RateLimit {
    limit: Limit { name: "procedures", counts: "procedures" },
    rate: Rate { per_s: 200, burst: 400 },
};
/// Controls; a long message counts as several.
const CONTROLS: RateLimit = RateLimit {
    limit: Limit { name: "controls", counts: "controls" },
    rate: Rate { per_s: 2_000, burst: 4_000 },
};
/// Message bytes of one control.
const CONTROL_BYTES: usize = 16 << 10;
const SUBSCRIPTIONS: Limit = Limit { name: "subscriptions", counts: "subscriptions" };
const REPORT_LOAD: Limit = Limit { name: "report_load", counts: "bytes/s of reports" };
const QUEUED: Limit = Limit { name: "queued_bytes", counts: "queued bytes" };
/// Bytes of reports that wait for their readers.
const QUEUED_BYTES: u64 = 256 << 20;
const PENDING: Limit = Limit { name: "pending_bytes", counts: "bytes of controls" };
/// Bytes of controls that wait for their answers.
const PENDING_BYTES: u64 = 64 << 20;
/// What a control counts beside its bytes: those of all clients fit in the node's queue of commands.
const PENDING_ENTRY_BYTES: usize = 64 << 10;

/// Resources of the node that clients share; clones are the same.
#[derive(Clone, Debug)]
pub(super) struct NodePools {
    subscriptions: Arc<Pool>,
    /// Bytes per second.
    report_load: Arc<Pool>,
    queued: Arc<Pool>,
    pending: Arc<Pool>,
}

impl NodePools {
    /// `max_report_load` is in bytes per second.
    pub(super) fn new(max_subscribers: usize, max_report_load: u64) -> Self {
        Self {
            subscriptions: Pool::new(u64::try_from(max_subscribers).unwrap_or(u64::MAX)),
            report_load: Pool::with_alpha(max_report_load, REPORT_SHARE_ALPHA),
            queued: Pool::new(QUEUED_BYTES),
            pending: Pool::new(PENDING_BYTES),
        }
    }

    /// A client's shares.
    pub(super) fn of(&self, account: &Arc<Account>) -> Arc<NodeAccount> {
        Arc::new(NodeAccount {
            subscriptions: account.share(&self.subscriptions),
            report_load: account.share(&self.report_load),
            queued: account.share(&self.queued),
            pending: account.share(&self.pending),
            account: Arc::clone(account),
        })
    }
}

/// What one client uses of the node.
#[derive(Debug)]
pub(super) struct NodeAccount {
    account: Arc<Account>,
    subscriptions: Arc<Share>,
    report_load: Arc<Share>,
    queued: Arc<Share>,
    pending: Arc<Share>,
}

impl NodeAccount {
    /// Admits a RAN procedure.
    pub(super) fn procedure(&self, now_us: u64) -> Result<(), Refused> {
        self.account.take(PROCEDURES, 1, now_us)
    }

    /// Admits a control of so many bytes, which wait until the result is dropped.
    pub(super) fn control(&self, bytes: usize, now_us: u64) -> Result<Hold, Refused> {
        let tokens = u32::try_from(1 + bytes / CONTROL_BYTES).unwrap_or(u32::MAX);
        self.account.take(CONTROLS, tokens, now_us)?;
        self.account.hold(&self.pending, PENDING, (bytes + PENDING_ENTRY_BYTES) as u64)
    }

    /// Admits a subscription of this load, bytes per second, until the result is dropped.
    pub(super) fn subscription(&self, load: u64) -> Result<SubscriptionHold, Refused> {
        let place = self.account.hold(&self.subscriptions, SUBSCRIPTIONS, 1)?;
        let load = self.account.hold(&self.report_load, REPORT_LOAD, load)?;
        Ok(SubscriptionHold { _place: place, load })
    }

    /// Takes room for bytes of reports; returned with [`dequeued`](Self::dequeued).
    #[must_use]
    pub(super) fn try_queue(&self, bytes: u64) -> bool {
        self.queued.try_take(bytes)
    }

    /// Returns room for bytes of reports.
    pub(super) fn dequeued(&self, bytes: u64) {
        self.queued.give_back(bytes);
    }

    /// Counts a report that the client lost to its share of the queues.
    pub(super) fn lost_report(&self) {
        self.account.lost(&self.queued, QUEUED);
    }
}

/// Place and load of a subscription, returned when dropped.
#[derive(Debug)]
pub(super) struct SubscriptionHold {
    _place: Hold,
    load: Hold,
}

impl SubscriptionHold {
    /// Counts the load as measured, bytes per second.
    pub(super) fn measured(&mut self, load: u64) {
        self.load.correct(load);
    }
}

#[cfg(test)]
mod tests {
    use serving::limits::{ClientKey, Limits, Refusals};

    use super::*;

    fn account(limits: &Limits, pools: &NodePools, name: &str) -> Arc<NodeAccount> {
        pools.of(&limits.account(&ClientKey::named(name)))
    }

    fn limits() -> (Limits, NodePools) {
        (Limits::new(Refusals::default()), NodePools::new(1024, 300_000_000))
    }

    #[test]
    fn long_controls_count_as_several_and_their_bytes_wait_within_a_share() {
        let (limits, pools) = limits();
        let account = account(&limits, &pools, "a");
        let megabyte = 1 << 20;
        let mut waiting = Vec::new();
        let refused = loop {
            match account.control(megabyte, 0) {
                Ok(hold) => waiting.push(hold),
                Err(refused) => break refused,
            }
        };
        assert_eq!(waiting.len(), 30, "half of 64 MiB, less what each counts beside its bytes");
        let message = refused.message();
        assert!(message.contains("its share of 67108864 bytes of controls"), "{message}");
        waiting.clear();
        // 31 were counted, 65 each of 4000.
        let more = (0..100).take_while(|_| account.control(megabyte, 0).is_ok()).count();
        assert_eq!(more, 4_000 / 65 - 31);
        let refused = account.control(megabyte, 0).expect_err("a megabyte at once");
        assert!(refused.message().contains("more than 2000 controls/s"), "{}", refused.message());
    }

    #[test]
    fn a_subscription_that_is_refused_takes_nothing() {
        let (limits, pools) = limits();
        let (one, two) = (account(&limits, &pools, "a"), account(&limits, &pools, "b"));
        let mut first = one.subscription(200_000_000).expect("two thirds");
        let refused = one.subscription(1).expect_err("more than two thirds");
        assert_eq!(
            refused.message(),
            "client a: more than its share of 300000000 bytes/s of reports: it holds 200000000, all \
             clients 200000000, and asked for 1; end others first"
        );
        assert!(two.subscription(60_000_000).is_ok());
        first.measured(1_000);
        assert!(one.subscription(100_000_000).is_ok());
        drop(first);
        assert_eq!((pools.subscriptions.held(), pools.report_load.held()), (0, 0));
    }

    #[test]
    fn all_calls_of_a_client_use_the_same_shares() {
        let (limits, pools) = limits();
        let held = account(&limits, &pools, "a").subscription(200_000_000).expect("half");
        assert!(account(&limits, &pools, "a").subscription(1).is_err());
        drop(held);
        assert!(account(&limits, &pools, "a").subscription(1).is_ok());
    }
}
