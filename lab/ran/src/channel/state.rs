//! State of a UE's channel in a cell.

use std::sync::Arc;

use super::Channel;
use super::mobility::McsChain;
use super::snr::Snr;
use crate::config::CellConfig;
use crate::mac::rbg::GroupSet;
use crate::phy::{
    AdaptationConfig, LinkAdaptation, LinkTables, Radio, Reception, UplinkAdaptation, cqi,
};
use crate::rng::Rng;
use crate::uplink::UplinkConfig;

/// A channel with its state and the cell's tables.
#[derive(Debug, Clone)]
pub(crate) struct ChannelState {
    tables: Arc<LinkTables>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// The gNB knows the MCS or the bytes of each slot.
    Known(Known),
    /// The gNB knows the SNR of each slot.
    Oracle { snr: Snr, by_cqi: [Radio; 16] },
    /// The gNB knows what the UE reports and acknowledges.
    Adapted(Box<Adapted>),
    /// The UE is on its way into the cell.
    Silent(Box<Silent>),
}

/// The radio of a UE that enters the cell: out of range until its random access is complete.
#[derive(Debug, Clone)]
struct Silent {
    until_us: u64,
    snr: Snr,
    next: Next,
}

/// The channel after the random access.
#[derive(Debug, Clone)]
enum Next {
    Oracle([Radio; 16]),
    Adapted(AdaptationConfig),
}

/// The SNR of a UE in a cell that need not serve it, for measurements.
#[derive(Debug, Clone)]
pub struct SnrProbe {
    snr: Snr,
    tables: Arc<LinkTables>,
}

impl SnrProbe {
    /// The SNR of a valid channel from `now_us` on, as a UE with this random stream has it; `None` for a
    /// channel without one.
    pub(crate) fn new(
        channel: &Channel,
        cell: &CellConfig,
        tables: &Arc<LinkTables>,
        rng: &Rng,
        now_us: u64,
    ) -> Option<Self> {
        let channel = match channel {
            Channel::Ideal(channel) => channel.as_ref(),
            other => other,
        };
        let snr = ChannelState::snr(channel, cell, tables, rng, now_us)?;
        Some(Self { snr, tables: Arc::clone(tables) })
    }

    /// SNR at `now_us`, dB; times must not decrease between calls.
    pub fn snr_db(&mut self, now_us: u64) -> f64 {
        self.snr.advance(&self.tables, now_us);
        self.snr.now_db()
    }

    /// Whether a UE can access the cell at `now_us`: it would report more than CQI 0. Times must not decrease
    /// between calls.
    pub fn is_in_range(&mut self, now_us: u64) -> bool {
        let snr_db = self.snr_db(now_us);
        self.tables.cqi_at(snr_db) > 0
    }

    /// The same radio in the cell that has it, silent until `until_us`.
    pub(crate) fn silent_until(
        &self,
        until_us: u64,
        channel: &Channel,
        cell: &CellConfig,
    ) -> ChannelState {
        let next = match channel {
            Channel::Ideal(_) => Next::Oracle(by_cqi(None, cell)),
            _ => Next::Adapted(cell.adaptation),
        };
        let silent = Silent { until_us, snr: self.snr.clone(), next };
        ChannelState { tables: Arc::clone(&self.tables), kind: Kind::Silent(Box::new(silent)) }
    }
}

#[derive(Debug, Clone)]
struct Known {
    channel: Channel,
    /// Indexed by CQI.
    by_cqi: [Radio; 16],
    random: Option<Random>,
}

/// An MCS drawn from the seed, step by step.
#[derive(Debug, Clone)]
struct Random {
    chain: McsChain,
    mcs: u8,
    rng: Rng,
    period_us: u64,
    next_us: u64,
}

#[derive(Debug, Clone)]
struct Adapted {
    snr: Snr,
    link: LinkAdaptation,
    up: UplinkAdaptation,
    config: AdaptationConfig,
    next_report_us: u64,
}

impl ChannelState {
    /// A valid channel, from `now_us` on.
    pub(crate) fn new(
        channel: Channel,
        cell: &CellConfig,
        tables: &Arc<LinkTables>,
        rng: Rng,
        now_us: u64,
    ) -> Self {
        let (channel, is_ideal) = match channel {
            Channel::Ideal(channel) => (*channel, true),
            other => (other, false),
        };
        let kind = match Self::snr(&channel, cell, tables, &rng, now_us) {
            // Reported CQIs that are known need no SNR.
            Some(_) if is_ideal && matches!(channel, Channel::CqiSeries(_)) => {
                Kind::Known(Known::new(channel, cell, rng, now_us))
            }
            Some(snr) if is_ideal => Kind::Oracle { snr, by_cqi: by_cqi(None, cell) },
            Some(snr) => {
                Kind::Adapted(Box::new(Adapted::new(snr, cell.adaptation, tables, now_us)))
            }
            None => Kind::Known(Known::new(channel, cell, rng, now_us)),
        };
        Self { tables: Arc::clone(tables), kind }
    }

