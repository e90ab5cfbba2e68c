//! An uplink by scheduling request, grant, uplink slot.

use std::collections::VecDeque;

use super::ControlGrant;
use crate::error::{ConfigError, ensure};
use crate::numerology::{Duplexing, Numerology};

/// Uplink access of one UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkConfig {
    /// Period of the scheduling request opportunities (38.331 `SchedulingRequestResourceConfig`).
    pub sr_period_us: u32,
    /// First opportunity after the start of a period.
    pub sr_offset_us: u32,
    /// Time from a scheduling request to the earliest PUSCH granted for it: decoding, scheduling,
    /// PDCCH and K2.
    pub sr_to_pusch_us: u32,
    /// Time from a PUSCH with a buffer status report to the earliest PUSCH granted for it.
    pub bsr_to_pusch_us: u32,
    /// Packet bytes of a PUSCH.
    pub tbs_bytes: u32,
    /// Time from the end of the PUSCH until the packet leaves the gNB's PDCP.
    pub decode_us: u32,
}

impl UplinkConfig {
    /// The cell of irazabal2024, 106 PRB, whose delay without load is about 10 ms: requests in the
    /// first U slot of each pattern of 5 ms, grants in the next pattern.
    pub fn nr_n78() -> Self {
        Self {
            sr_period_us: 5000,
            sr_offset_us: 4000,
            sr_to_pusch_us: 4000,
            bsr_to_pusch_us: 4000,
            tbs_bytes: 2000,
            decode_us: 500,
        }
    }

    /// The cell of irazabal2021, whose minimum RTT is 20 ms: requests every 10 ms, 4 ms each to
    /// grant and PUSCH (36.213 §8.0), 3 ms of decoding.
    pub fn lte_fdd() -> Self {
        Self {
            sr_period_us: 10_000,
            sr_offset_us: 0,
            sr_to_pusch_us: 8000,
            bsr_to_pusch_us: 8000,
            tbs_bytes: 1000,
            decode_us: 3000,
        }
    }

    fn validate(&self, duplexing: &Duplexing) -> Result<(), ConfigError> {
        let Self { sr_period_us, sr_offset_us, tbs_bytes, .. } = *self;
        ensure(sr_period_us > 0, "uplink.sr_period_us", sr_period_us, "1 or more")?;
        let expected = format!("less than sr_period_us = {sr_period_us}");
        ensure(sr_offset_us < sr_period_us, "uplink.sr_offset_us", sr_offset_us, expected)?;
        // A smaller block cannot carry an acknowledgement.
        ensure(tbs_bytes >= 32, "uplink.tbs_bytes", tbs_bytes, "32 or more")?;
        let path = "duplexing.tdd.pattern";
        ensure(duplexing.has_uplink(), path, "no uplink slot", "at least one U")
    }
}

/// The uplink of one UE: a FIFO served one transport block at a time, RLC control first.
#[derive(Debug, Clone)]
pub struct ScheduledUplink {
    config: UplinkConfig,
    numerology: Numerology,
    duplexing: Duplexing,
    /// First granted slot since the UE's buffer was last empty.
    busy_from: u64,
    /// Slot of the last queued byte, and the room left there.
    tail: Option<(u64, u32)>,
    /// Granted slots that have not begun, in order.
    granted: VecDeque<u64>,
    /// Data bytes that control has displaced to a later block.
    displaced_bytes: u32,
    /// The first granted slot, and how many there were.
    used: Option<(u64, u64)>,
}

