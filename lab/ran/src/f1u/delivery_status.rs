//! The DL DATA DELIVERY STATUS frame (38.425 §5.5.2.2, PDU type 1).

/// PDU type of the frame.
const PDU_TYPE: u8 = 1;

/// NR-U and NR PDCP sequence numbers have 24 bits in the frame.
const SN_MASK: u64 = (1 << 24) - 1;

/// Most ranges of a kind in one frame (8 bits).
pub const MAX_LOST_RANGES: usize = 255;

/// The DU's report about one bearer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryStatus {
    /// Highest transmitted NR PDCP sequence number.
    pub highest_transmitted: Option<u32>,
    /// Highest NR PDCP sequence number delivered to the UE in sequence, in RLC-AM.
    pub highest_delivered: Option<u32>,
    /// Whether this is the last frame of the bearer.
    pub is_final: bool,
    /// Desired buffer size: beyond the highest delivered in AM, the highest transmitted in UM.
    pub desired_buffer_bytes: u32,
    /// Desired data rate.
    pub desired_rate_bytes_per_s: Option<u32>,
    /// First and last of each range of lost NR-U sequence numbers.
    pub lost: Vec<(u32, u32)>,
    /// Cause value (§5.5.3), such as 1 for an outage of the radio link and 2 for its end.
    pub cause: Option<u8>,
    /// Highest NR PDCP sequence number of retransmission data delivered in sequence, in RLC-AM.
    pub highest_delivered_retransmitted: Option<u32>,
    /// Highest NR PDCP sequence number of retransmission data transmitted.
    pub highest_retransmitted: Option<u32>,
    /// First and last of each range of NR PDCP sequence numbers delivered out of sequence.
    pub delivered_out_of_sequence: Vec<(u32, u32)>,
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
    /// A length that no padded frame has.
    #[error("delivery status has {len} bytes; expected 4n - 2 with its padding")]
    Padding {
        /// Length of the frame.
        len: usize,
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

    /// The frame for the GTP-U extension header, with at most [`MAX_LOST_RANGES`] ranges of a kind.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |set: bool, bit: u8| u8::from(set) << bit;
        let [lost, delivered] = [&self.lost, &self.delivered_out_of_sequence]
            .map(|ranges| &ranges[..ranges.len().min(MAX_LOST_RANGES)]);
        let mut out = vec![
            PDU_TYPE << 4
                | flag(self.highest_transmitted.is_some(), 3)
                | flag(self.highest_delivered.is_some(), 2)
                | flag(self.is_final, 1)
                | flag(!lost.is_empty(), 0),
            flag(!delivered.is_empty(), 4)
                | flag(self.desired_rate_bytes_per_s.is_some(), 3)
                | flag(self.highest_retransmitted.is_some(), 2)
                | flag(self.highest_delivered_retransmitted.is_some(), 1)
                | flag(self.cause.is_some(), 0),
        ];
        out.extend(self.desired_buffer_bytes.to_be_bytes());
        out.extend(self.desired_rate_bytes_per_s.iter().flat_map(|rate| rate.to_be_bytes()));
        put_ranges(&mut out, lost);
        put_sn(&mut out, self.highest_delivered);
        put_sn(&mut out, self.highest_transmitted);
        out.extend(self.cause);
        put_sn(&mut out, self.highest_delivered_retransmitted);
        put_sn(&mut out, self.highest_retransmitted);
        put_ranges(&mut out, delivered);
        while !(out.len() + 2).is_multiple_of(4) {
            out.push(0);
        }
        out
    }

    /// Decodes a frame. Spare bits, padding and what later releases put between the last field and
    /// the padding are ignored (§5.5.1).
    ///
    /// # Errors
    /// [`FrameError`] for a truncated or unpadded frame or another PDU type.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut input = Input { bytes, at: 0 };
        let (flags, more) = (input.take(1)?, input.take(1)?);
        let pdu_type = (flags >> 4) as u8;
        if pdu_type != PDU_TYPE {
            return Err(FrameError::PduType { pdu_type });
        }
        let has = |byte: u32, bit: u32| byte >> bit & 1 == 1;
        // In the order of the fields.
        let frame = Self {
            is_final: has(flags, 1),
            desired_buffer_bytes: input.take(4)?,
            desired_rate_bytes_per_s: input.take_if(has(more, 3), 4)?,
            lost: input.ranges_if(has(flags, 0))?,
            highest_delivered: input.take_if(has(flags, 2), 3)?,
            highest_transmitted: input.take_if(has(flags, 3), 3)?,
            cause: input.take_if(has(more, 0), 1)?.map(|cause| cause as u8),
            highest_delivered_retransmitted: input.take_if(has(more, 1), 3)?,
            highest_retransmitted: input.take_if(has(more, 2), 3)?,
            delivered_out_of_sequence: input.ranges_if(has(more, 4))?,
        };
        if !(bytes.len() + 2).is_multiple_of(4) {
            return Err(FrameError::Padding { len: bytes.len() });
        }
        Ok(frame)
    }
}

