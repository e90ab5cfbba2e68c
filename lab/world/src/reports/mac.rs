//! FlexRIC's MAC indication, plain layout: u32 n, n records of 176 bytes, i64 µs.

use ran::MacReport;

use super::{Record, plain_message};

/// Bytes of one UE's record, with six bytes of padding at its end.
pub const RECORD_BYTES: usize = 176;

/// Encodes an indication message.
pub fn encode(reports: &[MacReport], tstamp_us: u64) -> Vec<u8> {
    plain_message(reports, RECORD_BYTES, tstamp_us, put)
}

fn put(record: &mut Record<'_>, r: &MacReport) {
    for value in [
        r.dl_aggr_tbs,
        r.ul_aggr_tbs,
        r.dl_aggr_bytes_sdus,
        r.ul_aggr_bytes_sdus,
        r.dl_curr_tbs,
        r.ul_curr_tbs,
        r.dl_sched_rb,
        r.ul_sched_rb,
    ] {
        record.u64(value);
    }
    for value in [r.pusch_snr, r.pucch_snr, r.dl_bler, r.ul_bler] {
        record.f32(value);
    }
    record.u32s(&r.dl_harq);
    record.u32s(&r.ul_harq);
    record.u32s(&[
        r.dl_num_harq,
        r.ul_num_harq,
        r.rnti,
        r.dl_aggr_prb,
        r.ul_aggr_prb,
        r.dl_aggr_sdus,
        r.ul_aggr_sdus,
        r.dl_aggr_retx_prb,
        r.ul_aggr_retx_prb,
        r.bsr,
    ]);
    record.u16(r.frame);
    record.u16(r.slot);
    for value in [r.wb_cqi, r.dl_mcs1, r.ul_mcs1, r.dl_mcs2, r.ul_mcs2] {
        record.u8(value);
    }
    record.i8(r.phr);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_at_the_offsets_of_the_c_struct() {
        let report = MacReport {
            dl_aggr_tbs: 1,
            ul_sched_rb: 8,
            pusch_snr: 1.5,
            dl_harq: [5, 4, 3, 2, 1],
            rnti: 0x4601,
            bsr: 77,
            frame: 1023,
            slot: 19,
            wb_cqi: 15,
            phr: -3,
            ..MacReport::default()
        };
        let bytes = encode(&[report], 9);
        assert_eq!(bytes.len(), 4 + 176 + 8);
        let record = &bytes[4..180];
        let u32_at = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
        assert_eq!(record[0], 1);
        assert_eq!(record[56], 8);
        assert_eq!(f32::from_bits(u32_at(64)), 1.5);
        assert_eq!((u32_at(80), u32_at(96)), (5, 1));
        assert_eq!(u32_at(128), 0x4601);
        assert_eq!(u32_at(156), 77);
        assert_eq!(record[160..164], [0xff, 0x03, 19, 0]);
        assert_eq!((record[164], record[169] as i8), (15, -3));
        assert_eq!(record[170..], [0; 6]);
        assert_eq!(bytes[180..], [9, 0, 0, 0, 0, 0, 0, 0]);
    }
}
