//! Inelastic flows before shares are fair: queues of flows that drops do not slow, and whose rate fits a stated
//! part of what the bearer drains, go before all others but new ones; the rest by deficit round robin.
//!
//! A flow that drops do not slow (a cloud game, a call, a camera) loses what exceeds its fair share, however
//! much the radio carries. It cannot be known by its mark alone, which would reward those who lie:
//! - **Candidates**: a marked flow must have kept its rate for a second. One without a mark, and not of TCP,
//!   must have kept it while its queue ran empty again and again, so that the sender and not the queue
//!   limits it; or for two seconds in which a seventh of what it sent was dropped (the test of Floyd and
//!   Fall 1999 §3.2 for unresponsive flows).
//! - **Admission**: each [`WINDOW_US`], in the order of their rates, while their sum is within the part.
//!   What does not fit is refused and has its fair share, as bulk has; one admitted stays for
//!   [`MISFIT_WINDOWS`], as a dip of the radio passes.
//! - **Growth**: what sends more once it goes first is elastic, whatever its mark says. It is refused, for
//!   longer each time, and its mark counts no more.
//! - **Credit**: while others wait, admitted queues earn the part of each byte that the bearer drains, for
//!   [`CREDIT_WINDOWS`] at most, and spend what they send. Without credit they are bulk.
//!
//! New queues go first of all: a packet of a sparse flow does not wait for a frame of a game.

use e2sm_tc::v1::Inelastic;

use super::list::{Link, List, Place};
use super::{Algorithm, Arrived, Heads};

/// How often rates are compared with the part.
const WINDOW_US: u64 = 100_000;
/// Windows of half a second: over several frames of a game or a video call, rates are compared.
const HALF: usize = 5;
/// Windows that are remembered: the current one and two seconds.
const WINDOWS: usize = 4 * HALF + 1;
/// Queues that are watched at a time; more are bulk.
const MOST_CLAIMS: usize = 32;
/// A queue without packets for so long is watched no more.
const FORGOTTEN_US: u64 = 1_000_000;
/// How long one that grew is refused, first and at most; it doubles each time.
const REFUSED_US: std::ops::RangeInclusive<u64> = 1_000_000..=64_000_000;
/// Rates of half a second differ by a quarter at most when they are the same: the probing gain of BBR, and more
/// than the frames of a video of constant rate vary.
const GROWN: (u64, u64) = (5, 4);
/// Largest share that leaves of what an unresponsive flow sends.
const LEFT_OF_UNRESPONSIVE: (u64, u64) = (6, 7);
/// Windows for which one that is admitted may exceed the part before it is bulk.
const MISFIT_WINDOWS: u32 = 5;
/// Windows over which the drain of the bearer is averaged: dips of the radio last seconds.
const DRAIN_WINDOWS: u64 = 50;
/// Windows of the part that can be saved up.
const CREDIT_WINDOWS: u64 = 10;
/// Windows without a backlog after which the drain of the bearer is unknown.
const STALE_WINDOWS: u64 = 50;

/// A bit for each of the last windows, the newest lowest.
const LAST_SECOND: u32 = (1 << (2 * HALF)) - 1;

/// A queue that is watched.
#[derive(Clone, Copy, Debug)]
struct Claim {
    queue: u32,
    /// Windows since it is watched, [`WINDOWS`] at most.
    age: usize,
    /// Bytes that arrived in the last windows, the newest first.
    arrived: [u32; WINDOWS],
    /// Bytes that left.
    left: [u32; WINDOWS],
    /// Windows in which a packet found the queue empty.
    found_empty: u32,
    /// Windows with a packet that did not ask.
    unmarked: u32,
    /// Windows with a packet of TCP.
    tcp: u32,
    /// Last packet.
    arrived_us: u64,
    /// Its rate when it was admitted, bytes per window; `None` while it is bulk.
    admitted_at: Option<u64>,
    admitted_us: u64,
    misfits: u32,
    refused_until_us: u64,
    /// Length of the last refusal; 0 before the first.
    refused_us: u64,
    verdict: Option<Inelastic>,
}

