//! The tables of 38.214 §5.1.3 as printed.

/// Modulation order and code rate of an MCS index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McsEntry {
    /// Bits per symbol, Q_m.
    pub modulation_order: u8,
    /// Target code rate R × 2048 (the tables have halves of 1024ths).
    pub rate_x2048: u16,
}

impl McsEntry {
    /// Information bits per resource element.
    pub fn efficiency(self) -> f64 {
        f64::from(self.modulation_order) * f64::from(self.rate_x2048) / 2048.0
    }
}

const fn rate(modulation_order: u8, rate_x1024: f64) -> McsEntry {
    // The printed rates are whole or half 1024ths, so twice the rate is a whole number.
    McsEntry { modulation_order, rate_x2048: (rate_x1024 * 2.0) as u16 }
}

/// 38.214 table 5.1.3.1-1: Q_m and R × 1024.
pub(super) const MCS_QAM64: [McsEntry; 29] = [
    rate(2, 120.0),
    rate(2, 157.0),
    rate(2, 193.0),
    rate(2, 251.0),
    rate(2, 308.0),
    rate(2, 379.0),
    rate(2, 449.0),
    rate(2, 526.0),
    rate(2, 602.0),
    rate(2, 679.0),
    rate(4, 340.0),
    rate(4, 378.0),
    rate(4, 434.0),
    rate(4, 490.0),
    rate(4, 553.0),
    rate(4, 616.0),
    rate(4, 658.0),
    rate(6, 438.0),
    rate(6, 466.0),
    rate(6, 517.0),
    rate(6, 567.0),
    rate(6, 616.0),
    rate(6, 666.0),
    rate(6, 719.0),
    rate(6, 772.0),
    rate(6, 822.0),
    rate(6, 873.0),
    rate(6, 910.0),
    rate(6, 948.0),
];

/// 38.214 table 5.1.3.1-2: Q_m and R × 1024.
pub(super) const MCS_QAM256: [McsEntry; 28] = [
    rate(2, 120.0),
    rate(2, 193.0),
    rate(2, 308.0),
    rate(2, 449.0),
    rate(2, 602.0),
    rate(4, 378.0),
    rate(4, 434.0),
    rate(4, 490.0),
    rate(4, 553.0),
    rate(4, 616.0),
    rate(4, 658.0),
    rate(6, 466.0),
    rate(6, 517.0),
    rate(6, 567.0),
    rate(6, 616.0),
    rate(6, 666.0),
    rate(6, 719.0),
    rate(6, 772.0),
    rate(6, 822.0),
    rate(6, 873.0),
    rate(8, 682.5),
    rate(8, 711.0),
    rate(8, 754.0),
    rate(8, 797.0),
    rate(8, 841.0),
    rate(8, 885.0),
    rate(8, 916.5),
    rate(8, 948.0),
];

/// 38.214 table 5.1.3.2-1: transport block sizes in bits for N_info up to 3824.
pub(super) const TBS_UP_TO_3824: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184,
    192, 208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528,
    552, 576, 608, 640, 672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192,
    1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088,
    2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496,
    3624, 3752, 3824,
];
