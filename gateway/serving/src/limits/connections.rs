//! The connections of a listener: how many, whose, and which end when there is no room.
//!
//! A client may have as many as are still free ([`Pool`](super::pool::Pool)): by its address when it
//! connects, by its name once that is known. Clients that the access file does not list have three
//! quarters of the places together, however many names they have. When there is no room the longest idle
//! connection ends, of the client with most. A connection that sends nothing ends soon, one without a
//! call later.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Waker,
    time::Duration,
};

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{interval, sleep};

use super::{
    account::{Accounts, ClientKey},
    bucket::Rate,
    clock::Monotonic,
    limit::{Limit, RateLimit, Refused},
    refusals::Refusals,
};

/// A connection that has sent nothing for this long ends, as does one whose TLS handshake, with the head of
/// a request of HTTP/1.1, takes longer.
pub const SILENCE: Duration = Duration::from_secs(10);
/// A connection without a call for this long ends; longer than the period of scrapes.
const IDLE: Duration = Duration::from_secs(120);
/// Longest time to answer a request of HTTP/1.1, unless the answer is a stream.
const ANSWER: Duration = Duration::from_secs(60);
/// New connections of a client: each may cost a TLS handshake.
const CONNECTS: RateLimit =
    RateLimit { limit: Limit::CONNECTS, rate: Rate { per_s: 20, burst: 100 } };
/// Time between two looks for connections that end.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// What the peer and the table share of a connection.
#[derive(Debug, Default)]
struct Signal {
    /// When the peer began to send what is to be a request; 0 while it has sent nothing.
    sent_at_us: AtomicU64,
    is_closed: AtomicBool,
    waker: AtomicWaker,
}

#[derive(Debug)]
struct Entry {
    client: ClientKey,
    signal: Arc<Signal>,
    /// Calls open now, and in all.
    calls: u32,
    all_calls: u64,
    /// Time at which it was accepted or its last call ended.
    idle_since_us: u64,
    /// Time at which the call has to be answered.
    answer_by_us: Option<u64>,
}

impl Entry {
    /// Time at which it ends unless a call begins, or the open one ends.
    fn ends_us(&self, is_http: bool) -> Option<u64> {
        if self.calls > 0 {
            return self.answer_by_us;
        }
        let sent_at_us = self.signal.sent_at_us.load(Ordering::Relaxed);
        let (since_us, within) = match (self.all_calls, sent_at_us) {
            // HTTP clients send to ask, those of gRPC also to wait.
            (_, 1..) if is_http => (sent_at_us, SILENCE),
            (0, 0) => (self.idle_since_us, SILENCE),
            _ => (self.idle_since_us, IDLE),
        };
        Some(since_us.saturating_add(micros(within)))
    }
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

/// Whose connections are too many for one more of a client.
enum TooMany {
    OfClient,
    OfUnlisted,
    InAll,
}

impl Table {
    /// Why a connection of this client has no place among `max`; `own` is its place, if it has one.
    fn too_many(&self, client: &ClientKey, own: Option<u64>, max: usize) -> Option<TooMany> {
        let (mut open, mut of_client, mut unlisted) = (0, 0, 0);
        for (_, entry) in self.entries.iter().filter(|(id, _)| own != Some(**id)) {
            open += 1;
            of_client += usize::from(entry.client.key == client.key);
            unlisted += usize::from(entry.client.is_unlisted());
        }
        let free = max.saturating_sub(open);
        // The newcomer counts too.
        if of_client + 1 > free && !client.is_one_connection() {
            Some(TooMany::OfClient)
        } else if client.is_unlisted() && unlisted + 1 > max_unlisted(max) {
            Some(TooMany::OfUnlisted)
        } else if free == 0 {
            Some(TooMany::InAll)
        } else {
            None
        }
    }

