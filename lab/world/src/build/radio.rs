//! Configuration of MAC scheduler, RLC, HARQ and uplink access for `ran`.

use ran::phy::adaptation::{OAI_WINDOW, STEP_UP_DB, TARGET_BLER};
use ran::rlc::{SnLength, UmConfig};
use ran::{
    AdaptationConfig, AmConfig, AmSnLength, BearerConfig, BlockErrors, CellConfig, Combining,
    DrxConfig, Duplexing, EqpConfig, HarqConfig, LogicalChannel, MahimahiTrace, Numerology,
    OuterLoop, PfConfig, RecordedUplinkConfig, RlcMode, SchedulerConfig, ShortCycle, SliceShare,
    UplinkConfig,
};

use lab_scenario::{
    Adaptation, Cell, Drb, Drx, MacScheduler, PfGranularity, Rat, Scenario, SchedulerKind, UeHarq,
    UeScheduler, UplinkAccess,
};
use traffic::Rng;

/// Default round trip of NR HARQ, slots, and its upper bound.
const NR_RTT_SLOTS: u32 = 10;
const NR_RTT_US: u32 = 5_000;

/// HARQ of the cell; `base` has the defaults of its radio access technology.
pub(super) fn harq(cell: &Cell, numerology: Numerology, base: HarqConfig) -> HarqConfig {
    let given = &cell.harq;
    let slot_us = numerology.slot_us();
    let default_us = match cell.rat {
        Rat::Lte => base.rtt_us,
        Rat::Nr => (NR_RTT_SLOTS * slot_us).min(NR_RTT_US),
    };
    HarqConfig {
        errors: BlockErrors {
            bler: given.bler,
            combining_gain: given.combining_gain.unwrap_or(base.errors.combining_gain),
        },
        rtt_us: given.rtt_slots.map_or(default_us, |slots| u32::from(slots) * slot_us),
        processes: given.processes.unwrap_or(base.processes),
        max_transmissions: given.max_transmissions.unwrap_or(base.max_transmissions),
        ..base
    }
}

/// Downlink adaptation of the cell.
pub(super) fn adaptation(
    given: &Adaptation,
    numerology: Numerology,
    n_prb: u16,
) -> AdaptationConfig {
    let base = AdaptationConfig::default();
    let slot_us = numerology.slot_us();
    let us = |slots: Option<u16>, base_us: u32| {
        slots.map_or(base_us, |slots| u32::from(slots) * slot_us)
    };
    let target_bler = given.target_bler.unwrap_or(TARGET_BLER);
    AdaptationConfig {
        cqi_period_us: us(given.cqi_period_slots, base.cqi_period_us),
        cqi_delay_us: us(given.cqi_delay_slots, base.cqi_delay_us),
        feedback_us: us(given.feedback_slots, base.feedback_us),
        outer_loop: match given.outer_loop {
            lab_scenario::OuterLoop::CqiOnly => OuterLoop::Off { target_bler },
            lab_scenario::OuterLoop::Steps => {
                OuterLoop::Steps { target_bler, step_up_db: given.step_up_db.unwrap_or(STEP_UP_DB) }
            }
            lab_scenario::OuterLoop::Oai => {
                let [lower, upper] = given.bler_window.unwrap_or(OAI_WINDOW);
                OuterLoop::Window { lower, upper }
            }
        },
        combining: match given.combining {
            lab_scenario::Combining::Chase => Combining::Chase,
            lab_scenario::Combining::IncrementalRedundancy => Combining::IncrementalRedundancy,
        },
        subband_prb: given.subband_prb(n_prb),
    }
}

/// Block errors of a UE with its own HARQ settings.
pub(super) fn ue_errors(own: &UeHarq, cell: &HarqConfig) -> BlockErrors {
    let combining_gain = own.combining_gain.unwrap_or(cell.errors.combining_gain);
    BlockErrors { bler: own.bler, combining_gain }
}

