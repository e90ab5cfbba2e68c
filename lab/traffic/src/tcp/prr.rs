//! Proportional Rate Reduction, RFC 9937 (before: RFC 6937): reduces the window over the round trip after
//! a loss or a mark, instead of half a round trip without sending and a burst.

/// A reduction in progress.
#[derive(Debug, Clone)]
pub(super) struct Prr {
    /// Final window.
    ssthresh_bytes: u64,
    /// RecoverFS: bytes not reported as delivered before the acknowledgement that started the reduction.
    recover_fs_bytes: u64,
    delivered_bytes: u64,
    out_bytes: u64,
    window_bytes: u64,
}

impl Prr {
    pub(super) fn new(ssthresh_bytes: u64, recover_fs_bytes: u64, in_flight_bytes: u64) -> Self {
        Self {
            ssthresh_bytes,
            recover_fs_bytes: recover_fs_bytes.max(1),
            delivered_bytes: 0,
            out_bytes: 0,
            window_bytes: in_flight_bytes,
        }
    }

    /// Allows the first retransmission before any acknowledgement.
    pub(super) fn allow_first(&mut self, mss_bytes: u64) {
        self.window_bytes += mss_bytes;
    }

    /// An acknowledgement of `delivered_bytes`. `progress`: it advanced `una` without a new loss.
    pub(super) fn on_ack(
        &mut self,
        delivered_bytes: u64,
        in_flight_bytes: u64,
        progress: bool,
        mss_bytes: u64,
    ) {
        if delivered_bytes == 0 {
            return;
        }
        self.delivered_bytes += delivered_bytes;
        let send_bytes = if in_flight_bytes > self.ssthresh_bytes {
            // RFC 9937 §6.2, proportional: ⌈delivered · ssthresh / RecoverFS⌉ − out.
            (u128::from(self.delivered_bytes) * u128::from(self.ssthresh_bytes))
                .div_ceil(u128::from(self.recover_fs_bytes))
                .saturating_sub(u128::from(self.out_bytes)) as u64
        } else {
            // RFC 9937 §6.2: slow start reduction bound while recovery makes progress (safeACK), else the
            // conservative bound, which does not send more into a full queue.
            let catch_up = self.delivered_bytes.saturating_sub(self.out_bytes).max(delivered_bytes)
                + if progress { mss_bytes } else { 0 };
            catch_up.min(self.ssthresh_bytes - in_flight_bytes)
        };
        // RFC 9937 §6.2: the first retransmission always leaves at once.
        let least = if self.out_bytes == 0 { mss_bytes } else { 0 };
        self.window_bytes = in_flight_bytes + send_bytes.max(least);
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out_bytes += bytes;
    }

    pub(super) fn window_bytes(&self) -> u64 {
        self.window_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    /// The first example of RFC 6937 §3.1: 20 segments out, ssthresh halved to 10.
    #[test]
    fn halving_sends_one_segment_for_two_delivered() {
        let mut prr = Prr::new(10 * MSS, 20 * MSS, 16 * MSS);
        let mut in_flight = 16 * MSS;
        let mut sent = Vec::new();
        for _ in 0..14 {
            in_flight -= MSS;
            prr.on_ack(MSS, in_flight, false, MSS);
            let mut now = 0;
            while in_flight + MSS <= prr.window_bytes() {
                in_flight += MSS;
                prr.on_sent(MSS);
                now += 1;
            }
            sent.push(now);
        }
        // The first leaves at once, half a segment early, then one for two.
        assert_eq!(&sent[..8], [1, 0, 0, 1, 0, 1, 0, 1]);
        assert!((9 * MSS..=10 * MSS).contains(&in_flight), "{in_flight}");
    }

    #[test]
    fn after_heavy_loss_the_window_grows_to_ssthresh_and_no_further() {
        // 20 out, 15 lost: 5 in flight, target 10.
        let mut prr = Prr::new(10 * MSS, 20 * MSS, 5 * MSS);
        let mut in_flight = 5 * MSS;
        for _ in 0..30 {
            in_flight -= MSS;
            prr.on_ack(MSS, in_flight, true, MSS);
            while in_flight + MSS <= prr.window_bytes() {
                in_flight += MSS;
                prr.on_sent(MSS);
            }
            assert!(in_flight <= 10 * MSS);
        }
        assert_eq!(in_flight, 10 * MSS);
    }
}
