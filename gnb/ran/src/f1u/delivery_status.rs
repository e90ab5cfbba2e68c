//! The DL DATA DELIVERY STATUS frame (38.425 §5.5.2.2, PDU type 1).

/// PDU type of the frame.
const PDU_TYPE: u8 = 1;

/// NR-U and NR PDCP sequence numbers have 24 bits in the frame.
const SN_MASK: u64 = (1 << 24) - 1;

/// Most ranges of one frame (8 bits).
pub const MAX_LOST_RANGES: usize = 255;

/// The DU's report about one bearer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// Highest transmitted NR PDCP sequence number.
    pub highest_transmitted: Option<u32>,
    /// In RLC-AM, highest NR PDCP sequence number delivered to the UE in sequence.
    pub highest_delivered: Option<u32>,
    /// Whether this is the last frame of the bearer.
    pub is_final: bool,
    /// Desired buffer size: beyond the highest delivered in AM, the highest transmitted in UM.
    pub desired_buffer_bytes: u32,
    /// Desired data rate.
    pub desired_rate_bytes_per_s: Option<u32>,
    /// First and last of each range of lost NR-U sequence numbers.
    pub lost: Vec<(u32, u32)>,
}

/// Why a frame cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Fewer bytes than the flags require.
    #[error("delivery status ends after {len} bytes within a field")]
    Truncated {
        /// Length of the frame.
        len: usize,
    },
    /// Another PDU type.
    #[error("PDU type {pdu_type}; expected 1, DL data delivery status")]
    PduType {
        /// The type.
        pdu_type: u8,
    },
}

/// The 24 bits of a number in a frame.
pub fn sn24(number: u64) -> u32 {
    (number & SN_MASK) as u32
}

/// The number with 24 bits `sn` that is closest to `near`.
pub fn unwrap_sn24(sn: u32, near: u64) -> u64 {
    let modulus = SN_MASK + 1;
    let base = near - near % modulus + u64::from(sn) % modulus;
    let half = modulus / 2;
    if base > near + half {
        base.checked_sub(modulus).unwrap_or(base)
    } else if near > base + half {
        base + modulus
    } else {
        base
    }
}

impl DeliveryStatus {
    /// Bytes of the frame with its padding to 4n − 2 (§5.5.2.2).
    pub fn len_bytes(&self) -> u32 {
        self.encode().len() as u32
    }

