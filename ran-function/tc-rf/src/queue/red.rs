//! RED (Floyd and Jacobson 1993), figures 1 and 2, measured in bytes.
//!
//! Where the paper leaves a choice:
//! - The weight of the average is 0.002 (§6).
//! - `s`, the time a packet takes on the link while the queue is idle (§4), is not known ahead on a
//!   radio bearer: it is the mean time between departures while packets were waiting, one TTI of
//!   1 ms before there is any.
//! - The probability grows with the packet's size over the MTU, as for gateways that measure in
//!   bytes (§4, end).
//! - From the maximum threshold on every packet is dropped, whatever its ECN codepoint
//!   (RFC 3168 §7); there is no gentle ramp above, as the service model has none.

use crate::rng::Rng;
use crate::{DropReason, Ecn};

use super::aqm::{Aqm, Arrival, Head, StateValue, Verdict};
use super::codel::MTU_BYTES;

/// `w_q` (Floyd and Jacobson 1993 §6).
pub const RED_WEIGHT: f64 = 0.002;
/// Time per packet before any was measured.
const DEFAULT_SERVICE_US: u64 = 1_000;
/// Departures after which older ones count half.
const SERVICE_WINDOW_PACKETS: u64 = 1_024;

/// Parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedParams {
    /// `min_th`.
    pub min_bytes: u64,
    /// `max_th`.
    pub max_bytes: u64,
    /// `max_p`, thousandths.
    pub max_probability_milli: u16,
    /// Mark ECN-capable packets instead of dropping them below `max_bytes`.
    pub ecn: bool,
}

/// State of RED for one queue; names follow figure 2 of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Red {
    avg_bytes: f64,
    count: i64,
    /// `q_time`: start of the idle time.
    idle_since_us: u64,
    /// Departure of the last packet if it left others behind.
    busy_since_us: Option<u64>,
    busy_us: u64,
    served_packets: u64,
    rng: Rng,
}

impl Red {
    /// Average queue size.
    pub fn avg_bytes(&self) -> f64 {
        self.avg_bytes
    }

    /// Packets since the last signal; −1 while the average is below the minimum threshold.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// `p_b` and `p_a` of §4, and the draw.
    fn signals(&mut self, params: &RedParams, len_bytes: u32) -> bool {
        let range = (params.max_bytes - params.min_bytes) as f64;
        let max_p = f64::from(params.max_probability_milli) / 1e3;
        let p_b = max_p * (self.avg_bytes - params.min_bytes as f64) / range;
        let p_b = (p_b * f64::from(len_bytes) / f64::from(MTU_BYTES)).min(1.0);
        let left = 1.0 - self.count as f64 * p_b;
        // With `left` at or below `p_b`, `p_a` is 1 or more: the packet is due.
        left <= p_b || self.rng.uniform() < p_b / left
    }

    /// Figure 2: the average over arrivals, of which those that find no room are some, and over
    /// those an idle link would have served.
    fn average(&mut self, backlog_bytes: u64, now_us: u64) {
        if backlog_bytes > 0 {
            self.avg_bytes += RED_WEIGHT * (backlog_bytes as f64 - self.avg_bytes);
        } else {
            let m = now_us.saturating_sub(self.idle_since_us) / self.service_us();
            self.avg_bytes *= power(1.0 - RED_WEIGHT, m);
            // The arrivals that follow while it is still empty are not idle again.
            self.idle_since_us = now_us;
        }
    }

    /// `s`: time per packet, at least 1 µs.
    fn service_us(&self) -> u64 {
        self.busy_us.checked_div(self.served_packets).unwrap_or(DEFAULT_SERVICE_US).max(1)
    }

    /// A packet left.
    fn departed(&mut self, now_empty: bool, now_us: u64) {
        if let Some(since_us) = self.busy_since_us {
            self.busy_us = self.busy_us.saturating_add(now_us.saturating_sub(since_us));
            self.served_packets += 1;
            if self.served_packets >= SERVICE_WINDOW_PACKETS {
                self.busy_us /= 2;
                self.served_packets /= 2;
            }
        }
        self.busy_since_us = (!now_empty).then_some(now_us);
        if now_empty {
            self.idle_since_us = now_us;
        }
    }
}

impl Aqm for Red {
    type Params = RedParams;

    fn new(rng: Rng) -> Self {
        Self {
            avg_bytes: 0.0,
            count: -1,
            idle_since_us: 0,
            busy_since_us: None,
            busy_us: 0,
            served_packets: 0,
            rng,
        }
    }

    #[inline]
    fn arrives(
        &mut self,
        params: &RedParams,
        arrival: impl FnOnce() -> Arrival,
        now_us: u64,
    ) -> Verdict {
        let arrival = arrival();
        self.average(arrival.backlog_bytes, now_us);
        if self.avg_bytes < params.min_bytes as f64 {
            self.count = -1;
            return Verdict::Pass;
        }
        if self.avg_bytes >= params.max_bytes as f64 {
            self.count = 0;
            return Verdict::Drop(DropReason::Discipline("red"));
        }
        self.count = self.count.saturating_add(1);
        if !self.signals(params, arrival.len_bytes) {
            return Verdict::Pass;
        }
        self.count = 0;
        if params.ecn && arrival.ecn != Ecn::NotEct {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Discipline("red"))
        }
    }

    fn arrives_without_room(&mut self, backlog_bytes: u64, now_us: u64) {
        self.average(backlog_bytes, now_us);
    }

    /// A drop at a limit is a signal as well.
    fn overflowed(&mut self, _: &RedParams, _: u64) {
        self.count = 0;
    }

    #[inline]
    fn passes(&mut self, _: &RedParams, head: &Head, now_us: u64) -> bool {
        self.departed(head.behind_packets == 0, now_us);
        true
    }

    fn report(&self, _: &RedParams) -> Vec<(&'static str, StateValue)> {
        vec![("avg_bytes", self.avg_bytes.into()), ("count", self.count.into())]
    }
}

/// `base` to the power of `exponent` by squaring, the same bits on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 && result > 0.0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_repeated_multiplication() {
        let naive = |n: u32| (0..n).fold(1.0, |product, _| product * 0.998);
        for n in [0, 1, 2, 3, 10, 1000] {
            assert!((power(0.998, u64::from(n)) - naive(n)).abs() < 1e-12);
        }
        assert_eq!(power(0.998, u64::MAX), 0.0);
    }
}
