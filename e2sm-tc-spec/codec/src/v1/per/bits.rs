//! Bit fields, octet alignment and constrained whole numbers of aligned PER (X.691).

use crate::error::{DecodeError, EncodeError, Problem};

/// Octets needed for a non-negative number, at least one.
fn octets_of(value: u64) -> u32 {
    (64 - value.leading_zeros()).div_ceil(8).max(1)
}

/// Bits needed for the numbers 0..=`span`.
fn bits_of(span: u64) -> u32 {
    64 - span.leading_zeros()
}

/// Fewest bits of an encoded whole number of 0..=`span`, without alignment.
pub(crate) const fn least_bits(span: u64) -> usize {
    match span {
        0 => 0,
        1..=254 => (64 - span.leading_zeros()) as usize,
        255 => 8,
        256..=65_535 => 16,
        // Length field and one octet.
        _ => 8,
    }
}

/// The last index of a CHOICE.
pub(crate) const fn last(indexes: &[u64]) -> u64 {
    indexes.len() as u64 - 1
}

/// The smallest size; 0 for an empty list.
pub(crate) const fn smallest(sizes: &[usize]) -> usize {
    let mut least = usize::MAX;
    let mut index = 0;
    while index < sizes.len() {
        if sizes[index] < least {
            least = sizes[index];
        }
        index += 1;
    }
    if least == usize::MAX { 0 } else { least }
}

/// Writes an encoding.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Bits of the last byte not yet used.
    free_bits: u32,
}

impl Writer {
    pub(crate) fn bits(&mut self, value: u64, count: u32) {
        let mut left = count;
        while left > 0 {
            if self.free_bits == 0 {
                self.bytes.push(0);
                self.free_bits = 8;
            }
            let take = left.min(self.free_bits);
            let chunk = (value >> (left - take)) & ((1 << take) - 1);
            if let Some(last) = self.bytes.last_mut() {
                *last |= (chunk as u8) << (self.free_bits - take);
            }
            self.free_bits -= take;
            left -= take;
        }
    }

    /// Pads with zero bits to the next octet.
    pub(crate) fn align(&mut self) {
        self.free_bits = 0;
    }

    /// Aligned octets.
    pub(crate) fn octets(&mut self, octets: &[u8]) {
        self.align();
        self.bytes.extend_from_slice(octets);
    }

    /// A whole number of the constrained range `low..=high` (X.691 §11.5).
    pub(crate) fn constrained(
        &mut self,
        value: u64,
        low: u64,
        high: u64,
    ) -> Result<(), EncodeError> {
        if value < low || value > high {
            return Err(EncodeError::new(Problem::OutOfRange { value, low, high }));
        }
        self.in_span(value - low, high - low);
        Ok(())
    }

    fn in_span(&mut self, value: u64, span: u64) {
        match span {
            0 => {}
            // §11.5.7.1: up to 255 values, a bit field that is not aligned.
            1..=254 => self.bits(value, bits_of(span)),
            // §11.5.7.2 and §11.5.7.3: one or two aligned octets.
            255 => {
                self.align();
                self.bits(value, 8);
            }
            256..=65_535 => {
                self.align();
                self.bits(value, 16);
            }
            // §11.5.7.4: number of octets, then the fewest aligned octets.
            _ => {
                let octets = octets_of(value);
                self.in_span(u64::from(octets) - 1, u64::from(octets_of(span)) - 1);
                self.align();
                self.bits(value, 8 * octets);
            }
        }
    }

    /// An unconstrained length determinant (X.691 §11.9.3.5–7); at most 16 383.
    pub(crate) fn length(&mut self, length: usize) -> Result<(), EncodeError> {
        self.align();
        match length {
            0..=127 => self.bits(length as u64, 8),
            128..=16_383 => self.bits(0x8000 | length as u64, 16),
            count => {
                return Err(EncodeError::new(Problem::Size { count, low: 0, high: 16_383 }));
            }
        }
        Ok(())
    }