/// Uplink access of a UE; the cell provides defaults. In FDD each UE has its own random slot for
/// scheduling requests (I_SR, 36.213 §10.1.5, spreads the UEs of a cell).
pub(super) fn uplink(given: &UplinkAccess, cell: &CellConfig, mut random: Rng) -> UplinkConfig {
    let base = cell.uplink_config();
    let slot_us = cell.numerology.slot_us();
    let sr_period_us = given.sr_period_us.unwrap_or(base.sr_period_us);
    let sr_offset_us = match cell.duplexing {
        Duplexing::Fdd => random.below(u64::from(sr_period_us / slot_us).max(1)) as u32 * slot_us,
        // A period set by the scenario may be shorter than the pattern's offset.
        Duplexing::Tdd(_) => base.sr_offset_us % sr_period_us.max(1),
    };
    UplinkConfig {
        sr_period_us,
        sr_offset_us: given.sr_offset_us.unwrap_or(sr_offset_us),
        sr_to_pusch_us: given.sr_to_pusch_us.unwrap_or(base.sr_to_pusch_us),
        bsr_to_pusch_us: given.bsr_to_pusch_us.unwrap_or(base.bsr_to_pusch_us),
        sr_grant_prb: given.sr_grant_prb.unwrap_or(base.sr_grant_prb),
        preschedule_us: given.preschedule_us.unwrap_or(base.preschedule_us),
        decode_us: given.decode_us.unwrap_or(base.decode_us),
        mcs: given.mcs,
        snr_offset_db: given.snr_offset_db.unwrap_or(base.snr_offset_db),
        target_snr_db: given.target_snr_db.unwrap_or(base.target_snr_db),
        limit_packets: given.limit_packets.unwrap_or(base.limit_packets),
        limit_bytes: given.limit_bytes.unwrap_or(base.limit_bytes),
    }
}

/// DRX of a UE.
pub(super) fn drx(given: &Drx, cell: &CellConfig, mut random: Rng) -> DrxConfig {
    let us = |ms: u32| ms * 1000;
    let offset_ms = || random.below(given.long_cycle_ms.into()) as u32;
    let short = given.short_cycle_ms.map(|cycle_ms| ShortCycle {
        cycle_us: us(cycle_ms),
        cycles: given.short_cycles.unwrap_or(1),
    });
    let retransmission_slots = given.retransmission_slots.unwrap_or(8);
    DrxConfig {
        long_cycle_us: us(given.long_cycle_ms),
        offset_us: us(given.offset_ms.unwrap_or_else(offset_ms)),
        on_duration_us: us(given.on_duration_ms),
        inactivity_us: us(given.inactivity_ms),
        short,
        retransmission_us: u32::from(retransmission_slots) * cell.numerology.slot_us(),
    }
}

pub(super) fn recorded_uplink(
    given: &lab_scenario::RecordedUplink,
    trace: MahimahiTrace,
) -> RecordedUplinkConfig {
    RecordedUplinkConfig {
        trace,
        limit_packets: given.limit_packets,
        limit_bytes: given.limit_bytes.unwrap_or(u32::MAX),
    }
}

/// Configuration of a bearer: RLC entity, its buffer, and PDCP of the UE.
pub(super) fn bearer_config(drb: &Drb, rat: Rat) -> BearerConfig {
    let rlc = &drb.rlc;
    let base = match rlc.mode {
        lab_scenario::RlcMode::Um => {
            let base = UmConfig::default();
            let um = UmConfig {
                sn_length: match rlc.sn_bits {
                    6 => SnLength::Six,
                    _ => SnLength::Twelve,
                },
                t_reassembly_us: rlc.t_reassembly_us.unwrap_or(base.t_reassembly_us),
            };
            BearerConfig { mode: RlcMode::Um(um), ..BearerConfig::um(drb.id) }
        }
        lab_scenario::RlcMode::Am => BearerConfig::am(drb.id, am_config(rlc, rat)),
    };
    let mut config =
        BearerConfig { limit_packets: rlc.limit_packets, limit_bytes: rlc.limit_bytes, ..base };
    if let Some(t_reordering_us) = rlc.t_reordering_us {
        config.t_reordering_us = t_reordering_us;
    }
    let default = LogicalChannel::default();
    config.channel = LogicalChannel {
        priority: drb
            .priority
            .or(drb.five_qi.and_then(priority_of_five_qi))
            .unwrap_or(default.priority),
        rate_kbytes_per_s: drb.prioritised_kbytes_per_s,
        bucket_us: 1000 * u32::from(drb.bucket_ms),
    };
    config
}

/// Logical channel priority of a 5QI: its default priority level (23.501 table 5.7.4-1), of which level 90
/// of 5QI 9 is priority 9, rounded up; `None` for a 5QI without standard characteristics.
fn priority_of_five_qi(five_qi: u8) -> Option<u8> {
    let level: u8 = match five_qi {
        1 | 66 => 20,
        2 => 40,
        3 => 30,
        4 => 50,
        5 => 10,
        6 => 60,
        7 => 70,
        8 => 80,
        9 | 10 => 90,
        65 => 7,
        67 => 15,
        69 => 5,
        70 => 55,
        71..=74 | 76 => 56,
        75 | 87..=90 => 25,
        79 => 65,
        80 => 68,
        82 => 19,
        83 => 22,
        84 => 24,
        85 => 21,
        86 => 18,
        _ => return None,
    };
    Some(level.div_ceil(10))
}

