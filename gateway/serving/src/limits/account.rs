//! What each client uses.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{
    bucket::{Bucket, Rate},
    limit::{Limit, Refused},
    pool::{Hold, Pool, Share},
    refusals::Refusals,
};

/// Accounts kept: a client that returns finds its bucket as it left it.
const MAX_ACCOUNTS: usize = 1024;
/// Calls; a client of the SDK keeps four open.
const CALLS: Rate = Rate { per_s: 100, burst: 200 };
/// RAN procedures other than controls.
const PROCEDURES: Rate = Rate { per_s: 200, burst: 400 };
/// Controls; a long message counts as several.
const CONTROLS: Rate = Rate { per_s: 2_000, burst: 4_000 };
/// Message bytes of one control.
const CONTROL_BYTES: usize = 16 << 10;
/// Calls open at a time; each may hold a request of up to 1 MiB.
const OPEN_CALLS: u64 = 1024;
/// Bytes of reports that wait for their readers.
const QUEUED_BYTES: u64 = 256 << 20;
/// Bytes of controls that wait for their answers.
const PENDING_BYTES: u64 = 64 << 20;
/// What a control counts beside its bytes: those of all clients fit in the node's queue of commands.
const PENDING_ENTRY_BYTES: usize = 64 << 10;

/// Resources that clients share.
#[derive(Clone, Debug)]
pub struct Pools {
    pub open_calls: Arc<Pool>,
    pub subscriptions: Arc<Pool>,
    /// Bytes per second.
    pub report_load: Arc<Pool>,
    pub queued: Arc<Pool>,
    pub pending: Arc<Pool>,
}

impl Pools {
    pub fn new(max_subscribers: usize, max_report_load: u64) -> Self {
        Self {
            open_calls: Pool::new(OPEN_CALLS),
            subscriptions: Pool::new(u64::try_from(max_subscribers).unwrap_or(u64::MAX)),
            report_load: Pool::new(max_report_load),
            queued: Pool::new(QUEUED_BYTES),
            pending: Pool::new(PENDING_BYTES),
        }
    }
}

/// Who a client is: by certificate or token, else by address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientKey {
    /// Tells clients apart.
    pub key: String,
    /// Name in messages, metrics and logs.
    pub shown: String,
    is_one_connection: bool,
    is_unlisted: bool,
}

impl ClientKey {
    /// A client whose certificate or token tells its name.
    pub fn named(name: &str) -> Self {
        let key = format!("name {name}");
        Self { key, shown: name.to_owned(), is_one_connection: false, is_unlisted: false }
    }

    /// A client that the access file does not list: by the name of its certificate, if it has one,
    /// else by its address.
    pub fn unlisted(certificate: Option<&str>, address: SocketAddr) -> Self {
        let key = match certificate {
            Some(name) => Self::named(&format!("certificate {name}")),
            None => Self::at(address),
        };
        Self { is_unlisted: true, ..key }
    }

    /// A client known by its address alone. Hosts often have a whole /64 of IPv6 (RFC 6177). On
    /// loopback each connection is a client: programs of one machine share its address.
    pub fn at(address: SocketAddr) -> Self {
        let shown = match address.ip().to_canonical() {
            IpAddr::V6(ip) if !ip.is_loopback() => {
                let [a, b, c, d, ..] = ip.segments();
                format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            ip => ip.to_string(),
        };
        let is_one_connection = address.ip().to_canonical().is_loopback();
        let key = if is_one_connection {
            format!("address {address}")
        } else {
            format!("address {shown}")
        };
        Self { key, shown, is_one_connection, is_unlisted: false }
    }

    /// Whether each of its connections would be another client.
    pub fn is_one_connection(&self) -> bool {
        self.is_one_connection
    }

    /// Whether there is an access file that does not list it.
    pub fn is_unlisted(&self) -> bool {
        self.is_unlisted
    }
}

#[derive(Debug)]
struct Buckets {
    calls: Bucket,
    procedures: Bucket,
    controls: Bucket,
}

/// One client: what it uses, within its limits.
#[derive(Debug)]
pub struct Account {
    name: Arc<str>,
    buckets: Mutex<Buckets>,
    open_calls: Arc<Share>,
    subscriptions: Arc<Share>,
    report_load: Arc<Share>,
    queued: Arc<Share>,
    pending: Arc<Share>,
    refusals: Refusals,
}

impl Account {
    /// An account with full buckets.
    pub fn new(name: &str, pools: &Pools, refusals: &Refusals, now_us: u64) -> Self {
        let full = |rate| Bucket::new(rate, now_us);
        Self {
            name: name.into(),
            buckets: Mutex::new(Buckets {
                calls: full(CALLS),
                procedures: full(PROCEDURES),
                controls: full(CONTROLS),
            }),
            open_calls: pools.open_calls.share(),
            subscriptions: pools.subscriptions.share(),
            report_load: pools.report_load.share(),
            queued: pools.queued.share(),
            pending: pools.pending.share(),
            refusals: refusals.clone(),
        }
    }