    /// The longest idle one that `may_end`, of the client with most among those that have idle ones.
    fn longest_idle(&self, may_end: impl Fn(u64, &ClientKey) -> bool) -> Option<u64> {
        let mut count: HashMap<&str, usize> = HashMap::new();
        for entry in self.entries.values() {
            *count.entry(&entry.client.key).or_default() += 1;
        }
        self.entries
            .iter()
            .filter(|(id, entry)| entry.calls == 0 && may_end(**id, &entry.client))
            .max_by_key(|(id, entry)| {
                let many = count.get(entry.client.key.as_str()).copied().unwrap_or(0);
                // One that has been served ends after those that have only connected.
                let was_never_served = entry.all_calls == 0;
                (many, was_never_served, std::cmp::Reverse((entry.idle_since_us, **id)))
            })
            .map(|(id, _)| *id)
    }

    fn close(&mut self, id: u64) -> Option<Entry> {
        let entry = self.entries.remove(&id)?;
        entry.signal.is_closed.store(true, Ordering::Relaxed);
        entry.signal.waker.wake();
        Some(entry)
    }
}

/// The connections of one listener; clones share them.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max: usize,
    is_http: bool,
    table: Mutex<Table>,
    open: Gauge,
    accounts: Arc<Accounts>,
    refusals: Refusals,
    clock: Monotonic,
}

impl Connections {
    /// `open` follows their number.
    pub(super) fn new(
        max: usize,
        is_http: bool,
        open: Gauge,
        accounts: Arc<Accounts>,
        refusals: Refusals,
        clock: Monotonic,
    ) -> Self {
        let table = Mutex::default();
        Self(Arc::new(Inner { max, is_http, table, open, accounts, refusals, clock }))
    }

    /// Waits until a client may connect: one that does so too often waits in its own connections.
    pub fn turn(&self, client: &ClientKey) -> impl Future<Output = ()> + Send + use<> {
        let (account, clock) = (self.0.accounts.of(client), self.0.clock);
        async move {
            while let Err(refused) = account.take(CONNECTS, 1, clock.now_us()) {
                sleep(refused.retry_after().unwrap_or(CHECK_PERIOD)).await;
            }
        }
    }

    /// Ends all connections.
    pub fn end_all(&self) {
        let mut table = self.0.table.lock();
        while let Some((id, _)) = table.entries.first_key_value() {
            let id = *id;
            table.close(id);
        }
        self.count(&table);
    }

    /// Admits a connection; `None` if there is no room for this client.
    pub fn admit(&self, client: ClientKey) -> Option<Slot> {
        self.admit_at(client, self.0.clock.now_us())
    }

    fn admit_at(&self, client: ClientKey, now_us: u64) -> Option<Slot> {
        let mut table = self.0.table.lock();
        self.make_room(&mut table, &client, None).ok()?;
        let id = table.next;
        table.next += 1;
        let signal = Arc::new(Signal::default());
        let shared = Arc::clone(&signal);
        let entry = Entry {
            client,
            signal: shared,
            calls: 0,
            all_calls: 0,
            idle_since_us: now_us,
            answer_by_us: None,
        };
        table.entries.insert(id, entry);
        self.count(&table);
        Some(Slot { id, connections: self.clone(), signal })
    }

    /// Ends a connection if that makes room for one of this client; `own` is its place, if it has one.
    fn make_room(
        &self,
        table: &mut Table,
        client: &ClientKey,
        own: Option<u64>,
    ) -> Result<(), Refused> {
        let max = self.0.max;
        let Some(too_many) = table.too_many(client, own, max) else { return Ok(()) };
        let idle = table.longest_idle(|id, of| {
            own != Some(id)
                && match too_many {
                    TooMany::OfClient => of.key == client.key,
                    TooMany::OfUnlisted => of.is_unlisted(),
                    TooMany::InAll => true,
                }
        });
        let ended = idle.and_then(|id| table.close(id));
        let loser = ended.as_ref().map_or(client, |entry| &entry.client);
        let bound = match too_many {
            TooMany::OfClient | TooMany::InAll => {
                format!("more than its share of {max} connections")
            }
            TooMany::OfUnlisted => format!(
                "more than {} connections of clients that the access file does not list",
                max_unlisted(max)
            ),
        };
        self.0.refusals.count(&loser.shown.as_str().into(), Limit::CONNECTIONS, &bound);
        match ended {
            Some(_) => Ok(()),
            None => Err(Refused::until_freed(&client.shown, bound)),
        }
    }

