//! Native AQM of L4S queues: a step or ramp of the sojourn time, and marking with a likelihood
//! (RFC 9332 appendix A.1; RFC 9331 §4 asks senders to follow such marks); the step that the TC function
//! measures.

use crate::Ecn;
use crate::rng::Rng;

use super::aqm::{Aqm, AqmQueue, Head, Mark, StateValue};

/// Queue that L4S senders are left on a radio that always serves: twice the 1 ms of RFC 9332 appendix
/// A.1, as a TTI of up to 1 ms is served at once.
const L4S_QUEUE_US: u64 = 2_000;

/// Sojourn above which L4S packets are marked where no threshold is given. What the radio does not serve in
/// time is no congestion: a packet that leaves with the first grant after it came is not marked.
/// `service_gap_us` is the longest recent gap between departures from the bearer.
pub(crate) fn measured_step_us(service_gap_us: u64) -> u64 {
    L4S_QUEUE_US.saturating_add(service_gap_us)
}

/// Sojourns from which on marking is possible and certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RampParams {
    /// `minTh`: no mark below.
    pub threshold_us: u64,
    /// `maxTh`: every packet is marked from here on; a step when it is `threshold_us`.
    pub ramp_us: u64,
}

impl RampParams {
    /// `laqm` of RFC 9332 appendix A.1: likelihood of a mark at this sojourn.
    pub(crate) fn likelihood(&self, sojourn_us: u64) -> f64 {
        if sojourn_us >= self.ramp_us {
            1.0
        } else if sojourn_us > self.threshold_us {
            let range_us = self.ramp_us - self.threshold_us;
            (sojourn_us - self.threshold_us) as f64 / range_us as f64
        } else {
            0.0
        }
    }
}

/// `recur` of RFC 9332 appendix A.1: signals recur at their likelihood, evenly rather
/// than at random. The sum reaches 1 here where it exceeds 1 there, so that a likelihood of 1 marks
/// every packet from the first one on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recur(f64);

impl Recur {
    /// Whether this packet is signalled.
    #[inline(always)]
    pub(crate) fn next(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood.clamp(0.0, 1.0);
        let signal = self.0 >= 1.0;
        if signal {
            self.0 -= 1.0;
        }
        signal
    }

    /// What has gathered towards the next signal, 0 to 1.
    pub fn sum(&self) -> f64 {
        self.0
    }
}

impl Aqm for Recur {
    type Params = RampParams;
    const ADMITS: bool = true;

    fn new(_: Rng) -> Self {
        Self::default()
    }

    #[inline]
    fn passes(&mut self, params: &RampParams, head: &Head, _: u64) -> bool {
        head.sojourn_us <= params.threshold_us && head.sojourn_us < params.ramp_us
    }

    fn dequeue<Q: AqmQueue>(
        &mut self,
        params: &RampParams,
        _: u64,
        queue: &mut Q,
    ) -> Option<Q::Item> {
        let mut item = queue.pop()?;
        if queue.ecn(&item) != Ecn::NotEct && self.next(params.likelihood(queue.sojourn_us(&item)))
        {
            queue.mark(&mut item, Mark::Threshold);
        }
        Some(item)
    }

    fn report(&self, _: &RampParams) -> Vec<(&'static str, StateValue)> {
        vec![("recur", self.0.into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_is_linear_between_its_ends() {
        let ramp = RampParams { threshold_us: 800, ramp_us: 1_200 };
        let likelihoods =
            [0, 800, 900, 1_000, 1_199, 1_200, u64::MAX].map(|us| ramp.likelihood(us));
        assert_eq!(likelihoods, [0.0, 0.0, 0.25, 0.5, 0.9975, 1.0, 1.0]);
        let step = RampParams { threshold_us: 1_000, ramp_us: 1_000 };
        assert_eq!([999, 1_000].map(|us| step.likelihood(us)), [0.0, 1.0]);
    }

    #[test]
    fn marks_recur_evenly() {
        let mut recur = Recur::default();
        let marks: Vec<bool> = (0..8).map(|_| recur.next(0.25)).collect();
        assert_eq!(marks, [false, false, false, true, false, false, false, true]);
        let mut certain = Recur::default();
        assert!((0..10).all(|_| certain.next(1.0)));
        assert!(!certain.next(0.0));
        assert!(!certain.next(f64::NAN.max(0.0)));
    }
}