    /// Admits a call until the result is dropped.
    pub fn begin_call(&self, now_us: u64) -> Result<Hold, Refused> {
        let taken = self.buckets.lock().calls.take(1, now_us);
        self.in_time(taken, Limit::Calls, CALLS)?;
        self.held(&self.open_calls, 1, Limit::OpenCalls)
    }

    /// Admits a RAN procedure.
    pub fn procedure(&self, now_us: u64) -> Result<(), Refused> {
        let taken = self.buckets.lock().procedures.take(1, now_us);
        self.in_time(taken, Limit::Procedures, PROCEDURES)
    }

    /// Admits a control of so many bytes, which wait until the result is dropped.
    pub fn control(&self, bytes: usize, now_us: u64) -> Result<Hold, Refused> {
        let tokens = u32::try_from(1 + bytes / CONTROL_BYTES).unwrap_or(u32::MAX);
        let taken = self.buckets.lock().controls.take(tokens, now_us);
        self.in_time(taken, Limit::Controls, CONTROLS)?;
        self.held(&self.pending, (bytes + PENDING_ENTRY_BYTES) as u64, Limit::PendingBytes)
    }

    /// Admits a subscription of this load, bytes per second, until the result is dropped.
    pub fn subscription(&self, load: u64) -> Result<SubscriptionHold, Refused> {
        let place = self.held(&self.subscriptions, 1, Limit::Subscriptions)?;
        let load = self.held(&self.report_load, load, Limit::ReportLoad)?;
        Ok(SubscriptionHold { _place: place, load })
    }

    /// Takes room for bytes of reports; returned with [`dequeued`](Self::dequeued).
    #[must_use]
    pub fn try_queue(&self, bytes: u64) -> bool {
        self.queued.try_take(bytes)
    }

    /// Returns room for bytes of reports.
    pub fn dequeued(&self, bytes: u64) {
        self.queued.give_back(bytes);
    }

    /// Counts what this client did not get.
    pub fn refused(&self, limit: Limit, detail: &str) {
        self.refusals.count(&self.name, limit, detail);
    }

    /// The client lost a report to its share of the queues.
    pub fn lost_report(&self) {
        self.refusals.count(
            &self.name,
            Limit::QueuedBytes,
            &exceeded(self.queued.pool(), "queued bytes"),
        );
    }

    fn in_time(&self, taken: Result<(), u64>, limit: Limit, rate: Rate) -> Result<(), Refused> {
        taken.map_err(|wait_us| {
            let Rate { per_s, burst } = rate;
            let detail = format!("more than {per_s} {limit}/s (burst {burst})");
            self.refused(limit, &detail);
            Refused::later(&self.name, detail, wait_us)
        })
    }

    fn held(&self, share: &Arc<Share>, amount: u64, limit: Limit) -> Result<Hold, Refused> {
        share.try_hold(amount).ok_or_else(|| {
            let detail = exceeded(share.pool(), &limit.to_string());
            self.refused(limit, &detail);
            let pool = share.pool();
            let all = format!(
                "{detail}: it holds {}, all clients {}, and asked for {amount}",
                share.held(),
                pool.held()
            );
            Refused::until_freed(&self.name, all)
        })
    }

    fn is_idle(&self) -> bool {
        [&self.open_calls, &self.subscriptions, &self.report_load, &self.queued, &self.pending]
            .iter()
            .all(|share| share.held() == 0)
    }
}

fn exceeded(pool: &Pool, what: &str) -> String {
    format!("more than its share of {} {what}", pool.capacity())
}

/// Place and load of a subscription, returned when dropped.
#[derive(Debug)]
pub struct SubscriptionHold {
    _place: Hold,
    load: Hold,
}

impl SubscriptionHold {
    /// The load as measured, bytes per second.
    pub fn measured(&mut self, load: u64) {
        self.load.correct(load);
    }
}

#[derive(Debug)]
struct Kept {
    account: Arc<Account>,
    used: u64,
}

/// The accounts of all clients, the least recently used forgotten first.
#[derive(Debug)]
pub(super) struct Accounts {
    pools: Pools,
    refusals: Refusals,
    kept: Mutex<(HashMap<String, Kept>, u64)>,
}

impl Accounts {
    pub(super) fn new(pools: Pools, refusals: Refusals) -> Self {
        Self { pools, refusals, kept: Mutex::default() }
    }