    /// Ends connections that send nothing or have no call, until the listener closes.
    pub async fn end_idle(self) {
        let mut ticks = interval(CHECK_PERIOD);
        loop {
            ticks.tick().await;
            self.end_idle_at(self.0.clock.now_us());
        }
    }

    fn end_idle_at(&self, now_us: u64) {
        let mut table = self.0.table.lock();
        let is_over =
            |entry: &Entry| entry.ends_us(self.0.is_http).is_some_and(|ends_us| ends_us <= now_us);
        let over: Vec<u64> =
            table.entries.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| *id).collect();
        for id in over {
            table.close(id);
        }
        self.count(&table);
    }

    fn count(&self, table: &Table) {
        self.0.open.set(i64::try_from(table.entries.len()).unwrap_or(i64::MAX));
    }
}

/// A connection's place in the table.
#[derive(Clone, Debug)]
pub struct Slot {
    id: u64,
    connections: Connections,
    signal: Arc<Signal>,
}

impl Slot {
    /// Whether the connection has to end; `waker` is woken when it has to.
    pub fn is_closed(&self, waker: &Waker) -> bool {
        self.signal.waker.register(waker);
        self.signal.is_closed.load(Ordering::Relaxed)
    }

    /// The peer sent something.
    pub fn has_sent(&self) {
        let sent_at_us = &self.signal.sent_at_us;
        if sent_at_us.load(Ordering::Relaxed) == 0 {
            sent_at_us.store(self.connections.0.clock.now_us().max(1), Ordering::Relaxed);
        }
    }

    /// The client is known now, as after a handshake or by the token of a call. Its connection counts
    /// among those of the name, and ends if there are too many.
    pub fn identified(&self, client: &ClientKey) -> Result<(), Refused> {
        let connections = &self.connections;
        let mut table = connections.0.table.lock();
        match table.entries.get(&self.id) {
            // It has ended.
            None => return Ok(()),
            Some(entry) if entry.client == *client => return Ok(()),
            Some(_) => {}
        }
        let outcome = connections.make_room(&mut table, client, Some(self.id));
        if outcome.is_err() {
            table.close(self.id);
        } else if let Some(entry) = table.entries.get_mut(&self.id) {
            entry.client = client.clone();
        }
        connections.count(&table);
        outcome
    }

    /// A call is open until the result is dropped. Without `is_stream` it ends its connection unless it is
    /// answered within a minute.
    pub fn begin_call(&self, is_stream: bool) -> CallOfSlot {
        self.change(|entry, now_us| {
            entry.calls += 1;
            entry.all_calls += 1;
            entry.answer_by_us = (!is_stream).then(|| now_us.saturating_add(micros(ANSWER)));
            entry.signal.sent_at_us.store(0, Ordering::Relaxed);
        });
        CallOfSlot(self.clone())
    }

    /// The connection has ended.
    pub fn leave(&self) {
        let mut table = self.connections.0.table.lock();
        table.close(self.id);
        self.connections.count(&table);
    }

    fn change(&self, change: impl FnOnce(&mut Entry, u64)) {
        let inner = &self.connections.0;
        if let Some(entry) = inner.table.lock().entries.get_mut(&self.id) {
            change(entry, inner.clock.now_us());
        }
    }
}

/// An open call of a connection.
#[derive(Debug)]
pub struct CallOfSlot(Slot);

impl CallOfSlot {
    /// The answer is a stream, which may last for ever.
    pub fn streams(&self) {
        self.0.change(|entry, _| entry.answer_by_us = None);
    }

    /// Ends the connection now.
    pub fn close(&self) {
        self.0.leave();
    }
}

