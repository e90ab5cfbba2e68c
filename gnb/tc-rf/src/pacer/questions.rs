//! A CU that asks before each packet: "the SDAP requires this information for every available packet
//! residing in its queues to facilitate packet forwarding", and what it asked for at t₀ − 2T_c it has at
//! t₀ (stolidis2024 §III-B).
//!
//! An answer decides about one packet. Where it says no, the CU asks again ("continuously querying",
//! §II). A question without an answer for [`STATUS_STALE_US`] lets its packet pass.

use super::STATUS_STALE_US;

/// Where the question about the packet at the head stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Questions {
    /// Not asked about a packet.
    #[default]
    None,
    /// To be sent to the DU since then.
    Due(u64),
    /// On its way there or back since then.
    Asked(u64),
    /// Answered; the answer is for one packet.
    Answered,
}

/// What a question says about the packet it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The answer is still to come.
    Wait,
    /// The answer is here: the pacer decides.
    Decide,
    /// The answer does not come.
    Pass,
}

impl Questions {
    /// A packet stands at the head.
    pub(super) fn ask(&mut self, now_us: u64) -> Verdict {
        match *self {
            Self::None => {
                *self = Self::Due(now_us);
                Verdict::Wait
            }
            Self::Due(at_us) | Self::Asked(at_us)
                if now_us.saturating_sub(at_us) >= STATUS_STALE_US =>
            {
                Verdict::Pass
            }
            Self::Due(_) | Self::Asked(_) => Verdict::Wait,
            Self::Answered => Verdict::Decide,
        }
    }

    /// Whether one is to be sent now; it counts as sent.
    pub(super) fn take(&mut self) -> bool {
        let Self::Due(at_us) = *self else { return false };
        *self = Self::Asked(at_us);
        true
    }

    /// A status came.
    pub(super) fn answered(&mut self) {
        if matches!(self, Self::Asked(_)) {
            *self = Self::Answered;
        }
    }

    /// The answer was no.
    pub(super) fn refused(&mut self, now_us: u64) {
        *self = Self::Due(now_us);
    }

    /// A packet went down.
    pub(super) fn sent(&mut self) {
        *self = Self::None;
    }

    /// Since when an answer is waited for.
    pub(super) fn since_us(&self) -> Option<u64> {
        match *self {
            Self::Due(at_us) | Self::Asked(at_us) => Some(at_us),
            Self::None | Self::Answered => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_one_packet() {
        let mut questions = Questions::default();
        assert_eq!(questions.ask(5), Verdict::Wait);
        assert!(questions.take() && !questions.take(), "asked once");
        assert_eq!(questions.ask(6), Verdict::Wait);
        questions.answered();
        assert_eq!(questions.ask(7), Verdict::Decide);
        questions.sent();
        assert_eq!(questions.ask(7), Verdict::Wait);
        assert!(questions.take(), "the next packet has its own");
    }

    #[test]
    fn a_refusal_is_asked_about_again() {
        let mut questions = Questions::default();
        questions.ask(0);
        questions.take();
        questions.answered();
        questions.refused(20);
        assert!(questions.take());
        assert_eq!(questions.since_us(), Some(20));
    }

    #[test]
    fn a_status_that_nobody_asked_for_answers_nothing() {
        let mut questions = Questions::default();
        questions.answered();
        assert_eq!(questions, Questions::None);
        questions.ask(0);
        questions.answered();
        assert_eq!(questions.ask(1), Verdict::Wait, "not even sent yet");
    }

    #[test]
    fn a_question_that_is_lost_stalls_nothing() {
        let mut questions = Questions::default();
        questions.ask(1_000);
        questions.take();
        assert_eq!(questions.ask(1_000 + STATUS_STALE_US - 1), Verdict::Wait);
        assert_eq!(questions.ask(1_000 + STATUS_STALE_US), Verdict::Pass);
        assert_eq!(questions.ask(0), Verdict::Wait, "a clock that jumps back");
    }
}