    /// The SNR of a channel that has one.
    fn snr(
        channel: &Channel,
        cell: &CellConfig,
        tables: &LinkTables,
        rng: &Rng,
        now_us: u64,
    ) -> Option<Snr> {
        let rng = rng.clone();
        match channel {
            Channel::GaussMarkov(config) => Some(Snr::gauss_markov(config, rng, now_us)),
            Channel::Fading(config) => {
                Some(Snr::fading(config, cell, tables.subbands(), rng, now_us))
            }
            Channel::SnrSeries(series) => Some(Snr::series(series.clone(), rng, now_us)),
            // A series with its own mapping is what a gNB chose.
            Channel::CqiSeries(series) if series.cqi_to_mcs().is_none() => {
                Some(Snr::cqi(series.clone(), tables, rng, now_us))
            }
            _ => None,
        }
    }

    /// Whether [`advance`](Self::advance) has an effect.
    pub(crate) fn is_advancing(&self) -> bool {
        match &self.kind {
            Kind::Known(known) => known.random.is_some(),
            Kind::Oracle { .. } | Kind::Adapted(_) | Kind::Silent(_) => true,
        }
    }

    /// Advances to `now_us`, the start of a slot; a UE that is not active reports no CSI (38.321 §5.7).
    pub(crate) fn advance(&mut self, is_active: bool, now_us: u64) {
        match &mut self.kind {
            Kind::Known(known) => known.advance(now_us),
            Kind::Oracle { snr, .. } => snr.advance(&self.tables, now_us),
            Kind::Adapted(adapted) => adapted.advance(&self.tables, is_active, now_us),
            Kind::Silent(silent) if now_us < silent.until_us => {}
            Kind::Silent(silent) => {
                let Silent { mut snr, next, .. } = silent.as_ref().clone();
                snr.advance(&self.tables, now_us);
                self.kind = match next {
                    Next::Oracle(by_cqi) => Kind::Oracle { snr, by_cqi },
                    Next::Adapted(config) => {
                        let adapted = Adapted::new(snr, config, &self.tables, now_us);
                        Kind::Adapted(Box::new(adapted))
                    }
                };
                self.advance(is_active, now_us);
            }
        }
    }

    /// The UE has not accessed the cell: it stays silent until `until_us`. Without effect on a channel without an
    /// SNR.
    pub(crate) fn silence_until(&mut self, until_us: u64) {
        let (snr, next) = match &mut self.kind {
            Kind::Silent(silent) => {
                silent.until_us = until_us;
                return;
            }
            Kind::Oracle { snr, by_cqi } => (snr.clone(), Next::Oracle(*by_cqi)),
            Kind::Adapted(adapted) => (adapted.snr.clone(), Next::Adapted(adapted.config)),
            Kind::Known(_) => return,
        };
        self.kind = Kind::Silent(Box::new(Silent { until_us, snr, next }));
    }

    /// The radio as by [`radio`](Self::radio), for a slot that has not begun: a random channel is
    /// advanced on a copy.
    pub(crate) fn radio_ahead(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match &self.kind {
            Kind::Known(known) => known.radio_ahead(now_us, since_us, until_us),
            Kind::Oracle { snr, by_cqi } => {
                let snr_db = snr.ahead_db(&self.tables, now_us);
                by_cqi[usize::from(self.tables.cqi_at(snr_db))]
            }
            Kind::Adapted(adapted) => adapted.link.radio_ahead(&self.tables, now_us),
            Kind::Silent(_) => Radio::OutOfRange,
        }
    }

    /// Capacity of a slot that begins at `now_us`, as the gNB knows it; a trace counts from
    /// `since_us`, the end of the last downlink slot, to `until_us`, the end of this one.
    #[inline]
    pub(crate) fn radio(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match &self.kind {
            Kind::Known(known) => known.radio(now_us, since_us, until_us),
            Kind::Oracle { snr, by_cqi } => by_cqi[usize::from(self.tables.cqi_at(snr.now_db()))],
            Kind::Adapted(adapted) => adapted.link.radio(),
            Kind::Silent(_) => Radio::OutOfRange,
        }
    }

    /// Capacity as by [`radio`](Self::radio) of a slot that begins at `now_us`, of a block over `groups` of a
    /// cell that schedules by resource block group.
    pub(crate) fn radio_over(
        &self,
        groups: GroupSet,
        (now_us, since_us, until_us): (u64, u64, u64),
    ) -> Radio {
        match &self.kind {
            Kind::Oracle { snr, by_cqi } => {
                by_cqi[usize::from(self.tables.cqi_at(snr.over_db(groups)))]
            }
            Kind::Adapted(adapted) => adapted.link.radio_over(&self.tables, groups),
            Kind::Known(_) | Kind::Silent(_) => self.radio(now_us, since_us, until_us),
        }
    }