    /// The complete encoding, in whole octets.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads an encoding; refuses non-canonical forms.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position_bits: usize,
    skipped_extensions: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position_bits: 0, skipped_extensions: false }
    }

    pub(crate) fn error(&self, problem: Problem) -> DecodeError {
        DecodeError::new(self.position_bits, problem)
    }

    pub(crate) fn remaining_bits(&self) -> usize {
        self.bytes.len() * 8 - self.position_bits
    }

    fn need(&self, needed_bits: usize) -> Result<(), DecodeError> {
        let remaining_bits = self.remaining_bits();
        if needed_bits > remaining_bits {
            return Err(self.error(Problem::Truncated { needed_bits, remaining_bits }));
        }
        Ok(())
    }

    pub(crate) fn bits(&mut self, count: u32) -> Result<u64, DecodeError> {
        self.need(count as usize)?;
        let mut value = 0u64;
        let mut left = count;
        while left > 0 {
            let within = (self.position_bits % 8) as u32;
            let take = left.min(8 - within);
            let byte = self.bytes.get(self.position_bits / 8).copied().unwrap_or_default();
            let chunk = (u64::from(byte) >> (8 - within - take)) & ((1 << take) - 1);
            value = (value << take) | chunk;
            self.position_bits += take as usize;
            left -= take;
        }
        Ok(value)
    }

    pub(crate) fn bit(&mut self) -> Result<bool, DecodeError> {
        Ok(self.bits(1)? == 1)
    }

    pub(crate) fn align(&mut self) -> Result<(), DecodeError> {
        let padding = self.position_bits.next_multiple_of(8) - self.position_bits;
        if self.bits(padding as u32)? != 0 {
            return Err(self.error(Problem::NotCanonical { expected: "padding bits of zero" }));
        }
        Ok(())
    }

    /// `count` aligned octets.
    pub(crate) fn octets(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        self.align()?;
        self.need(count * 8)?;
        let start = self.position_bits / 8;
        self.position_bits += count * 8;
        Ok(self.bytes.get(start..start + count).unwrap_or_default())
    }

    pub(crate) fn constrained(&mut self, low: u64, high: u64) -> Result<u64, DecodeError> {
        let start = self.position_bits;
        let value = self.in_span(high - low)?;
        // `value` may exceed the span only where the bit field is wider than the range.
        if value > high - low {
            let problem = Problem::OutOfRange { value: value.saturating_add(low), low, high };
            return Err(DecodeError::new(start, problem));
        }
        Ok(low + value)
    }

    fn in_span(&mut self, span: u64) -> Result<u64, DecodeError> {
        match span {
            0 => Ok(0),
            1..=254 => self.bits(bits_of(span)),
            255 => {
                self.align()?;
                self.bits(8)
            }
            256..=65_535 => {
                self.align()?;
                self.bits(16)
            }
            _ => {
                let most = u64::from(octets_of(span));
                let octets = self.constrained(1, most)? as u32;
                self.align()?;
                let value = self.bits(8 * octets)?;
                if octets_of(value) != octets {
                    return Err(self.error(Problem::NotCanonical {
                        expected: "a number in as few octets as hold it",
                    }));
                }
                Ok(value)
            }
        }
    }

    pub(crate) fn length(&mut self) -> Result<usize, DecodeError> {
        self.align()?;
        let first = self.bits(8)?;
        if first & 0x80 == 0 {
            return Ok(first as usize);
        }
        if first & 0x40 != 0 {
            return Err(self.error(Problem::NotCanonical { expected: "a length below 16384" }));
        }
        let length = ((first & 0x3f) << 8 | self.bits(8)?) as usize;
        if length < 128 {
            return Err(
                self.error(Problem::NotCanonical { expected: "one octet for a length below 128" })
            );
        }
        Ok(length)
    }

    /// Skips the extension additions of a SEQUENCE (X.691 §19.7–9), from a later version.
    pub(crate) fn skip_extensions(&mut self) -> Result<(), DecodeError> {
        self.skipped_extensions = true;
        // A normally small length: bit 0 and six bits of n − 1 (X.691 §11.9.3.4).
        if self.bit()? {
            return Err(
                self.error(Problem::NotCanonical { expected: "at most 64 extension additions" })
            );
        }
        let additions = self.bits(6)? as u32 + 1;
        let present = self.bits(additions)?.count_ones();
        for _ in 0..present {
            let octets = self.length()?;
            self.octets(octets)?;
        }
        Ok(())
    }

    /// Checks that only padding of the last octet is left. Returns whether components of a later
    /// version were skipped.
    pub(crate) fn finish(mut self) -> Result<bool, DecodeError> {
        self.align()?;
        match self.remaining_bits() / 8 {
            0 => Ok(self.skipped_extensions),
            bytes => Err(self.error(Problem::TrailingBytes { bytes })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: u64, low: u64, high: u64) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.bits(1, 1);
        writer.constrained(value, low, high).unwrap();
        writer.finish()
    }

    #[test]
    #[allow(clippy::unusual_byte_groupings, reason = "grouped as the fields are")]
    fn constrained_numbers_are_encoded_by_the_form_of_their_range() {
        assert_eq!(written(5, 1, 32), [0b1_00100_00]);
        assert_eq!(written(0xab, 0, 255), [0x80, 0xab]);
        assert_eq!(written(0xab, 0, 256), [0x80, 0x00, 0xab]);
        assert_eq!(written(0xabcd, 0, u64::from(u32::MAX)), [0b1_01_00000, 0xab, 0xcd]);
        let largest = written(u64::MAX, 0, u64::MAX);
        assert_eq!(largest[0], 0b1_111_0000);
        assert_eq!(largest[1..], [0xff; 8]);
    }

    #[test]
    fn numbers_and_lengths_in_more_octets_than_needed_are_refused() {
        let mut reader = Reader::new(&[0b01_000000, 0x00, 0xab]);
        assert!(matches!(
            reader.constrained(0, u64::from(u32::MAX)).unwrap_err().problem,
            Problem::NotCanonical { .. }
        ));
        assert!(Reader::new(&[0x80, 0x05]).length().is_err());
        assert!(Reader::new(&[0xc1]).length().is_err());
    }

    #[test]
    fn a_bit_field_wider_than_its_range_is_checked() {
        let error = Reader::new(&[0b1111_1000]).constrained(0, 16).unwrap_err();
        assert_eq!(error.problem, Problem::OutOfRange { value: 31, low: 0, high: 16 });
        assert_eq!(error.bit_offset, 0);
    }
}
