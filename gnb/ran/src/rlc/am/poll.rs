//! When the transmitter asks for a status report (38.322 §5.3.3).

use super::AmConfig;

/// PDU_WITHOUT_POLL, BYTE_WITHOUT_POLL, POLL_SN and t-PollRetransmit of a transmitter.
#[derive(Debug, Clone)]
pub struct Polling {
    poll_pdu: Option<u32>,
    poll_byte: Option<u64>,
    t_poll_retransmit_us: u64,
    pdu_without_poll: u32,
    byte_without_poll: u64,
    /// t-PollRetransmit has expired and the next PDU has to ask again.
    is_owed: bool,
    /// POLL_SN: the highest SDU sent when the last poll was.
    poll_seq: u64,
    expires_us: Option<u64>,
}

impl Polling {
    /// Nothing asked for yet.
    pub fn new(config: &AmConfig) -> Self {
        Self {
            poll_pdu: config.poll_pdu,
            poll_byte: config.poll_byte,
            t_poll_retransmit_us: u64::from(config.t_poll_retransmit_us),
            pdu_without_poll: 0,
            byte_without_poll: 0,
            is_owed: false,
            poll_seq: 0,
            expires_us: None,
        }
    }

    /// A PDU is made; whether it carries a poll. §5.3.3.2: counters go up with new data only, and
    /// `is_last` says that after this PDU nothing is left to send, or nothing may be.
    pub fn on_pdu(&mut self, new_bytes: u32, is_last: bool) -> bool {
        if new_bytes > 0 {
            self.pdu_without_poll += 1;
            self.byte_without_poll += u64::from(new_bytes);
        }
        let poll = is_last
            || self.is_owed
            || self.poll_pdu.is_some_and(|most| self.pdu_without_poll >= most)
            || self.poll_byte.is_some_and(|most| self.byte_without_poll >= most);
        if poll {
            self.is_owed = false;
            (self.pdu_without_poll, self.byte_without_poll) = (0, 0);
        }
        poll
    }

    /// A PDU with a poll goes to the MAC; `highest_seq` is the highest SDU sent so far.
    pub fn sent(&mut self, highest_seq: u64, now_us: u64) {
        self.poll_seq = highest_seq;
        self.expires_us = Some(now_us + self.t_poll_retransmit_us);
    }

    /// A status report says something about every SDU below `below_seq` (§5.3.3.3).
    pub fn answered(&mut self, below_seq: u64) {
        if self.poll_seq < below_seq {
            self.expires_us = None;
        }
    }

    /// When t-PollRetransmit expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.expires_us
    }

    /// Whether t-PollRetransmit expires now; the next PDU will carry a poll (§5.3.3.4).
    pub fn expire(&mut self, now_us: u64) -> bool {
        let expired = self.expires_us.is_some_and(|at| at <= now_us);
        if expired {
            self.expires_us = None;
            self.is_owed = true;
        }
        expired
    }

    /// Starts anew.
    pub fn reset(&mut self) {
        (self.pdu_without_poll, self.byte_without_poll) = (0, 0);
        (self.is_owed, self.poll_seq, self.expires_us) = (false, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polling(poll_pdu: Option<u32>, poll_byte: Option<u64>) -> Polling {
        Polling::new(&AmConfig { poll_pdu, poll_byte, ..AmConfig::default() })
    }

    #[test]
    fn every_poll_pdu_th_new_pdu_asks() {
        let mut polling = polling(Some(4), None);
        let asked: Vec<bool> = (0..9).map(|_| polling.on_pdu(100, false)).collect();
        let fourth = [false, false, false, true, false, false, false, true, false];
        assert_eq!(asked, fourth);
        assert!(!polling.on_pdu(0, false), "a retransmission does not count");
    }

    #[test]
    fn every_poll_byte_bytes_are_asked_for() {
        let mut polling = polling(None, Some(250));
        let asked: Vec<bool> = (0..6).map(|_| polling.on_pdu(100, false)).collect();
        assert_eq!(asked, [false, false, true, false, false, true]);
    }

    #[test]
    fn the_last_pdu_asks_and_the_timer_asks_again_until_answered() {
        let mut polling = polling(None, None);
        assert!(!polling.on_pdu(1500, false));
        assert!(polling.on_pdu(1500, true));
        polling.sent(7, 1_000);
        assert_eq!(polling.deadline_us(), Some(46_000));
        polling.answered(7);
        assert!(polling.deadline_us().is_some(), "nothing is said about SDU 7");
        assert!(!polling.expire(45_999));
        assert!(polling.expire(46_000));
        assert!(polling.on_pdu(0, false), "owed");
        polling.sent(7, 50_000);
        polling.answered(8);
        assert_eq!(polling.deadline_us(), None);
        assert!(!polling.on_pdu(0, false));
    }
}