impl Claim {
    fn new(queue: u32) -> Self {
        Self {
            queue,
            age: 0,
            arrived: [0; WINDOWS],
            left: [0; WINDOWS],
            found_empty: 0,
            unmarked: 0,
            tcp: 0,
            arrived_us: 0,
            admitted_at: None,
            admitted_us: 0,
            misfits: 0,
            refused_until_us: 0,
            refused_us: 0,
            verdict: None,
        }
    }

    fn count(&mut self, packet: &Arrived, asks: bool) {
        self.arrived_us = packet.now_us;
        self.arrived[0] = self.arrived[0].saturating_add(packet.len_bytes);
        self.found_empty |= u32::from(packet.found_empty);
        self.unmarked |= u32::from(!asks);
        self.tcp |= u32::from(packet.is_tcp);
    }

    /// A window is over: what is known of it moves to the past.
    fn close_window(&mut self) {
        self.arrived.rotate_right(1);
        self.left.rotate_right(1);
        (self.arrived[0], self.left[0]) = (0, 0);
        self.found_empty <<= 1;
        self.unmarked <<= 1;
        self.tcp <<= 1;
        self.age = (self.age + 1).min(WINDOWS - 1);
    }

    /// Mean rate of the last half second, bytes per window.
    fn rate(&self) -> u64 {
        let known = self.age.clamp(1, HALF);
        sum(&self.arrived[1..=known]) / known as u64
    }

    /// Whether the last half seconds had the same rate.
    fn is_steady(&self, halves: usize) -> bool {
        let sums = || self.arrived[1..].chunks(HALF).take(halves).map(sum);
        let (least, most) = (sums().min().unwrap_or(0), sums().max().unwrap_or(0));
        self.age >= halves * HALF && least > 0 && most * GROWN.1 <= least * GROWN.0
    }

    fn is_marked(&self) -> bool {
        self.refused_us == 0 && self.unmarked >> 1 & LAST_SECOND == 0
    }

    /// Whether drops do not slow it, as far as is known.
    fn is_inelastic(&self) -> bool {
        if self.is_marked() {
            return self.is_steady(2);
        }
        let runs_empty = self.found_empty >> 1 & LAST_SECOND == LAST_SECOND;
        let drops = || {
            let (arrived, left) = (sum(&self.arrived), sum(&self.left));
            self.is_steady(4) && left * LEFT_OF_UNRESPONSIVE.1 <= arrived * LEFT_OF_UNRESPONSIVE.0
        };
        self.tcp >> 1 & LAST_SECOND == 0 && (runs_empty && self.is_steady(2) || drops())
    }

    /// Whether it sends more than when it was admitted, at `then`.
    fn has_grown(&self, then: u64) -> bool {
        self.rate() * GROWN.1 > then * GROWN.0
    }

    fn refuse(&mut self, now_us: u64) {
        let doubled = (self.refused_us * 2).max(*REFUSED_US.start());
        self.refused_us = doubled.min(*REFUSED_US.end());
        self.refused_until_us = now_us.saturating_add(self.refused_us);
        self.admitted_at = None;
        self.verdict = Some(Inelastic::Grew);
    }

    /// One that has gone first for as long as the longest refusal has proved that it does not grow.
    fn forgive(&mut self, now_us: u64) {
        if now_us.saturating_sub(self.admitted_us) > *REFUSED_US.end() {
            self.refused_us = 0;
        }
    }

    /// Why it is bulk, if it could be more.
    fn refusal(&self) -> Option<Inelastic> {
        if self.is_inelastic() {
            return Some(Inelastic::OverPart);
        }
        let grew = (self.refused_us > 0).then_some(Inelastic::Grew);
        grew.or_else(|| self.is_marked().then_some(Inelastic::Unsteady))
    }

    fn is_silent(&self, now_us: u64) -> bool {
        now_us.saturating_sub(self.arrived_us) > FORGOTTEN_US
    }

    /// Whether nothing is lost when it is watched no more: that it was refused is remembered for as long
    /// as the longest refusal.
    fn is_over(&self, now_us: u64) -> bool {
        let remembers_us = if self.refused_us == 0 { 0 } else { *REFUSED_US.end() };
        self.is_silent(now_us) && now_us.saturating_sub(self.refused_until_us) > remembers_us
    }
}

