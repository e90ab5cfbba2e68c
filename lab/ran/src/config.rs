//! Configuration of cells, UEs and bearers.

use crate::channel::Channel;
use crate::error::{ConfigError, ensure};
use crate::mac::DrxConfig;
use crate::mac::harq::{BlockErrors, HarqConfig};
use crate::mac::pf::PfGranularity;
use crate::mac::prioritisation::LogicalChannel;
use crate::mac::scheduler::{SchedulerConfig, UeScheduler};
use crate::numerology::{Duplexing, Numerology, SlotKind, TddPattern};
use crate::phy::{AdaptationConfig, LinkTables, Subbands};
use crate::rlc::{AmConfig, RlcMode};
use crate::tbs::nr::{McsTable, NrOverhead};
use crate::tbs::{TbsConfig, TbsTables};
use crate::uplink::{RecordedUplinkConfig, UplinkConfig};

/// PRBs of the preset of NR, 40 MHz at 30 kHz.
const NR_PRESET_PRB: u16 = 106;

/// PRBs reserved for common channels in some slots of a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservedPrb {
    /// Slots after which the reservation repeats.
    pub period_slots: u16,
    /// Slots of the period concerned, from 0.
    pub slots: Vec<u16>,
    /// PRBs not available to user data there; the cell's `n_prb` or more reserves the whole slot.
    pub n_prb: u16,
}

impl ReservedPrb {
    /// PRBs reserved in slot number `slot`.
    pub fn in_slot(&self, slot: u64) -> u16 {
        let at = (slot % u64::from(self.period_slots)) as u16;
        if self.slots.contains(&at) { self.n_prb } else { 0 }
    }
}

/// A cell: one carrier of one DU.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Width of the carrier in PRBs (38.101-1 table 5.3.2-1; LTE 36.101 table 5.6-1).
    pub n_prb: u16,
    /// Subcarrier spacing, and with it the slot.
    pub numerology: Numerology,
    /// FDD, or the TDD pattern.
    pub duplexing: Duplexing,
    /// Transport block sizes.
    pub tbs: TbsConfig,
    /// MAC scheduler.
    pub scheduler: SchedulerConfig,
    /// PRBs of a resource block group (allocation type 0, sizes in [`rbg`](crate::mac::rbg)); 1 for
    /// type 1.
    pub rbg_size_prb: u16,
    /// Scheduler of the uplink.
    pub uplink_scheduler: UeScheduler,
    /// UEs that can be scheduled in one slot of each direction, limited by the PDCCH.
    pub max_ues_per_slot: u16,
    /// PRBs reserved for common channels.
    pub reserved: Option<ReservedPrb>,
    /// PHY delay, block errors and HARQ.
    pub harq: HarqConfig,
    /// How the gNB follows the SNR of its UEs.
    pub adaptation: AdaptationConfig,
    /// Seed of all random numbers of the cell.
    pub seed: u64,
}

impl CellConfig {
    /// The LTE cell of irazabal2021 §V: FDD, 5 MHz, 25 PRB, TTI of 1 ms.
    ///
    /// The paper's MAC pulls 2289 bytes a TTI at MCS 28, "or 1569 depending on whether the
    /// subframe contains control and data information". 1569 + 3 bytes of MAC header are the TBS
    /// of 17 PRB (36.213 table 7.1.7.2.1-1, I_TBS 26), so control takes 8 of 25 PRB. That is what
    /// synchronisation signals and PBCH do in subframes 0 and 5 (36.211 §6.6.4 and §6.11): they
    /// fill the 72 subcarriers in the middle of the carrier, which touch PRB 9 to 15, and with
    /// RBGs of two PRBs (36.213 table 7.1.6.1-1) that blocks RBGs 4 to 7. Two subframes of ten at
    /// 1569 B and eight at 2289 B carry 17.16 Mbit/s, less headers 16.57 Mbit/s of TCP payload in
    /// packets of 1500 bytes beside the VoIP flow; the paper reports 16.58.
    pub fn lte_5mhz() -> Self {
        Self {
            n_prb: 25,
            numerology: Numerology::LTE,
            duplexing: Duplexing::Fdd,
            tbs: TbsConfig::Lte,
            scheduler: SchedulerConfig::RoundRobin,
            rbg_size_prb: 2,
            max_ues_per_slot: 8,
            uplink_scheduler: UeScheduler::RoundRobin,
            reserved: Some(ReservedPrb { period_slots: 10, slots: vec![0, 5], n_prb: 8 }),
            // The UE decodes within the 3 ms between a subframe and its acknowledgement
            // (36.213 §7.3), and the eNB sends again 8 ms after; FDD has 8 processes (36.213 §7).
            harq: HarqConfig {
                phy_delay_us: 4000,
                rtt_us: 8000,
                processes: 8,
                ..HarqConfig::default()
            },
            adaptation: AdaptationConfig::default(),
            seed: 1,
        }
    }

