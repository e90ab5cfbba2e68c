//! How much one TTI may pull from the RLC buffer, where that varies from TTI to TTI.
//!
//! A mean rate is not enough. On a radio whose capacity comes in bursts (fading, resources shared
//! with others, recorded opportunities) a buffer that holds the mean runs empty in each TTI that
//! could have carried more, and that is lost for good. So this tracks the mean and the mean
//! deviation of what TTIs pulled, and returns mean + 4 deviations, the estimator and the gains of
//! TCP's retransmission timer (RFC 6298 §2): close to the largest recent one, back to the mean soon
//! after the radio is steady.
//!
//! What a TTI pulled is a sample of what it could have pulled only if the buffer was not emptied.
//! A buffer that was emptied yields
//! - no sample, when nothing was waiting above either;
//! - when packets were held back above: at least that much, and the estimate goes up to what the
//!   DU says the TTI could have carried, but no more than doubles.

use super::RlcStatus;

/// α of RFC 6298 §2.3.
const MEAN_GAIN: f64 = 1.0 / 8.0;
/// β of RFC 6298 §2.3.
const DEVIATION_GAIN: f64 = 1.0 / 4.0;
/// K of RFC 6298 §2.
const DEVIATIONS: f64 = 4.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    /// Mean of the samples, bytes; absent before the first.
    mean: Option<f64>,
    /// Their mean deviation from the mean, bytes.
    deviation: f64,
}

impl Burst {
    /// Learns from a TTI with downlink, which pulled `pulled_bytes`; `limited` says whether packets
    /// were held back above.
    pub(super) fn tti(&mut self, pulled_bytes: u64, status: &RlcStatus, limited: bool) {
        let left_bytes = u64::from(status.occupancy_bytes);
        if pulled_bytes == 0 || (left_bytes == 0 && !limited) {
            // The TTI was another UE's, or there was nothing more to pull.
            return;
        }
        let mut sample_bytes = pulled_bytes;
        if left_bytes == 0 {
            let most_bytes = match status.capacity_bytes_per_tti {
                0 => u64::MAX,
                bytes => u64::from(bytes),
            };
            sample_bytes = pulled_bytes.saturating_mul(2).min(most_bytes).max(pulled_bytes);
        }
        let sample = sample_bytes as f64;
        let mean = self.mean.get_or_insert(sample);
        self.deviation += DEVIATION_GAIN * ((sample - *mean).abs() - self.deviation);
        *mean += MEAN_GAIN * (sample - *mean);
    }

    /// Bytes; 0 before the first sample.
    pub(super) fn bytes(&self) -> u64 {
        self.mean.map_or(0, |mean| (mean + DEVIATIONS * self.deviation) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(occupancy_bytes: u32, capacity_bytes_per_tti: u32) -> RlcStatus {
        RlcStatus { occupancy_bytes, capacity_bytes_per_tti, ..RlcStatus::default() }
    }

    #[test]
    fn a_steady_radio_is_its_own_burst() {
        let mut burst = Burst::default();
        assert_eq!(burst.bytes(), 0);
        (0..100).for_each(|_| burst.tti(2_289, &after(2_711, 2_289), true));
        assert_eq!(burst.bytes(), 2_289);
    }

    #[test]
    fn mean_and_deviation_are_those_of_rfc_6298() {
        let mut burst = Burst::default();
        burst.tti(1_000, &after(9_000, 0), true);
        burst.tti(2_000, &after(8_000, 0), true);
        // Deviation: 1/4 · |2000 − 1000| = 250; mean: 1000 + 1/8 · 1000 = 1125.
        assert_eq!(burst.bytes(), 1_125 + 4 * 250);
    }

    #[test]
    fn an_emptied_buffer_raises_it_only_while_packets_wait() {
        let mut burst = Burst::default();
        burst.tti(1_000, &after(0, 9_000), false);
        assert_eq!(burst.bytes(), 0, "no packet waited: the TTI may have had room for more");
        burst.tti(1_000, &after(0, 9_000), true);
        assert_eq!(burst.bytes(), 2_000, "packets waited: twice as much, at most");
        let mut burst = Burst::default();
        burst.tti(1_000, &after(0, 1_300), true);
        assert_eq!(burst.bytes(), 1_300, "no more than the TTI could carry");
        let mut burst = Burst::default();
        burst.tti(1_000, &after(0, 900), true);
        assert_eq!(burst.bytes(), 1_000, "no less than it did carry");
    }

    #[test]
    fn a_tti_of_another_ue_changes_nothing() {
        let mut burst = Burst::default();
        (0..100).for_each(|_| burst.tti(2_289, &after(2_711, 2_289), true));
        (0..100).for_each(|_| burst.tti(0, &after(5_000, 2_289), true));
        assert_eq!(burst.bytes(), 2_289);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut burst = Burst::default();
        (0..200).for_each(|_| burst.tti(u64::MAX, &after(0, 0), true));
        (0..200).for_each(|_| burst.tti(0, &after(u32::MAX, 0), true));
        assert!(burst.bytes() > u64::MAX / 2);
    }
}