fn sum(bytes: &[u32]) -> u64 {
    bytes.iter().copied().map(u64::from).sum()
}

/// What the bearer drains while it has something to send, bytes per window.
#[derive(Clone, Copy, Debug)]
struct Drain {
    now_us: u64,
    /// Bytes of the current window.
    bytes: u64,
    /// Time in which there was nothing to send.
    idle_us: u64,
    idle_since_us: Option<u64>,
    mean: u64,
    /// Windows of the mean, [`DRAIN_WINDOWS`] at most.
    windows: u64,
    /// Windows since the last one of the mean.
    stale: u64,
}

impl Drain {
    fn new(now_us: u64) -> Self {
        Self {
            now_us,
            bytes: 0,
            idle_us: 0,
            idle_since_us: Some(now_us),
            mean: 0,
            windows: 0,
            stale: 0,
        }
    }

    fn idles(&mut self) {
        self.idle_since_us.get_or_insert(self.now_us);
    }

    fn busy(&mut self) {
        if let Some(since_us) = self.idle_since_us.take() {
            self.idle_us = self.idle_us.saturating_add(self.now_us.saturating_sub(since_us));
        }
    }

    /// `windows` of [`WINDOW_US`] end at `end_us`.
    fn close(&mut self, windows: u64, end_us: u64) {
        if let Some(since_us) = &mut self.idle_since_us {
            self.idle_us = self.idle_us.saturating_add(end_us.saturating_sub(*since_us));
            *since_us = end_us;
        }
        let (bytes, idle_us) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.idle_us));
        let whole_us = windows.saturating_mul(WINDOW_US);
        let busy_us = whole_us.saturating_sub(idle_us);
        // The rate of a short busy time is that of a part of a slot.
        if busy_us < whole_us / 10 * 9 {
            self.stale = self.stale.saturating_add(windows);
            if self.stale > STALE_WINDOWS {
                (self.windows, self.mean) = (0, 0);
            }
            return;
        }
        self.stale = 0;
        let rate = bytes * WINDOW_US / busy_us;
        let counted = windows.min(DRAIN_WINDOWS);
        self.windows = (self.windows + counted).min(DRAIN_WINDOWS);
        self.mean = (self.mean * (self.windows - counted) + rate * counted) / self.windows;
    }

    /// `None` while it has not been put to the test.
    fn known(&self) -> Option<u64> {
        (self.windows > 0).then_some(self.mean)
    }
}

/// Admitted queues before `A`, except new ones.
#[derive(Clone, Debug)]
pub(crate) struct InelasticFirst<A> {
    rest: A,
    part_milli: i64,
    claims: Vec<Claim>,
    queues: Vec<OfQueue>,
    first: List,
    /// Whether the candidate is of `first`.
    is_first: bool,
    /// Whether others wait beside the candidate of `first`.
    is_contended: bool,
    /// Thousandths of bytes.
    credit: i64,
    most_credit: i64,
    drain: Drain,
    window_ends_us: u64,
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
struct OfQueue {
    /// Its claim, plus one; 0 without.
    claim: u8,
    is_admitted: bool,
    /// Whether it was parked while it was on `first`.
    parked_first: bool,
}

impl<A: Algorithm> InelasticFirst<A> {
    pub(crate) fn new(rest: A, part_milli: u16, queues: usize) -> Self {
        Self {
            rest,
            part_milli: part_milli.into(),
            claims: Vec::with_capacity(MOST_CLAIMS),
            queues: vec![OfQueue::default(); queues],
            first: List::default(),
            is_first: false,
            is_contended: false,
            credit: 0,
            most_credit: 0,
            drain: Drain::new(0),
            window_ends_us: WINDOW_US,
        }
    }

    pub(super) fn rest_mut(&mut self) -> &mut A {
        &mut self.rest
    }

    /// What was decided about a queue; `None` if it is like any other.
    pub(super) fn inelastic(&self, queue: u32) -> Option<Inelastic> {
        let claim = self.queues.get(queue as usize)?.claim.checked_sub(1)?;
        self.claims.get(usize::from(claim))?.verdict
    }

