//! The sender's side of the stream: what is to be sent, sent again and acknowledged.

use std::collections::BTreeMap;

use crate::tcp::ranges::RangeSet;

/// Bytes of the stream that one packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// First transmission.
    pub(super) first_sent_us: u64,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// A stream of `total_bytes`.
#[derive(Debug, Clone)]
pub(super) struct SendStream {
    total_bytes: u64,
    /// First byte never sent.
    next: u64,
    /// Lost bytes to be sent again, by offset: length and first transmission.
    lost: BTreeMap<u64, (u32, u64)>,
    acked: RangeSet,
}

impl SendStream {
    pub(super) fn new(total_bytes: u64) -> Self {
        Self { total_bytes, next: 0, lost: BTreeMap::new(), acked: RangeSet::default() }
    }

    /// First byte never sent.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes from the first on that are acknowledged.
    pub(super) fn acked_bytes(&self) -> u64 {
        self.acked.containing(0).map_or(0, |(_, end)| end)
    }

    /// Bytes never sent.
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.total_bytes - self.next
    }

    /// Sends nothing that was not sent yet.
    pub(super) fn stop(&mut self) {
        self.total_bytes = self.next;
    }

    /// Lost bytes wait to be sent again.
    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Everything is acknowledged.
    pub(super) fn is_acked(&self) -> bool {
        self.acked_bytes() == self.total_bytes
    }

    /// Whether nothing of the chunk is missing any more.
    pub(super) fn is_delivered(&self, chunk: &Chunk) -> bool {
        self.acked.contains(chunk.offset, chunk.end())
    }

    /// Offset of what [`SendStream::take`] would send.
    pub(super) fn next_offset(&self) -> u64 {
        self.lost.first_key_value().map_or(self.next, |(offset, _)| *offset)
    }

    /// The next bytes to send, at most `most`: those that were lost first, then new ones below `limit`.
    pub(super) fn take(&mut self, most: u32, limit: u64, now_us: u64) -> Option<Chunk> {
        if let Some((offset, (bytes, first_sent_us))) = self.lost.pop_first() {
            if bytes > most {
                self.lost.insert(offset + u64::from(most), (bytes - most, first_sent_us));
            }
            return Some(Chunk { offset, bytes: bytes.min(most), first_sent_us });
        }
        let room = self.unsent_bytes().min(limit.saturating_sub(self.next));
        let bytes = u32::try_from(room).unwrap_or(u32::MAX).min(most);
        if bytes == 0 {
            return None;
        }
        let offset = self.next;
        self.next += u64::from(bytes);
        Some(Chunk { offset, bytes, first_sent_us: now_us })
    }

    pub(super) fn on_acked(&mut self, chunk: &Chunk) {
        self.acked.insert(chunk.offset, chunk.end(), |_, _| {});
        // A copy may have been lost.
        if self.lost.get(&chunk.offset).is_some_and(|(bytes, _)| *bytes <= chunk.bytes) {
            self.lost.remove(&chunk.offset);
        }
    }

    pub(super) fn on_lost(&mut self, chunk: &Chunk) {
        if !self.is_delivered(chunk) {
            self.lost.insert(chunk.offset, (chunk.bytes, chunk.first_sent_us));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_bytes_go_before_new_ones_and_within_what_fits() {
        let mut stream = SendStream::new(250);
        let first = stream.take(100, u64::MAX, 7).unwrap();
        let second = stream.take(100, u64::MAX, 8).unwrap();
        assert_eq!((first.offset, second.offset, stream.next()), (0, 100, 200));
        stream.on_lost(&first);
        let part = stream.take(60, u64::MAX, 9).unwrap();
        assert_eq!((part.offset, part.bytes, part.first_sent_us), (0, 60, 7));
        let rest = stream.take(60, u64::MAX, 9).unwrap();
        assert_eq!((rest.offset, rest.bytes), (60, 40));
        assert_eq!(stream.take(100, 220, 9).map(|it| (it.offset, it.bytes)), Some((200, 20)));
        assert_eq!(stream.take(100, 220, 9), None, "flow control");
        for chunk in [part, rest, second] {
            stream.on_acked(&chunk);
        }
        assert_eq!((stream.acked_bytes(), stream.is_acked()), (200, false));
        stream.on_lost(&first);
        assert!(!stream.has_lost(), "all of it arrived in other packets");
    }

    #[test]
    fn a_stopped_stream_is_complete_with_what_was_sent() {
        let mut stream = SendStream::new(u64::MAX);
        let chunk = stream.take(100, u64::MAX, 0).unwrap();
        stream.stop();
        assert_eq!(stream.take(100, u64::MAX, 0), None);
        stream.on_acked(&chunk);
        assert!(stream.is_acked());
    }
}
