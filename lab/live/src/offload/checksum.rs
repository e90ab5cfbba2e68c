//! The internet checksum (RFC 1071).

/// Sum of 16-bit words, not yet folded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes that start at an even offset.
    pub(super) fn add(mut self, bytes: &[u8]) -> Self {
        // Words of 32 bits: the carries go to the upper half, and folding is the same (RFC 1071 §2).
        let mut words = bytes.chunks_exact(4);
        for word in words.by_ref() {
            self.0 += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        match *words.remainder() {
            [] => {}
            [a] => self.0 += u64::from(a) << 24,
            [a, b] => self.0 += u64::from(a) << 24 | u64::from(b) << 16,
            [a, b, c, ..] => self.0 += u64::from(a) << 24 | u64::from(b) << 16 | u64::from(c) << 8,
        }
        self
    }

    /// Adds a 16-bit word.
    pub(super) fn add_word(mut self, word: u16) -> Self {
        self.0 += u64::from(word);
        self
    }

    /// The folded sum.
    pub(super) fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum: the complement of the folded sum.
    pub(super) fn checksum(self) -> u16 {
        !self.folded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 §4.1, word by word.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().add(&bytes).folded(), 0xddf2);
    }

    proptest::proptest! {
        #[test]
        fn the_sum_by_four_bytes_is_that_by_two(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..3000),
            split in 0..1500_usize,
        ) {
            proptest::prop_assert_eq!(Sum::default().add(&bytes).checksum(), plain(&bytes));
            let (first, rest) = bytes.split_at((2 * split).min(bytes.len() / 2 * 2));
            proptest::prop_assert_eq!(Sum::default().add(first).add(rest).checksum(), plain(&bytes));
        }
    }
}
