//! Discontinuous reception of a UE in RRC_CONNECTED (38.321 §5.7, LTE: 36.321 §5.7).
//!
//! Outside its Active Time a UE monitors no PDCCH: the gNB schedules no new transmission for it in either
//! direction, and it reports no CSI. Packets wait for the next on-duration, however short the queue.

use crate::error::{ConfigError, ensure};
use crate::numerology::{Duplexing, Numerology};

/// DRX-Config of a UE (38.331).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrxConfig {
    /// `drx-LongCycle`.
    pub long_cycle_us: u32,
    /// `drx-StartOffset` and `drx-SlotOffset`: start of an on-duration in a cycle.
    pub offset_us: u32,
    /// `drx-onDurationTimer`.
    pub on_duration_us: u32,
    /// `drx-InactivityTimer`: the UE stays active for so long after a new transmission in either direction.
    pub inactivity_us: u32,
    /// The short cycle after it; straight to the long one if `None`.
    pub short: Option<ShortCycle>,
    /// `drx-RetransmissionTimerDL` and `-UL`: the UE waits for so long for a retransmission that is due.
    pub retransmission_us: u32,
}

/// `shortDRX` of a DRX-Config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortCycle {
    /// `drx-ShortCycle`, of which the long one is a multiple.
    pub cycle_us: u32,
    /// `drx-ShortCycleTimer`: short cycles before the long ones.
    pub cycles: u8,
}

impl DrxConfig {
    /// Checks every field; an on-duration must hold a slot with downlink, else the UE would never be served.
    pub(crate) fn validate(
        &self,
        duplexing: &Duplexing,
        numerology: Numerology,
    ) -> Result<(), ConfigError> {
        let Self { long_cycle_us, offset_us, on_duration_us, short, .. } = *self;
        let expected = "1000 to 10240000 µs";
        let is_cycle = (1000..=10_240_000).contains(&long_cycle_us);
        ensure(is_cycle, "drx.long_cycle_us", long_cycle_us, expected)?;
        let expected = format!("less than long_cycle_us = {long_cycle_us}");
        ensure(offset_us < long_cycle_us, "drx.offset_us", offset_us, expected)?;
        let slots = duplexing.longest_uplink_slots() as u32 + 1;
        let fewest_us = slots * numerology.slot_us();
        let least_us = short.map_or(long_cycle_us, |short| short.cycle_us);
        let is_part = (fewest_us..=least_us).contains(&on_duration_us);
        let expected = format!(
            "{fewest_us} µs, which hold a downlink slot, to the shortest cycle, {least_us} µs"
        );
        ensure(is_part, "drx.on_duration_us", on_duration_us, expected)?;
        let Some(short) = short else { return Ok(()) };
        let is_divisor = short.cycle_us > 0 && long_cycle_us.is_multiple_of(short.cycle_us);
        let expected = format!("a divisor of long_cycle_us = {long_cycle_us}");
        ensure(is_divisor, "drx.short.cycle_us", short.cycle_us, expected)?;
        ensure((1..=16).contains(&short.cycles), "drx.short.cycles", short.cycles, "1 to 16")
    }
}

/// State of the timers of a UE. Times are µs since the first slot.
#[derive(Debug, Clone)]
pub(crate) struct Drx {
    config: DrxConfig,
    /// End of drx-InactivityTimer.
    inactive_at_us: u64,
    /// End of drx-ShortCycleTimer as it was before the timer above started.
    short_until_us: u64,
    /// Whether the slot that was begun last is in the Active Time.
    is_active: bool,
    /// Slots in the Active Time, and all.
    pub(crate) slots: (u64, u64),
}

impl Drx {
    /// A UE in its long cycle.
    pub(crate) fn new(config: DrxConfig) -> Self {
        Self { config, inactive_at_us: 0, short_until_us: 0, is_active: false, slots: (0, 0) }
    }

    /// Begins the slot at `now_us`; `is_requesting` while a scheduling request is pending. Returns whether
    /// the slot is in the Active Time.
    pub(crate) fn begin_slot(&mut self, is_requesting: bool, now_us: u64) -> bool {
        self.is_active = self.is_active_at(is_requesting, now_us);
        self.slots.0 += u64::from(self.is_active);
        self.slots.1 += 1;
        self.is_active
    }

    /// Whether the slot that was begun last is in the Active Time.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether a slot that begins at `now_us` is in the Active Time, by what has happened so far.
    pub(crate) fn is_active_at(&self, is_requesting: bool, now_us: u64) -> bool {
        is_requesting || now_us < self.inactive_at_us || self.is_on(now_us)
    }

    /// Whether the UE receives a retransmission that was due at `due_us` in the slot at `now_us`.
    pub(crate) fn receives_again(&self, due_us: u64, now_us: u64) -> bool {
        self.is_active || now_us < due_us + u64::from(self.config.retransmission_us)
    }

    /// The PDCCH of the slot at `now_us` indicates a new transmission, down or up.
    pub(crate) fn transmitted(&mut self, now_us: u64) {
        if self.inactive_at_us <= now_us {
            self.short_until_us = self.short_after_us();
        }
        self.inactive_at_us = now_us + u64::from(self.config.inactivity_us);
    }

