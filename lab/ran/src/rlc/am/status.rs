//! The STATUS PDU (38.322 §6.2.2.5).

use super::AmSnLength;

/// `SOend` value for the last byte of the SDU (38.322 §6.2.3.16).
pub const SO_END_OF_SDU: u16 = 0xffff;

/// Most SDUs in one NACK range (8 bits, 38.322 §6.2.3.17).
pub const MAX_NACK_RANGE: u8 = 255;

/// D/C and CPT, ACK_SN, E1 and reserved bits: three bytes with 12 bits of SN and with 18.
const FIXED_BYTES: u32 = 3;

/// One NACK of a STATUS PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN: the first SDU concerned.
    pub sn: u32,
    /// SOstart and SOend, the first and last missing byte; the complete SDU if `None`. With a range,
    /// SOstart applies to its first SDU and SOend to its last.
    pub so: Option<(u16, u16)>,
    /// NACK range: number of consecutive missing SDUs from `sn`; 1 if `None`.
    pub range: Option<u8>,
}

impl Nack {
    /// Bytes of the NACK: NACK_SN with E1, E2 and E3, four for an SO pair, one for a range.
    pub fn len_bytes(&self, sn_length: AmSnLength) -> u32 {
        let sn_bytes = match sn_length {
            AmSnLength::Twelve => 2,
            AmSnLength::Eighteen => 3,
        };
        sn_bytes + 4 * u32::from(self.so.is_some()) + u32::from(self.range.is_some())
    }
}

/// A STATUS PDU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusPdu {
    /// ACK_SN: all SDUs below are received, except those in `nacks`.
    pub ack_sn: u32,
    /// Missing SDUs and segments, in order.
    pub nacks: Vec<Nack>,
}

/// Why a STATUS PDU cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// Fewer bytes than the flags require.
    #[error("status PDU ends after {len} bytes within a field")]
    Truncated {
        /// Length of the PDU.
        len: usize,
    },
    /// A data PDU, or a control PDU of a reserved type.
    #[error("first byte {first:#04x}: no control PDU of type STATUS")]
    NotStatus {
        /// The first byte.
        first: u8,
    },
    /// A NACK range of 0.
    #[error("NACK range of 0 at NACK_SN {sn}; expected 1 to 255")]
    EmptyRange {
        /// Its NACK_SN.
        sn: u32,
    },
}

impl StatusPdu {
    /// Bytes on the air.
    pub fn len_bytes(&self, sn_length: AmSnLength) -> u32 {
        FIXED_BYTES + self.nacks.iter().map(|nack| nack.len_bytes(sn_length)).sum::<u32>()
    }

    /// Bytes of a PDU without any NACK.
    pub fn shortest_bytes() -> u32 {
        FIXED_BYTES
    }

    /// Encodes the PDU.
    pub fn encode(&self, sn_length: AmSnLength) -> Vec<u8> {
        let mut out = Bits::default();
        // D/C = 0 (control), CPT = 000 (STATUS).
        out.put(0, 4);
        out.put(self.ack_sn, sn_length.bits());
        out.put(u32::from(!self.nacks.is_empty()), 1);
        out.align();
        for (at, nack) in self.nacks.iter().enumerate() {
            out.put(nack.sn, sn_length.bits());
            out.put(u32::from(at + 1 < self.nacks.len()), 1);
            out.put(u32::from(nack.so.is_some()), 1);
            out.put(u32::from(nack.range.is_some()), 1);
            out.align();
            if let Some((start, end)) = nack.so {
                out.put(u32::from(start), 16);
                out.put(u32::from(end), 16);
            }
            if let Some(range) = nack.range {
                out.put(u32::from(range), 8);
            }
        }
        out.bytes
    }

    /// Decodes a PDU, ignoring bytes after the last NACK.
    ///
    /// # Errors
    /// [`StatusError`] for a truncated or another PDU.
    pub fn decode(bytes: &[u8], sn_length: AmSnLength) -> Result<Self, StatusError> {
        let mut input = Reader { bytes, at: 0 };
        if input.take(4)? != 0 {
            let first = bytes.first().copied().unwrap_or(0);
            return Err(StatusError::NotStatus { first });
        }
        let ack_sn = input.take(sn_length.bits())?;
        let mut more = input.take(1)? == 1;
        input.align();
        let mut nacks = Vec::new();
        while more {
            let sn = input.take(sn_length.bits())?;
            more = input.take(1)? == 1;
            let (has_so, has_range) = (input.take(1)? == 1, input.take(1)? == 1);
            input.align();
            let so =
                if has_so { Some((input.take(16)? as u16, input.take(16)? as u16)) } else { None };
            let range = if has_range { Some(input.take(8)? as u8) } else { None };
            if range == Some(0) {
                return Err(StatusError::EmptyRange { sn });
            }
            nacks.push(Nack { sn, so, range });
        }
        Ok(Self { ack_sn, nacks })
    }
}