    /// SNR in dB that the gNB takes `groups` to have, by the last report; 0 where it knows of no difference.
    pub(crate) fn known_over_db(&self, groups: GroupSet) -> f64 {
        match &self.kind {
            Kind::Oracle { snr, .. } => snr.over_db(groups),
            Kind::Adapted(adapted) => adapted.link.reported_over_db(&self.tables, groups),
            Kind::Known(_) | Kind::Silent(_) => 0.0,
        }
    }

    /// Whether it is a record of delivered bytes, on which no block fails.
    pub(crate) fn is_trace(&self) -> bool {
        let Kind::Known(known) = &self.kind else { return false };
        matches!(known.channel, Channel::Mahimahi(_) | Channel::Rate(_))
    }

    /// The last CQI that the gNB has; `None` where it knows the radio without reports.
    pub(crate) fn reported_cqi(&self) -> Option<u8> {
        match &self.kind {
            Kind::Adapted(adapted) => Some(adapted.link.cqi()),
            Kind::Known(_) | Kind::Oracle { .. } | Kind::Silent(_) => None,
        }
    }

    /// The receiver of a new block of `bits` at `mcs`; `None` where errors are configured.
    #[inline]
    pub(crate) fn reception(&self, mcs: impl FnOnce() -> u8, bits: u32) -> Option<Reception> {
        matches!(self.kind, Kind::Adapted(_)).then(|| Reception::new(mcs(), bits))
    }

    /// Probability that a block fails in the slot up to which the channel was advanced, given that
    /// it has failed so far; over `groups`, or anywhere in the carrier without any.
    pub(crate) fn failure_rate(&self, block: &mut Reception, groups: GroupSet) -> f64 {
        match &self.kind {
            Kind::Adapted(adapted) => {
                let snr_db = adapted.snr.over_db(groups);
                block.add(&self.tables, adapted.config.combining, snr_db)
            }
            Kind::Known(_) | Kind::Oracle { .. } | Kind::Silent(_) => 0.0,
        }
    }

    /// A first transmission in the slot that begins at `now_us` is received or not.
    pub(crate) fn transmitted(&mut self, received: bool, now_us: u64) {
        if let Kind::Adapted(adapted) = &mut self.kind {
            adapted.link.transmitted(received, now_us);
        }
    }
}

/// The uplink of a channel that has an SNR.
impl ChannelState {
    /// What the gNB can grant a UE over `n_prb` PRBs; `None` where it follows from the downlink. A UE
    /// that reports to be out of range gets nothing.
    pub(crate) fn uplink_radio(&self, config: &UplinkConfig, n_prb: u16) -> Option<Radio> {
        let Kind::Adapted(adapted) = &self.kind else { return None };
        if adapted.link.radio() == Radio::OutOfRange {
            return Some(Radio::OutOfRange);
        }
        let (snr_db, offset_db) = adapted.up.known_db();
        Some(Radio::Mcs(self.tables.mcs_at(config.snr_db(snr_db, n_prb) + offset_db)))
    }

    /// Most PRBs over which the UE's power suffices for the lowest MCS, at least 1.
    pub(crate) fn uplink_most_prb(&self, config: &UplinkConfig) -> u16 {
        let Kind::Adapted(adapted) = &self.kind else { return u16::MAX };
        let (snr_db, offset_db) = adapted.up.known_db();
        let above_db = snr_db + config.snr_offset_db + offset_db - self.tables.lowest_mcs_db();
        // A float saturates.
        libm::exp10(above_db / 10.0).max(1.0) as u16
    }

    /// Failure rate as by [`failure_rate`](Self::failure_rate), of a block over `n_prb` PRBs.
    pub(crate) fn uplink_failure_rate(
        &self,
        block: &mut Reception,
        config: &UplinkConfig,
        n_prb: u16,
    ) -> f64 {
        let Kind::Adapted(adapted) = &self.kind else { return 0.0 };
        let snr_db = config.snr_db(adapted.snr.now_db(), n_prb);
        block.add(&self.tables, adapted.config.combining, snr_db)
    }

    /// The gNB has received a first transmission or not.
    pub(crate) fn uplink_transmitted(&mut self, received: bool) {
        if let Kind::Adapted(adapted) = &mut self.kind {
            adapted.up.received(received);
        }
    }
}

