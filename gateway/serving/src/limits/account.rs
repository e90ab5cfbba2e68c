//! What each client uses.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use crate::address::Address;

use super::{
    bucket::{Bucket, Rate},
    limit::{Limit, RateLimit, Refused},
    pool::{Hold, Pool, Share},
    refusals::Refusals,
};

/// Accounts kept: a client that returns finds its bucket as it left it.
const MAX_ACCOUNTS: usize = 1024;
/// Calls; a client of the SDK keeps four open.
pub const CALLS: RateLimit =
    RateLimit { limit: Limit::CALLS, rate: Rate { per_s: 100, burst: 200 } };
/// Calls open at a time; each may hold a request of up to 256 KiB.
const OPEN_CALLS: u64 = 1024;
/// Calls that one with an invalid request counts for: five of them a second are answered at once.
const FAILED_CALL: u32 = 20;
/// Refusals of one client a second: what a flood sends meanwhile waits in its own connection.
const REFUSALS_PER_S: u32 = 4;

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
    pub fn unlisted(certificate: Option<&str>, address: Address) -> Self {
        let key = match certificate {
            Some(name) => Self::named(&format!("certificate {name}")),
            None => Self::at(address),
        };
        Self { is_unlisted: true, ..key }
    }

    /// A client known by its address alone. Hosts often have a whole /64 of IPv6 (RFC 6177). On
    /// loopback and at a Unix socket each connection is a client: programs of one machine share its address.
    pub fn at(address: Address) -> Self {
        let shown = match address {
            Address::Unix(_) => address.to_string(),
            Address::Ip(address) => match address.ip().to_canonical() {
                IpAddr::V6(ip) if !ip.is_loopback() => {
                    let [a, b, c, d, ..] = ip.segments();
                    format!("{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
                }
                ip => ip.to_string(),
            },
        };
        let is_one_connection = address.is_local();
        let key = match address {
            Address::Unix(number) => format!("unix {number}"),
            Address::Ip(address) if is_one_connection => format!("address {address}"),
            Address::Ip(_) => format!("address {shown}"),
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

/// One client: what it uses, within its limits.
#[derive(Debug)]
pub struct Account {
    /// Tells clients apart, as of [`ClientKey`].
    pub key: String,
    /// Its name in messages, metrics and logs.
    pub name: Arc<str>,
    open_calls: Arc<Share>,
    /// Made by use: few kinds of limits, each of a constant.
    buckets: Mutex<HashMap<Limit, Bucket>>,
    shares: Mutex<Vec<Arc<Share>>>,
    /// Refusals that wait to be sent, and all there were.
    paced: (AtomicU32, AtomicU32),
    refusals: Refusals,
}

impl Account {
    fn new(client: &ClientKey, open_calls: &Arc<Pool>, refusals: &Refusals) -> Self {
        let open_calls = open_calls.share();
        Self {
            key: client.key.clone(),
            name: client.shown.as_str().into(),
            buckets: Mutex::default(),
            shares: Mutex::new(vec![Arc::clone(&open_calls)]),
            open_calls,
            paced: Default::default(),
            refusals: refusals.clone(),
        }
    }

    /// Admits a call until the result is dropped.
    ///
    /// # Errors
    /// The client calls too often or has too many calls open.
    pub fn begin_call(&self, now_us: u64) -> Result<Hold, Refused> {
        self.begin(CALLS, now_us)
    }

    /// Admits what has a rate of its own as a call, until the result is dropped.
    ///
    /// # Errors
    /// The refusals of [`begin_call`](Self::begin_call).
    pub fn begin(&self, rate: RateLimit, now_us: u64) -> Result<Hold, Refused> {
        self.take(rate, 1, now_us)?;
        self.hold(&self.open_calls, Limit::OPEN_CALLS, 1)
    }

    /// Counts a call as several: it has failed for a fault of the client.
    pub fn charge_failed_call(&self, now_us: u64) {
        self.charge(CALLS, FAILED_CALL - 1, now_us);
    }

    /// Waits before a refusal is sent, or the next request of a refused client is read: the longer, the more
    /// of its refusals wait. Those that were refused together do not come again together.
    pub fn refusal_pause(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        struct Waiting(Arc<Account>);
        impl Drop for Waiting {
            fn drop(&mut self) {
                self.0.paced.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let waiting = self.paced.0.fetch_add(1, Ordering::Relaxed) + 1;
        let delay = refusal_delay(waiting, self.paced.1.fetch_add(1, Ordering::Relaxed));
        let waiting = Waiting(Arc::clone(self));
        async move {
            tokio::time::sleep(delay).await;
            drop(waiting);
        }
    }

    /// Takes tokens of a rate; its bucket is full at first.
    ///
    /// # Errors
    /// Too few are left.
    pub fn take(&self, limit: RateLimit, tokens: u32, now_us: u64) -> Result<(), Refused> {
        let RateLimit { limit, rate } = limit;
        let mut buckets = self.buckets.lock();
        let bucket = buckets.entry(limit).or_insert_with(|| Bucket::new(rate, now_us));
        let taken = bucket.take(tokens, now_us);
        drop(buckets);
        taken.map_err(|wait_us| {
            let Rate { per_s, burst } = rate;
            let detail = format!("more than {per_s} {}/s (burst {burst})", limit.counts);
            self.refused(limit, &detail);
            Refused::later(&self.name, detail, wait_us)
        })
    }

    /// Takes tokens of a rate, or all that are left.
    pub fn charge(&self, limit: RateLimit, tokens: u32, now_us: u64) {
        let RateLimit { limit, rate } = limit;
        let mut buckets = self.buckets.lock();
        buckets.entry(limit).or_insert_with(|| Bucket::new(rate, now_us)).charge(tokens, now_us);
    }

    /// The client's share of a pool.
    pub fn share(&self, pool: &Arc<Pool>) -> Arc<Share> {
        let mut shares = self.shares.lock();
        if let Some(known) = shares.iter().find(|share| share.is_of(pool)) {
            return Arc::clone(known);
        }
        let share = pool.share();
        shares.push(Arc::clone(&share));
        share
    }

    /// Holds an amount of a share until the result is dropped.
    ///
    /// # Errors
    /// The client would hold more than its share.
    pub fn hold(&self, share: &Arc<Share>, limit: Limit, amount: u64) -> Result<Hold, Refused> {
        share.try_hold(amount).ok_or_else(|| {
            let pool = share.pool();
            let detail = exceeded(pool, limit);
            self.refused(limit, &detail);
            let all = format!(
                "{detail}: it holds {}, all clients {}, and asked for {amount}",
                share.held(),
                pool.held()
            );
            Refused::until_freed(&self.name, all)
        })
    }

    /// Counts what the client lost to its share of a pool.
    pub fn lost(&self, share: &Share, limit: Limit) {
        self.refused(limit, &exceeded(share.pool(), limit));
    }

    /// Counts what it was refused or has lost; `detail` is the bound.
    pub fn refused(&self, limit: Limit, detail: &str) {
        self.refusals.count(&self.name, limit, detail);
    }

    fn is_idle(&self) -> bool {
        self.shares.lock().iter().all(|share| share.held() == 0)
    }
}

/// The delay of a refusal: of as many that wait, and of the number of all there were.
fn refusal_delay(waiting: u32, number: u32) -> Duration {
    const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;
    // Its multiples are spread evenly, however many there are.
    let spread = (f64::from(number) * GOLDEN_RATIO).fract();
    Duration::from_secs_f64(f64::from(waiting) / f64::from(REFUSALS_PER_S) * (0.5 + spread))
}

fn exceeded(pool: &Pool, limit: Limit) -> String {
    format!("more than its share of {} {}", pool.capacity(), limit.counts)
}

#[derive(Debug)]
struct Kept {
    account: Arc<Account>,
    used: u64,
}

/// The accounts of all clients, the least recently used forgotten first.
#[derive(Debug)]
pub(super) struct Accounts {
    open_calls: Arc<Pool>,
    refusals: Refusals,
    kept: Mutex<(HashMap<String, Kept>, u64)>,
}

impl Accounts {
    pub(super) fn new(refusals: Refusals) -> Self {
        Self { open_calls: Pool::new(OPEN_CALLS), refusals, kept: Mutex::default() }
    }

    /// The account of a client.
    pub(super) fn of(&self, client: &ClientKey) -> Arc<Account> {
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
        let account = Account::new(client, &self.open_calls, &self.refusals);
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
        Accounts::new(Refusals::default())
    }

    fn client(name: &str) -> ClientKey {
        ClientKey::named(name)
    }

    #[test]
    fn clients_without_a_name_are_told_apart_by_address_and_on_loopback_by_connection() {
        let at = |address: &str| ClientKey::at(Address::Ip(address.parse().expect("an address")));
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
        let (one, two) = (ClientKey::at(Address::Unix(1)), ClientKey::at(Address::Unix(2)));
        assert_eq!((one.shown.as_str(), two.shown.as_str()), ("unix", "unix"));
        assert!(one.key != two.key && one.is_one_connection());
    }

    #[test]
    fn a_failed_call_counts_as_twenty() {
        let account = accounts().of(&client("a"));
        for _ in 0..10 {
            assert!(account.begin_call(0).is_ok());
            account.charge_failed_call(0);
        }
        assert!(account.begin_call(0).is_err());
        account.charge_failed_call(0);
        assert!(account.begin_call(10_000).is_ok(), "nothing is owed");
    }

    #[test]
    fn refusals_of_a_client_are_paced_however_many_it_causes() {
        let delays = |waiting: u32| {
            let mut delays: Vec<_> = (0..64).map(|number| refusal_delay(waiting, number)).collect();
            delays.sort();
            delays
        };
        let alone = delays(1);
        assert!(alone[0] >= Duration::from_millis(125) && alone[63] <= Duration::from_millis(375));
        let flood = delays(64);
        assert!(flood[0] >= Duration::from_secs(8) && flood[63] <= Duration::from_secs(24));
        let gaps = flood.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.min().is_some_and(|gap| gap > Duration::from_millis(50)), "together again");
    }

    #[test]
    fn a_client_that_calls_once_at_a_time_has_one_bucket() {
        let accounts = accounts();
        for _ in 0..200 {
            // Dropped after each call.
            assert!(accounts.of(&client("a")).begin_call(0).is_ok());
        }
        let refused = accounts.of(&client("a")).begin_call(0).expect_err("201 at once");
        assert_eq!(
            refused.message(),
            "client a: more than 100 calls/s (burst 200); again in 10 ms"
        );
        assert!(accounts.of(&client("b")).begin_call(0).is_ok());
        assert!(accounts.of(&client("a")).begin_call(10_000).is_ok());
    }

    #[test]
    fn accounts_are_bounded_and_those_that_hold_something_stay() {
        let accounts = accounts();
        let holder = accounts.of(&client("holder"));
        let share = holder.share(&Pool::new(2));
        let held = holder.hold(&share, Limit::OPEN_CALLS, 1).expect("room");
        for number in 0..5_000 {
            accounts.of(&client(&number.to_string()));
        }
        assert_eq!(accounts.kept.lock().0.len(), MAX_ACCOUNTS);
        assert!(Arc::ptr_eq(&holder, &accounts.of(&client("holder"))));
        drop(held);
        for number in 0..5_000 {
            accounts.of(&client(&number.to_string()));
        }
        assert!(!Arc::ptr_eq(&holder, &accounts.of(&client("holder"))));
    }
}
