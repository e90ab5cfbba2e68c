//! RLC acknowledged mode (38.322 §5.2.3): [`tx`] with [`poll`] transmits, [`rx`] receives and
//! reports.

pub mod pdu;
pub mod poll;
pub mod rx;
pub mod status;
pub mod tx;

pub use pdu::AmdPdu;
pub use rx::AmReceiver;
pub use status::StatusPdu;
pub use tx::{AmTransmitter, StatusOutcome};

use crate::error::{ConfigError, ensure};

/// Length of the sequence number (`sn-FieldLength`, 38.331).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AmSnLength {
    /// 12 bits: window of 2048.
    Twelve,
    /// 18 bits: window of 131072.
    Eighteen,
}

impl AmSnLength {
    /// Bits on the air.
    pub fn bits(self) -> u32 {
        match self {
            Self::Twelve => 12,
            Self::Eighteen => 18,
        }
    }

    /// Numbers before it wraps.
    pub fn modulus(self) -> u64 {
        1 << self.bits()
    }

    /// `AM_Window_Size` (38.322 §7.2).
    pub fn window(self) -> u64 {
        self.modulus() / 2
    }

    /// Sequence number on the air of SDU number `seq` of the entity.
    pub fn sn(self, seq: u64) -> u32 {
        (seq % self.modulus()) as u32
    }

    /// The number at or above `base` with `sn` on the air: the modulus base of 38.322 §7.1.
    pub fn unwrap_from(self, sn: u32, base: u64) -> u64 {
        let modulus = self.modulus();
        base + (u64::from(sn) + modulus - base % modulus) % modulus
    }

    /// The number nearest to `base` with `sn` on the air: within a window before or after it, below
    /// zero if no SDU has had it.
    pub fn unwrap_around(self, sn: u32, base: u64) -> i64 {
        let ahead = self.unwrap_from(sn, base);
        let back = if ahead - base < self.window() { 0 } else { self.modulus() as i64 };
        ahead as i64 - back
    }
}

/// Parameters of an RLC-AM entity pair (38.331 `RLC-Config`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmConfig {
    /// `sn-FieldLength`.
    pub sn_length: AmSnLength,
    /// `t-PollRetransmit`: a poll is repeated if unanswered for this long.
    pub t_poll_retransmit_us: u32,
    /// `pollPDU`: PDUs between polls; infinity if `None`.
    pub poll_pdu: Option<u32>,
    /// `pollByte`: bytes between polls; infinity if `None`.
    pub poll_byte: Option<u64>,
    /// `maxRetxThreshold`: retransmissions of an SDU that cause a radio link failure.
    pub max_retx_threshold: u8,
    /// `t-Reassembly`: how long the receiver waits for a missing segment.
    pub t_reassembly_us: u32,
    /// `t-StatusProhibit`: minimum time between two status reports.
    pub t_status_prohibit_us: u32,
    /// Whether the receiver delivers SDUs in order, as in LTE (36.322 §5.1.3.2.3); in NR each is
    /// delivered when complete, and PDCP reorders.
    pub in_order: bool,
}

impl Default for AmConfig {
    /// OAI's configuration of a DRB in AM.
    fn default() -> Self {
        Self {
            sn_length: AmSnLength::Eighteen,
            t_poll_retransmit_us: 45_000,
            poll_pdu: Some(64),
            poll_byte: Some(500_000),
            max_retx_threshold: 32,
            t_reassembly_us: 15_000,
            t_status_prohibit_us: 15_000,
            in_order: false,
        }
    }
}

impl AmConfig {
    /// The default bearer of kumar2018: LTE, in order, t-StatusProhibit 25 ms ("the default
    /// configuration", §IV). The values the paper does not give are the defaults of 36.331 §9.2.3,
    /// except that pollPDU is 16: with its infinity, meant for signalling, a bearer that never runs
    /// empty would poll only at a stalled window.
    pub fn lte() -> Self {
        Self {
            sn_length: AmSnLength::Twelve,
            t_poll_retransmit_us: 45_000,
            poll_pdu: Some(16),
            poll_byte: None,
            max_retx_threshold: 4,
            t_reassembly_us: 35_000,
            t_status_prohibit_us: 25_000,
            in_order: true,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(self.t_poll_retransmit_us > 0, "rlc.t_poll_retransmit_us", 0, "1 or more")?;
        ensure(self.poll_pdu != Some(0), "rlc.poll_pdu", 0, "1 or more, or none")?;
        ensure(self.poll_byte != Some(0), "rlc.poll_byte", 0, "1 or more, or none")?;
        let most = self.max_retx_threshold;
        ensure((1..=32).contains(&most), "rlc.max_retx_threshold", most, "1 to 32")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_are_unambiguous_within_a_window() {
        for length in [AmSnLength::Twelve, AmSnLength::Eighteen] {
            assert_eq!(length.window() * 2, length.modulus());
            for base in [0, 1, length.modulus() - 1, length.modulus(), 10 * length.modulus() + 7] {
                for ahead in [0, 1, length.window() - 1, length.modulus() - 1] {
                    let seq = base + ahead;
                    assert_eq!(length.unwrap_from(length.sn(seq), base), seq);
                    let back = if ahead < length.window() { 0 } else { length.modulus() };
                    let around = length.unwrap_around(length.sn(seq), base);
                    assert_eq!(around, seq as i64 - back as i64);
                }
            }
        }
    }

    #[test]
    fn invalid_values_are_named() {
        let good = AmConfig::default();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(AmConfig::lte().validate(), Ok(()));
        for (config, expected) in [
            (
                AmConfig { t_poll_retransmit_us: 0, ..good },
                "t_poll_retransmit_us: 0; expected 1 or more",
            ),
            (AmConfig { poll_pdu: Some(0), ..good }, "poll_pdu: 0; expected 1 or more, or none"),
            (AmConfig { poll_byte: Some(0), ..good }, "poll_byte: 0; expected 1 or more, or none"),
            (
                AmConfig { max_retx_threshold: 33, ..good },
                "max_retx_threshold: 33; expected 1 to 32",
            ),
        ] {
            let error = config.validate().unwrap_err().to_string();
            assert_eq!(error.strip_prefix("rlc."), Some(expected));
        }
    }
}
