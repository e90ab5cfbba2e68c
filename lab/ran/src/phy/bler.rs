//! Block error rate of a transport block by SNR, modulation, code rate and code block size.
//!
//! The curves are those of LDPC over AWGN that sionna ships, in the compact form that `bler/fit.py`
//! describes: within 0.2 dB of the simulated points for code blocks of 500 bits and more, 0.9 dB
//! for 100 bits, 1.7 dB for 24 bits at the highest rates. LTE's turbo codes use the same curves;
//! the thresholds of [`cqi`](crate::phy::cqi) are within 0.75 dB of those of turbo codes.

use super::curves::{CAPACITY_DB, SHAPE};

/// Rates within which the fit of the capacity holds.
const RATES: std::ops::RangeInclusive<f64> = 0.03..=0.97;

/// Bits of a code block that the LDPC graphs hold, CRC of 24 bits included (38.212 §5.2.2).
const GRAPH_1_BITS: u32 = 8448;
const GRAPH_2_BITS: u32 = 3840;
const CODE_BLOCK_CRC_BITS: u32 = 24;

/// Lowest rates that the graphs have without repetition (38.212 §5.3.2).
const GRAPH_1_RATE: f64 = 1.0 / 3.0;
const GRAPH_2_RATE: f64 = 0.2;

/// A modulation with a code rate: an entry of an MCS table, or what several transmissions of a
/// block add up to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// Index into the tables of [`curves`](super::curves).
    order: usize,
    /// Bits per coded bit, not limited.
    rate: f64,
    /// SNR at which the modulation carries this rate.
    capacity_db: f64,
}

impl Code {
    /// The code of `modulation_order` bits per symbol (2, 4, 6, 8 or 10; what is between is rounded
    /// down) and `rate` information bits per coded bit.
    pub fn new(modulation_order: u8, rate: f64) -> Self {
        let order = (usize::from(modulation_order) / 2).clamp(1, CAPACITY_DB.len()) - 1;
        let inside = rate.clamp(*RATES.start(), *RATES.end());
        let [log_rate, log_rest, powers @ ..] = &CAPACITY_DB[order];
        let x = inside - 0.5;
        let polynomial = powers.iter().rev().fold(0.0, |sum, term| sum * x + term);
        // At low rates the capacity is proportional to the SNR.
        let below_db = if rate > 0.0 { 10.0 * libm::log10((rate / inside).min(1.0)) } else { 0.0 };
        let capacity_db =
            log_rate * libm::log(inside) + log_rest * libm::log1p(-inside) + polynomial + below_db;
        Self { order, rate, capacity_db }
    }

    /// The code of a block of `bits` that was sent `transmissions` times with other bits of the
    /// circular buffer each time, and the gain in dB of bits that were sent more than once (38.212
    /// §5.4.2.1).
    pub fn with_increments(self, transmissions: u8, bits: u32) -> (Self, f64) {
        if transmissions <= 1 {
            return (self, 0.0);
        }
        let sent = self.rate / f64::from(transmissions);
        let lowest = if uses_graph_2(bits, self.rate) { GRAPH_2_RATE } else { GRAPH_1_RATE };
        let rate = sent.max(lowest.min(self.rate));
        (Self::new(2 * (self.order as u8 + 1), rate), 10.0 * libm::log10(rate / sent))
    }

    /// Block error rates of a transport block of `bits`.
    pub fn curve(self, bits: u32) -> Curve {
        let (code_blocks, code_block_bits) = segment(bits, self.rate);
        let bits = f64::from(code_block_bits);
        let [a, b, c, d, e, f, g, h, i] = SHAPE[self.order];
        let x = self.rate.clamp(*RATES.start(), *RATES.end()) - 0.5;
        let median_db = self.capacity_db + a + b * x + (c + d * x) / bits.sqrt() + e / bits;
        let spread_db = libm::exp(f + g * x - (h + i * x) * libm::log(bits));
        Curve { median_db, spread_db, code_blocks }
    }
}

/// Whether a block of `bits` uses LDPC base graph 2 (38.212 §7.2.2).
fn uses_graph_2(bits: u32, rate: f64) -> bool {
    bits <= 292 || (bits <= 3824 && rate <= 0.67) || rate <= 0.25
}

/// Number and bits of the code blocks of a transport block of `bits` (38.212 §5.2.2, §7.2.1).
fn segment(bits: u32, rate: f64) -> (u32, u32) {
    let with_crc = bits.saturating_add(if bits > 3824 { 24 } else { 16 });
    let most = if uses_graph_2(bits, rate) { GRAPH_2_BITS } else { GRAPH_1_BITS };
    if with_crc <= most {
        return (1, with_crc);
    }
    let code_blocks = with_crc.div_ceil(most - CODE_BLOCK_CRC_BITS);
    (code_blocks, with_crc.div_ceil(code_blocks) + CODE_BLOCK_CRC_BITS)
}

/// Error rate of one transport block as a function of the SNR.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// SNR at which half of the code blocks fail.
    median_db: f64,
    /// Standard deviation of the normal distribution that a code block's error rate is.
    spread_db: f64,
    code_blocks: u32,
}

