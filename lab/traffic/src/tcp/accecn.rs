//! Accurate ECN feedback, RFC 9768: the number of packets that arrived marked.
//!
//! The configuration enables it; the handshake with its counter exchange is not modelled, so the counters
//! start at the initial values of §3.2.1. Pure acknowledgements are not ECN-capable, so only the
//! direction of the data counts marks.

use super::segment::{AccEcn, AccEcnOption};
use crate::ip::Ecn;

/// §3.2.1: initial r.cep, which reveals a peer or middlebox that zeroes the bits.
const INITIAL_CEP: u64 = 5;
/// §3.2.1: initial r.e0b and r.e1b.
const INITIAL_ECT_BYTES: u32 = 1;
/// §3.2.2: the ACE field has three bits.
const ACE_MODULUS: u64 = 8;
/// §3.2.3: the fields of the option have 24 bits.
const OPTION_MASK: u32 = (1 << 24) - 1;
/// §3.2.2.5.1: marks since the last acknowledgement that require the next at once.
const CE_PER_ACK: u32 = 2;

/// Counters of the data receiver.
#[derive(Debug, Clone)]
pub(super) struct MarkCounter {
    ce_packets: u64,
    ce_bytes: u32,
    ect0_bytes: u32,
    ect1_bytes: u32,
    ce_since_ack: u32,
    last_was_ce: bool,
}

impl Default for MarkCounter {
    fn default() -> Self {
        Self {
            ce_packets: INITIAL_CEP,
            ce_bytes: 0,
            ect0_bytes: INITIAL_ECT_BYTES,
            ect1_bytes: INITIAL_ECT_BYTES,
            ce_since_ack: 0,
            last_was_ce: false,
        }
    }
}

impl MarkCounter {
    /// A data packet arrived, new or not. Returns whether to acknowledge at once (§3.2.2.5.1): the first
    /// mark after an unmarked packet, and each second mark.
    pub(super) fn on_packet(&mut self, ecn: Ecn, payload_bytes: u32) -> bool {
        let add = |counter: &mut u32| *counter = counter.wrapping_add(payload_bytes) & OPTION_MASK;
        match ecn {
            Ecn::Ce => {
                self.ce_packets += 1;
                self.ce_since_ack += 1;
                add(&mut self.ce_bytes);
            }
            Ecn::Ect0 => add(&mut self.ect0_bytes),
            Ecn::Ect1 => add(&mut self.ect1_bytes),
            Ecn::NotEct => {}
        }
        let is_ce = ecn == Ecn::Ce;
        let first = is_ce && !self.last_was_ce;
        self.last_was_ce = is_ce;
        first || self.ce_since_ack >= CE_PER_ACK
    }

    /// Feedback for the next acknowledgement; with the option if `with_option`.
    pub(super) fn feedback(&mut self, with_option: bool) -> AccEcn {
        self.ce_since_ack = 0;
        AccEcn {
            ace: (self.ce_packets % ACE_MODULUS) as u8,
            option: with_option.then_some(AccEcnOption {
                ect0_bytes: self.ect0_bytes,
                ce_bytes: self.ce_bytes,
                ect1_bytes: self.ect1_bytes,
            }),
        }
    }
}

/// The data sender's copy of the counters.
#[derive(Debug, Clone)]
pub(super) struct MarkDecoder {
    /// s.cep.
    ce_packets: u64,
    /// Bytes marked by the options received: s.ceb without wrap.
    ce_bytes: u64,
    /// Timestamp of the latest acknowledgement.
    ts_val: Option<u32>,
}

impl Default for MarkDecoder {
    fn default() -> Self {
        Self { ce_packets: INITIAL_CEP, ce_bytes: 0, ts_val: None }
    }
}

