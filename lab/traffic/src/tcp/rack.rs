//! RACK, RFC 8985: a segment is lost when one sent sufficiently later has been delivered.

use super::scoreboard::{Scoreboard, Segment, Verdict};

/// RFC 8985 §6.2 step 4: with this many segments SACKed and no reordering seen, RACK does not wait.
const DUP_THRESH: u64 = 3;
/// RFC 8985 §6.2 step 4: recoveries for which a reordering window widened by a D-SACK stays wide.
const REO_WND_PERSIST: u32 = 16;

/// The per-connection variables of RFC 8985 §5.3.
#[derive(Debug, Clone, Default)]
pub(super) struct Rack {
    /// Transmission time of the segment sent last among those delivered.
    xmit_us: u64,
    /// End of that segment.
    end_seq: u64,
    /// Its RTT.
    rtt_us: u64,
    /// Highest byte delivered.
    fack: u64,
    reordering_seen: bool,
    /// The D-SACK round ends when this byte is acknowledged.
    dsack_round: Option<u64>,
    /// Extra quarters of the minimum RTT, beyond the first, that the reordering window spans.
    reo_wnd_extra: u32,
    reo_wnd_persist: u32,
}

/// State of the sender for loss detection.
#[derive(Debug, Clone, Copy)]
pub(super) struct LossContext {
    pub(super) now_us: u64,
    pub(super) min_rtt_us: u64,
    pub(super) srtt_us: u64,
    /// Whether the sender is in fast recovery or after a time-out.
    pub(super) in_recovery: bool,
}

impl Rack {
    /// Steps 2 and 3: `segment` was delivered. `ts_ecr`: echo of a cumulative acknowledgement; `None` for a
    /// SACK, whose echo is of the last segment in order (RFC 7323 §4.3).
    pub(super) fn on_delivered(
        &mut self,
        segment: &Segment,
        now_us: u64,
        ts_ecr: Option<u32>,
        min_rtt_us: u64,
    ) {
        let end = segment.end();
        if end > self.fack {
            self.fack = end;
        } else if end < self.fack && !segment.retransmitted {
            self.reordering_seen = true;
        }
        let rtt_us = now_us.saturating_sub(segment.sent_us);
        if segment.retransmitted {
            // Not the latest transmission if the echo is older or the RTT below the minimum.
            let echo_is_older =
                ts_ecr.is_some_and(|echo| (echo.wrapping_sub(segment.sent_us as u32) as i32) < 0);
            if echo_is_older || rtt_us < min_rtt_us {
                return;
            }
        }
        self.rtt_us = rtt_us;
        if (segment.sent_us, end) > (self.xmit_us, self.end_seq) {
            self.xmit_us = segment.sent_us;
            self.end_seq = end;
        }
    }

