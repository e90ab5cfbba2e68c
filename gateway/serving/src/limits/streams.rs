//! The open streams of a gRPC server, and which of them ends when a newcomer finds no room.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    account::Account,
    limit::{Limit, Refused},
    pool::{Hold, Pool, Share},
};

/// The streams of all clients, in the order in which they were opened; clones share them.
#[derive(Clone, Debug)]
pub struct OpenStreams {
    pool: Arc<Pool>,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    streams: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    account: Arc<Account>,
    share: Arc<Share>,
    ending: Arc<Ending>,
}

/// Whether a stream has to end for another.
#[derive(Debug, Default)]
struct Ending {
    has_ended: AtomicBool,
    notify: Notify,
}

impl OpenStreams {
    /// Room for `max` streams, of which one client alone may have half.
    pub fn new(max: u64) -> Self {
        Self { pool: Pool::new(max), open: Arc::default() }
    }

    /// Opens a stream of a client. If it has no share left, but another has at least two streams more than
    /// it, the newest of the client with most ends for it.
    ///
    /// # Errors
    /// There is no room.
    pub fn open(&self, account: &Arc<Account>) -> Result<OpenStream, Refused> {
        let share = account.share(&self.pool);
        let mut open = self.open.lock();
        let hold = match share.try_hold(1) {
            Some(hold) => hold,
            None => match open.newest_of_most(&share) {
                Some(other) => {
                    other.ending.has_ended.store(true, Ordering::Relaxed);
                    other.ending.notify.notify_one();
                    let why = "its newest made room for a client with fewer";
                    other.account.refused(Limit::STREAMS, why);
                    Hold::unbounded(&share, 1)
                }
                None => account.hold(&share, Limit::STREAMS, 1)?,
            },
        };
        let (id, ending) = (open.next, Arc::new(Ending::default()));
        open.next += 1;
        let entry = Entry { account: Arc::clone(account), share, ending: Arc::clone(&ending) };
        open.streams.insert(id, entry);
        let client = Arc::clone(&account.name);
        Ok(OpenStream { id, open: Arc::clone(&self.open), ending, client, _hold: hold })
    }
}

impl Open {
    /// What makes room for one more of a share, if others have at least two more than it.
    fn newest_of_most(&self, newcomer: &Share) -> Option<&Entry> {
        let running = || self.streams.values().filter(|entry| !entry.ending.has_ended());
        let most = running().map(|entry| entry.share.held()).max()?;
        let has_enough = most >= newcomer.held() + 2;
        running().rfind(|entry| has_enough && entry.share.held() == most)
    }
}

impl Ending {
    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

/// A stream until it is dropped.
#[derive(Debug)]
pub struct OpenStream {
    id: u64,
    open: Arc<Mutex<Open>>,
    ending: Arc<Ending>,
    client: Arc<str>,
    _hold: Hold,
}

impl OpenStream {
    /// Waits until it has to end for another; returns why.
    pub async fn ended(&self) -> Refused {
        while !self.ending.has_ended() {
            self.ending.notify.notified().await;
        }
        let detail = "it had the most streams; another client needed one";
        Refused::until_freed(&self.client, detail.to_owned())
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.open.lock().streams.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ClientKey, Limits, Refusals};
    use super::*;

    fn has_ended(stream: &OpenStream) -> bool {
        stream.ending.has_ended()
    }

    #[tokio::test]
    async fn the_newest_of_the_client_with_most_makes_room() {
        let limits = Limits::new(Refusals::default());
        let account = |name: &str| limits.account(&ClientKey::named(name));
        let streams = OpenStreams::new(8);
        let greedy: Vec<_> = (0..4).filter_map(|_| streams.open(&account("a")).ok()).collect();
        let refused = streams.open(&account("a")).expect_err("half");
        assert!(refused.message().contains("more than its share of 8 streams"), "{refused:?}");
        let two: Vec<_> = (0..2).filter_map(|_| streams.open(&account("b")).ok()).collect();
        let three: Vec<_> = ["c", "d"].map(|name| streams.open(&account(name))).into();
        assert!(three.iter().all(Result::is_ok), "half of the rest, and the last");
        let four = streams.open(&account("e")).expect("one of a has to end");
        assert_eq!(greedy.iter().map(has_ended).collect::<Vec<_>>(), [false, false, false, true]);
        let message = greedy[3].ended().await;
        assert!(message.message().starts_with("client a: it had the most streams"), "{message:?}");
        assert!(!two.iter().chain(three.iter().flatten()).chain([&four]).any(has_ended));
        drop((greedy, two, three, four));
        assert_eq!(streams.pool.held(), 0);
        assert!(streams.open.lock().streams.is_empty());
    }

    #[test]
    fn nobody_makes_room_for_one_with_as_many() {
        let limits = Limits::new(Refusals::default());
        let account = |name: &str| limits.account(&ClientKey::named(name));
        let streams = OpenStreams::new(3);
        let held: Vec<_> = ["a", "a", "b"].map(|name| streams.open(&account(name))).into();
        assert!(held.iter().all(Result::is_ok));
        assert!(streams.open(&account("b")).is_err(), "a has one more than b");
    }
}
