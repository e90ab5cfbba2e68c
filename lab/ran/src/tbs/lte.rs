//! LTE transport block sizes, 36.213 §7.1.7.

use super::tables::LTE_TBS_BITS;

/// PRBs of the widest carrier supported, 5 MHz.
pub const MAX_N_PRB: usize = 25;

/// The highest MCS; 29 to 31 are reserved for retransmissions.
pub const MAX_MCS: u8 = 28;

/// I_TBS of an MCS index (36.213 table 7.1.7.1-1): the last index of a modulation and the first of
/// the next have the same size.
fn i_tbs(mcs: u8) -> Option<usize> {
    match mcs {
        0..=9 => Some(usize::from(mcs)),
        10..=16 => Some(usize::from(mcs) - 1),
        17..=MAX_MCS => Some(usize::from(mcs) - 2),
        _ => None,
    }
}

/// Transport block size in bits; `None` for a reserved MCS or more than [`MAX_N_PRB`] PRBs.
pub fn tbs_bits(mcs: u8, n_prb: u16) -> Option<u32> {
    let row = &LTE_TBS_BITS[i_tbs(mcs)?];
    match usize::from(n_prb) {
        0 => Some(0),
        n => row.get(n - 1).map(|bits| u32::from(*bits)),
    }
}

/// Information bits per resource element, counted as in 36.213 table 7.2.3-1: three control symbols
/// and two antenna ports of reference signals leave 120 in a pair of PRBs.
pub fn efficiency(mcs: u8) -> Option<f64> {
    let data_re = 120.0 * MAX_N_PRB as f64;
    tbs_bits(mcs, MAX_N_PRB as u16).map(|bits| f64::from(bits) / data_re)
}

/// Resource elements for data in a pair of PRBs: one control symbol and one antenna port of reference
/// signals, eight elements of which two are in that symbol, leave 150 of 168.
pub(super) const DATA_RE_PER_PRB: u32 = 150;

/// Modulation order (36.213 table 7.1.7.1-1) and information bits per coded bit; `None` for a reserved
/// MCS.
pub(super) fn modulation(mcs: u8) -> Option<(u8, f64)> {
    let order = match mcs {
        0..=9 => 2,
        10..=16 => 4,
        17..=MAX_MCS => 6,
        _ => return None,
    };
    let bits = f64::from(tbs_bits(mcs, MAX_N_PRB as u16)?);
    let coded_bits = f64::from(order) * f64::from(DATA_RE_PER_PRB) * MAX_N_PRB as f64;
    Some((order, bits / coded_bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_25_prb_column_is_the_published_one() {
        let column = LTE_TBS_BITS.map(|row| row[24]);
        let published = [
            680, 904, 1096, 1416, 1800, 2216, 2600, 3112, 3496, 4008, 4392, 4968, 5736, 6456, 7224,
            7736, 7992, 9144, 9912, 10680, 11448, 12576, 13536, 14112, 15264, 15840, 18336,
        ];
        assert_eq!(column, published);
    }

    /// irazabal2021: "18 RBs can transport up to 1692 bytes with a 28 MCS".
    #[test]
    fn eighteen_prb_at_mcs_28_carry_what_the_paper_says() {
        assert_eq!(tbs_bits(28, 18), Some(1692 * 8));
    }

    /// 36.213 table 7.1.7.2.1-1: I_TBS 6 with one PRB has 328 bits.
    #[test]
    fn sizes_grow_with_prbs_and_with_mcs_but_for_one_of_the_table() {
        assert_eq!(tbs_bits(6, 1), Some(328));
        for mcs in 0..=MAX_MCS {
            for n_prb in 1..=25 {
                let is_exception = mcs == 6 && n_prb == 2 || mcs == 7 && n_prb == 1;
                assert!(tbs_bits(mcs, n_prb) > tbs_bits(mcs, n_prb - 1) || is_exception);
                let less = mcs.checked_sub(1).and_then(|below| tbs_bits(below, n_prb));
                assert!(tbs_bits(mcs, n_prb) >= less || is_exception, "{mcs} {n_prb}");
            }
        }
    }

    #[test]
    fn reserved_indices_and_wide_carriers_have_no_size() {
        assert_eq!(tbs_bits(29, 25), None);
        assert_eq!(tbs_bits(28, 26), None);
        assert_eq!(tbs_bits(28, 0), Some(0));
    }
}