impl Curve {
    /// Probability that at least one code block fails.
    pub fn error_rate(self, snr_db: f64) -> f64 {
        let z = (snr_db - self.median_db) / self.spread_db;
        let block = 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
        // 1 - (1 - block)^n, also where block is below the resolution of 1 - block.
        -libm::expm1(f64::from(self.code_blocks) * libm::log1p(-block))
    }

    /// The lowest SNR in dB at which at most `error_rate` of the blocks fail, to 0.001 dB.
    pub fn snr_db_at(self, error_rate: f64) -> f64 {
        let reach_db = 12.0 * self.spread_db;
        let (mut low, mut high) = (self.median_db - reach_db, self.median_db + reach_db);
        while high - low > 0.001 {
            let middle = 0.5 * (low + high);
            if self.error_rate(middle) <= error_rate { high = middle } else { low = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of sionna 2.2.0, `PDSCH_table2.json`: order, rate × 1024, bits of a code block, SNR
    /// in dB, error rate.
    #[test]
    fn curves_are_those_of_sionna() {
        for (order, rate, bits, snr_db, bler) in [
            (2, 308.0, 2000, -1.842, 0.39),
            (2, 308.0, 100, -1.43, 0.266),
            (4, 490.0, 100, 5.71, 0.464),
            (8, 948.0, 2000, 25.0, 0.150),
        ] {
            let curve = Code::new(order, rate / 1024.0).curve(bits - 16);
            let (early, late) = (curve.error_rate(snr_db - 0.5), curve.error_rate(snr_db + 0.5));
            assert!(late <= bler && bler <= early, "{order} {rate} {bits}: {late} {bler} {early}");
        }
    }

    #[test]
    fn no_code_beats_shannon_and_gaps_are_those_of_ldpc() {
        for order in [2u8, 4, 6, 8, 10] {
            for rate in [0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95] {
                let snr_db = Code::new(order, rate).curve(8000).snr_db_at(0.1);
                let efficiency = f64::from(order) * rate;
                let bound_db = 10.0 * libm::log10(libm::exp2(efficiency) - 1.0);
                let gap_db = snr_db - bound_db;
                assert!(gap_db > 0.0, "{order} {rate}: {gap_db} dB");
                // Gray-labelled QAM loses most where a high order has a low rate.
                let most_db = if rate >= 0.3 { 4.2 } else { 12.0 };
                assert!(gap_db < most_db, "{order} {rate}: {gap_db} dB");
            }
        }
    }

    #[test]
    fn error_rates_fall_with_snr_and_grow_with_rate_and_blocks() {
        for order in [2u8, 4, 6, 8, 10] {
            for bits in [24, 100, 1000, 8000, 60_000, 1_200_000] {
                let mut last_db = f64::NEG_INFINITY;
                for rate in (3..=96).map(|percent| f64::from(percent) / 100.0) {
                    let curve = Code::new(order, rate).curve(bits);
                    let half_db = curve.snr_db_at(0.5);
                    // The change of base graph moves the block size.
                    assert!(half_db > last_db - 0.3, "{order} {bits} {rate}: {half_db} {last_db}");
                    last_db = half_db;
                    let rates =
                        [-3.0, -1.0, 0.0, 1.0, 3.0].map(|db| curve.error_rate(half_db + db));
                    assert!(rates.is_sorted_by(|a, b| a >= b), "{order} {bits} {rate}: {rates:?}");
                    assert!(rates.iter().all(|p| (0.0..=1.0).contains(p)));
                }
            }
        }
        let code = Code::new(4, 0.5);
        let (one, many) = (code.curve(8000), code.curve(80_000));
        assert!(many.error_rate(6.5) > one.error_rate(6.5));
    }

    #[test]
    fn the_snr_of_an_error_rate_has_it() {
        let curve = Code::new(6, 0.65).curve(20_000);
        for target in [0.5, 0.1, 0.01, 1e-5] {
            let rate = curve.error_rate(curve.snr_db_at(target));
            assert!((rate / target - 1.0).abs() < 0.03, "{rate} {target}");
        }
    }

    #[test]
    fn segments_are_those_of_38_212() {
        assert_eq!(segment(100, 0.5), (1, 116));
        assert_eq!(segment(3824, 0.5), (1, 3840));
        assert_eq!(segment(8424, 0.5), (1, 8448));
        assert_eq!(segment(8432, 0.5), (2, 4252));
        assert_eq!(segment(8424, 0.2), (3, 2840));
    }

    #[test]
    fn a_second_transmission_halves_the_rate_and_then_repeats() {
        let code = Code::new(6, 0.8);
        let (second, gain_db) = code.with_increments(2, 8000);
        assert_eq!((second.rate, gain_db), (0.4, 0.0));
        let (fourth, gain_db) = code.with_increments(4, 8000);
        assert_eq!(fourth.rate, GRAPH_1_RATE);
        assert!((gain_db - 10.0 * libm::log10(GRAPH_1_RATE / 0.2)).abs() < 1e-9, "{gain_db}");
        let (slow, gain_db) = Code::new(2, 0.1).with_increments(2, 8000);
        assert_eq!(slow.rate, 0.1);
        assert!((gain_db - 3.01).abs() < 0.01, "{gain_db}");
    }
}
