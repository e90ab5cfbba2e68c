//! Plain tables (u32 n, n records, i64 time stamp) that fit into FlexRIC's receive buffer.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};

/// FlexRIC receives at most 32 KiB; more makes the near-RT RIC abort.
pub const RECEIVE_BUFFER_BYTES: usize = 32 << 10;
/// Room for E2AP around a message: some 80 bytes, with reserve.
const E2AP_BYTES: usize = 128;
/// Largest indication message that is sent.
pub const MAX_MESSAGE_BYTES: usize = RECEIVE_BUFFER_BYTES - E2AP_BYTES;

const COUNT_BYTES: usize = 4;
const TIME_STAMP_BYTES: usize = 8;

/// Place at which the next table begins, of tables that do not fit as a whole.
#[derive(Debug, Default)]
pub struct Turn(AtomicUsize);

impl Turn {
    /// The table with as many records as fit. Those that have no room are first in the next table, so
    /// that each bearer is reported, though not each time.
    pub fn fitting(&self, message: Bytes, record_bytes: usize) -> Bytes {
        if message.len() <= MAX_MESSAGE_BYTES {
            return message;
        }
        let around = COUNT_BYTES + TIME_STAMP_BYTES;
        let all = &message[COUNT_BYTES..message.len() - TIME_STAMP_BYTES];
        let records = (MAX_MESSAGE_BYTES - around) / record_bytes;
        let first = self.0.load(Ordering::Relaxed) % (all.len() / record_bytes);
        self.0.store(first + records, Ordering::Relaxed);
        let mut table = BytesMut::with_capacity(around + records * record_bytes);
        // At most 32 KiB, so the number fits in 32 bits.
        table.extend_from_slice(&(records as u32).to_le_bytes());
        let turned = all.chunks_exact(record_bytes).cycle().skip(first).take(records);
        turned.for_each(|record| table.extend_from_slice(record));
        table.extend_from_slice(&message[message.len() - TIME_STAMP_BYTES..]);
        table.freeze()
    }
}

#[cfg(test)]
mod tests {
    use lab_world::reports::{mac, rlc};

    use super::*;

    const TIME_STAMP: u64 = 0x0102_0304_0506_0708;

    fn count(message: &[u8]) -> u32 {
        u32::from_le_bytes(message[..4].try_into().expect("4 bytes"))
    }

    #[test]
    fn a_table_that_fits_is_sent_as_the_world_made_it() {
        let bearers = vec![ran::RlcReport { rnti: 0x4601, ..ran::RlcReport::default() }; 214];
        let message = Bytes::from(rlc::encode(&bearers, TIME_STAMP));
        assert!(message.len() <= MAX_MESSAGE_BYTES);
        assert_eq!(Turn::default().fitting(message.clone(), rlc::RECORD_BYTES), message);
    }

    #[test]
    fn of_a_longer_one_each_record_has_its_turn() {
        let bearers: Vec<_> =
            (0..500).map(|rnti| ran::RlcReport { rnti, ..ran::RlcReport::default() }).collect();
        let whole = Bytes::from(rlc::encode(&bearers, TIME_STAMP));
        let turn = Turn::default();
        for first in [0, 214, 428] {
            let cut = turn.fitting(whole.clone(), rlc::RECORD_BYTES);
            let expected: Vec<_> = bearers.iter().cycle().skip(first).take(214).cloned().collect();
            assert_eq!(count(&cut), 214);
            assert_eq!(cut, rlc::encode(&expected, TIME_STAMP), "from {first}");
        }
    }

    #[test]
    fn a_cut_table_fits_into_flexrics_buffer() {
        let ues = vec![ran::MacReport::default(); 1000];
        let whole = Bytes::from(mac::encode(&ues, TIME_STAMP));
        let cut = Turn::default().fitting(whole, mac::RECORD_BYTES);
        assert_eq!(cut, mac::encode(&ues[..185], TIME_STAMP));
        assert!(cut.len() + E2AP_BYTES <= RECEIVE_BUFFER_BYTES);
    }
}