    /// The frame for the GTP-U extension header, with at most [`MAX_LOST_RANGES`] ranges.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |set: bool, bit: u8| u8::from(set) << bit;
        let ranges = &self.lost[..self.lost.len().min(MAX_LOST_RANGES)];
        let mut out = vec![
            PDU_TYPE << 4
                | flag(self.highest_transmitted.is_some(), 3)
                | flag(self.highest_delivered.is_some(), 2)
                | flag(self.is_final, 1)
                | flag(!ranges.is_empty(), 0),
            flag(self.desired_rate_bytes_per_s.is_some(), 3),
        ];
        out.extend(self.desired_buffer_bytes.to_be_bytes());
        out.extend(self.desired_rate_bytes_per_s.iter().flat_map(|rate| rate.to_be_bytes()));
        if !ranges.is_empty() {
            out.push(ranges.len() as u8);
            for (first, last) in ranges {
                out.extend(&first.to_be_bytes()[1..]);
                out.extend(&last.to_be_bytes()[1..]);
            }
        }
        for sn in [self.highest_delivered, self.highest_transmitted].into_iter().flatten() {
            out.extend(&sn.to_be_bytes()[1..]);
        }
        while !(out.len() + 2).is_multiple_of(4) {
            out.push(0);
        }
        out
    }

    /// Decodes a frame, ignoring padding.
    ///
    /// # Errors
    /// [`FrameError`] for a truncated frame or another PDU type.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut input = Input { bytes, at: 0 };
        let (flags, more) = (input.take(1)?, input.take(1)?);
        let pdu_type = (flags >> 4) as u8;
        if pdu_type != PDU_TYPE {
            return Err(FrameError::PduType { pdu_type });
        }
        let has = |byte: u32, bit: u32| byte >> bit & 1 == 1;
        let desired_buffer_bytes = input.take(4)?;
        let desired_rate_bytes_per_s = if has(more, 3) { Some(input.take(4)?) } else { None };
        let mut lost = Vec::new();
        if has(flags, 0) {
            for _ in 0..input.take(1)? {
                lost.push((input.take(3)?, input.take(3)?));
            }
        }
        let highest_delivered = if has(flags, 2) { Some(input.take(3)?) } else { None };
        let highest_transmitted = if has(flags, 3) { Some(input.take(3)?) } else { None };
        Ok(Self {
            highest_transmitted,
            highest_delivered,
            is_final: has(flags, 1),
            desired_buffer_bytes,
            desired_rate_bytes_per_s,
            lost,
        })
    }
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn take(&mut self, bytes: usize) -> Result<u32, FrameError> {
        let field = self.bytes.get(self.at..self.at + bytes);
        let field = field.ok_or(FrameError::Truncated { len: self.bytes.len() })?;
        self.at += bytes;
        Ok(field.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_figure_5_5_2_2_1() {
        let empty = DeliveryStatus { desired_buffer_bytes: 0x0102_0304, ..Default::default() };
        assert_eq!(empty.encode(), [0x10, 0, 1, 2, 3, 4]);
        let full = DeliveryStatus {
            highest_transmitted: Some(0x00a0_b0c0),
            highest_delivered: Some(0x0011_2233),
            is_final: true,
            desired_buffer_bytes: 5,
            desired_rate_bytes_per_s: Some(6),
            lost: vec![(7, 9), (0x00ff_ffff, 1)],
        };
        let expected = [
            0x1f, 0x08, 0, 0, 0, 5, 0, 0, 0, 6, 2, 0, 0, 7, 0, 0, 9, 0xff, 0xff, 0xff, 0, 0, 1,
            0x11, 0x22, 0x33, 0xa0, 0xb0, 0xc0, 0,
        ];
        assert_eq!(full.encode(), expected);
        assert_eq!(full.len_bytes() % 4, 2);
    }

    #[test]
    fn other_frames_are_refused() {
        assert_eq!(
            DeliveryStatus::decode(&[0x00, 0, 0, 0, 0, 0]),
            Err(FrameError::PduType { pdu_type: 0 })
        );
        assert_eq!(DeliveryStatus::decode(&[0x10]), Err(FrameError::Truncated { len: 1 }));
        let cut = DeliveryStatus::decode(&[0x18, 0, 0, 0, 0, 0, 1]);
        assert_eq!(cut, Err(FrameError::Truncated { len: 7 }));
    }

    #[test]
    fn unwrapping_returns_the_closest_number() {
        let modulus = 1 << 24;
        for (number, near) in [
            (5, 5),
            (modulus - 1, modulus),
            (modulus, modulus - 1),
            (3 * modulus + 7, 3 * modulus),
            (3 * modulus - 7, 3 * modulus),
            (0, 100),
        ] {
            assert_eq!(unwrap_sn24(sn24(number), near), number);
        }
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(
            sns in prop::array::uniform2(prop::option::of(0u32..1 << 24)),
            is_final in any::<bool>(),
            desired_buffer_bytes in any::<u32>(),
            desired_rate_bytes_per_s in prop::option::of(any::<u32>()),
            lost in prop::collection::vec((0u32..1 << 24, 0u32..1 << 24), 0..20),
        ) {
            let [highest_transmitted, highest_delivered] = sns;
            let frame = DeliveryStatus {
                highest_transmitted,
                highest_delivered,
                is_final,
                desired_buffer_bytes,
                desired_rate_bytes_per_s,
                lost,
            };
            let bytes = frame.encode();
            prop_assert_eq!(bytes.len() % 4, 2);
            prop_assert_eq!(DeliveryStatus::decode(&bytes), Ok(frame));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = DeliveryStatus::decode(&bytes);
        }
    }
}