    /// End of the short cycles that follow the end of drx-InactivityTimer.
    fn short_after_us(&self) -> u64 {
        let Some(short) = self.config.short.filter(|_| self.inactive_at_us > 0) else { return 0 };
        self.inactive_at_us + u64::from(short.cycle_us) * u64::from(short.cycles)
    }

    /// Whether drx-onDurationTimer runs at `now_us`.
    fn is_on(&self, now_us: u64) -> bool {
        let Some(long_us) = self.started_us(self.config.long_cycle_us, now_us) else {
            return false;
        };
        let is_running = |since_us: u64| now_us < since_us + u64::from(self.config.on_duration_us);
        if is_running(long_us) {
            return true;
        }
        let Some(short) = self.config.short else { return false };
        let Some(short_us) = self.started_us(short.cycle_us, now_us) else { return false };
        // The timer ends with the inactivity; until then the cycle is the one from before.
        let ends_us = if short_us < self.inactive_at_us {
            self.short_until_us
        } else {
            self.short_after_us()
        };
        short_us < ends_us && is_running(short_us)
    }

    /// The last start of a cycle up to `now_us`.
    fn started_us(&self, cycle_us: u32, now_us: u64) -> Option<u64> {
        let offset_us = u64::from(self.config.offset_us) % u64::from(cycle_us);
        let since_us = now_us.checked_sub(offset_us)?;
        Some(now_us - since_us % u64::from(cycle_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerology::TddPattern;

    const LONG: DrxConfig = DrxConfig {
        long_cycle_us: 160_000,
        offset_us: 5000,
        on_duration_us: 8000,
        inactivity_us: 20_000,
        short: None,
        retransmission_us: 4000,
    };

    /// Starts and ends of the Active Time up to `until_ms`, ms.
    fn changes(drx: &Drx, until_ms: u64) -> Vec<u64> {
        let is_active = |ms: &u64| drx.is_active_at(false, ms * 1000);
        let before = |ms: &u64| *ms > 0 && is_active(&(ms - 1));
        (0..until_ms).filter(|ms| is_active(ms) != before(ms)).collect()
    }

    #[test]
    fn a_ue_wakes_in_each_long_cycle() {
        assert_eq!(changes(&Drx::new(LONG), 400), [5, 13, 165, 173, 325, 333]);
    }

    #[test]
    fn a_new_transmission_keeps_it_awake_until_the_inactivity_timer_ends() {
        let mut drx = Drx::new(LONG);
        // What was before the last transmission is not asked any more.
        drx.transmitted(12_000);
        assert_eq!(changes(&drx, 200)[1..], [32, 165, 173]);
        drx.transmitted(30_000);
        assert_eq!(changes(&drx, 200)[1..], [50, 165, 173]);
    }

    #[test]
    fn short_cycles_follow_the_inactivity_timer_and_end() {
        let short = Some(ShortCycle { cycle_us: 40_000, cycles: 2 });
        let mut drx = Drx::new(DrxConfig { short, ..LONG });
        assert_eq!(changes(&drx, 200), [5, 13, 165, 173], "the UE begins in its long cycle");
        drx.transmitted(6000);
        // Inactive at 26 ms, short until 106: on at 45 and 85, not at 125.
        assert_eq!(changes(&drx, 200)[1..], [26, 45, 53, 85, 93, 165, 173]);
        drx.transmitted(90_000);
        // Inactive at 110 ms, short until 190.
        assert_eq!(changes(&drx, 250)[1..], [110, 125, 133, 165, 173]);
    }

    #[test]
    fn a_scheduling_request_or_a_due_retransmission_is_received_outside_the_on_duration() {
        let mut drx = Drx::new(LONG);
        assert!(!drx.begin_slot(false, 50_000));
        assert!(drx.receives_again(48_000, 50_000) && !drx.receives_again(46_000, 50_000));
        assert!(drx.begin_slot(true, 51_000) && drx.is_active());
        assert_eq!(drx.slots, (1, 2));
    }

    #[test]
    fn a_configuration_that_38_331_does_not_have_is_refused() {
        let ms = Numerology::LTE;
        let refused =
            |config: DrxConfig| config.validate(&Duplexing::Fdd, ms).unwrap_err().to_string();
        LONG.validate(&Duplexing::Fdd, ms).unwrap();
        let short = Some(ShortCycle { cycle_us: 60_000, cycles: 2 });
        let error = refused(DrxConfig { short, ..LONG });
        assert_eq!(
            error,
            "drx.short.cycle_us: 60000; expected a divisor of long_cycle_us = 160000"
        );
        let none = DrxConfig { on_duration_us: 0, ..LONG };
        assert!(refused(none).starts_with("drx.on_duration_us: 0; expected 1000 µs"));
        let pattern = TddPattern::parse("DDDMU", 6, 4).unwrap();
        let beside_uplink = DrxConfig { on_duration_us: 1000, ..LONG };
        let error = beside_uplink.validate(&Duplexing::Tdd(pattern), ms).unwrap_err();
        assert!(error.to_string().contains("expected 2000 µs, which hold a downlink slot"));
        assert!(refused(DrxConfig { offset_us: 160_000, ..LONG }).contains("offset_us"));
        assert!(refused(DrxConfig { long_cycle_us: 999, ..LONG }).contains("long_cycle_us"));
    }
}