    /// A packet came for a queue, whether it is then queued or dropped; `asks` if it is marked as inelastic.
    #[inline]
    pub(super) fn arrived(&mut self, queue: u32, packet: &Arrived, asks: bool) {
        self.advance(packet.now_us);
        self.drain.busy();
        match self.queues[queue as usize].claim.checked_sub(1) {
            Some(claim) => self.claims[usize::from(claim)].count(packet, asks),
            // A sparse flow goes first anyway, and TCP slows down unless it says otherwise.
            None if !asks && (packet.is_tcp || packet.found_empty) => {}
            None => self.watch(queue, packet, asks),
        }
    }

    #[cold]
    fn watch(&mut self, queue: u32, packet: &Arrived, asks: bool) {
        if self.claims.len() == MOST_CLAIMS
            && let Some(silent) = self.claims.iter().position(|it| it.is_silent(packet.now_us))
        {
            self.forget(silent);
        }
        if self.claims.len() < MOST_CLAIMS {
            let mut claim = Claim::new(queue);
            claim.count(packet, asks);
            self.claims.push(claim);
            self.queues[queue as usize].claim = self.claims.len() as u8;
        }
    }

    fn forget(&mut self, index: usize) {
        let claim = self.claims.swap_remove(index);
        let of_queue = &mut self.queues[claim.queue as usize];
        (of_queue.claim, of_queue.is_admitted) = (0, false);
        if let Some(moved) = self.claims.get(index) {
            self.queues[moved.queue as usize].claim = index as u8 + 1;
        }
    }

    /// The clock went back: what was known is of another time.
    #[cold]
    fn restart(&mut self, now_us: u64) {
        while !self.claims.is_empty() {
            self.forget(0);
        }
        self.drain = Drain::new(now_us);
        self.window_ends_us = now_us.saturating_add(WINDOW_US);
    }

    /// Ends the windows that time has passed over, and decides.
    #[cold]
    fn close_windows(&mut self, now_us: u64) {
        let passed = (now_us - self.window_ends_us) / WINDOW_US + 1;
        let end_us = self.window_ends_us + (passed - 1) * WINDOW_US;
        self.window_ends_us = end_us.saturating_add(WINDOW_US);
        self.drain.close(passed, end_us);
        for _ in 0..passed.min(WINDOWS as u64) {
            self.claims.iter_mut().for_each(Claim::close_window);
        }
        let mut index = 0;
        while let Some(claim) = self.claims.get(index) {
            if claim.is_over(now_us) {
                self.forget(index);
            } else {
                index += 1;
            }
        }
        let part = self.drain.known().map(|drain| drain * self.part_milli as u64 / 1000);
        let of_window = part.unwrap_or(0).max(self.admit(part, now_us));
        self.most_credit = (of_window * CREDIT_WINDOWS * 1000) as i64;
        self.credit = self.credit.min(self.most_credit);
    }

    /// Admits in the order of rates while their sum, in bytes per window, is within the part; unlimited
    /// while what the bearer drains is unknown. Returns the sum.
    fn admit(&mut self, part: Option<u64>, now_us: u64) -> u64 {
        let mut order = [0_u8; MOST_CLAIMS];
        let order = &mut order[..self.claims.len()];
        (0..).zip(order.iter_mut()).for_each(|(index, place)| *place = index);
        order.sort_unstable_by_key(|&index| {
            let claim = &self.claims[usize::from(index)];
            (claim.rate(), claim.queue)
        });
        let mut sum = 0;
        for &index in order.iter() {
            let claim = &mut self.claims[usize::from(index)];
            if claim.is_silent(now_us) {
                (claim.admitted_at, claim.verdict) = (None, None);
            }
            let rate = claim.rate();
            let fits = part.is_none_or(|part| sum + rate <= part);
            claim.misfits = if fits { 0 } else { claim.misfits + 1 };
            match claim.admitted_at {
                Some(then) if claim.has_grown(then) => claim.refuse(now_us),
                Some(_) if claim.misfits < MISFIT_WINDOWS => claim.forgive(now_us),
                None if now_us < claim.refused_until_us => {}
                None if fits && claim.is_inelastic() => {
                    claim.admitted_at = Some(rate);
                    claim.admitted_us = now_us;
                    claim.verdict = Some(Inelastic::Admitted);
                }
                _ => {
                    claim.admitted_at = None;
                    claim.verdict = claim.refusal();
                }
            }
            if claim.admitted_at.is_some() {
                sum += rate;
            }
            self.queues[claim.queue as usize].is_admitted = claim.admitted_at.is_some();
        }
        sum
    }

