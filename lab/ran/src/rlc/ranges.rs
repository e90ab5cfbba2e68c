//! Byte ranges of an SDU: received ones, or those to be retransmitted.

/// Bytes of one SDU: half-open intervals, sorted, disjoint and not adjacent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    pieces: Vec<(u32, u32)>,
}

impl Ranges {
    /// Adds `from..to`; returns how many of the bytes are new.
    pub fn insert(&mut self, from: u32, to: u32) -> u32 {
        if from >= to {
            return 0;
        }
        // Segments mostly arrive in order.
        match self.pieces.last_mut() {
            None => {
                self.pieces.push((from, to));
                return to - from;
            }
            Some(last) if last.1 == from => {
                last.1 = to;
                return to - from;
            }
            Some(_) => {}
        }
        // Pieces `first..beyond` overlap or touch the new one.
        let first = self.pieces.partition_point(|piece| piece.1 < from);
        let beyond = self.pieces.partition_point(|piece| piece.0 <= to);
        let mut merged = (from, to);
        let mut known = 0;
        for piece in &self.pieces[first..beyond] {
            known += piece.1.min(to).saturating_sub(piece.0.max(from));
            merged = (merged.0.min(piece.0), merged.1.max(piece.1));
        }
        self.pieces.splice(first..beyond, [merged]);
        to - from - known
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Number of bytes.
    pub fn bytes(&self) -> u32 {
        self.pieces.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether all of `0..to` is contained.
    pub fn covers(&self, to: u32) -> bool {
        self.pieces.first().is_some_and(|piece| piece.0 == 0 && piece.1 >= to)
    }

    /// End of the last piece; 0 if empty.
    pub fn end(&self) -> u32 {
        self.pieces.last().map_or(0, |piece| piece.1)
    }

    /// Whether bytes before the end are missing.
    pub fn has_gap(&self) -> bool {
        !self.pieces.is_empty() && !self.covers(self.end())
    }

    /// Missing ranges before the end.
    pub fn gaps(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|piece| piece.1));
        let ends = self.pieces.iter().map(|piece| piece.0);
        starts.zip(ends).filter(|(from, to)| from < to)
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> &[(u32, u32)] {
        &self.pieces
    }

    /// The first piece.
    pub fn first(&self) -> Option<(u32, u32)> {
        self.pieces.first().copied()
    }

    /// Removes up to `most` bytes from the front of the first piece.
    pub fn take_first(&mut self, most: u32) {
        let Some(piece) = self.pieces.first_mut() else { return };
        if piece.1 - piece.0 <= most {
            self.pieces.remove(0);
        } else {
            piece.0 += most;
        }
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_that_touch_become_one() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(10, 20), 10);
        assert_eq!(ranges.insert(30, 40), 10);
        assert_eq!(ranges.gaps().collect::<Vec<_>>(), [(0, 10), (20, 30)]);
        assert_eq!(ranges.insert(20, 30), 10);
        assert_eq!(ranges.pieces(), [(10, 40)]);
        assert_eq!(ranges.insert(15, 25), 0, "all known");
        assert!(ranges.has_gap() && !ranges.covers(40));
        assert_eq!(ranges.insert(0, 12), 10);
        assert!(!ranges.has_gap() && ranges.covers(40));
        ranges.take_first(15);
        assert_eq!(ranges.first(), Some((15, 40)));
        ranges.take_first(25);
        assert!(ranges.is_empty());
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_bytes(inserts in prop::collection::vec((0u32..60, 0u32..12), 0..30)) {
            let mut ranges = Ranges::default();
            let mut set = [false; 80];
            for (from, len) in inserts {
                let mut new = 0;
                for byte in from..from + len {
                    new += u32::from(!std::mem::replace(&mut set[byte as usize], true));
                }
                prop_assert_eq!(ranges.insert(from, from + len), new);
                prop_assert!(ranges.pieces().windows(2).all(|pair| pair[0].1 < pair[1].0));
                let contained = |byte: u32| ranges.pieces().iter().any(|p| (p.0..p.1).contains(&byte));
                prop_assert!((0..80).all(|byte| contained(byte) == set[byte as usize]));
                let missing = |byte: u32| ranges.gaps().any(|p| (p.0..p.1).contains(&byte));
                let end = ranges.end();
                prop_assert!((0..end).all(|byte| missing(byte) != set[byte as usize]));
            }
        }
    }
}