impl Drop for CallOfSlot {
    fn drop(&mut self) {
        self.0.change(|entry, now_us| {
            entry.calls = entry.calls.saturating_sub(1);
            entry.idle_since_us = now_us;
            entry.signal.sent_at_us.store(0, Ordering::Relaxed);
        });
    }
}

/// Connections that clients outside the access file may have together.
fn max_unlisted(max: usize) -> usize {
    max - max / 4
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use crate::address::Address;

    use super::*;

    const SECOND: u64 = 1_000_000;

    fn connections(max: usize, is_http: bool) -> (Connections, Gauge) {
        let open = Gauge::default();
        let (clock, refusals) = (Monotonic::start(), Refusals::default());
        let accounts = Arc::new(Accounts::new(refusals.clone()));
        (Connections::new(max, is_http, open.clone(), accounts, refusals, clock), open)
    }

    fn named(name: &str) -> ClientKey {
        ClientKey::named(name)
    }

    fn local(port: u16) -> ClientKey {
        ClientKey::at(Address::Ip(([127, 0, 0, 1], port).into()))
    }

    fn is_closed(slot: &Slot) -> bool {
        slot.is_closed(Waker::noop())
    }

    #[test]
    fn a_client_has_half_of_the_places_and_others_find_room() {
        let (connections, open) = connections(40, false);
        let greedy: Vec<_> = (0..100).filter_map(|_| connections.admit_at(named("a"), 0)).collect();
        let alive = greedy.iter().filter(|slot| !is_closed(slot)).count();
        assert_eq!((greedy.len(), alive), (100, 20), "its own longest idle ends for the next");
        assert!(is_closed(&greedy[79]) && !is_closed(&greedy[80]));
        let calls: Vec<_> = greedy[80..].iter().map(|slot| slot.begin_call(true)).collect();
        assert!(connections.admit_at(named("a"), 0).is_none(), "all of its own are busy");
        let other = connections.admit_at(named("b"), 0).expect("room");
        assert_eq!(open.get(), 21);
        drop(calls);
        other.leave();
        assert_eq!(open.get(), 20);
    }

    #[test]
    fn a_full_table_ends_the_longest_idle_and_never_one_with_a_call() {
        let (connections, _) = connections(10, false);
        let busy = connections.admit_at(local(1), 0).expect("room");
        let call = busy.begin_call(true);
        let silent: Vec<_> =
            (2..1_000).filter_map(|port| connections.admit_at(local(port), port.into())).collect();
        assert_eq!(silent.len(), 998, "each came in");
        assert_eq!(silent.iter().filter(|slot| !is_closed(slot)).count(), 9, "the newest");
        assert!(!is_closed(&busy));
        let calls: Vec<_> = silent[989..].iter().map(|slot| slot.begin_call(true)).collect();
        assert!(connections.admit_at(local(1), 2_000).is_none(), "nobody is idle");
        drop((call, calls));
        assert!(connections.admit_at(local(1), 2_000).is_some());
    }

    #[test]
    fn the_client_with_most_loses_first() {
        let (connections, _) = connections(8, false);
        let quiet = connections.admit_at(named("quiet"), 0).expect("room");
        let many: Vec<_> =
            (1..=3).filter_map(|at| connections.admit_at(named("many"), at)).collect();
        let locals: Vec<_> =
            (1..=4).filter_map(|port| connections.admit_at(local(port), 9)).collect();
        assert_eq!((many.len(), locals.len()), (3, 4));
        let newcomer = connections.admit_at(local(9), 10);
        assert!(newcomer.is_some() && is_closed(&many[0]) && !is_closed(&quiet));
    }

    #[test]
    fn a_client_has_its_share_by_its_name_too() {
        let (connections, open) = connections(40, false);
        let at = |number: u8| ClientKey::at(Address::Ip(([192, 0, 2, number], 1).into()));
        let named = |address, client: &ClientKey| {
            let slot = connections.admit_at(at(address), 0)?;
            slot.identified(client).ok()?;
            let call = slot.begin_call(true);
            Some((slot, call))
        };
        let unlisted =
            |name| ClientKey::unlisted(Some(name), Address::Ip(([192, 0, 2, 1], 1).into()));
        let one: Vec<_> = (0..100).filter_map(|n| named(n % 2, &unlisted("one"))).collect();
        assert_eq!((one.len(), open.get()), (20, 20), "half, from two addresses");
        let two: Vec<_> = (0..100).filter_map(|n| named(n % 2, &unlisted("two"))).collect();
        assert_eq!(two.len(), 10, "half of the rest");
        assert!(
            named(3, &unlisted("three")).is_none(),
            "three quarters are taken by unlisted ones"
        );
        let listed: Vec<_> = (0..100).filter_map(|_| named(3, &super::tests::named("a"))).collect();
        assert_eq!(listed.len(), 5);
        let refused = connections.admit_at(at(3), 0).expect("room").identified(&unlisted("three"));
        let message = "client certificate three: more than 30 connections of clients that the access \
                       file does not list; end others first";
        assert_eq!(refused.expect_err("refused").message(), message);
    }

    #[test]
    fn an_idle_connection_of_the_name_ends_for_the_next() {
        let (connections, open) = connections(8, false);
        let client = named("a");
        let slots: Vec<_> =
            (0..6).filter_map(|n| connections.admit_at(local(n), n.into())).collect();
        let outcomes: Vec<_> = slots.iter().map(|slot| slot.identified(&client).is_ok()).collect();
        assert_eq!(outcomes, [true; 6]);
        let ended: Vec<_> = slots.iter().map(is_closed).collect();
        assert_eq!(ended, [true, true, false, false, false, false]);
        assert_eq!(open.get(), 4);
    }

    #[test]
    fn silence_ends_soon_and_idleness_later_but_a_call_keeps_its_connection() {
        for (is_http, first_call_s) in [(true, 10), (false, 120)] {
            let (connections, open) = connections(10, is_http);
            let slots: Vec<_> =
                (1..=4).filter_map(|at| connections.admit_at(local(at), 0)).collect();
            let [_silent, spoke, calling, called] = &slots[..] else { panic!("room for four") };
            for slot in [spoke, calling, called] {
                slot.has_sent();
            }
            let call = calling.begin_call(true);
            drop(called.begin_call(true));
            let closed = |at_us| {
                connections.end_idle_at(at_us);
                slots.iter().map(is_closed).collect::<Vec<_>>()
            };
            assert_eq!(closed(10 * SECOND - 1), [false; 4]);
            assert!(closed(10 * SECOND)[0]);
            // A request of HTTP has its time from when it began to be sent, a moment later.
            assert_eq!(closed(11 * SECOND), [true, first_call_s == 10, false, false]);
            assert_eq!(closed(119 * SECOND), [true, first_call_s == 10, false, false]);
            // The last call ended a moment after the clock began.
            assert_eq!(closed(121 * SECOND), [true, true, false, true]);
            assert_eq!(open.get(), 1);
            drop(call);
            assert_eq!(closed(3_600 * SECOND), [true; 4]);
        }
    }

    #[test]
    fn a_request_of_http_comes_and_is_answered_in_time_unless_it_is_a_stream() {
        let (connections, _) = connections(10, true);
        let slots: Vec<_> = (1..=3).filter_map(|at| connections.admit_at(local(at), 0)).collect();
        let [answered, streaming, drip] = &slots[..] else { panic!("room for three") };
        let answer = answered.begin_call(false);
        let stream = streaming.begin_call(false);
        stream.streams();
        drop(drip.begin_call(false));
        // The head of its next request does not become complete.
        drip.has_sent();
        let closed = |at_us| {
            connections.end_idle_at(at_us);
            slots.iter().map(is_closed).collect::<Vec<_>>()
        };
        assert_eq!(closed(9 * SECOND), [false, false, false]);
        assert_eq!(closed(11 * SECOND), [false, false, true]);
        assert_eq!(closed(59 * SECOND), [false, false, true]);
        assert_eq!(closed(61 * SECOND), [true, false, true]);
        drop((answer, stream));
    }
}
