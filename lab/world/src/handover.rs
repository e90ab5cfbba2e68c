//! Handover between the cells of the gNB (38.300 §9.2.3, 38.401 §8.2.1.1): measurements of the UEs, the
//! course of a handover, and its account.
//!
//! The CU holds PDCP and TC pipelines: they stay, and with them a lease. The DU of the source ends HARQ and
//! RLC, that of the target begins them anew, under another C-RNTI.

mod course;
mod record;

use lab_scenario::Scenario;
use ran::{A3Config, Measurements, SnrProbe, Unconfirmed};

pub(crate) use record::Tally;

use super::World;
use super::build::UePlan;
use super::links::Line;
use super::packet::GnbPacket;
use super::summary::HandoverRecord;

/// Period of the synchronisation signals that a UE measures (38.213 §4.1).
const SSB_PERIOD_US: u64 = 20_000;

/// Period of the random access occasions, each with its synchronisation signal (38.213 §8.1).
const RANDOM_ACCESS_PERIOD_US: u64 = SSB_PERIOD_US;

/// Highest C-RNTI (38.321 table 7.1-1).
const MAX_RNTI: u16 = 65_519;

/// Settings of handover, µs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    period_us: u64,
    /// Time from the event to the CU's command.
    preparation_us: u64,
    /// Time from the end of service in the source to that of the random access.
    interruption_us: u64,
    /// T304, from the end of service in the source.
    t304_us: u64,
    /// Time from the expiry of T304 to the end of the re-establishment.
    reestablishment_us: u64,
    f1_delay_us: u64,
    forwarding: bool,
    status_report: bool,
}

/// A step of a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Time-to-trigger may have expired.
    Trigger,
    /// The CU commands the UE to a cell.
    Command(usize),
    /// The UE leaves for a cell.
    Leave(usize),
    /// The random access is complete if the radio carries it; T304 expires at this time.
    Access(u64),
    /// The UE has re-established its connection if a cell is in range.
    Reestablish,
    /// The PDCP status report has taken effect in the DU.
    StatusReport,
}

/// Measurements of a UE, and where it is.
#[derive(Clone, Debug)]
struct UeRadio {
    /// Its radio to each cell; empty while it is not attached.
    probes: Vec<SnrProbe>,
    measured: Measurements,
    cell: usize,
    rnti: u16,
    /// Whether a handover is under way.
    is_moving: bool,
}

/// A packet that the CU sends again after a handover.
#[derive(Clone, Debug)]
struct Again {
    /// Index of its bearer in the world.
    bearer: u32,
    /// Its number on F1-U.
    number: u64,
    unconfirmed: Unconfirmed<GnbPacket>,
}

/// Handover in a gNB of several cells.
#[derive(Clone, Debug)]
pub(crate) struct Handovers {
    settings: Settings,
    /// Entries by number of the UE.
    ues: Vec<UeRadio>,
    next_sample_us: u64,
    steps: Line<(u32, Step)>,
    /// DU to CU: what a DU has not delivered to a UE that has left it, by bearer.
    returned: Line<(u32, Vec<Unconfirmed<GnbPacket>>)>,
    /// CU to DU: the same, sent again.
    again: Line<Again>,
    next_rnti: u16,
    pub(crate) tally: Tally,
}

impl Handovers {
    /// Handover of a checked scenario; `None` with one cell.
    pub(crate) fn new(scenario: &Scenario, ues: &[UePlan]) -> Option<Self> {
        let cells = scenario.cells.len();
        if cells < 2 {
            return None;
        }
        let given = scenario.handover.unwrap_or_default();
        let us = |ms: u32| u64::from(ms) * 1000;
        let a3 = A3Config {
            offset_db: given.a3_offset_db,
            hysteresis_db: given.hysteresis_db,
            time_to_trigger_us: us(given.time_to_trigger_ms),
            filter_k: given.filter_k,
        };
        let radio = |ue: &UePlan| UeRadio {
            probes: Vec::new(),
            measured: Measurements::new(a3, cells),
            cell: 0,
            rnti: ue.config.rnti,
            is_moving: false,
        };
        Some(Self {
            settings: Settings {
                period_us: us(given.measurement_period_ms),
                preparation_us: us(given.preparation_ms),
                interruption_us: given.total_interruption_us(),
                t304_us: us(given.t304_ms),
                reestablishment_us: us(given.reestablishment_ms),
                f1_delay_us: scenario.split.f1_delay_us.into(),
                forwarding: given.forwarding,
                status_report: given.status_report,
            },
            ues: ues.iter().map(radio).collect(),
            next_sample_us: 0,
            steps: Line::default(),
            returned: Line::default(),
            again: Line::default(),
            next_rnti: ues.iter().map(|ue| ue.config.rnti).max().unwrap_or(0),
            tally: Tally::new(ues),
        })
    }

    /// Time of the next event.
    pub(crate) fn next_us(&self) -> u64 {
        let on_f1_us = self.returned.next_us().min(self.again.next_us());
        self.next_sample_us.min(self.steps.next_us()).min(on_f1_us)
    }

