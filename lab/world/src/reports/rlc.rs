//! FlexRIC's RLC indication, plain layout: u32 n, n records of 152 bytes, i64 µs.

use ran::RlcReport;

use super::{Record, plain_message};

/// Bytes of one bearer's record.
pub const RECORD_BYTES: usize = 152;

/// Encodes an indication message.
pub fn encode(reports: &[RlcReport], tstamp_us: u64) -> Vec<u8> {
    plain_message(reports, RECORD_BYTES, tstamp_us, put)
}

#[inline(always)]
fn put(record: &mut Record<'_>, r: &RlcReport) {
    record.u32s(&[
        r.txpdu_pkts,
        r.txpdu_bytes,
        r.txpdu_wt_ms,
        r.txpdu_dd_pkts,
        r.txpdu_dd_bytes,
        r.txpdu_retx_pkts,
        r.txpdu_retx_bytes,
        r.txpdu_segmented,
        r.txpdu_status_pkts,
        r.txpdu_status_bytes,
        r.txbuf_occ_bytes,
        r.txbuf_occ_pkts,
        r.rxpdu_pkts,
        r.rxpdu_bytes,
        r.rxpdu_dup_pkts,
        r.rxpdu_dup_bytes,
        r.rxpdu_dd_pkts,
        r.rxpdu_dd_bytes,
        r.rxpdu_ow_pkts,
        r.rxpdu_ow_bytes,
        r.rxpdu_status_pkts,
        r.rxpdu_status_bytes,
        r.rxbuf_occ_bytes,
        r.rxbuf_occ_pkts,
        r.txsdu_pkts,
    ]);
    // Alignment of the following u64.
    record.skip(4);
    record.u64(r.txsdu_bytes);
    record.f64(r.txsdu_avg_time_to_tx);
    record.u32(r.txsdu_wt_us);
    record.u32(r.rxsdu_pkts);
    record.u64(r.rxsdu_bytes);
    record.u32(r.rxsdu_dd_pkts);
    record.u32(r.rxsdu_dd_bytes);
    record.u32(r.rnti);
    record.u8(r.mode);
    record.u8(r.rbid);
}

/// The records of a message; `None` if it is too short to be one.
pub fn records(message: &[u8]) -> Option<&[u8]> {
    message.get(4..message.len().checked_sub(8)?)
}

/// What identifies the bearer of a record: C-RNTI, mode and RB identity.
pub fn bearer_of(record: &[u8]) -> Option<&[u8]> {
    record.get(144..150)
}

/// `txsdu_wt_us` of a record.
pub fn head_of_line_us(record: &[u8]) -> Option<u32> {
    record.get(120..124)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published vector `rlc_ind_1rb`, field by field.
    #[test]
    fn fields_are_laid_out_as_in_flexric() {
        let report = RlcReport {
            txpdu_pkts: 1100,
            txpdu_bytes: 1101,
            txpdu_wt_ms: 1102,
            txpdu_dd_pkts: 1103,
            txpdu_dd_bytes: 1104,
            txpdu_retx_pkts: 1105,
            txpdu_retx_bytes: 1106,
            txpdu_segmented: 1107,
            txpdu_status_pkts: 1108,
            txpdu_status_bytes: 1109,
            txbuf_occ_bytes: 1110,
            txbuf_occ_pkts: 1111,
            rxpdu_pkts: 1112,
            rxpdu_bytes: 1113,
            rxpdu_dup_pkts: 1114,
            rxpdu_dup_bytes: 1115,
            rxpdu_dd_pkts: 1116,
            rxpdu_dd_bytes: 1117,
            rxpdu_ow_pkts: 1118,
            rxpdu_ow_bytes: 1119,
            rxpdu_status_pkts: 1120,
            rxpdu_status_bytes: 1121,
            rxbuf_occ_bytes: 1122,
            rxbuf_occ_pkts: 1123,
            txsdu_pkts: 1124,
            txsdu_bytes: 4_294_968_396,
            txsdu_avg_time_to_tx: 1234.5,
            txsdu_wt_us: 9999,
            rxsdu_pkts: 5,
            rxsdu_bytes: 8_589_935_692,
            rxsdu_dd_pkts: 1,
            rxsdu_dd_bytes: 2,
            rnti: 4660,
            mode: 0,
            rbid: 1,
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut expected = String::from("01000000");
        (1100_u32..1125).for_each(|value| expected.push_str(&hex(&value.to_le_bytes())));
        expected.push_str("000000004c0400000100000000000000004a93400f27000005000000");
        expected.push_str("4c040000020000000100000002000000341200000001");
        expected.push_str("0000");
        expected.push_str("01401e18240a0600");
        let message = encode(&[report], 1_700_000_000_000_001);
        assert_eq!(hex(&message), expected);
        let record = records(&message).unwrap();
        assert_eq!(record.len(), RECORD_BYTES);
        assert_eq!(head_of_line_us(record), Some(9999));
        assert_eq!(bearer_of(record).map(hex).as_deref(), Some("341200000001"));
    }

    #[test]
    fn without_bearers_the_table_is_empty() {
        let message = encode(&[], 1);
        assert_eq!(message, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(records(&message), Some(&[][..]));
        assert_eq!(records(&message[..7]), None);
    }
}
