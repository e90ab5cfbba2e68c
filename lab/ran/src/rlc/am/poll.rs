//! Polling for status reports (38.322 §5.3.3).

use super::AmConfig;

/// PDU_WITHOUT_POLL, BYTE_WITHOUT_POLL, POLL_SN and t-PollRetransmit of a transmitter.
#[derive(Debug, Clone)]
pub struct Polling {
    poll_pdu: Option<u32>,
    poll_byte: Option<u64>,
    t_poll_retransmit_us: u64,
    pdu_without_poll: u32,
    byte_without_poll: u64,
    /// t-PollRetransmit has expired: the next PDU has to carry a poll.
    is_due: bool,
    /// POLL_SN: the highest SDU sent at the last poll.
    poll_seq: u64,
    expires_us: Option<u64>,
}

impl Polling {
    /// State of a new entity.
    pub fn new(config: &AmConfig) -> Self {
        Self {
            poll_pdu: config.poll_pdu,
            poll_byte: config.poll_byte,
            t_poll_retransmit_us: u64::from(config.t_poll_retransmit_us),
            pdu_without_poll: 0,
            byte_without_poll: 0,
            is_due: false,
            poll_seq: 0,
            expires_us: None,
        }
    }

    /// Whether the next PDU carries a poll (§5.3.3.2). Counters increase with new data only;
    /// `is_last`: no further PDU can be sent after this one.
    pub fn on_pdu(&mut self, new_bytes: u32, is_last: bool) -> bool {
        if new_bytes > 0 {
            self.pdu_without_poll += 1;
            self.byte_without_poll += u64::from(new_bytes);
        }
        let poll = is_last
            || self.is_due
            || self.poll_pdu.is_some_and(|most| self.pdu_without_poll >= most)
            || self.poll_byte.is_some_and(|most| self.byte_without_poll >= most);
        if poll {
            self.is_due = false;
            (self.pdu_without_poll, self.byte_without_poll) = (0, 0);
        }
        poll
    }

    /// A PDU with a poll is submitted to the MAC; `highest_seq` is the highest SDU sent.
    pub fn sent(&mut self, highest_seq: u64, now_us: u64) {
        self.poll_seq = highest_seq;
        self.expires_us = Some(now_us + self.t_poll_retransmit_us);
    }

    /// A status report covers every SDU below `below_seq` (§5.3.3.3).
    pub fn on_status(&mut self, below_seq: u64) {
        if self.poll_seq < below_seq {
            self.expires_us = None;
        }
    }

    /// Time at which t-PollRetransmit expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.expires_us
    }

    /// Whether t-PollRetransmit expires by `now_us`; the next PDU then carries a poll (§5.3.3.4).
    pub fn expire(&mut self, now_us: u64) -> bool {
        let expired = self.expires_us.is_some_and(|at| at <= now_us);
        if expired {
            self.expires_us = None;
            self.is_due = true;
        }
        expired
    }

    /// Resets the state at re-establishment.
    pub fn reset(&mut self) {
        (self.pdu_without_poll, self.byte_without_poll) = (0, 0);
        (self.is_due, self.poll_seq, self.expires_us) = (false, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polling(poll_pdu: Option<u32>, poll_byte: Option<u64>) -> Polling {
        Polling::new(&AmConfig { poll_pdu, poll_byte, ..AmConfig::default() })
    }

    #[test]
    fn one_new_pdu_in_poll_pdu_polls() {
        let mut polling = polling(Some(4), None);
        let polls: Vec<bool> = (0..9).map(|_| polling.on_pdu(100, false)).collect();
        let fourth = [false, false, false, true, false, false, false, true, false];
        assert_eq!(polls, fourth);
        assert!(!polling.on_pdu(0, false), "a retransmission does not count");
    }

    #[test]
    fn a_poll_is_sent_every_poll_byte_bytes() {
        let mut polling = polling(None, Some(250));
        let polls: Vec<bool> = (0..6).map(|_| polling.on_pdu(100, false)).collect();
        assert_eq!(polls, [false, false, true, false, false, true]);
    }

    #[test]
    fn the_last_pdu_polls_and_the_timer_repeats_it_until_a_status_report() {
        let mut polling = polling(None, None);
        assert!(!polling.on_pdu(1500, false));
        assert!(polling.on_pdu(1500, true));
        polling.sent(7, 1_000);
        assert_eq!(polling.deadline_us(), Some(46_000));
        polling.on_status(7);
        assert!(polling.deadline_us().is_some(), "SDU 7 is not covered");
        assert!(!polling.expire(45_999));
        assert!(polling.expire(46_000));
        assert!(polling.on_pdu(0, false), "due");
        polling.sent(7, 50_000);
        polling.on_status(8);
        assert_eq!(polling.deadline_us(), None);
        assert!(!polling.on_pdu(0, false));
    }
}