    fn goes_first(&self, queue: u32) -> bool {
        self.credit > 0 && self.queues[queue as usize].is_admitted
    }

    /// The next queue that goes first; those that do so no longer return to the others.
    fn next_first(&mut self, links: &mut [Link]) -> Option<u32> {
        while let Some(queue) = self.first.first() {
            if self.goes_first(queue) {
                return Some(queue);
            }
            self.first.pop_front(links);
            links[queue as usize].deficit = 0;
            self.rest.resume(links, queue);
        }
        None
    }

    fn join_first(&mut self, links: &mut [Link], queue: u32) {
        links[queue as usize].place = Place::First;
        self.first.push_back(links, queue);
    }
}

impl<A: Algorithm> Algorithm for InelasticFirst<A> {
    fn advance(&mut self, now_us: u64) {
        if now_us >= self.window_ends_us {
            self.close_windows(now_us);
        } else if now_us.saturating_add(WINDOW_US) < self.window_ends_us {
            self.restart(now_us);
        }
        self.drain.now_us = now_us;
    }

    fn activate(&mut self, links: &mut [Link], queue: u32) {
        if self.goes_first(queue) {
            self.rest.hold(queue);
            self.join_first(links, queue);
        } else {
            self.rest.activate(links, queue);
        }
    }

    fn resume(&mut self, links: &mut [Link], queue: u32) {
        if std::mem::take(&mut self.queues[queue as usize].parked_first) {
            self.join_first(links, queue);
        } else {
            self.rest.resume(links, queue);
        }
    }

    fn candidate(&mut self, links: &mut [Link], heads: &impl Heads) -> Option<u32> {
        loop {
            let first = self.next_first(links);
            let rest = self.rest.candidate(links, heads);
            let is_new = rest.is_some_and(|queue| links[queue as usize].place == Place::New);
            self.is_first = false;
            match rest {
                // An empty queue leaves, so that it is not counted among those that wait.
                Some(queue) if is_new || heads.head(queue).is_none() => return rest,
                // Its turns among the others need not be waited for.
                Some(queue) if self.goes_first(queue) => {
                    self.rest.remove_candidate(links, queue);
                    self.join_first(links, queue);
                    continue;
                }
                _ => {}
            }
            match first.or(rest) {
                Some(_) => self.drain.busy(),
                None => self.drain.idles(),
            }
            self.is_first = first.is_some();
            self.is_contended = rest.is_some();
            return first.or(rest);
        }
    }

    fn served(&mut self, links: &mut [Link], queue: u32, len_bytes: u32) {
        let len_milli = i64::from(len_bytes) * 1000;
        self.drain.bytes += u64::from(len_bytes);
        self.credit += i64::from(len_bytes) * self.part_milli;
        if let Some(claim) = self.queues[queue as usize].claim.checked_sub(1) {
            let left = &mut self.claims[usize::from(claim)].left[0];
            *left = left.saturating_add(len_bytes);
        }
        if self.is_first {
            if self.is_contended {
                self.credit -= len_milli;
            }
            self.first.rotate(links);
        } else {
            self.rest.served(links, queue, len_bytes);
        }
        self.credit = self.credit.min(self.most_credit);
    }

    fn emptied(&mut self, links: &mut [Link], queue: u32) {
        if self.is_first {
            self.first.pop_front(links);
            links[queue as usize].place = Place::Inactive;
            self.rest.release(queue);
        } else {
            self.rest.emptied(links, queue);
        }
    }

    fn remove_candidate(&mut self, links: &mut [Link], queue: u32) {
        self.queues[queue as usize].parked_first = self.is_first;
        if self.is_first {
            self.first.pop_front(links);
        } else {
            self.rest.remove_candidate(links, queue);
        }
    }
}