impl ScheduledUplink {
    /// An idle uplink.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn new(
        config: UplinkConfig,
        numerology: Numerology,
        duplexing: &Duplexing,
    ) -> Result<Self, ConfigError> {
        config.validate(duplexing)?;
        Ok(Self {
            config,
            numerology,
            duplexing: duplexing.clone(),
            busy_from: 0,
            tail: None,
            granted: VecDeque::new(),
            displaced_bytes: 0,
            used: None,
        })
    }

    /// Sends a packet of `len_bytes` of the UE's IP layer at `now_us`; returns when it leaves the
    /// gNB. `now_us` must not decrease between calls.
    pub fn send(&mut self, len_bytes: u32, now_us: u64) -> u64 {
        let waiting = self.tail.filter(|(slot, _)| self.start_us(*slot) > now_us);
        let (mut slot, mut room) = match waiting {
            // The UE is already sending: the rest of the last grant is free, and the buffer status
            // report in the next PUSCH requests more.
            Some((tail_slot, room)) if room > 0 => (tail_slot, room),
            Some((tail_slot, _)) => self.open(self.next_granted(tail_slot, now_us), now_us),
            None => self.request(now_us),
        };
        let mut left = len_bytes;
        while left > room {
            left -= room;
            (slot, room) = self.open(self.next_granted(slot, now_us), now_us);
        }
        self.tail = Some((slot, room - left));
        self.start_us(slot + 1) + u64::from(self.config.decode_us)
    }

    /// Room for RLC control requested at `now_us`. Control precedes data (38.321 §5.4.3.1.3), so it
    /// takes the first PUSCH already granted; without one, the UE sends a scheduling request.
    /// `now_us` must not decrease between calls.
    pub fn grant_control(&mut self, now_us: u64) -> ControlGrant {
        self.drop_begun_grants(now_us);
        let slot = match self.granted.front() {
            Some(slot) => *slot,
            None => {
                let (slot, room) = self.request(now_us);
                self.tail = Some((slot, room));
                slot
            }
        };
        ControlGrant {
            start_us: self.start_us(slot),
            arrives_us: self.start_us(slot + 1) + u64::from(self.config.decode_us),
            most_bytes: self.config.tbs_bytes,
        }
    }

    /// Control takes `bytes` from data. Room is taken at the end of the queue, which has the same
    /// effect once the last byte has left.
    pub fn displace_data(&mut self, bytes: u32) {
        self.displaced_bytes = self.displaced_bytes.saturating_add(bytes);
        if let Some((_, room)) = &mut self.tail {
            let paid = self.displaced_bytes.min(*room);
            *room -= paid;
            self.displaced_bytes -= paid;
        }
    }

    /// Share of the cell's uplink slots since the UE first sent in which it had a grant, percent.
    pub fn used_pct(&self, now_us: u64) -> f64 {
        let Some((first, granted)) = self.used else { return 0.0 };
        let slots_until =
            |at_us: u64| self.duplexing.uplink_slots((at_us << self.numerology.mu()) / 1000);
        let there = slots_until(now_us).saturating_sub(self.duplexing.uplink_slots(first)).max(1);
        let begun = granted.saturating_sub(
            self.granted.iter().filter(|slot| self.start_us(**slot) >= now_us).count() as u64,
        );
        (begun as f64 * 100.0 / there as f64).min(100.0)
    }

    /// Requests a grant by SR; returns its slot and the room there.
    fn request(&mut self, now_us: u64) -> (u64, u32) {
        let period_us = u64::from(self.config.sr_period_us);
        let offset_us = u64::from(self.config.sr_offset_us);
        let sr_us = offset_us + now_us.saturating_sub(offset_us).div_ceil(period_us) * period_us;
        let from_us = sr_us + u64::from(self.config.sr_to_pusch_us);
        self.busy_from = self.first_uplink_at(from_us);
        self.displaced_bytes = 0;
        self.open(self.busy_from, now_us)
    }

    /// Records a granted slot; returns it with the room there.
    fn open(&mut self, slot: u64, now_us: u64) -> (u64, u32) {
        self.drop_begun_grants(now_us);
        self.granted.push_back(slot);
        let (first, slots) = self.used.unwrap_or((slot, 0));
        self.used = Some((first, slots + 1));
        let paid = self.displaced_bytes.min(self.config.tbs_bytes - 1);
        self.displaced_bytes -= paid;
        (slot, self.config.tbs_bytes - paid)
    }

    fn drop_begun_grants(&mut self, now_us: u64) {
        while self.granted.front().is_some_and(|slot| self.start_us(*slot) <= now_us) {
            self.granted.pop_front();
        }
    }

    /// The PUSCH after slot `tail`, for data that arrived at `now_us`.
    fn next_granted(&self, tail: u64, now_us: u64) -> u64 {
        let report = self.first_uplink_at(now_us).max(self.busy_from);
        let from_us = self.start_us(report) + u64::from(self.config.bsr_to_pusch_us);
        self.first_uplink_from(self.first_uplink_at(from_us).max(tail + 1))
    }

    fn start_us(&self, slot: u64) -> u64 {
        self.numerology.slot_start_us(slot)
    }

    /// First uplink slot that starts at `at_us` or later.
    fn first_uplink_at(&self, at_us: u64) -> u64 {
        let slot = (at_us << self.numerology.mu()).div_ceil(1000);
        self.first_uplink_from(slot)
    }

    fn first_uplink_from(&self, mut slot: u64) -> u64 {
        while !self.duplexing.carries_uplink(slot) {
            slot += 1;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;

    fn nr() -> ScheduledUplink {
        let cell = CellConfig::nr_n78_106prb();
        ScheduledUplink::new(UplinkConfig::nr_n78(), cell.numerology, &cell.duplexing).unwrap()
    }

    fn mean_access_us(make: impl Fn() -> ScheduledUplink) -> f64 {
        let samples = (0..1000).map(|i| {
            let now_us = 1_000_000 + i * 10;
            (make().send(64, now_us) - now_us) as f64
        });
        samples.sum::<f64>() / 1000.0
    }

    #[test]
    fn a_single_packet_waits_for_request_grant_and_slot() {
        // Request in slot 8 at 4 ms, PUSCH from 8 ms on: slot 18 at 9 ms, over at 9.5 ms.
        assert_eq!(nr().send(64, 0), 10_000);
        assert_eq!(nr().send(64, 4_000), 10_000);
        assert_eq!(nr().send(64, 4_001), 15_000);
    }

    #[test]
    fn access_takes_about_8_ms_in_the_nr_cell_and_17_in_the_lte_cell() {
        let mean_us = mean_access_us(nr);
        assert!((8_000.0..9_000.0).contains(&mean_us), "{mean_us}");
        let cell = CellConfig::lte_5mhz();
        let lte = || {
            ScheduledUplink::new(UplinkConfig::lte_fdd(), cell.numerology, &cell.duplexing).unwrap()
        };
        let mean_us = mean_access_us(lte);
        assert!((16_500.0..17_500.0).contains(&mean_us), "{mean_us}");
    }

    #[test]
    fn packets_keep_their_order_and_share_transport_blocks() {
        let mut uplink = nr();
        assert_eq!(uplink.send(1500, 0), 10_000);
        assert_eq!(uplink.send(500, 10), 10_000);
        // The block of slot 18 is full, so this uses the grant for its buffer status report.
        let third = uplink.send(500, 20);
        assert!(third > 10_000);
        assert_eq!(uplink.send(5000, 30) - third, 5_000, "three blocks further");
    }

    #[test]
    fn served_bytes_are_bounded_by_the_transport_blocks() {
        let mut uplink = nr();
        let last_us = (0..1000).map(|i| uplink.send(1000, i)).last().unwrap();
        // 1 MB in two blocks of 2000 B each 5 ms.
        let seconds = last_us as f64 / 1e6;
        assert!((1.0e6 / seconds - 800_000.0).abs() < 10_000.0, "{seconds}");
    }

    #[test]
    fn a_pattern_without_uplink_and_invalid_values_are_refused() {
        let cell = CellConfig::nr_n78_106prb();
        let down = Duplexing::Tdd(crate::numerology::TddPattern::parse("D", 0, 0).unwrap());
        let config = UplinkConfig::nr_n78();
        for (config, duplexing, part) in [
            (config, &down, "at least one U"),
            (UplinkConfig { tbs_bytes: 0, ..config }, &cell.duplexing, "tbs_bytes: 0"),
            (UplinkConfig { sr_period_us: 0, ..config }, &cell.duplexing, "sr_period_us: 0"),
            (UplinkConfig { sr_offset_us: 5000, ..config }, &cell.duplexing, "sr_offset_us: 5000"),
        ] {
            let error =
                ScheduledUplink::new(config, cell.numerology, duplexing).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
