//! Slots, frames, FDD and TDD patterns (38.211 §4.2–4.3).

use crate::error::{ConfigError, ensure};

/// OFDM symbols of a slot with normal cyclic prefix (38.211 table 4.3.2-1).
pub const SYMBOLS_PER_SLOT: u8 = 14;

/// Subcarrier spacing 15 kHz · 2^µ; a slot of µ = 0 is also the subframe of LTE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Numerology(u8);

impl Numerology {
    /// The subframe of LTE: 15 kHz, 1 ms.
    pub const LTE: Self = Self(0);
    /// 30 kHz, 0.5 ms: the usual choice in band n78.
    pub const NR_30_KHZ: Self = Self(1);

    /// The numerology of µ, 0 to 4 (38.211 table 4.2-1).
    ///
    /// # Errors
    /// [`ConfigError`] for any other µ.
    pub fn new(mu: u8) -> Result<Self, ConfigError> {
        ensure(mu <= 4, "numerology", mu, "µ in 0..=4").map(|()| Self(mu))
    }

    /// The numerology of a subcarrier spacing in kHz: 15, 30, 60, 120 or 240.
    ///
    /// # Errors
    /// [`ConfigError`] for any other spacing.
    pub fn from_scs_khz(scs_khz: u32) -> Result<Self, ConfigError> {
        match scs_khz {
            15 => Ok(Self(0)),
            30 => Ok(Self(1)),
            60 => Ok(Self(2)),
            120 => Ok(Self(3)),
            240 => Ok(Self(4)),
            other => Err(ConfigError::new("scs_khz", other, "15, 30, 60, 120 or 240")),
        }
    }

    /// µ.
    pub fn mu(self) -> u8 {
        self.0
    }

    /// Slots in a frame of 10 ms.
    pub fn slots_per_frame(self) -> u64 {
        10 << self.0
    }

    /// Start of slot number `slot`. At µ = 4 a slot lasts 62.5 µs and every second start is rounded
    /// down, so the grid never drifts.
    pub fn slot_start_us(self, slot: u64) -> u64 {
        (slot * 1000) >> self.0
    }

    /// Length of a slot, rounded up to whole microseconds.
    pub fn slot_us(self) -> u32 {
        1000u32.div_ceil(1 << self.0)
    }
}

/// What a slot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotKind {
    /// All symbols downlink.
    Down,
    /// Some symbols down, a guard, some up.
    Mixed,
    /// All symbols uplink.
    Up,
}

/// A repeating sequence of slots, written like `DDDDDDDMUU`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TddPattern {
    slots: Vec<SlotKind>,
    mixed_dl_symbols: u8,
    mixed_ul_symbols: u8,
}

/// The longest pattern accepted: two concatenated patterns of 10 ms at µ = 4 (38.213 §11.1).
pub const MAX_TDD_SLOTS: usize = 320;

impl TddPattern {
    /// Parses `pattern`; a mixed slot has `mixed_dl_symbols` down and `mixed_ul_symbols` up.
    ///
    /// # Errors
    /// [`ConfigError`] naming the letter and its position, the length, or the symbols.
    pub fn parse(
        pattern: &str,
        mixed_dl_symbols: u8,
        mixed_ul_symbols: u8,
    ) -> Result<Self, ConfigError> {
        let path = "duplexing.tdd.pattern";
        let mut slots = Vec::with_capacity(pattern.len().min(MAX_TDD_SLOTS));
        for (at, letter) in pattern.chars().enumerate() {
            slots.push(match letter {
                'D' => SlotKind::Down,
                'M' => SlotKind::Mixed,
                'U' => SlotKind::Up,
                other => {
                    return Err(ConfigError::TddLetter {
                        pattern: pattern.chars().take(MAX_TDD_SLOTS).collect(),
                        letter: other,
                        at,
                    });
                }
            });
            ensure(slots.len() <= MAX_TDD_SLOTS, path, "a longer one", "at most 320 slots")?;
        }
        let has_downlink = slots.iter().any(|s| *s != SlotKind::Up);
        ensure(has_downlink, path, pattern, "at least one D or M")?;
        let symbols = u16::from(mixed_dl_symbols) + u16::from(mixed_ul_symbols);
        let (path, value) = (
            "duplexing.tdd.mixed_symbols",
            format!("{mixed_dl_symbols} down and {mixed_ul_symbols} up"),
        );
        ensure(symbols <= u16::from(SYMBOLS_PER_SLOT), path, value, "14 together at most")?;
        Ok(Self { slots, mixed_dl_symbols, mixed_ul_symbols })
    }

