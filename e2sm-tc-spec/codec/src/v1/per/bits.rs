//! Bit fields, octet alignment and constrained whole numbers of aligned PER (X.691).

use std::borrow::Cow;

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
    in_order(indexes);
    indexes.len() as u64 - 1
}

/// Stops the compilation of a declaration whose alternatives or values are not numbered in order.
pub(crate) const fn in_order(indexes: &[u64]) {
    let mut index = 0;
    while index < indexes.len() {
        assert!(indexes[index] == index as u64, "numbered from 0 in order, on each side of `...`");
        index += 1;
    }
}

/// Presence bits of extension additions, without absent ones at the end.
pub(crate) fn up_to_last_present(present: &[bool]) -> &[bool] {
    let count = present.iter().rposition(|present| *present).map_or(0, |last| last + 1);
    present.get(..count).unwrap_or_default()
}

/// Most octets of a length determinant without fragments (X.691 §11.9.3.8), and of the unit of
/// fragments one more.
const MOST_OCTETS: usize = 16_383;
const FRAGMENT_OCTETS: usize = MOST_OCTETS + 1;

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
            128..=MOST_OCTETS => self.bits(0x8000 | length as u64, 16),
            count => {
                return Err(EncodeError::new(Problem::Size { count, low: 0, high: MOST_OCTETS }));
            }
        }
        Ok(())
    }

    /// A normally small whole number: the index of an extension addition (X.691 §11.6).
    pub(crate) fn normally_small(&mut self, value: u64) -> Result<(), EncodeError> {
        if value < 64 {
            self.bits(value, 7);
            return Ok(());
        }
        self.bits(1, 1);
        let octets = octets_of(value);
        self.length(octets as usize)?;
        self.bits(value, 8 * octets);
        Ok(())
    }

    /// The presence bits of extension additions, after their number as a normally small length
    /// (X.691 §19.8, §11.9.3.4). Nothing if there are none.
    pub(crate) fn additions(&mut self, present: &[bool]) -> Result<(), EncodeError> {
        match present.len() {
            0 => return Ok(()),
            count @ 1..=64 => self.bits(count as u64 - 1, 7),
            count => {
                self.bits(1, 1);
                self.length(count)?;
            }
        }
        present.iter().for_each(|present| self.bits(u64::from(*present), 1));
        Ok(())
    }

    /// An open type (X.691 §11.2): the complete encoding of what `put` writes, at least one octet,
    /// in fragments where it is long (§11.9.3.8).
    pub(crate) fn open_type(
        &mut self,
        put: impl FnOnce(&mut Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut content = Writer::default();
        put(&mut content)?;
        if content.bytes.is_empty() {
            content.bytes.push(0);
        }
        let mut left = content.bytes.as_slice();
        while left.len() >= FRAGMENT_OCTETS {
            let units = (left.len() / FRAGMENT_OCTETS).min(4);
            let (fragment, rest) = left.split_at(units * FRAGMENT_OCTETS);
            self.align();
            self.bits(0xc0 | units as u64, 8);
            self.octets(fragment);
            left = rest;
        }
        self.length(left.len())?;
        self.octets(left);
        Ok(())
    }

    /// The complete encoding, in whole octets.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads an encoding; refuses non-canonical forms.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    position_bits: usize,
    of_later_version: bool,
}

/// The presence bits of extension additions.
#[derive(Debug)]
pub(crate) struct Additions<'a> {
    bits: Reader<'a>,
    left: usize,
}

impl Additions<'_> {
    /// Whether the next addition is present; false after the last that the sender knew.
    pub(crate) fn next_present(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        // All bits were there when the additions were read.
        self.bits.bit().unwrap_or(false)
    }
}