/// Radio of each CQI, by a mapping of its own or by the cell's tables.
fn by_cqi(own: Option<&[u8; 15]>, cell: &CellConfig) -> [Radio; 16] {
    let mut by_cqi = [Radio::OutOfRange; 16];
    for cqi in 1..=15u8 {
        let mcs = match own {
            Some(mcs) => Some(mcs[usize::from(cqi) - 1]),
            None => cqi::mcs_of_cqi(&cell.tbs, cqi),
        };
        by_cqi[usize::from(cqi)] = mcs.map_or(Radio::OutOfRange, Radio::Mcs);
    }
    by_cqi
}

impl Adapted {
    fn new(snr: Snr, config: AdaptationConfig, tables: &LinkTables, now_us: u64) -> Self {
        let link = LinkAdaptation::new(config, tables, snr.report(tables), now_us);
        let up = UplinkAdaptation::new(config, snr.now_db());
        Self { snr, link, up, config, next_report_us: now_us }
    }

    fn advance(&mut self, tables: &LinkTables, is_active: bool, now_us: u64) {
        self.snr.advance(tables, now_us);
        if is_active && self.next_report_us <= now_us {
            self.link.report(self.snr.report(tables), now_us);
            self.up.measure(self.snr.now_db(), now_us);
            self.next_report_us = now_us + u64::from(self.config.cqi_period_us);
        }
        self.link.advance(tables, now_us);
        self.up.advance(now_us);
    }
}

impl Known {
    fn new(channel: Channel, cell: &CellConfig, mut rng: Rng, now_us: u64) -> Self {
        let own = match &channel {
            Channel::CqiSeries(series) => series.cqi_to_mcs(),
            _ => None,
        };
        let by_cqi = by_cqi(own, cell);
        let random = match &channel {
            Channel::Mobility(chain) => {
                let period_us = chain.period_us();
                let mcs = chain.begin(&mut rng);
                // Values change at multiples of the period, whenever the UE was added.
                let next_us = (now_us / period_us).saturating_add(1).saturating_mul(period_us);
                Some(Random { chain: chain.clone(), mcs, rng, period_us, next_us })
            }
            _ => None,
        };
        Self { channel, by_cqi, random }
    }

    fn advance(&mut self, now_us: u64) {
        if let Some(random) = &mut self.random {
            random.advance(now_us);
        }
    }

    fn radio_ahead(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match &self.random {
            Some(random) if random.next_us <= now_us => {
                let mut random = random.clone();
                random.advance(now_us);
                Radio::Mcs(random.mcs)
            }
            _ => self.radio(now_us, since_us, until_us),
        }
    }

    #[inline]
    fn radio(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match (&self.random, &self.channel) {
            (Some(random), _) => Radio::Mcs(random.mcs),
            (None, Channel::FixedMcs(mcs)) => Radio::Mcs(*mcs),
            (None, Channel::McsSeries(series)) => Radio::Mcs(series.at(now_us)),
            (None, Channel::CqiSeries(series)) => self.by_cqi[usize::from(series.at(now_us))],
            (None, Channel::Rate(series)) => Radio::Bytes(series.bytes_between(since_us, until_us)),
            (None, Channel::Mahimahi(trace)) => {
                Radio::Bytes(trace.bytes_between(since_us, until_us))
            }
            // Channels of SNR and of random MCS have a state of their own.
            (None, _) => Radio::OutOfRange,
        }
    }
}

impl Random {
    fn advance(&mut self, now_us: u64) {
        while self.next_us <= now_us {
            self.mcs = self.chain.next(self.mcs, &mut self.rng);
            let Some(next_us) = self.next_us.checked_add(self.period_us) else { break };
            self.next_us = next_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::GaussMarkov;

    #[test]
    fn radio_ahead_predicts_the_slot_and_draws_nothing() {
        let config = GaussMarkov {
            mean_snr_db: 12.0,
            std_dev_db: 5.0,
            coherence_us: 20_000,
            period_us: 10_000,
        };
        let cell = CellConfig::lte_5mhz();
        let tables = Arc::new(cell.link_tables());
        let known = Channel::GaussMarkov(config);
        for channel in [known.clone(), Channel::Ideal(Box::new(known))] {
            let mut tuned = ChannelState::new(channel, &cell, &tables, Rng::new(3, 1), 0);
            let (mut last, mut changes) = (tuned.radio(0, 0, 0), 0u32);
            for now_us in (1_000..2_000_000).step_by(1_000) {
                let ahead = tuned.radio_ahead(now_us, 0, 0);
                assert_eq!(tuned.radio(now_us, 0, 0), last, "radio_ahead draws nothing");
                tuned.advance(true, now_us);
                let now = tuned.radio(now_us, 0, 0);
                assert_eq!(ahead, now, "at {now_us} µs");
                changes += u32::from(now != last);
                last = now;
                tuned.transmitted(now_us % 7_000 != 0, now_us);
            }
            assert!(changes > 50, "{changes} changes in 200 periods");
        }
    }
}
