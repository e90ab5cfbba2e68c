//! Accurate ECN feedback, RFC 9768: how many packets arrived marked, not merely whether one did.
//!
//! Negotiated by configuration, as everything else; the handshake and its counter exchange are not
//! modelled, so the counters start from their initial values of §3.2.1. Pure acknowledgements are
//! not ECN-capable, so only the data's direction has anything to count.

use super::segment::{AccEcn, AccEcnOption};
use crate::ip::Ecn;

/// §3.2.1: initial r.cep, so that a peer or a box that zeroes the bits is noticed.
const INITIAL_CEP: u64 = 5;
/// §3.2.1: initial r.e0b and r.e1b.
const INITIAL_ECT_BYTES: u32 = 1;
/// §3.2.2: the ACE field has three bits.
const ACE_MODULUS: u64 = 8;
/// §3.2.3: the fields of the option have 24 bits.
const OPTION_MASK: u32 = (1 << 24) - 1;
/// §3.2.2.5.1: with this many marks since the last acknowledgement, the next goes at once.
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
    /// A data packet arrived, new or not. Says whether it has to be acknowledged at once
    /// (§3.2.2.5.1): the first mark after none, and each second mark.
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
pub(super) struct MarkReader {
    /// s.cep.
    ce_packets: u64,
    /// Bytes marked by the options seen so far: s.ceb without its wrap.
    ce_bytes: u64,
    /// Timestamp of the latest acknowledgement that was read.
    ts_val: Option<u32>,
}

impl Default for MarkReader {
    fn default() -> Self {
        Self { ce_packets: INITIAL_CEP, ce_bytes: 0, ts_val: None }
    }
}

impl MarkReader {
    /// Packets newly reported as marked. `newly_acked_packets` is what the acknowledgement
    /// delivered; `ts_val` tells an overtaken acknowledgement, which is not read (§3.2.2.5.2).
    pub(super) fn read(
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
        // Appendix A.2.1: the least increase that agrees with the field.
        let least = (ace + ACE_MODULUS - self.ce_packets % ACE_MODULUS) % ACE_MODULUS;
        let increase = match feedback.option {
            Some(option) => {
                // A packet carries at most a full segment, so the bytes say how many packets there
                // were at the least; the field gives the last three bits of their number. Taking
                // the total, not the step, holds for options left out in between (§3.2.3.3).
                let step = option.ce_bytes.wrapping_sub(self.ce_bytes as u32) & OPTION_MASK;
                self.ce_bytes += u64::from(step);
                let at_least = INITIAL_CEP + self.ce_bytes.div_ceil(u64::from(mss_bytes.max(1)));
                let missing = at_least.saturating_sub(self.ce_packets + least);
                least + missing.div_ceil(ACE_MODULUS) * ACE_MODULUS
            }
            // Appendix A.2.1: the field may have wrapped; the safe assumption is that as many were
            // marked as agree with it.
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
    fn the_counters_start_where_the_rfc_says() {
        let mut counter = MarkCounter::default();
        let feedback = counter.feedback(true);
        assert_eq!(feedback.ace, 5);
        let option = feedback.option.unwrap();
        assert_eq!((option.ect0_bytes, option.ce_bytes, option.ect1_bytes), (1, 0, 1));
        assert_eq!(MarkReader::default().read(&feedback, 0, MSS, 0), 0);
    }

    #[test]
    fn the_first_mark_and_each_second_are_acknowledged_at_once() {
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
    fn the_field_alone_wraps_to_the_safe_side() {
        let mut reader = MarkReader::default();
        let says = |ace| AccEcn { ace, option: None };
        // 5 → 7: two; 7 → 1: two.
        assert_eq!(reader.read(&says(7), 2, MSS, 1), 2);
        assert_eq!(reader.read(&says(1), 4, MSS, 2), 2);
        // Twenty acknowledged and one more in the field: 1, 9 or 17.
        assert_eq!(reader.read(&says(2), 20, MSS, 3), 17);
    }

    #[test]
    fn an_overtaken_acknowledgement_is_not_read() {
        let mut reader = MarkReader::default();
        assert_eq!(reader.read(&AccEcn { ace: 0, option: None }, 3, MSS, 100), 3);
        assert_eq!(reader.read(&AccEcn { ace: 7, option: None }, 0, MSS, 99), 0);
        assert_eq!(reader.read(&AccEcn { ace: 1, option: None }, 1, MSS, 100), 1);
    }

    proptest! {
        /// With the option the count is exact over any wrap of field and bytes, whichever
        /// acknowledgements are lost, as long as full segments are sent.
        #[test]
        fn nothing_is_lost_or_counted_twice(
            runs in prop::collection::vec((0_u64..1_000, 0..3), 1..60),
        ) {
            let (mut counter, mut reader) = (MarkCounter::default(), MarkReader::default());
            let (mut marked, mut read, mut ts) = (0, 0, 0);
            for (packets, fate) in runs {
                for n in 0..packets {
                    let ecn = if n % 3 == 0 { Ecn::Ect1 } else { Ecn::Ce };
                    marked += u64::from(ecn == Ecn::Ce);
                    counter.on_packet(ecn, MSS);
                }
                ts += 1;
                let feedback = counter.feedback(true);
                if fate > 0 {
                    read += reader.read(&feedback, packets, MSS, ts);
                    prop_assert_eq!(read, marked);
                }
            }
        }
    }
}
