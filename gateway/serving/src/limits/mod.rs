//! What one client may use of the gateway, so that none can take it from the others.
//!
//! A client is an [`Account`]: rates are token buckets (`bucket`), what is shared are pools with a
//! dynamic threshold (`pool`), what was refused is counted and logged once a minute (`refusals`).

mod account;
mod bucket;
mod clock;
mod connections;
mod limit;
mod pool;
mod refusals;

use std::sync::Arc;

pub use account::{Account, ClientKey};
pub use bucket::{Bucket, Rate};
pub use connections::{CallOfSlot, Connections, SILENCE, Slot};
pub use limit::{Limit, RateLimit, Refused};
pub use pool::{Hold, Pool, Share};
pub use refusals::Refusals;

use prometheus_client::metrics::gauge::Gauge;

use account::Accounts;
use clock::Monotonic;

/// The limits of a gateway; clones share the accounts.
#[derive(Clone, Debug)]
pub struct Limits {
    accounts: Arc<Accounts>,
    max_connections: usize,
    refusals: Refusals,
    clock: Monotonic,
}

impl Limits {
    /// The limits with `max_connections` of each listener.
    pub fn new(max_connections: usize, refusals: Refusals) -> Self {
        let accounts = Arc::new(Accounts::new(refusals.clone()));
        Self { accounts, max_connections, refusals, clock: Monotonic::start() }
    }

    /// The connections of a listener; `open` follows their number.
    pub fn connections(&self, is_http: bool, open: Gauge) -> Connections {
        Connections::new(self.max_connections, is_http, open, self.refusals.clone(), self.clock)
    }

    /// Monotonic time of the buckets.
    pub fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    /// The account of a client.
    pub fn account(&self, client: &ClientKey) -> Arc<Account> {
        self.accounts.of(client)
    }
}
