//! Delivery rate, sampled per acknowledgement: draft-cheng-iccrg-delivery-rate-estimation-00, with the
//! names of draft-ietf-ccwg-bbr-02 §4.5.2.

use super::congestion::RateSample;
use super::scoreboard::{Segment, Snapshot};

/// A transmission that a sample is taken of.
pub(crate) trait Transmission {
    /// Bytes that it counts for.
    fn len_bytes(&self) -> u64;

    /// Position after it, which orders transmissions of the same time.
    fn end(&self) -> u64;

    /// Time of sending.
    fn sent_us(&self) -> u64;

    /// Counters of the connection at that time.
    fn snapshot(&self) -> &Snapshot;
}

impl Transmission for Segment {
    fn len_bytes(&self) -> u64 {
        u64::from(self.len)
    }

    fn end(&self) -> u64 {
        Segment::end(self)
    }

    fn sent_us(&self) -> u64 {
        self.sent_us
    }

    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// The most recently sent of the segments that one acknowledgement delivers.
#[derive(Debug, Clone, Copy)]
struct Newest {
    snapshot: Snapshot,
    sent_us: u64,
    end_seq: u64,
    ack_elapsed_us: u64,
}

/// Per-connection state (§4.5.2.3.1.1, "C.").
#[derive(Debug, Clone, Default)]
pub(crate) struct RateSampler {
    delivered_bytes: u64,
    delivered_us: u64,
    first_sent_us: u64,
    lost_bytes: u64,
    ce_bytes: u64,
    /// Samples are app-limited until this much is delivered.
    app_limited_until: Option<u64>,
    newest: Option<Newest>,
}

impl RateSampler {
    /// Bytes delivered since the connection began.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Data in flight was sent while the application had no more to send.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// §4.5.2.3.2: a segment is sent; `is_only` if no other is outstanding. `in_flight_bytes` includes it.
    pub(crate) fn on_sent(&mut self, is_only: bool, in_flight_bytes: u64, now_us: u64) -> Snapshot {
        if is_only {
            self.first_sent_us = now_us;
            self.delivered_us = now_us;
        }
        Snapshot {
            delivered_bytes: self.delivered_bytes,
            delivered_us: self.delivered_us,
            first_sent_us: self.first_sent_us,
            lost_bytes: self.lost_bytes,
            ce_bytes: self.ce_bytes,
            in_flight_bytes,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// §4.5.2.3.3, UpdateRateSample: a segment was delivered.
    pub(crate) fn on_delivered(&mut self, segment: &impl Transmission, now_us: u64) {
        self.delivered_bytes += segment.len_bytes();
        self.delivered_us = now_us;
        let age = (segment.sent_us(), segment.end());
        if self.newest.is_none_or(|newest| age > (newest.sent_us, newest.end_seq)) {
            self.newest = Some(Newest {
                snapshot: *segment.snapshot(),
                sent_us: age.0,
                end_seq: age.1,
                ack_elapsed_us: now_us.saturating_sub(segment.snapshot().delivered_us),
            });
        }
    }

    /// A segment was marked lost; returns the bytes lost since it was sent, itself included, and the
    /// bytes in flight then.
    pub(crate) fn on_lost(&mut self, segment: &impl Transmission) -> (u64, u64) {
        self.lost_bytes += segment.len_bytes();
        let snapshot = segment.snapshot();
        (self.lost_bytes.saturating_sub(snapshot.lost_bytes), snapshot.in_flight_bytes)
    }

    /// The receiver reports this much as CE-marked.
    pub(crate) fn on_ce(&mut self, bytes: u64) {
        self.ce_bytes += bytes;
    }

    /// §4.5.2.3.4: the window allows more than the application has to send.
    pub(crate) fn mark_app_limited(&mut self, in_flight_bytes: u64) {
        self.app_limited_until = Some((self.delivered_bytes + in_flight_bytes).max(1));
    }

    /// §4.5.2.3.3, GenerateRateSample: the sample of the current acknowledgement; `None` if it delivered
    /// nothing.
    pub(crate) fn sample(&mut self, min_rtt_us: u64) -> Option<RateSample> {
        if self.app_limited_until.is_some_and(|until| self.delivered_bytes > until) {
            self.app_limited_until = None;
        }
        let Newest { snapshot, sent_us, ack_elapsed_us, .. } = self.newest.take()?;
        self.first_sent_us = sent_us;
        let send_elapsed_us = sent_us.saturating_sub(snapshot.first_sent_us);
        let interval_us = send_elapsed_us.max(ack_elapsed_us);
        let delivered_bytes = self.delivered_bytes.saturating_sub(snapshot.delivered_bytes);
        // An interval below the minimum RTT means that the original of a retransmission was acknowledged.
        let reliable = interval_us > 0 && interval_us >= min_rtt_us;
        Some(RateSample {
            delivery_rate_bps: reliable.then(|| {
                (u128::from(delivered_bytes) * 8_000_000 / u128::from(interval_us)) as u64
            }),
            delivered_bytes,
            prior_delivered_bytes: snapshot.delivered_bytes,
            in_flight_at_send_bytes: snapshot.in_flight_bytes,
            lost_bytes: self.lost_bytes.saturating_sub(snapshot.lost_bytes),
            ce_bytes: self.ce_bytes.saturating_sub(snapshot.ce_bytes),
            is_app_limited: snapshot.is_app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;

    const LEN: u32 = 1_000;
    const RTT_US: u64 = 40_000;

    fn send(board: &mut Scoreboard, sampler: &mut RateSampler, now_us: u64) {
        let is_only = board.outstanding_segments() == 0;
        board.on_new_sent(LEN, now_us);
        board.set_snapshot(sampler.on_sent(is_only, board.in_flight_bytes(), now_us));
    }

    fn ack(
        board: &mut Scoreboard,
        sampler: &mut RateSampler,
        upto: u64,
        now_us: u64,
    ) -> Option<RateSample> {
        board.on_cumulative_ack(upto, |segment| sampler.on_delivered(segment, now_us));
        sampler.sample(RTT_US)
    }

    #[test]
    fn a_steady_stream_measures_its_bottleneck() {
        let (mut board, mut sampler) = (Scoreboard::default(), RateSampler::default());
        // 1000 B each ms are 8 Mbit/s; the acknowledgements come back 40 ms later.
        let mut last = None;
        for ms in 0..400_u64 {
            if ms >= 40 {
                last = ack(&mut board, &mut sampler, (ms - 39) * 1_000, ms * 1_000);
            }
            send(&mut board, &mut sampler, ms * 1_000);
        }
        let sample = last.unwrap();
        assert_eq!(sample.delivery_rate_bps, Some(8_000_000));
        assert_eq!((sample.in_flight_at_send_bytes, sample.is_app_limited), (40_000, false));
    }

    /// §4.5.2.2.2.4: acknowledgements that arrive together do not show the bottleneck rate.
    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate_above_the_sending_rate() {
        let (mut board, mut sampler) = (Scoreboard::default(), RateSampler::default());
        for ms in 0..100 {
            send(&mut board, &mut sampler, ms * 1_000);
        }
        let mut highest = 0;
        for n in 1..=100 {
            // All hundred within 100 µs.
            let sample = ack(&mut board, &mut sampler, n * 1_000, 140_000 + n).unwrap();
            highest = highest.max(sample.delivery_rate_bps.unwrap());
        }
        assert!(highest <= 8_100_000, "{highest}");
    }

    #[test]
    fn an_interval_below_the_minimum_rtt_gives_no_rate() {
        let (mut board, mut sampler) = (Scoreboard::default(), RateSampler::default());
        send(&mut board, &mut sampler, 0);
        let sample = ack(&mut board, &mut sampler, 1_000, RTT_US - 1).unwrap();
        assert_eq!((sample.delivery_rate_bps, sample.delivered_bytes), (None, 1_000));
    }

    #[test]
    fn samples_are_app_limited_until_the_app_limited_data_is_delivered() {
        let (mut board, mut sampler) = (Scoreboard::default(), RateSampler::default());
        send(&mut board, &mut sampler, 0);
        sampler.mark_app_limited(board.in_flight_bytes());
        send(&mut board, &mut sampler, 1_000);
        send(&mut board, &mut sampler, 2_000);
        assert!(!ack(&mut board, &mut sampler, 1_000, 40_000).unwrap().is_app_limited);
        assert!(ack(&mut board, &mut sampler, 2_000, 41_000).unwrap().is_app_limited);
        assert!(!sampler.is_app_limited());
        send(&mut board, &mut sampler, 41_000);
        assert!(ack(&mut board, &mut sampler, 3_000, 42_000).unwrap().is_app_limited);
        assert!(!ack(&mut board, &mut sampler, 4_000, 81_000).unwrap().is_app_limited);
    }

    #[test]
    fn a_sample_counts_the_losses_since_its_transmission() {
        let (mut board, mut sampler) = (Scoreboard::default(), RateSampler::default());
        for ms in 0..4 {
            send(&mut board, &mut sampler, ms * 1_000);
        }
        board.mark_all_lost(|segment| segment.seq < 2_000);
        let mut losses = Vec::new();
        board.drain_newly_lost(|segment| losses.push(sampler.on_lost(segment)));
        assert_eq!(losses, [(1_000, 1_000), (2_000, 2_000)]);
        let sample = ack(&mut board, &mut sampler, 4_000, 50_000).unwrap();
        assert_eq!(sample.lost_bytes, 2_000);
    }
}