    /// A pattern known to be valid.
    pub(crate) fn of(slots: impl Iterator<Item = SlotKind>, down: u8, up: u8) -> Self {
        Self { slots: slots.collect(), mixed_dl_symbols: down, mixed_ul_symbols: up }
    }

    /// Slots after which the pattern repeats.
    pub fn period_slots(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Downlink symbols of a mixed slot.
    pub fn mixed_dl_symbols(&self) -> u8 {
        self.mixed_dl_symbols
    }

    /// Uplink symbols of a mixed slot.
    pub fn mixed_ul_symbols(&self) -> u8 {
        self.mixed_ul_symbols
    }

    /// What slot number `slot` is for.
    pub fn kind(&self, slot: u64) -> SlotKind {
        self.slots[(slot % self.period_slots()) as usize]
    }
}

/// How downlink and uplink share the carrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duplexing {
    /// Two carriers: every slot is a downlink and an uplink slot.
    Fdd,
    /// One carrier, shared in time.
    Tdd(TddPattern),
}

impl Duplexing {
    /// What slot number `slot` is for on the downlink carrier.
    pub fn kind(&self, slot: u64) -> SlotKind {
        match self {
            Self::Fdd => SlotKind::Down,
            Self::Tdd(pattern) => pattern.kind(slot),
        }
    }

    /// Whether a UE can send data in slot number `slot`. The few uplink symbols of a mixed slot
    /// carry control and sounding only.
    pub fn carries_uplink(&self, slot: u64) -> bool {
        match self {
            Self::Fdd => true,
            Self::Tdd(pattern) => pattern.kind(slot) == SlotKind::Up,
        }
    }

    /// Uplink slots among the first `slots`.
    pub fn uplink_slots(&self, slots: u64) -> u64 {
        match self {
            Self::Fdd => slots,
            Self::Tdd(pattern) => {
                let period = pattern.period_slots();
                let among = |slots: u64| (0..slots).filter(|at| self.carries_uplink(*at)).count();
                slots / period * among(period) as u64 + among(slots % period) as u64
            }
        }
    }

    /// Most slots in a row without a downlink symbol.
    pub(crate) fn longest_uplink_slots(&self) -> u64 {
        let Self::Tdd(pattern) = self else { return 0 };
        let (mut run, mut longest) = (0, 0);
        for slot in 0..2 * pattern.period_slots() {
            run = if pattern.kind(slot) == SlotKind::Up { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        longest
    }

    /// Whether any slot carries uplink data.
    pub fn has_uplink(&self) -> bool {
        match self {
            Self::Fdd => true,
            Self::Tdd(pattern) => pattern.slots.contains(&SlotKind::Up),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_repeats() {
        let pattern = TddPattern::parse("DDDDDDDMUU", 6, 4).unwrap();
        assert_eq!(pattern.kind(0), SlotKind::Down);
        assert_eq!(pattern.kind(7), SlotKind::Mixed);
        assert_eq!(pattern.kind(8), SlotKind::Up);
        assert_eq!(pattern.kind(17), SlotKind::Mixed);
        assert_eq!(pattern.kind(20), SlotKind::Down);
    }

    #[test]
    fn an_invalid_letter_is_named_with_its_position() {
        let error = TddPattern::parse("DDXU", 6, 4).unwrap_err();
        assert_eq!(
            error.to_string(),
            "duplexing.tdd.pattern: 'DDXU' has 'X' at 3; expected D, M or U"
        );
    }

    #[test]
    fn a_pattern_without_downlink_or_too_long_is_refused() {
        for pattern in ["", "U", "UU"] {
            let error = TddPattern::parse(pattern, 6, 4).unwrap_err().to_string();
            assert!(error.contains("at least one D or M"), "{error}");
        }
        let error = TddPattern::parse(&"D".repeat(1_000_000), 6, 4).unwrap_err().to_string();
        assert!(error.contains("at most 320 slots"), "{error}");
    }

    #[test]
    fn mixed_symbols_fit_the_slot() {
        let error = TddPattern::parse("DMU", 10, 5).unwrap_err().to_string();
        assert!(error.contains("10 down and 5 up"), "{error}");
    }

    #[test]
    fn slot_starts_do_not_drift() {
        let fine = Numerology::new(4).unwrap();
        assert_eq!(fine.slot_start_us(1), 62);
        assert_eq!(fine.slot_start_us(2), 125);
        assert_eq!(fine.slot_start_us(16 * 1000), 1_000_000);
        assert_eq!(Numerology::from_scs_khz(30).unwrap().slot_start_us(3), 1500);
        assert!(Numerology::new(5).unwrap_err().to_string().contains("0..=4"));
        assert!(Numerology::from_scs_khz(45).unwrap_err().to_string().contains("45"));
    }
}