    /// Whether packets are on F1-U.
    pub(crate) fn carry_packets(&self) -> bool {
        self.returned.next_us().min(self.again.next_us()) != u64::MAX
    }

    /// Bearers of the packets on the way back to the CU.
    pub(crate) fn returned_to_cu(&self) -> impl Iterator<Item = u32> + '_ {
        self.returned.iter().flat_map(|(bearer, unconfirmed)| {
            unconfirmed.iter().filter(|one| one.sdu.is_some()).map(|_| *bearer)
        })
    }

    /// Bearers of the packets on the way to a DU.
    pub(crate) fn sent_to_du(&self) -> impl Iterator<Item = u32> + '_ {
        let packets = self.again.iter().filter(|again| again.unconfirmed.sdu.is_some());
        packets.map(|again| again.bearer)
    }

    /// A UE has a cell again at `now_us`: it evaluates events anew, and may tell which packets it has.
    fn accessed(&mut self, ue: u32, now_us: u64) {
        let Self { settings, ues, steps, .. } = self;
        let radio = &mut ues[ue as usize];
        radio.is_moving = false;
        radio.measured.handed_over();
        if settings.status_report {
            // To the CU, and the discard back to the DU (38.425 §5.4.1).
            steps.push(now_us + 2 * settings.f1_delay_us, (ue, Step::StatusReport));
        }
    }

    /// A C-RNTI that no UE has or may join with.
    fn allocate_rnti(&mut self, ues: &[UePlan]) -> u16 {
        loop {
            self.next_rnti = if self.next_rnti >= MAX_RNTI { 1 } else { self.next_rnti + 1 };
            let rnti = self.next_rnti;
            let is_planned = ues.iter().any(|ue| ue.config.rnti == rnti);
            if !is_planned && !self.ues.iter().any(|ue| ue.rnti == rnti) {
                return rnti;
            }
        }
    }

    /// Measures the synchronisation signals at `now_us`, of all UEs in all cells; at the end of a period
    /// the UEs evaluate what they have measured in it.
    fn measure(&mut self, now_us: u64) {
        let Self { settings, ues, steps, .. } = self;
        let ends_period = now_us > 0 && now_us.is_multiple_of(settings.period_us);
        for (index, ue) in (0..).zip(ues) {
            if ends_period && !ue.probes.is_empty() {
                let due_us = ue.measured.end_period(ue.cell, now_us);
                if let Some(due_us) = due_us.filter(|_| !ue.is_moving) {
                    steps.push(due_us, (index, Step::Trigger));
                }
            }
            for (cell, probe) in ue.probes.iter_mut().enumerate() {
                ue.measured.sample(cell, probe.snr_db(now_us));
            }
        }
        self.next_sample_us = now_us + SSB_PERIOD_US;
    }
}

impl World {
    /// The handovers so far, in the order of time.
    pub fn handovers(&self) -> &[HandoverRecord] {
        self.handovers.as_ref().map_or(&[], |handovers| &handovers.tally.records)
    }

    /// The cell with the best radio for a UE that attaches now, which begins to measure all (38.304 §5.2.3).
    pub(super) fn select_cell(&mut self, ue: u32) -> usize {
        let Some(handovers) = &mut self.handovers else { return 0 };
        let plan = &self.ues.plans[ue as usize];
        let radio = &mut handovers.ues[ue as usize];
        let probe = |(cell, at): (usize, &ran::Cell<_>)| {
            let config = plan.config_in(cell);
            at.probe(&config.channel, config.rnti).ok().flatten()
        };
        radio.probes = self.cells.iter().enumerate().filter_map(probe).collect();
        let now_us = self.now_us;
        let rated = radio.probes.iter_mut().map(|probe| probe.snr_db(now_us)).enumerate();
        let best = rated.rev().max_by(|(_, a), (_, b)| a.total_cmp(b));
        radio.cell = best.map_or(0, |(cell, _)| cell);
        radio.cell
    }

    /// A UE leaves the gNB.
    pub(super) fn end_measurements(&mut self, ue: u32) {
        if let Some(handovers) = &mut self.handovers {
            let radio = &mut handovers.ues[ue as usize];
            radio.probes = Vec::new();
            radio.is_moving = false;
        }
    }

    /// Measures, and runs the steps of handovers that are due.
    pub(super) fn run_handovers(&mut self) {
        let now_us = self.now_us;
        loop {
            let Some(handovers) = &mut self.handovers else { return };
            if handovers.next_sample_us <= now_us {
                handovers.measure(now_us);
            }
            let Some((_, (ue, step))) = handovers.steps.pop_due(now_us) else { break };
            self.take_step(ue, step);
        }
        loop {
            let Some(handovers) = &mut self.handovers else { return };
            let Some((_, (index, unconfirmed))) = handovers.returned.pop_due(now_us) else { break };
            self.send_again(index, unconfirmed);
        }
    }
}