/// Writer of bit fields, most significant bit first.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u32, bits: u32) {
        for bit in (0..bits).rev() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(byte) = self.bytes.last_mut() {
                *byte |= ((value >> bit & 1) as u8) << (7 - self.used % 8);
            }
            self.used += 1;
        }
    }

    fn align(&mut self) {
        self.used = self.used.next_multiple_of(8);
    }
}

/// Reader of bit fields.
struct Reader<'a> {
    bytes: &'a [u8],
    at: u32,
}

impl Reader<'_> {
    fn take(&mut self, bits: u32) -> Result<u32, StatusError> {
        let mut value = 0;
        for _ in 0..bits {
            let byte = self.bytes.get(self.at as usize / 8);
            let byte = byte.ok_or(StatusError::Truncated { len: self.bytes.len() })?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Ok(value)
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AmSnLength::{Eighteen, Twelve};
    use proptest::prelude::*;

    fn nack(sn: u32, so: Option<(u16, u16)>, range: Option<u8>) -> Nack {
        Nack { sn, so, range }
    }

    #[test]
    fn the_layout_is_that_of_figures_6_2_2_5_1_and_2() {
        let ack = StatusPdu { ack_sn: 0xabc, nacks: vec![] };
        // 0 000 1010 | 1011 1100 | E1=0 R R R R R R R
        assert_eq!(ack.encode(Twelve), [0x0a, 0xbc, 0x00]);
        let ack = StatusPdu { ack_sn: 0x2_abcd, nacks: vec![] };
        // 0 000 1010 | 1010 1111 | 0011 01 E1=0 R
        assert_eq!(ack.encode(Eighteen), [0x0a, 0xaf, 0x34]);
        let one = StatusPdu { ack_sn: 5, nacks: vec![nack(3, Some((16, 255)), Some(2))] };
        assert_eq!(one.encode(Twelve), [0, 5, 0x80, 0x00, 0x36, 0, 16, 0, 255, 2]);
        // NACK_SN of 18 bits, then E1 E2 E3 and three reserved.
        assert_eq!(one.encode(Eighteen), [0, 0, 0x16, 0x00, 0x00, 0xd8, 0, 16, 0, 255, 2]);
    }

    #[test]
    fn sizes_are_those_of_the_formats() {
        for (sn_length, sn_bytes) in [(Twelve, 2), (Eighteen, 3)] {
            let status = |nacks| StatusPdu { ack_sn: 9, nacks }.len_bytes(sn_length);
            assert_eq!(status(vec![]), 3);
            assert_eq!(status(vec![nack(1, None, None)]), 3 + sn_bytes);
            assert_eq!(status(vec![nack(1, Some((0, 9)), None)]), 3 + sn_bytes + 4);
            assert_eq!(status(vec![nack(1, None, Some(4))]), 3 + sn_bytes + 1);
            let two = vec![nack(1, None, None), nack(3, Some((0, 9)), Some(4))];
            assert_eq!(status(two), 3 + 2 * sn_bytes + 5);
        }
    }

    #[test]
    fn invalid_pdus_are_refused() {
        for (bytes, error) in [
            (&[0x80u8, 0, 0][..], StatusError::NotStatus { first: 0x80 }),
            (&[0, 5], StatusError::Truncated { len: 2 }),
            (&[0, 5, 0x80], StatusError::Truncated { len: 3 }),
            (&[0, 5, 0x80, 0x00, 0x32, 0], StatusError::EmptyRange { sn: 3 }),
        ] {
            assert_eq!(StatusPdu::decode(bytes, Twelve), Err(error));
        }
    }

    fn any_status(sn_length: AmSnLength) -> impl Strategy<Value = StatusPdu> {
        let sn = 0..sn_length.modulus() as u32;
        let so = prop::option::of((any::<u16>(), any::<u16>()));
        let group = (sn.clone(), so, prop::option::of(1..=MAX_NACK_RANGE));
        let nacks = group.prop_map(|(sn, so, range)| Nack { sn, so, range });
        (sn, prop::collection::vec(nacks, 0..20))
            .prop_map(|(ack_sn, nacks)| StatusPdu { ack_sn, nacks })
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding_in_len_bytes(
            (sn_length, status) in prop_oneof![Just(Twelve), Just(Eighteen)]
                .prop_flat_map(|length| (Just(length), any_status(length))),
        ) {
            let bytes = status.encode(sn_length);
            prop_assert_eq!(bytes.len() as u32, status.len_bytes(sn_length));
            prop_assert_eq!(StatusPdu::decode(&bytes, sn_length), Ok(status));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            long in any::<bool>(),
        ) {
            let sn_length = if long { Eighteen } else { Twelve };
            if let Ok(status) = StatusPdu::decode(&bytes, sn_length) {
                prop_assert!(status.len_bytes(sn_length) as usize <= bytes.len());
            }
        }
    }
}