    /// Step 3: the original of a retransmitted segment arrived late. RFC 8985 cannot detect that; as in
    /// Linux (`tcp_try_undo_partial`) the echoed timestamp does.
    pub(super) fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Step 4: a duplicate reached the receiver, so a retransmission was premature.
    pub(super) fn on_dsack(&mut self, una: u64, next: u64) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.reo_wnd_extra += 1;
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Step 4: a recovery ended.
    pub(super) fn on_recovery_exit(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_extra = 0;
        }
    }

    fn reordering_window_us(&self, board: &Scoreboard, context: LossContext) -> u64 {
        if !self.reordering_seen && (context.in_recovery || board.sacked_segments() >= DUP_THRESH) {
            return 0;
        }
        let window_us = u64::from(self.reo_wnd_extra + 1) * context.min_rtt_us / 4;
        window_us.min(context.srtt_us)
    }

    /// Step 5: marks lost segments. Returns their number and when to check again those that may be late.
    pub(super) fn detect(
        &self,
        board: &mut Scoreboard,
        context: LossContext,
    ) -> (u64, Option<u64>) {
        let wait_us = self.rtt_us + self.reordering_window_us(board, context);
        let mut recheck_us = None;
        let marked = board.detect_lost(|segment| {
            if (segment.sent_us, segment.end()) >= (self.xmit_us, self.end_seq) {
                return Verdict::Stop;
            }
            let deadline_us = segment.sent_us + wait_us;
            if deadline_us <= context.now_us {
                Verdict::Lost
            } else {
                recheck_us = recheck_us.max(Some(deadline_us));
                Verdict::Wait
            }
        });
        (marked, recheck_us)
    }

    /// Whether a time-out marks `segment` lost: not if it may still be in flight (§6.3).
    pub(super) fn lost_at_timeout(
        &self,
        segment: &Segment,
        board_una: u64,
        context: LossContext,
    ) -> bool {
        segment.seq <= board_una
            || segment.sent_us + self.rtt_us + context.min_rtt_us / 4 <= context.now_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u32 = 100;
    const RTT_US: u64 = 40_000;

    /// Ten segments 1 ms apart.
    fn sent() -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..10 {
            board.on_new_sent(LEN, i * 1_000);
        }
        board
    }

    fn at(now_us: u64) -> LossContext {
        LossContext { now_us, min_rtt_us: RTT_US, srtt_us: RTT_US, in_recovery: false }
    }

    fn sack(rack: &mut Rack, board: &mut Scoreboard, index: u64, now_us: u64) {
        board.on_sack(index * 100, index * 100 + 100, |segment| {
            rack.on_delivered(segment, now_us, None, RTT_US);
        });
    }

    #[test]
    fn one_sack_waits_for_a_quarter_rtt_and_three_do_not() {
        let (mut rack, mut board) = (Rack::default(), sent());
        sack(&mut rack, &mut board, 1, 41_000);
        assert_eq!(rack.detect(&mut board, at(41_000)), (0, Some(50_000)));
        assert_eq!(rack.detect(&mut board, at(50_000)), (1, None));

        let (mut rack, mut board) = (Rack::default(), sent());
        for index in 1..=3 {
            sack(&mut rack, &mut board, index, 40_000 + index * 1_000);
        }
        assert_eq!(rack.detect(&mut board, at(43_000)), (1, None));
    }

    #[test]
    fn after_reordering_three_sacks_wait_as_well() {
        let (mut rack, mut board) = (Rack::default(), sent());
        sack(&mut rack, &mut board, 1, 41_000);
        sack(&mut rack, &mut board, 0, 41_500);
        for index in 3..=5 {
            sack(&mut rack, &mut board, index, 40_000 + index * 1_000);
        }
        assert_eq!(rack.detect(&mut board, at(45_000)), (0, Some(52_000)));
    }

    #[test]
    fn a_dsack_widens_the_window_once_per_round() {
        let (mut rack, mut board) = (Rack::default(), sent());
        rack.on_dsack(0, 1_000);
        rack.on_dsack(0, 1_000);
        sack(&mut rack, &mut board, 1, 41_000);
        assert_eq!(rack.detect(&mut board, at(41_000)), (0, Some(60_000)));
        for _ in 0..REO_WND_PERSIST {
            rack.on_recovery_exit();
        }
        assert_eq!(rack.detect(&mut board, at(41_000)), (0, Some(50_000)));
    }

    #[test]
    fn a_late_original_is_not_taken_for_a_quick_retransmission() {
        let (mut rack, mut board) = (Rack::default(), sent());
        for index in 1..=3 {
            sack(&mut rack, &mut board, index, 43_000);
        }
        rack.detect(&mut board, at(43_000));
        let (id, _) = board.next_lost().unwrap();
        board.on_retransmitted(id, 43_000);
        // Acknowledged 60 ms later with the echo of the original: if RACK advanced to the retransmission,
        // all segments sent before it would count as lost.
        board
            .on_cumulative_ack(400, |segment| rack.on_delivered(segment, 103_000, Some(0), RTT_US));
        assert_eq!(rack.detect(&mut board, at(103_000)).0, 0);
        assert_eq!(rack.xmit_us, 3_000);
    }
}
