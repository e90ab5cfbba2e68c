//! PDCP data recovery (38.323 §5.5): what one entity has not had acknowledged goes through another.

use super::{AmTransmitter, Held};
use crate::rlc::Unconfirmed;
use crate::rlc::ranges::Ranges;

impl<P> AmTransmitter<P> {
    /// The SDUs that are not acknowledged, in the order of their COUNTs.
    pub fn into_unconfirmed(self) -> Vec<Unconfirmed<P>> {
        let open = self.queue.into_iter().filter(|held| !held.is_acknowledged);
        let unconfirmed =
            open.map(|Held { sdu, bytes, count, .. }| Unconfirmed { count, bytes, sdu });
        let mut unconfirmed: Vec<_> = unconfirmed.collect();
        unconfirmed.sort_by_key(|one| one.count);
        unconfirmed
    }

    /// The next SDU has this COUNT: PDCP goes on where another entity ended.
    pub fn continue_at(&mut self, next_count: u64) {
        self.next_count = next_count;
    }

    /// Enqueues what another entity has not had acknowledged.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_again(
        &mut self,
        again: Unconfirmed<P>,
        now_us: u64,
    ) -> Result<(), Unconfirmed<P>> {
        let Unconfirmed { count, bytes, sdu } = again;
        if self.is_beyond_limits(bytes) {
            return Err(Unconfirmed { count, bytes, sdu });
        }
        self.push(count, sdu, bytes, now_us);
        Ok(())
    }

    /// Discards the duplicates of which no byte is sent: a PDCP status report has named them
    /// (38.323 §5.4.2). Returns their number.
    pub fn discard_duplicates(&mut self) -> u64 {
        let partly = self.queue.get(self.unsent).is_some_and(|held| held.sent > 0);
        let kept = (self.unsent + usize::from(partly)).min(self.queue.len());
        let unsent = self.queue.split_off(kept);
        let (mut packets, mut bytes) = (0, 0);
        self.queue.extend(unsent.into_iter().filter(|held| {
            if held.sdu.is_none() {
                packets += 1;
                bytes += held.bytes;
            }
            held.sdu.is_some()
        }));
        self.held_packets -= packets;
        self.held_bytes -= bytes;
        self.unsent_bytes -= bytes;
        self.counted = self.unsent;
        self.new_cost = 0;
        if let Some(head) = self.queue.get(self.unsent).filter(|_| partly) {
            self.new_cost = self.cost(false, head.bytes - head.sent);
            self.counted += 1;
        }
        self.count_window();
        u64::from(packets)
    }

    pub(super) fn is_beyond_limits(&self, bytes: u32) -> bool {
        self.held_packets >= self.limit_packets
            || u64::from(self.held_bytes) + u64::from(bytes) > u64::from(self.limit_bytes)
    }

    pub(super) fn push(&mut self, count: u64, sdu: Option<P>, bytes: u32, now_us: u64) {
        self.held_packets += 1;
        self.held_bytes += bytes;
        self.unsent_bytes += bytes;
        self.queue.push_back(Held {
            sdu,
            bytes,
            count,
            enqueued_us: now_us,
            sent: 0,
            sent_us: 0,
            is_acknowledged: false,
            retx_count: None,
            retx: Ranges::default(),
        });
        self.next_count = self.next_count.max(count + 1);
        self.count_window();
    }
}
