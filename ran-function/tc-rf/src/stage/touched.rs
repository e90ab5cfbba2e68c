//! Which queues ever had a packet: a report of hundreds of queues looks at these alone.

/// A set of queues, one bit each.
#[derive(Clone, Debug)]
pub(crate) struct Touched {
    words: Vec<u64>,
}

impl Touched {
    pub(super) fn new(queues: usize) -> Self {
        Self { words: vec![0; queues.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn add(&mut self, index: u32) {
        self.words[index as usize / 64] |= 1 << (index % 64);
    }

    /// Indices in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_given_once_in_ascending_order() {
        let mut touched = Touched::new(130);
        assert_eq!(touched.iter().count(), 0);
        for index in [129, 0, 63, 64, 0, 127, 129] {
            touched.add(index);
        }
        assert_eq!(touched.iter().collect::<Vec<_>>(), [0, 63, 64, 127, 129]);
    }
}
