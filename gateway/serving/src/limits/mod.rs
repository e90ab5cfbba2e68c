//! What one client may use of a program, so that none can take it from the others.
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
mod streams;

use std::sync::Arc;

pub use account::{Account, CALLS, ClientKey};
pub use bucket::{Bucket, Rate};
pub use connections::{CallOfSlot, Connections, SILENCE, Slot};
pub use limit::{Limit, RateLimit, Refused};
pub use pool::{Hold, Pool, Share};
pub use refusals::Refusals;
pub use streams::{OpenStream, OpenStreams};

use prometheus_client::metrics::gauge::Gauge;

use account::Accounts;
use clock::Monotonic;

/// Cost of a report beside its bytes, as bytes: collecting, queueing and framing it take as long.
pub const REPORT_COST_BYTES: u64 = 8 << 10;
/// α of the load of reports: one client alone may have two thirds.
pub const REPORT_SHARE_ALPHA: u32 = 2;

/// The limits of a program; clones share the accounts.
#[derive(Clone, Debug)]
pub struct Limits {
    accounts: Arc<Accounts>,
    refusals: Refusals,
    clock: Monotonic,
}

impl Limits {
    /// Limits whose refusals are counted.
    pub fn new(refusals: Refusals) -> Self {
        let accounts = Arc::new(Accounts::new(refusals.clone()));
        Self { accounts, refusals, clock: Monotonic::start() }
    }

    /// The connections of a listener, at most `max`; `open` follows their number.
    pub fn connections(&self, max: usize, is_http: bool, open: Gauge) -> Connections {
        let accounts = Arc::clone(&self.accounts);
        Connections::new(max, is_http, open, accounts, self.refusals.clone(), self.clock)
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