    /// The account of a client.
    pub(super) fn of(&self, client: &ClientKey, now_us: u64) -> Arc<Account> {
        let mut kept = self.kept.lock();
        let (accounts, uses) = &mut *kept;
        *uses += 1;
        if let Some(known) = accounts.get_mut(&client.key) {
            known.used = *uses;
            return Arc::clone(&known.account);
        }
        if accounts.len() >= MAX_ACCOUNTS {
            // One that holds something is not forgotten: what it holds would no longer count.
            let oldest = accounts
                .iter()
                .filter(|(_, kept)| kept.account.is_idle())
                .min_by_key(|(_, kept)| kept.used)
                .map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                accounts.remove(&oldest);
            }
        }
        let account = Account::new(&client.shown, &self.pools, &self.refusals, now_us);
        let account = Arc::new(account);
        let new = Kept { account: Arc::clone(&account), used: *uses };
        accounts.insert(client.key.clone(), new);
        account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        Accounts::new(Pools::new(1024, 400_000_000), Refusals::default())
    }

    fn client(name: &str) -> ClientKey {
        ClientKey::named(name)
    }

    #[test]
    fn clients_without_a_name_are_told_apart_by_address_and_on_loopback_by_connection() {
        let at = |address: &str| ClientKey::at(address.parse().expect("an address"));
        assert_eq!(at("192.0.2.7:1"), at("192.0.2.7:2"));
        assert_eq!(at("192.0.2.7:1"), at("[::ffff:192.0.2.7]:2"));
        assert_ne!(at("192.0.2.7:1"), at("192.0.2.8:1"));
        assert_eq!(at("[2001:db8::1]:1"), at("[2001:db8::ffff:2]:2"));
        assert_eq!(at("[2001:db8::1]:1").shown, "2001:db8::/64");
        for address in ["127.0.0.1", "[::1]"] {
            let (one, two) = (at(&format!("{address}:1")), at(&format!("{address}:2")));
            assert_eq!(one.shown, two.shown);
            assert_ne!(one.key, two.key);
        }
        assert_ne!(ClientKey::named("192.0.2.7").key, at("192.0.2.7:1").key);
    }

    #[test]
    fn a_client_that_calls_once_at_a_time_has_one_bucket() {
        let accounts = accounts();
        for _ in 0..200 {
            // Dropped after each call.
            assert!(accounts.of(&client("a"), 0).begin_call(0).is_ok());
        }
        let refused = accounts.of(&client("a"), 0).begin_call(0).expect_err("201 at once");
        assert_eq!(
            refused.message(),
            "client a: more than 100 calls/s (burst 200); again in 10 ms"
        );
        assert!(accounts.of(&client("b"), 0).begin_call(0).is_ok());
        assert!(accounts.of(&client("a"), 10_000).begin_call(10_000).is_ok());
    }

    #[test]
    fn accounts_are_bounded_and_those_that_hold_something_stay() {
        let accounts = accounts();
        let holder = accounts.of(&client("holder"), 0);
        let held = holder.subscription(1).expect("room");
        for number in 0..5_000 {
            accounts.of(&client(&number.to_string()), 0);
        }
        assert_eq!(accounts.kept.lock().0.len(), MAX_ACCOUNTS);
        assert!(Arc::ptr_eq(&holder, &accounts.of(&client("holder"), 0)));
        drop(held);
        for number in 0..5_000 {
            accounts.of(&client(&number.to_string()), 0);
        }
        assert!(!Arc::ptr_eq(&holder, &accounts.of(&client("holder"), 0)));
    }

    #[test]
    fn long_controls_count_as_several_and_their_bytes_wait_within_a_share() {
        let accounts = accounts();
        let account = accounts.of(&client("a"), 0);
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
        let accounts = accounts();
        let (one, two) = (accounts.of(&client("a"), 0), accounts.of(&client("b"), 0));
        let mut first = one.subscription(200_000_000).expect("half");
        let refused = one.subscription(1).expect_err("more than half");
        assert_eq!(
            refused.message(),
            "client a: more than its share of 400000000 bytes/s of reports: it holds 200000000, all \
             clients 200000000, and asked for 1; end others first"
        );
        assert!(two.subscription(100_000_000).is_ok());
        first.measured(1_000);
        assert!(one.subscription(100_000_000).is_ok());
        drop(first);
        assert!(one.is_idle() && two.is_idle());
    }
}
