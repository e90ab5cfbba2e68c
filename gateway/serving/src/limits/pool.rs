//! A resource shared by clients with a dynamic threshold.
//!
//! A client may hold up to α times what is still free (Choudhury and Hahne, "Dynamic queue length thresholds
//! for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998). One client alone gets
//! α/(1+α) of the pool, n clients α/(1+nα) each; whoever comes later finds room, and nobody needs a fixed
//! share.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// What all clients share.
#[derive(Debug)]
pub struct Pool {
    capacity: u64,
    alpha: u32,
    held: AtomicU64,
}

impl Pool {
    /// A pool of which nothing is held; one client alone may have half.
    pub fn new(capacity: u64) -> Arc<Self> {
        Self::with_alpha(capacity, 1)
    }

    /// A pool of which a client may hold up to `alpha` times what is free.
    pub fn with_alpha(capacity: u64, alpha: u32) -> Arc<Self> {
        Arc::new(Self { capacity, alpha, held: AtomicU64::new(0) })
    }

    /// What all clients may hold together.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Held by all clients.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.held())
    }

    /// What a client may hold now. One more than is free counts, so that the last of few places is used.
    fn threshold(&self) -> u64 {
        self.free().saturating_add(1).saturating_mul(u64::from(self.alpha))
    }

    /// The share of a new client.
    pub fn share(self: &Arc<Self>) -> Arc<Share> {
        Arc::new(Share { pool: Arc::clone(self), held: AtomicU64::new(0) })
    }
}

/// What one client holds of a pool.
#[derive(Debug)]
pub struct Share {
    pool: Arc<Pool>,
    held: AtomicU64,
}

impl Share {
    /// Takes `amount` unless the client would then hold more than α times what stays free.
    #[must_use]
    pub fn try_take(&self, amount: u64) -> bool {
        let with = |held: u64| held.checked_add(amount).filter(|held| *held <= self.pool.capacity);
        if self.pool.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with).is_err() {
            return false;
        }
        let own = self.held.fetch_add(amount, Ordering::Relaxed).saturating_add(amount);
        if own > self.pool.threshold() {
            self.give_back(amount);
            return false;
        }
        true
    }

    /// Takes `amount` in any case: what was measured, or what another has made room for.
    pub fn take(&self, amount: u64) {
        self.held.fetch_add(amount, Ordering::Relaxed);
        self.pool.held.fetch_add(amount, Ordering::Relaxed);
    }

    /// Returns what was taken.
    pub fn give_back(&self, amount: u64) {
        self.held.fetch_sub(amount, Ordering::Relaxed);
        self.pool.held.fetch_sub(amount, Ordering::Relaxed);
    }

    pub(super) fn is_of(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    /// Takes `amount`, which is given back when the result is dropped.
    pub fn try_hold(self: &Arc<Self>, amount: u64) -> Option<Hold> {
        self.try_take(amount).then(|| Hold { share: Arc::clone(self), amount })
    }

    /// The pool that it is of.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Held by the client.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }
}

/// An amount taken from a share until it is dropped.
#[derive(Debug)]
pub struct Hold {
    share: Arc<Share>,
    amount: u64,
}

impl Hold {
    /// Takes `amount` in any case; see [`Share::take`].
    pub fn unbounded(share: &Arc<Share>, amount: u64) -> Self {
        share.take(amount);
        Self { share: Arc::clone(share), amount }
    }

    /// Corrects the amount to what is really used, even beyond the threshold.
    pub fn correct(&mut self, amount: u64) {
        // Never below what is held: adds first.
        self.share.take(amount);
        self.share.give_back(self.amount);
        self.amount = amount;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.share.give_back(self.amount);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_client_gets_half_and_the_next_half_of_the_rest() {
        let pool = Pool::new(1_000);
        let take_all = |share: &Share| (0..1_000).filter(|_| share.try_take(1)).count();
        let shares: Vec<_> = (0..4).map(|_| pool.share()).collect();
        let taken: Vec<_> = shares.iter().map(|share| take_all(share)).collect();
        assert_eq!(taken, [500, 250, 125, 63]);
        // What one returns is for those below their threshold first.
        shares[0].give_back(400);
        assert_eq!(take_all(&shares[3]), 200, "free 462 - 200 + 1 = 63 + 200");
        assert_eq!(pool.held(), 938 - 400 + 200);
    }

    #[test]
    fn with_alpha_2_one_client_gets_two_thirds_and_the_next_two_thirds_of_the_rest() {
        let pool = Pool::with_alpha(900, 2);
        let take_all = |share: &Share| (0..900).filter(|_| share.try_take(1)).count();
        let shares: Vec<_> = (0..3).map(|_| pool.share()).collect();
        let taken: Vec<_> = shares.iter().map(|share| take_all(share)).collect();
        assert_eq!(taken, [600, 200, 67]);
    }

    #[test]
    fn a_hold_is_returned_when_dropped_and_follows_what_is_used() {
        let pool = Pool::new(100);
        let share = pool.share();
        let mut hold = share.try_hold(30).expect("half is free");
        assert!(share.try_hold(30).is_none(), "60 of 100 with 40 free");
        hold.correct(80);
        assert_eq!((share.held(), pool.held()), (80, 80));
        hold.correct(10);
        assert_eq!((share.held(), pool.held()), (10, 10));
        drop(hold);
        assert_eq!((share.held(), pool.held()), (0, 0));
    }

    proptest! {
        #[test]
        fn the_pool_is_never_overrun_and_a_newcomer_always_finds_room(
            capacity in 64_u64..10_000,
            steps in proptest::collection::vec((0_usize..4, 1_u64..64, any::<bool>()), 1..400),
        ) {
            let pool = Pool::new(capacity);
            let shares: Vec<_> = (0..4).map(|_| pool.share()).collect();
            let mut held: Vec<Vec<Hold>> = shares.iter().map(|_| Vec::new()).collect();
            for (client, amount, gives_back) in steps {
                if gives_back {
                    held[client].pop();
                } else if let Some(hold) = shares[client].try_hold(amount) {
                    held[client].push(hold);
                    prop_assert!(shares[client].held() <= pool.free() + 1);
                }
                let sum: u64 = held.iter().flatten().map(|hold| hold.amount).sum();
                prop_assert_eq!(pool.held(), sum);
                prop_assert!(sum <= capacity);
                // Each of four greedy clients leaves half of what it finds, up to rounding.
                prop_assert!(pool.free() >= capacity / 16);
                let newcomer = pool.share();
                prop_assert!(newcomer.try_hold(pool.free() / 2).is_some());
            }
        }
    }
}