fn put_sn(out: &mut Vec<u8>, sn: Option<u32>) {
    out.extend(sn.iter().flat_map(|sn| sn.to_be_bytes().into_iter().skip(1)));
}

fn put_ranges(out: &mut Vec<u8>, ranges: &[(u32, u32)]) {
    if !ranges.is_empty() {
        out.push(ranges.len() as u8);
    }
    for (first, last) in ranges {
        put_sn(out, Some(*first));
        put_sn(out, Some(*last));
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

    fn take_if(&mut self, present: bool, bytes: usize) -> Result<Option<u32>, FrameError> {
        if present { self.take(bytes).map(Some) } else { Ok(None) }
    }

    fn ranges_if(&mut self, present: bool) -> Result<Vec<(u32, u32)>, FrameError> {
        let count = self.take_if(present, 1)?.unwrap_or(0);
        (0..count).map(|_| Ok((self.take(3)?, self.take(3)?))).collect()
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
            ..Default::default()
        };
        let expected = [
            0x1f, 0x08, 0, 0, 0, 5, 0, 0, 0, 6, 2, 0, 0, 7, 0, 0, 9, 0xff, 0xff, 0xff, 0, 0, 1,
            0x11, 0x22, 0x33, 0xa0, 0xb0, 0xc0, 0,
        ];
        assert_eq!(full.encode(), expected);
        assert_eq!(full.len_bytes() % 4, 2);
        let all = DeliveryStatus {
            cause: Some(3),
            highest_delivered_retransmitted: Some(0x0044_5566),
            highest_retransmitted: Some(0x0077_8899),
            delivered_out_of_sequence: vec![(11, 12)],
            ..full
        };
        let mut expected = expected[..29].to_vec();
        expected[1] = 0x1f;
        expected.extend([3, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 1, 0, 0, 11, 0, 0, 12, 0, 0, 0]);
        assert_eq!(all.encode(), expected);
        assert_eq!(DeliveryStatus::decode(&expected), Ok(all));
    }

    /// Each optional field alone, as far as its length goes.
    #[test]
    fn each_field_is_read_from_its_place() {
        let read = |frame: &[u8]| DeliveryStatus::decode(frame).unwrap();
        let with = |flags: u8, more: u8, fields: &[u8]| {
            let mut frame = vec![0x10 | flags, more, 0, 0, 0, 9];
            frame.extend(fields);
            frame
        };
        let nothing = DeliveryStatus { desired_buffer_bytes: 9, ..Default::default() };
        assert_eq!(
            read(&with(0, 0b0001, &[7, 0, 0, 0])),
            DeliveryStatus { cause: Some(7), ..nothing.clone() }
        );
        assert_eq!(
            read(&with(0, 0b0010, &[0, 1, 2, 0])),
            DeliveryStatus { highest_delivered_retransmitted: Some(0x0102), ..nothing.clone() }
        );
        assert_eq!(
            read(&with(0, 0b0100, &[3, 4, 5, 0])),
            DeliveryStatus { highest_retransmitted: Some(0x0003_0405), ..nothing.clone() }
        );
        assert_eq!(
            read(&with(0, 0b0111, &[7, 0, 0, 1, 0, 0, 2, 0])),
            DeliveryStatus {
                cause: Some(7),
                highest_delivered_retransmitted: Some(1),
                highest_retransmitted: Some(2),
                ..nothing.clone()
            }
        );
        assert_eq!(
            read(&with(0, 0x10, &[1, 0, 0, 3, 0, 0, 4, 0])),
            DeliveryStatus { delivered_out_of_sequence: vec![(3, 4)], ..nothing }
        );
    }

    #[test]
    fn an_unpadded_frame_is_refused_and_a_later_field_is_ignored() {
        let padded = [0x18, 0, 0, 0, 0, 9, 0, 0, 1, 0];
        for len in [9, 11, 12, 13] {
            let mut frame = padded.to_vec();
            frame.resize(len, 0);
            assert_eq!(DeliveryStatus::decode(&frame), Err(FrameError::Padding { len }));
        }
        let later = [padded.as_slice(), &[0xaa, 0xbb, 0, 0]].concat();
        assert_eq!(DeliveryStatus::decode(&later), DeliveryStatus::decode(&padded));
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
            sns in prop::array::uniform4(prop::option::of(0u32..1 << 24)),
            cause in prop::option::of(any::<u8>()),
            is_final in any::<bool>(),
            desired_buffer_bytes in any::<u32>(),
            desired_rate_bytes_per_s in prop::option::of(any::<u32>()),
            ranges in prop::array::uniform2(
                prop::collection::vec((0u32..1 << 24, 0u32..1 << 24), 0..20)
            ),
        ) {
            let [highest_transmitted, highest_delivered, again, delivered_again] = sns;
            let [lost, delivered_out_of_sequence] = ranges;
            let frame = DeliveryStatus {
                highest_transmitted,
                highest_delivered,
                is_final,
                desired_buffer_bytes,
                desired_rate_bytes_per_s,
                lost,
                cause,
                highest_delivered_retransmitted: delivered_again,
                highest_retransmitted: again,
                delivered_out_of_sequence,
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