/// Separates an error after which decoding can go on, because the reader stands behind the element:
/// one that a later version added. The element is then missing from what contains it.
pub(crate) fn read_whole<T>(
    element: Result<T, DecodeError>,
) -> Result<Result<T, DecodeError>, DecodeError> {
    match element {
        Err(error) if !error.is_of_later_version() => Err(error),
        whole => Ok(whole),
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position_bits: 0, of_later_version: false }
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
        self.padding(padding as u32)
    }

    fn padding(&mut self, count: u32) -> Result<(), DecodeError> {
        if self.bits(count)? != 0 {
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
        match self.length_or_fragment()? {
            Length::Whole(octets) => Ok(octets),
            Length::Fragment(_) => {
                Err(self.error(Problem::NotCanonical { expected: "a length below 16384" }))
            }
        }
    }

    /// An unconstrained length determinant (X.691 §11.9.3.5–8).
    fn length_or_fragment(&mut self) -> Result<Length, DecodeError> {
        self.align()?;
        let first = self.bits(8)?;
        match first {
            0x00..=0x7f => Ok(Length::Whole(first as usize)),
            0xc1..=0xc4 => Ok(Length::Fragment((first as usize & 7) * FRAGMENT_OCTETS)),
            0xc0.. => Err(self.error(Problem::NotCanonical { expected: "1 to 4 units of 16384" })),
            _ => {
                let length = ((first & 0x3f) << 8 | self.bits(8)?) as usize;
                if length < 128 {
                    return Err(self.error(Problem::NotCanonical {
                        expected: "one octet for a length below 128",
                    }));
                }
                Ok(Length::Whole(length))
            }
        }
    }

    /// A normally small whole number (X.691 §11.6).
    pub(crate) fn normally_small(&mut self) -> Result<u64, DecodeError> {
        if !self.bit()? {
            return self.bits(6);
        }
        let octets = self.length()?;
        if !(1..=8).contains(&octets) {
            return Err(self.error(Problem::Size { count: octets, low: 1, high: 8 }));
        }
        let value = self.bits(8 * octets as u32)?;
        if value < 64 || octets_of(value) as usize != octets {
            let expected = "a normally small number in as few bits as hold it";
            return Err(self.error(Problem::NotCanonical { expected }));
        }
        Ok(value)
    }

    /// The presence bits of a SEQUENCE's extension additions (X.691 §19.8); none unless the
    /// extension bit says that there are.
    pub(crate) fn additions(&mut self, extended: bool) -> Result<Additions<'a>, DecodeError> {
        if !extended {
            return Ok(Additions { bits: self.clone(), left: 0 });
        }
        let count = match self.bit()? {
            false => self.bits(6)? as usize + 1,
            true => match self.length()? {
                count @ 0..=64 => {
                    return Err(self.error(Problem::Size { count, low: 65, high: MOST_OCTETS }));
                }
                count => count,
            },
        };
        self.need(count)?;
        let bits = self.clone();
        let mut present = 0u64;
        for left in (0..count).rev() {
            let bit = self.bit()?;
            present += u64::from(bit);
            // The sender knew more than it sent: a later version, or one that writes the bits of all.
            self.of_later_version |= left == 0 && !bit;
        }
        if present == 0 {
            let expected = "at least one extension addition";
            return Err(self.error(Problem::NotCanonical { expected }));
        }
        Ok(Additions { bits, left: count })
    }

    /// Skips what is left of the extension additions: components of a later version.
    pub(crate) fn skip_additions(
        &mut self,
        mut additions: Additions<'_>,
    ) -> Result<(), DecodeError> {
        while additions.left > 0 {
            if additions.next_present() {
                self.of_later_version = true;
                self.skip_open_type()?;
            }
        }
        Ok(())
    }

    /// Decodes the content of an open type (X.691 §11.2).
    pub(crate) fn open_type<T>(
        &mut self,
        get: impl FnOnce(&mut Reader<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let start_bits = self.position_bits.next_multiple_of(8);
        let octets = self.open_type_octets()?;
        // Fragments have further lengths in between, so that offsets in them are approximate.
        let offset_bits = self.position_bits.saturating_sub(8 * octets.len()).max(start_bits);
        let mut content = Reader::new(&octets);
        let moved = |mut error: DecodeError| {
            error.bit_offset += offset_bits;
            error
        };
        let value = read_whole(get(&mut content)).map_err(moved)?;
        if content.position_bits == 0 {
            // An empty encoding is one octet of zero (X.691 §11.1.3).
            content.padding(8).map_err(moved)?;
        }
        self.of_later_version |= content.finish().map_err(moved)?;
        value.map_err(moved)
    }

    /// Skips an open type of a later version.
    pub(crate) fn skip_open_type(&mut self) -> Result<(), DecodeError> {
        self.open_type_octets().map(drop)
    }

    fn open_type_octets(&mut self) -> Result<Cow<'a, [u8]>, DecodeError> {
        let mut whole = Cow::Borrowed([].as_slice());
        loop {
            let length = self.length_or_fragment()?;
            let (Length::Whole(octets) | Length::Fragment(octets)) = length;
            let part = self.octets(octets)?;
            if whole.is_empty() {
                whole = Cow::Borrowed(part);
            } else {
                whole.to_mut().extend_from_slice(part);
            }
            match length {
                Length::Whole(_) if whole.is_empty() => {
                    let expected = "an open type of at least one octet";
                    return Err(self.error(Problem::NotCanonical { expected }));
                }
                Length::Whole(_) => return Ok(whole),
                Length::Fragment(_) => {}
            }
        }
    }

    /// A list member or value that only a later version has was left out or replaced.
    pub(crate) fn left_out(&mut self) {
        self.of_later_version = true;
    }

    /// Checks that only padding of the last octet is left. Returns whether the bytes are of a later
    /// version, so that this one does not write them.
    pub(crate) fn finish(mut self) -> Result<bool, DecodeError> {
        self.align()?;
        match self.remaining_bits() / 8 {
            0 => Ok(self.of_later_version),
            bytes => Err(self.error(Problem::TrailingBytes { bytes })),
        }
    }
}

/// A length determinant: all octets that follow, or a fragment with another length behind it.
enum Length {
    Whole(usize),
    Fragment(usize),
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
