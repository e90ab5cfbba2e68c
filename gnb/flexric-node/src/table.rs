//! Plain tables (u32 n, n records, i64 time stamp) that fit into FlexRIC's receive buffer.

use bytes::{Bytes, BytesMut};

/// FlexRIC receives at most 32 KiB; more makes the near-RT RIC abort.
pub const RECEIVE_BUFFER_BYTES: usize = 32 << 10;
/// Room for E2AP around a message: some 80 bytes, with reserve.
const E2AP_BYTES: usize = 128;
/// Largest indication message that is sent.
pub const MAX_MESSAGE_BYTES: usize = RECEIVE_BUFFER_BYTES - E2AP_BYTES;

const COUNT_BYTES: usize = 4;
const TIME_STAMP_BYTES: usize = 8;

/// The table with as many leading records as fit. A message of another layout is returned unchanged.
pub fn fitting(message: Bytes, record_bytes: usize) -> Bytes {
    if message.len() <= MAX_MESSAGE_BYTES {
        return message;
    }
    let around = COUNT_BYTES + TIME_STAMP_BYTES;
    let records = (MAX_MESSAGE_BYTES - around) / record_bytes;
    let end = COUNT_BYTES + records * record_bytes;
    let mut table = BytesMut::with_capacity(end + TIME_STAMP_BYTES);
    // At most 32 KiB, so the number fits in 32 bits.
    table.extend_from_slice(&(records as u32).to_le_bytes());
    table.extend_from_slice(&message[COUNT_BYTES..end]);
    table.extend_from_slice(&message[message.len() - TIME_STAMP_BYTES..]);
    table.freeze()
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
        assert_eq!(fitting(message.clone(), rlc::RECORD_BYTES), message);
    }

    #[test]
    fn a_longer_one_loses_its_last_records_and_keeps_its_time() {
        let bearers: Vec<_> =
            (0..1000).map(|rnti| ran::RlcReport { rnti, ..ran::RlcReport::default() }).collect();
        let cut = fitting(Bytes::from(rlc::encode(&bearers, TIME_STAMP)), rlc::RECORD_BYTES);
        assert_eq!(count(&cut), 214);
        assert_eq!(cut, rlc::encode(&bearers[..214], TIME_STAMP));

        let ues = vec![ran::MacReport::default(); 1000];
        let cut = fitting(Bytes::from(mac::encode(&ues, TIME_STAMP)), mac::RECORD_BYTES);
        assert_eq!(cut, mac::encode(&ues[..185], TIME_STAMP));
        assert!(cut.len() + E2AP_BYTES <= RECEIVE_BUFFER_BYTES);
    }
}
