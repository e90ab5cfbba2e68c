//! Prediction of the next small packet of a regular flow: calls and games send at fixed intervals.

/// Longest packet that is looked at: G.711 of 20 ms has 200 bytes (RFC 3551 §4.5.14), and up to 255 the
/// MAC subheader is the short one (38.321 §6.1.2).
pub(super) const SMALL_PACKET_BYTES: u32 = 255;
/// Flows looked at; the one that has been silent for longest makes room for another.
const FLOWS: usize = 8;
/// Gains of mean and mean deviation (RFC 6298 §2.3).
const MEAN_GAIN: f64 = 1.0 / 8.0;
const DEVIATION_GAIN: f64 = 1.0 / 4.0;
/// Mean deviations around the mean within which a packet is expected (K of RFC 6298 §2).
const DEVIATIONS: f64 = 4.0;
/// Gaps after which a flow is taken to be regular or not.
const GAPS: u32 = 4;
/// Flows with shorter gaps would always be due; a flow that varies by more than this part of its gap is
/// not regular.
const SHORTEST_GAP_US: f64 = 5_000.0;
const MOST_DEVIATION: f64 = 1.0 / 8.0;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    hash: u64,
    last_us: u64,
    gaps: u32,
    mean_us: f64,
    deviation_us: f64,
}

impl Flow {
    fn arrived(&mut self, now_us: u64) {
        let gap_us = now_us.saturating_sub(self.last_us) as f64;
        self.last_us = now_us;
        if self.gaps == 0 {
            self.mean_us = gap_us;
        }
        self.gaps = self.gaps.saturating_add(1);
        self.deviation_us += DEVIATION_GAIN * ((gap_us - self.mean_us).abs() - self.deviation_us);
        self.mean_us += MEAN_GAIN * (gap_us - self.mean_us);
    }

    fn is_due(&self, from_us: u64, until_us: u64) -> bool {
        let is_regular = self.gaps >= GAPS
            && self.mean_us >= SHORTEST_GAP_US
            && self.deviation_us <= MOST_DEVIATION * self.mean_us;
        let early_us = self.mean_us - DEVIATIONS * self.deviation_us;
        let late_us = self.mean_us + DEVIATIONS * self.deviation_us;
        let since = |at_us: u64| at_us.saturating_sub(self.last_us) as f64;
        is_regular && since(until_us) >= early_us && since(from_us) <= late_us
    }
}

/// The flows that send small packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Regular {
    flows: [Flow; FLOWS],
}

impl Regular {
    /// A packet of a flow came.
    pub(super) fn arrived(&mut self, flow_hash: u64, len_bytes: u32, now_us: u64) {
        if len_bytes > SMALL_PACKET_BYTES {
            return;
        }
        if let Some(flow) = self.flows.iter_mut().find(|flow| flow.hash == flow_hash) {
            flow.arrived(now_us);
        } else if let Some(flow) = self.flows.iter_mut().min_by_key(|flow| flow.last_us) {
            *flow = Flow { hash: flow_hash, last_us: now_us, ..Flow::default() };
        }
    }

    /// How many flows may send a small packet between these times.
    pub(super) fn due_packets(&self, from_us: u64, until_us: u64) -> u32 {
        self.flows.iter().filter(|flow| flow.is_due(from_us, until_us)).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_expected_when_its_next_packet_is_due() {
        let mut regular = Regular::default();
        (0..20u64).for_each(|n| regular.arrived(7, 200, n * 20_000 + n * 37 % 250));
        let last_us = 380_000;
        assert_eq!(regular.due_packets(last_us + 1_000, last_us + 18_000), 0);
        assert_eq!(regular.due_packets(last_us + 19_000, last_us + 20_300), 1);
        assert_eq!(regular.due_packets(last_us + 20_300, last_us + 21_300), 1);
        assert_eq!(regular.due_packets(last_us + 22_000, last_us + 23_000), 0, "it did not come");
    }

    #[test]
    fn what_comes_at_random_or_all_the_time_or_in_long_packets_is_not_expected() {
        let mut regular = Regular::default();
        let mut at_us = 0;
        for n in 0..100u64 {
            at_us += 1_000 + n * n * 7_919 % 40_000;
            regular.arrived(1, 100, at_us);
            regular.arrived(2, 1_500, n * 20_000);
            regular.arrived(3, 40, n * 1_000);
        }
        assert_eq!(regular.due_packets(0, u64::MAX), 0);
    }

    #[test]
    fn a_flow_that_stopped_makes_room() {
        let mut regular = Regular::default();
        for flow in 0..=FLOWS as u64 {
            (0..8).for_each(|n| regular.arrived(flow + 1, 200, flow * 1_000_000 + n * 20_000));
        }
        assert_eq!(regular.flows.iter().filter(|flow| flow.hash == 1).count(), 0);
        let due_us = FLOWS as u64 * 1_000_000 + 160_000;
        assert_eq!(regular.due_packets(due_us - 500, due_us + 500), 1);
        regular.arrived(9, 200, 0);
        assert_eq!(regular.due_packets(0, 1), 0, "a clock that goes back");
    }
}