impl MarkDecoder {
    /// Packets newly reported as marked. `newly_acked_packets`: delivered by the acknowledgement. `ts_val`
    /// identifies a reordered acknowledgement, which is ignored (§3.2.2.5.2).
    pub(super) fn on_feedback(
        &mut self,
        feedback: &AccEcn,
        newly_acked_packets: u64,
        mss_bytes: u32,
        ts_val: u32,
    ) -> u64 {
        if self.ts_val.is_some_and(|last| (ts_val.wrapping_sub(last) as i32) < 0) {
            return 0;
        }
        self.ts_val = Some(ts_val);
        let ace = u64::from(feedback.ace) % ACE_MODULUS;
        // Appendix A.2.1: the least increase consistent with the field.
        let least = (ace + ACE_MODULUS - self.ce_packets % ACE_MODULUS) % ACE_MODULUS;
        let increase = match feedback.option {
            Some(option) => {
                // A packet carries at most a full segment, so the bytes give the minimum number of
                // packets and the field its last three bits. The total, not the step, stays correct
                // if options were omitted in between (§3.2.3.3).
                let step = option.ce_bytes.wrapping_sub(self.ce_bytes as u32) & OPTION_MASK;
                self.ce_bytes += u64::from(step);
                let at_least = INITIAL_CEP + self.ce_bytes.div_ceil(u64::from(mss_bytes.max(1)));
                let missing = at_least.saturating_sub(self.ce_packets + least);
                least + missing.div_ceil(ACE_MODULUS) * ACE_MODULUS
            }
            // Appendix A.2.1: the field may have wrapped; the safe assumption is the largest consistent
            // number of marks.
            None if newly_acked_packets >= ACE_MODULUS => {
                newly_acked_packets - (newly_acked_packets - least) % ACE_MODULUS
            }
            None => least,
        };
        self.ce_packets += increase;
        increase
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1448;

    #[test]
    fn the_counters_start_at_the_values_of_the_rfc() {
        let mut counter = MarkCounter::default();
        let feedback = counter.feedback(true);
        assert_eq!(feedback.ace, 5);
        let option = feedback.option.unwrap();
        assert_eq!((option.ect0_bytes, option.ce_bytes, option.ect1_bytes), (1, 0, 1));
        assert_eq!(MarkDecoder::default().on_feedback(&feedback, 0, MSS, 0), 0);
    }

    #[test]
    fn the_first_mark_and_each_second_mark_are_acknowledged_at_once() {
        let mut counter = MarkCounter::default();
        assert!(!counter.on_packet(Ecn::Ect1, MSS));
        assert!(counter.on_packet(Ecn::Ce, MSS));
        counter.feedback(true);
        assert!(!counter.on_packet(Ecn::Ce, MSS));
        assert!(counter.on_packet(Ecn::Ce, MSS));
        counter.feedback(true);
        assert!(!counter.on_packet(Ecn::Ect1, MSS));
        assert!(counter.on_packet(Ecn::Ce, MSS));
    }

    #[test]
    fn without_the_option_a_wrap_counts_the_largest_consistent_number() {
        let mut decoder = MarkDecoder::default();
        let ace_only = |ace| AccEcn { ace, option: None };
        // 5 → 7: two; 7 → 1: two.
        assert_eq!(decoder.on_feedback(&ace_only(7), 2, MSS, 1), 2);
        assert_eq!(decoder.on_feedback(&ace_only(1), 4, MSS, 2), 2);
        // Twenty acknowledged and one more in the field: 1, 9 or 17.
        assert_eq!(decoder.on_feedback(&ace_only(2), 20, MSS, 3), 17);
    }

    #[test]
    fn a_reordered_acknowledgement_is_ignored() {
        let mut decoder = MarkDecoder::default();
        assert_eq!(decoder.on_feedback(&AccEcn { ace: 0, option: None }, 3, MSS, 100), 3);
        assert_eq!(decoder.on_feedback(&AccEcn { ace: 7, option: None }, 0, MSS, 99), 0);
        assert_eq!(decoder.on_feedback(&AccEcn { ace: 1, option: None }, 1, MSS, 100), 1);
    }

    proptest! {
        /// The count is exact with the option and full segments, despite wraps of field and bytes
        /// and lost acknowledgements.
        #[test]
        fn the_option_counts_each_mark_once(
            runs in prop::collection::vec((0_u64..1_000, 0..3), 1..60),
        ) {
            let (mut counter, mut decoder) = (MarkCounter::default(), MarkDecoder::default());
            let (mut marked, mut reported, mut ts) = (0, 0, 0);
            for (packets, ack_loss) in runs {
                for n in 0..packets {
                    let ecn = if n % 3 == 0 { Ecn::Ect1 } else { Ecn::Ce };
                    marked += u64::from(ecn == Ecn::Ce);
                    counter.on_packet(ecn, MSS);
                }
                ts += 1;
                let feedback = counter.feedback(true);
                if ack_loss > 0 {
                    reported += decoder.on_feedback(&feedback, packets, MSS, ts);
                    prop_assert_eq!(reported, marked);
                }
            }
        }
    }
}
