//! RLC unacknowledged mode, 38.322 §5.2.2.

pub mod pdu;
pub mod rx;
pub mod tx;

pub use pdu::{Payload, UmdPdu};
pub use rx::UmReceiver;
pub use tx::UmTransmitter;

/// Length of the sequence number (`sn-FieldLength`, 38.331).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SnLength {
    /// 6 bits: window of 32.
    Six,
    /// 12 bits: window of 2048.
    Twelve,
}

impl SnLength {
    /// Numbers before it wraps.
    pub fn modulus(self) -> u16 {
        match self {
            Self::Six => 1 << 6,
            Self::Twelve => 1 << 12,
        }
    }

    /// `UM_Window_Size` (38.322 §7.2).
    pub fn window(self) -> u16 {
        self.modulus() / 2
    }
}

/// Parameters of an RLC-UM entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UmConfig {
    /// Length of the sequence number.
    pub sn_length: SnLength,
    /// How long the receiver waits for a missing segment.
    pub t_reassembly_us: u32,
}

impl Default for UmConfig {
    /// OAI's configuration of a DRB in UM: 12 bits, 15 ms.
    fn default() -> Self {
        Self { sn_length: SnLength::Twelve, t_reassembly_us: 15_000 }
    }
}