    /// The NR cell of irazabal2024 §V: n78, 30 kHz, 106 PRB (40 MHz), one layer, DDDDDDDMUU.
    ///
    /// The paper gives two figures: "more than 9000 bytes per TTI" at MCS 18 and about 40 Mbit/s
    /// at MCS 10. The first is met by one layer of the 256QAM table with 144 RE a PRB (one PDCCH
    /// symbol, one DMRS symbol without data): 9222 bytes; the 64QAM table would give 5252. At that
    /// size seven D slots of ten would carry 55 Mbit/s at MCS 10, so two of them must have carried
    /// nothing for the UE; the paper does not say why (the PUCCH format 0 of that time acknowledges
    /// two transport blocks an uplink occasion, and there are three in a period). Hence slots 2 and
    /// 5 are reserved: five D slots and the six symbols of M carry 41.8 Mbit/s of transport blocks
    /// at MCS 10, less headers 40.2 of TCP payload. Downlink is never further away than the 1.5 ms
    /// of the paper.
    pub fn nr_n78_106prb() -> Self {
        let pattern =
            [SlotKind::Down; 7].into_iter().chain([SlotKind::Mixed, SlotKind::Up, SlotKind::Up]);
        Self {
            n_prb: NR_PRESET_PRB,
            numerology: Numerology::NR_30_KHZ,
            duplexing: Duplexing::Tdd(TddPattern::of(pattern, 6, 4)),
            tbs: TbsConfig::Nr {
                mcs_table: McsTable::Qam256,
                layers: 1,
                overhead: NrOverhead::default(),
            },
            scheduler: SchedulerConfig::RoundRobin,
            rbg_size_prb: 1,
            max_ues_per_slot: 8,
            uplink_scheduler: UeScheduler::RoundRobin,
            reserved: Some(ReservedPrb { period_slots: 10, slots: vec![2, 5], n_prb: 106 }),
            harq: HarqConfig::default(),
            adaptation: AdaptationConfig::default(),
            seed: 1,
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { n_prb, rbg_size_prb, max_ues_per_slot, .. } = *self;
        ensure((1..=275).contains(&n_prb), "n_prb", n_prb, "1 to 275 PRB")?;
        let expected = format!("1 to n_prb = {n_prb}");
        ensure((1..=n_prb).contains(&rbg_size_prb), "rbg_size_prb", rbg_size_prb, expected)?;
        ensure(max_ues_per_slot > 0, "max_ues_per_slot", max_ues_per_slot, "1 or more")?;
        if let Some(reserved) = &self.reserved {
            ensure(reserved.period_slots > 0, "reserved.period_slots", 0, "1 or more")?;
            if let Some(slot) = reserved.slots.iter().find(|s| **s >= reserved.period_slots) {
                let expected = format!("less than period_slots = {}", reserved.period_slots);
                return Err(ConfigError::new("reserved.slots", slot, expected));
            }
        }
        self.tbs.validate(self.n_prb, self.numerology, &self.duplexing)?;
        self.scheduler.validate(self.n_prb)?;
        self.adaptation.validate(self.numerology.slot_us())?;
        self.validate_subbands()?;
        self.harq.validate()
    }

    /// Transport block sizes of a valid configuration.
    pub fn tbs_tables(&self) -> TbsTables {
        TbsTables::new(&self.tbs, self.n_prb, &self.duplexing)
    }

    /// Width of the PRBs.
    pub(crate) fn bandwidth_hz(&self) -> f64 {
        let subcarrier_hz = 15_000u32 << self.numerology.mu();
        12.0 * f64::from(self.n_prb) * f64::from(subcarrier_hz)
    }

    fn validate_subbands(&self) -> Result<(), ConfigError> {
        let Some(subband_prb) = self.adaptation.subband_prb else { return Ok(()) };
        Subbands::new(self.n_prb, self.rbg_size_prb, subband_prb)?;
        let is_by_group = matches!(
            &self.scheduler,
            SchedulerConfig::ProportionalFair(pf) if pf.granularity == PfGranularity::PerRbg
        );
        let expected = "none without proportional fair by resource block group";
        ensure(is_by_group, "adaptation.subband_prb", subband_prb, expected)
    }

    /// Sub-bands and groups of a valid configuration that schedules by them.
    fn subbands(&self) -> Option<Subbands> {
        let subband_prb = self.adaptation.subband_prb?;
        Subbands::new(self.n_prb, self.rbg_size_prb, subband_prb).ok()
    }

    /// SNR of MCS and CQI of a valid configuration.
    pub(crate) fn link_tables(&self) -> LinkTables {
        let target_bler = self.adaptation.target_bler();
        LinkTables::new(&self.tbs, self.n_prb, target_bler, self.subbands())
    }

    /// Default uplink access: a scheduling request in the first uplink slot of each TDD pattern; without
    /// TDD, that of the presets.
    pub fn uplink_config(&self) -> UplinkConfig {
        let nr = UplinkConfig::nr_n78();
        match (&self.tbs, &self.duplexing) {
            (TbsConfig::Lte, _) => UplinkConfig::lte_fdd(),
            (_, Duplexing::Fdd) => UplinkConfig { sr_offset_us: 0, ..nr },
            (_, Duplexing::Tdd(pattern)) => {
                let slot_us = u64::from(self.numerology.slot_us());
                let first = (0..pattern.period_slots())
                    .find(|slot| self.duplexing.carries_uplink(*slot))
                    .unwrap_or(0);
                UplinkConfig {
                    sr_period_us: (pattern.period_slots() * slot_us) as u32,
                    sr_offset_us: (first * slot_us) as u32,
                    ..nr
                }
            }
        }
    }
}

/// A UE.
#[derive(Debug, Clone, PartialEq)]
pub struct UeConfig {
    /// C-RNTI.
    pub rnti: u16,
    /// Downlink channel.
    pub channel: Channel,
    /// Its slice: one of the scheduler's, ignored by schedulers without slices.
    pub slice: u8,
    /// Block errors; the cell's if `None`.
    pub errors: Option<BlockErrors>,
    /// Uplink access; [`CellConfig::uplink_config`] if `None`.
    pub uplink: Option<UplinkConfig>,
    /// Uplink by a trace, in place of scheduling requests and grants.
    pub recorded_uplink: Option<RecordedUplinkConfig>,
    /// Discontinuous reception; the UE always listens if `None`.
    pub drx: Option<DrxConfig>,
}

/// A data radio bearer of a UE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BearerConfig {
    /// DRB identity, 1 to 32 (38.331).
    pub drb: u8,
    /// RLC mode and its parameters.
    pub mode: RlcMode,
    /// How long the PDCP of the UE waits for a missing packet (`t-Reordering`); 0 delivers out of
    /// order, `u32::MAX` stands for infinity (38.331).
    pub t_reordering_us: u32,
    /// Most SDUs in the RLC buffer; further ones are dropped.
    pub limit_packets: u32,
    /// Most bytes in the RLC buffer; an SDU beyond is dropped.
    pub limit_bytes: u32,
    /// Its share of the transport blocks of the UE, in both directions.
    pub channel: LogicalChannel,
}

impl BearerConfig {
    /// A UM bearer with t-Reordering and the RLC buffer of OAI, 100 ms and 10 MB.
    pub fn um(drb: u8) -> Self {
        Self {
            drb,
            mode: RlcMode::default(),
            t_reordering_us: 100_000,
            limit_packets: u32::MAX,
            limit_bytes: 10_000_000,
            channel: LogicalChannel::default(),
        }
    }

    /// An AM bearer with the buffer and PDCP of [`um`](Self::um).
    pub fn am(drb: u8, config: AmConfig) -> Self {
        Self { mode: RlcMode::Am(config), ..Self::um(drb) }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.mode.validate()?;
        self.channel.validate()?;
        ensure((1..=32).contains(&self.drb), "drb", self.drb, "1 to 32")?;
        ensure(self.limit_packets > 0, "limit_packets", 0, "1 or more")?;
        ensure(self.limit_bytes > 0, "limit_bytes", 0, "1 or more")
    }
}
