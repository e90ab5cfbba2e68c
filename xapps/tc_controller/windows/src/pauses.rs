//! Times in which the radio took nothing of a bearer: discontinuous reception, a handover, an outage.
//!
//! What a packet waits in a pause is no queue's doing, and no pipeline shortens it.

/// A shorter gap between two drains is a slot of another UE or direction.
const SHORTEST_US: i64 = 20_000;
/// The same in reports, where they are rare.
const SHORTEST_REPORTS: i64 = 3;

/// When each slot's bearer was served.
#[derive(Debug)]
pub(crate) struct Pauses {
    shortest_us: i64,
    slots: Vec<Service>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Service {
    /// Time of the last report in which the counter had moved.
    served_us: i64,
    /// Start and end of the last pause that is over.
    last: (i64, i64),
    /// Sum of the pauses that are over.
    paused_us: i64,
}

impl Pauses {
    pub(crate) fn new(period_us: u32) -> Self {
        let shortest_us = SHORTEST_US.max(SHORTEST_REPORTS * i64::from(period_us));
        Self { shortest_us, slots: Vec::new() }
    }

    pub(crate) fn grow(&mut self, capacity: usize) {
        self.slots.resize(capacity, Service::default());
    }

    /// The slot belongs to a new bearer.
    pub(crate) fn born(&mut self, slot: usize, now_us: i64) {
        self.slots[slot] = Service { served_us: now_us, ..Service::default() };
    }

    /// The radio has taken bytes of the bearer since the report before.
    pub(crate) fn served(&mut self, slot: usize, now_us: i64) {
        let service = &mut self.slots[slot];
        let gap_us = now_us - service.served_us;
        if gap_us >= self.shortest_us {
            service.last = (service.served_us, now_us);
            service.paused_us += gap_us;
        }
        service.served_us = now_us;
    }

    /// All pauses up to now, µs.
    pub(crate) fn paused_us(&self, slot: usize, now_us: i64) -> i64 {
        let Some(service) = self.slots.get(slot) else { return 0 };
        let gap_us = now_us - service.served_us;
        service.paused_us + if gap_us >= self.shortest_us { gap_us } else { 0 }
    }

    /// What a packet that has waited for `waited_us` has waited outside the last pause and the present one.
    pub(crate) fn queued_us(&self, slot: usize, waited_us: f32, now_us: i64) -> f32 {
        let Some(service) = self.slots.get(slot) else { return waited_us };
        let came_us = now_us - waited_us as i64;
        let within = |(from, to): (i64, i64)| (to - from.max(came_us)).max(0) as f32;
        let present = (service.served_us, now_us);
        let is_paused = now_us - service.served_us >= self.shortest_us;
        let paused_us = within(service.last) + if is_paused { within(present) } else { 0.0 };
        (waited_us - paused_us).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_in_a_pause_is_not_that_of_a_queue() {
        let mut pauses = Pauses::new(1000);
        pauses.grow(1);
        pauses.born(0, 0);
        for now_us in (0..100_000).step_by(1000) {
            pauses.served(0, now_us);
        }
        assert_eq!(pauses.queued_us(0, 50_000.0, 99_000), 50_000.0, "served all the time");
        // A gap of 19 ms is none; from 20 ms on all of it is.
        assert_eq!(pauses.queued_us(0, 30_000.0, 118_000), 30_000.0);
        assert_eq!(pauses.queued_us(0, 30_000.0, 129_000), 0.0);
        assert_eq!(pauses.queued_us(0, 230_000.0, 299_000), 30_000.0);
        assert_eq!(pauses.paused_us(0, 299_000), 200_000);
        // Over at 300 ms; what came before it still has it in its age.
        pauses.served(0, 300_000);
        assert_eq!(pauses.queued_us(0, 250_000.0, 310_000), 49_000.0);
        assert_eq!(pauses.queued_us(0, 5000.0, 310_000), 5000.0);
        assert_eq!(pauses.paused_us(0, 310_000), 201_000);
    }

    #[test]
    fn rare_reports_do_not_make_pauses() {
        let mut pauses = Pauses::new(100_000);
        pauses.grow(1);
        pauses.born(0, 0);
        pauses.served(0, 100_000);
        assert_eq!(pauses.paused_us(0, 200_000), 0);
        assert_eq!(pauses.queued_us(0, 90_000.0, 200_000), 90_000.0);
        assert_eq!(pauses.paused_us(0, 400_000), 300_000);
    }
}
