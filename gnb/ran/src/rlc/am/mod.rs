//! RLC acknowledged mode, 38.322 §5.2.3: what the air loses is sent again.
//!
//! | file | what it holds |
//! |---|---|
//! | [`pdu`] | AMD PDUs and the sizes of their headers |
//! | [`status`] | the STATUS PDU, bit by bit |
//! | [`tx`] | transmission window, segmentation, retransmission |
//! | [`poll`] | when the transmitter asks for a status report |
//! | [`rx`] | reception window, reassembly, when a report is due and what it says |
//! | [`ranges`] | which bytes of an SDU are there |

pub mod pdu;
pub mod poll;
pub mod ranges;
pub mod rx;
pub mod status;
pub mod tx;

pub use pdu::AmdPdu;
pub use rx::AmReceiver;
pub use status::StatusPdu;
pub use tx::{AmTransmitter, StatusOutcome};

use crate::error::ConfigError;

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

    /// What is on the air for SDU number `seq` of the entity.
    pub fn sn(self, seq: u64) -> u32 {
        (seq % self.modulus()) as u32
    }

    /// The number at or above `base` that has `sn` on the air: the modulus base of 38.322 §7.1.
    pub fn unwrap_from(self, sn: u32, base: u64) -> u64 {
        let modulus = self.modulus();
        base + (u64::from(sn) + modulus - base % modulus) % modulus
    }

    /// The number nearest to `base` that has `sn` on the air: within half the number space, which
    /// is a window, before or after it. Below zero when none has had that number.
    pub fn unwrap_around(self, sn: u32, base: u64) -> i64 {
        let ahead = self.unwrap_from(sn, base);
        let back = if ahead - base < self.window() { 0 } else { self.modulus() as i64 };
        ahead as i64 - back
    }
}

/// Parameters of an RLC-AM entity pair; the names are those of 38.331 `RLC-Config`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmConfig {
    /// `sn-FieldLength`.
    pub sn_length: AmSnLength,
    /// `t-PollRetransmit`: without an answer to a poll for this long, it is asked again.
    pub t_poll_retransmit_us: u32,
    /// `pollPDU`: a poll in every so many PDUs; none is infinity.
    pub poll_pdu: Option<u32>,
    /// `pollByte`: a poll in every so many bytes of data; none is infinity.
    pub poll_byte: Option<u64>,
    /// `maxRetxThreshold`: an SDU sent again this often means radio link failure.
    pub max_retx_threshold: u8,
    /// `t-Reassembly`: how long the receiver takes something missing for late.
    pub t_reassembly_us: u32,
    /// `t-StatusProhibit`: least time between two status reports; 0 does not bound it.
    pub t_status_prohibit_us: u32,
    /// The receiver hands SDUs up in order, as in LTE (36.322 §5.1.3.2.3); in NR each goes up as
    /// soon as it is whole, and PDCP sorts them.
    pub in_order: bool,
}

impl Default for AmConfig {
    /// What OAI's gNB configures for a DRB in AM: 18 bits, t-PollRetransmit 45 ms, a poll each 64
    /// PDUs or 500 kB, threshold of 32, t-Reassembly 15 ms, t-StatusProhibit 15 ms.
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
    /// configuration", §IV). The paper does not give the other values; these are of 36.331 §9.2.3,
    /// the default configuration of RLC-AM: t-PollRetransmit 45 ms, pollPDU and pollByte infinity
    /// (for signalling), t-Reordering 35 ms, maxRetxThreshold 4. Infinity would poll a bearer that
    /// never runs empty only at a stalled window, so pollPDU is 16.
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
    /// [`ConfigError`] with the path of the first field that is wrong.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.t_poll_retransmit_us == 0 {
            return Err(ConfigError::new("rlc.t_poll_retransmit_us", 0, "1 or more"));
        }
        if self.poll_pdu == Some(0) {
            return Err(ConfigError::new("rlc.poll_pdu", 0, "1 or more, or none"));
        }
        if self.poll_byte == Some(0) {
            return Err(ConfigError::new("rlc.poll_byte", 0, "1 or more, or none"));
        }
        if !(1..=32).contains(&self.max_retx_threshold) {
            let path = "rlc.max_retx_threshold";
            return Err(ConfigError::new(path, self.max_retx_threshold, "1 to 32"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_are_told_apart_within_a_window() {
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
    fn values_that_cannot_work_are_named() {
        let good = AmConfig::default();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(AmConfig::lte().validate(), Ok(()));
        for (config, expected) in [
            (
                AmConfig { t_poll_retransmit_us: 0, ..good },
                "rlc.t_poll_retransmit_us: 0; expected 1 or more",
            ),
            (
                AmConfig { poll_pdu: Some(0), ..good },
                "rlc.poll_pdu: 0; expected 1 or more, or none",
            ),
            (
                AmConfig { poll_byte: Some(0), ..good },
                "rlc.poll_byte: 0; expected 1 or more, or none",
            ),
            (
                AmConfig { max_retx_threshold: 33, ..good },
                "rlc.max_retx_threshold: 33; expected 1 to 32",
            ),
        ] {
            assert_eq!(config.validate().unwrap_err().to_string(), expected);
        }
    }
}
