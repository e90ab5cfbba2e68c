//! What one client may use of the gateway, so that none can take it from the others.
//!
//! A client is an [`Account`]: rates are token buckets (`bucket`), what is shared are pools with a
//! dynamic threshold (`pool`), what was refused is counted and logged once a minute (`refusals`).

mod account;
mod bucket;
mod limit;
mod pool;
mod refusals;

use std::{sync::Arc, time::Instant};

pub(crate) use account::{Account, ClientKey, SubscriptionHold};
pub(crate) use bucket::{Bucket, Rate};
pub(crate) use limit::Refused;
pub(crate) use pool::Hold;
pub(crate) use refusals::Refusals;

use account::{Accounts, Pools};

/// The limits of a gateway; clones share the accounts.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    accounts: Arc<Accounts>,
    origin: Instant,
}

impl Limits {
    /// `max_report_load` is in bytes per second.
    pub(crate) fn new(max_subscribers: usize, max_report_load: u64, refusals: Refusals) -> Self {
        let pools = Pools::new(max_subscribers, max_report_load);
        let accounts = Arc::new(Accounts::new(pools, refusals));
        Self { accounts, origin: Instant::now() }
    }

    /// Monotonic time of the buckets.
    pub(crate) fn now_us(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The account of a client.
    pub(crate) fn account(&self, client: &ClientKey) -> Arc<Account> {
        self.accounts.of(client, self.now_us())
    }
}
