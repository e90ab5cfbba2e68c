//! Buffer status reports (38.321 §6.1.3.1): what a UE says of its queue, in steps.

/// Buffer sizes of the short report in bytes, by index: at most so many (38.321 table 6.1.3.1-1).
const SHORT: [u64; 31] = [
    0, 10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1038, 1446, 2014, 2806, 3909,
    5446, 7587, 10570, 14726, 20516, 28581, 39818, 55474, 77284, 107_669, 150_000,
];

/// What a gNB takes the last index of the short report, "more than 150000 bytes", to mean.
const SHORT_MAX: u64 = 300_000;

/// The same of the long report (38.321 table 6.1.3.1-2).
const LONG: [u64; 254] = [
    0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 25, 26, 28, 30, 32, 34, 36, 38, 40, 43,
    46, 49, 52, 55, 59, 62, 66, 71, 75, 80, 85, 91, 97, 103, 110, 117, 124, 132, 141, 150, 160,
    170, 181, 193, 205, 218, 233, 248, 264, 281, 299, 318, 339, 361, 384, 409, 436, 464, 494, 526,
    560, 597, 635, 677, 720, 767, 817, 870, 926, 987, 1051, 1119, 1191, 1269, 1351, 1439, 1532,
    1631, 1737, 1850, 1970, 2098, 2234, 2379, 2533, 2698, 2873, 3059, 3258, 3469, 3694, 3934, 4189,
    4461, 4751, 5059, 5387, 5737, 6109, 6506, 6928, 7378, 7857, 8367, 8910, 9488, 10104, 10760,
    11458, 12202, 12994, 13838, 14736, 15692, 16711, 17795, 18951, 20181, 21491, 22885, 24371,
    25953, 27638, 29431, 31342, 33376, 35543, 37850, 40307, 42923, 45709, 48676, 51836, 55200,
    58784, 62599, 66663, 70990, 75598, 80505, 85730, 91295, 97221, 103_532, 110_252, 117_409,
    125_030, 133_146, 141_789, 150_992, 160_793, 171_231, 182_345, 194_182, 206_786, 220_209,
    234_503, 249_725, 265_935, 283_197, 301_579, 321_155, 342_002, 364_202, 387_842, 413_018,
    439_827, 468_377, 498_780, 531_156, 565_634, 602_350, 641_449, 683_087, 727_427, 774_645,
    824_928, 878_475, 935_498, 996_222, 1_060_888, 1_129_752, 1_203_085, 1_281_179, 1_364_342,
    1_452_903, 1_547_213, 1_647_644, 1_754_595, 1_868_488, 1_989_774, 2_118_933, 2_256_475,
    2_402_946, 2_558_924, 2_725_027, 2_901_912, 3_090_279, 3_290_873, 3_504_487, 3_731_968,
    3_974_215, 4_232_186, 4_506_902, 4_799_451, 5_110_989, 5_442_750, 5_796_046, 6_172_275,
    6_572_925, 6_999_582, 7_453_933, 7_937_777, 8_453_028, 9_001_725, 9_586_039, 10_208_280,
    10_870_913, 11_576_557, 12_328_006, 13_128_233, 13_980_403, 14_887_889, 15_854_280, 16_883_401,
    17_979_324, 19_146_385, 20_389_201, 21_712_690, 23_122_088, 24_622_972, 26_221_280, 27_923_336,
    29_735_875, 31_666_069, 33_721_553, 35_910_462, 38_241_455, 40_723_756, 43_367_187, 46_182_206,
    49_179_951, 52_372_284, 55_771_835, 59_392_055, 63_247_269, 67_352_729, 71_724_679, 76_380_419,
    81_338_368,
];

/// What a gNB takes the last index of the long report, "more than 81338368 bytes", to mean.
const LONG_MAX: u64 = 162_676_736;

/// A report with its MAC subheader, bytes: short, and long for `groups` logical channel groups.
pub(super) const SHORT_BYTES: u32 = 2;

/// Bytes of a long report of `groups` logical channel groups, MAC subheader included.
pub(super) const fn long_bytes(groups: u32) -> u32 {
    3 + groups
}

/// Bytes that a gNB takes a queue of `bytes` to hold, by a short or a long report.
pub(super) fn reported(bytes: u64, is_long: bool) -> u64 {
    let (table, most): (&[u64], u64) =
        if is_long { (&LONG, LONG_MAX) } else { (&SHORT, SHORT_MAX) };
    table.get(table.partition_point(|size| *size < bytes)).copied().unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_rounds_up_to_the_next_size() {
        for (bytes, short, long) in [
            (0, 0, 0),
            (1, 10, 10),
            (10, 10, 10),
            (1500, 2014, 1532),
            (150_000, 150_000, 150_992),
            (150_001, 300_000, 150_992),
            (90_000_000, 300_000, 162_676_736),
        ] {
            assert_eq!((reported(bytes, false), reported(bytes, true)), (short, long), "{bytes}");
        }
        assert!(SHORT.is_sorted() && LONG.is_sorted());
    }

    /// Steps of the short table are 38 to 40 %, of the long one about 6.5 %.
    #[test]
    fn steps_are_even() {
        let steps = |table: &[u64]| {
            let pairs = table.windows(2).filter(|pair| pair[0] >= 1000);
            pairs.map(|pair| pair[1] as f64 / pair[0] as f64).collect::<Vec<_>>()
        };
        assert!(steps(&SHORT).iter().all(|step| (1.35..1.45).contains(step)));
        assert!(steps(&LONG).iter().all(|step| (1.05..1.08).contains(step)));
    }
}
