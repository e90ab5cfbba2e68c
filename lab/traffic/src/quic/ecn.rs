//! Validation of ECN counts, RFC 9000 §13.4.2.1.

use super::packet::EcnCounts;
use crate::ip::Ecn;

/// The sender's view of the counts in ACK frames.
#[derive(Debug, Clone, Default)]
pub(super) struct EcnFeedback {
    counts: EcnCounts,
    has_failed: bool,
}

impl EcnFeedback {
    /// Whether a path or receiver was found that does not carry marks: packets are then sent without.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// An ACK frame that raises Largest Acknowledged and newly acknowledges `marked` packets that were sent
    /// with `codepoint`. Returns the packets newly reported as CE-marked.
    pub(super) fn on_ack(
        &mut self,
        reported: Option<EcnCounts>,
        codepoint: Ecn,
        marked: u64,
    ) -> u64 {
        if self.has_failed || (reported.is_none() && marked == 0) {
            return 0;
        }
        let Some(now) = reported else {
            self.has_failed = true;
            return 0;
        };
        let before = std::mem::replace(&mut self.counts, now);
        let rise = |of: fn(&EcnCounts) -> u64| of(&now).checked_sub(of(&before));
        let (Some(ect0), Some(ect1), Some(ce)) =
            (rise(|it| it.ect0), rise(|it| it.ect1), rise(|it| it.ce))
        else {
            self.has_failed = true;
            return 0;
        };
        // Counts may exceed what is newly acknowledged, after lost ACK frames, and never fall behind.
        let (kept, foreign) = if codepoint == Ecn::Ect1 { (ect1, ect0) } else { (ect0, ect1) };
        self.has_failed = kept + ce < marked || foreign > 0;
        if self.has_failed { 0 } else { ce }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_counted_until_the_counts_contradict_what_was_sent() {
        let counts = |ect0, ect1, ce| Some(EcnCounts { ect0, ect1, ce });
        let mut feedback = EcnFeedback::default();
        assert_eq!(feedback.on_ack(counts(0, 2, 0), Ecn::Ect1, 2), 0);
        assert_eq!(feedback.on_ack(counts(0, 3, 1), Ecn::Ect1, 2), 1);
        // After a lost ACK frame.
        assert_eq!(feedback.on_ack(counts(0, 5, 3), Ecn::Ect1, 2), 2);
        assert!(!feedback.has_failed());
        for (wrong, why) in [
            (counts(0, 6, 3), "bleached: one count for two packets"),
            (counts(2, 5, 3), "rewritten to ECT(0)"),
            (counts(0, 4, 3), "falling"),
            (None, "no counts"),
        ] {
            let mut other = feedback.clone();
            assert_eq!(other.on_ack(wrong, Ecn::Ect1, 2), 0);
            assert!(other.has_failed(), "{why}");
            assert_eq!(other.on_ack(counts(0, 99, 99), Ecn::Ect1, 2), 0, "marks no longer count");
        }
    }
}