fn am_config(rlc: &lab_scenario::Rlc, rat: Rat) -> AmConfig {
    let base = match rat {
        Rat::Lte => AmConfig::lte(),
        Rat::Nr => AmConfig::default(),
    };
    // 0 means infinity: no polling.
    let or_infinity = |given: Option<u32>| given.map(|value| (value > 0).then_some(value));
    AmConfig {
        sn_length: match rlc.sn_bits {
            18 => AmSnLength::Eighteen,
            _ => AmSnLength::Twelve,
        },
        t_poll_retransmit_us: rlc.t_poll_retransmit_us.unwrap_or(base.t_poll_retransmit_us),
        poll_pdu: or_infinity(rlc.poll_pdu).unwrap_or(base.poll_pdu),
        poll_byte: or_infinity(rlc.poll_byte).map_or(base.poll_byte, |most| most.map(u64::from)),
        max_retx_threshold: rlc.max_retx_threshold.unwrap_or(base.max_retx_threshold),
        t_reassembly_us: rlc.t_reassembly_us.unwrap_or(base.t_reassembly_us),
        t_status_prohibit_us: rlc.t_status_prohibit_us.unwrap_or(base.t_status_prohibit_us),
        in_order: rlc.in_order.unwrap_or(base.in_order),
    }
}

/// The MAC scheduler.
pub(super) fn scheduler(scenario: &Scenario) -> SchedulerConfig {
    let scheduler = &scenario.cell.scheduler;
    match scheduler.kind {
        SchedulerKind::Rr => SchedulerConfig::RoundRobin,
        SchedulerKind::Pf => SchedulerConfig::ProportionalFair(proportional_fair(scheduler)),
        SchedulerKind::Fp => SchedulerConfig::FixedPartition(slices(scenario)),
        SchedulerKind::Eqp => {
            let config = EqpConfig::new(slices(scenario));
            SchedulerConfig::ElasticQuantumPartition(EqpConfig {
                quantum_limit_prb: scheduler.quantum_limit_prb.unwrap_or(config.quantum_limit_prb),
                ..config
            })
        }
    }
}

/// Scheduler of the uplink.
pub(super) fn uplink_scheduler(cell: &Cell) -> ran::UeScheduler {
    match cell.uplink.scheduler {
        UeScheduler::Rr => ran::UeScheduler::RoundRobin,
        UeScheduler::Pf => ran::UeScheduler::ProportionalFair(proportional_fair(&cell.scheduler)),
    }
}

/// Slice of the UEs of entry number `entry` of `ues`; each entry has its own by default.
pub(super) fn slice_of(scenario: &Scenario, entry: usize) -> u8 {
    if !scenario.cell.scheduler.kind.has_slices() {
        return 0;
    }
    scenario.ues[entry].slice.unwrap_or(entry as u8)
}

fn proportional_fair(scheduler: &MacScheduler) -> PfConfig {
    let default = PfConfig::default();
    PfConfig {
        time_constant_us: scheduler
            .time_constant_ms
            .map_or(default.time_constant_us, |ms| ms.saturating_mul(1000)),
        granularity: match scheduler.granularity.unwrap_or_default() {
            PfGranularity::Wideband => ran::PfGranularity::Wideband,
            PfGranularity::PerRbg => ran::PfGranularity::PerRbg,
        },
    }
}

fn slices(scenario: &Scenario) -> Vec<SliceShare> {
    let scheduler = &scenario.cell.scheduler;
    if scheduler.slices.is_empty() {
        let entries = (0..=u8::MAX).zip(&scenario.ues);
        let share = |(slice, ue): (u8, &lab_scenario::Ue)| {
            SliceShare::new(slice, ue.prb_share_percent.unwrap_or(0))
        };
        return entries.map(share).collect();
    }
    let own = scheduler.slices.iter().map(|slice| SliceShare {
        ues: match slice.ue_scheduler {
            UeScheduler::Rr => ran::UeScheduler::RoundRobin,
            UeScheduler::Pf => ran::UeScheduler::ProportionalFair(proportional_fair(scheduler)),
        },
        ..SliceShare::new(slice.id, slice.percent)
    });
    own.collect()
}
