//! Taking an input apart into numbers and arrays; beyond its end all is zero.

/// The rest of an input.
#[derive(Debug)]
pub struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// The whole input.
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    /// Whether all has been taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next bytes, at most this many.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes with their length, 0 to 65535, ahead.
    pub fn block(&mut self) -> &'a [u8] {
        let length = self.u16();
        self.bytes(length.into())
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.bytes(usize::MAX)
    }

    /// A byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Two bytes, little-endian.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A float of eight bytes.
    pub fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.array())
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.u8()) % count
    }

    /// A vector of at most 255 items.
    pub fn vec<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.u8();
        (0..count).map(|_| item(self)).collect()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.bytes(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }
}
