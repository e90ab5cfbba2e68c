//! State of a UE's channel in a cell.

use super::gauss_markov::Process;
use super::mobility::McsChain;
use super::{Channel, Radio};
use crate::config::CellConfig;
use crate::mac::cqi;
use crate::rng::Rng;

/// A channel with its state and the cell's tables.
#[derive(Debug, Clone)]
pub(crate) struct ChannelState {
    channel: Channel,
    /// Indexed by CQI.
    by_cqi: [Radio; 16],
    random: Option<Random>,
}

/// A channel drawn from the seed, step by step.
#[derive(Debug, Clone)]
struct Random {
    kind: Kind,
    rng: Rng,
    period_us: u64,
    next_us: u64,
    now: Radio,
}

#[derive(Debug, Clone)]
enum Kind {
    GaussMarkov { process: Process, thresholds_db: [f64; 15] },
    Mobility { chain: McsChain, mcs: u8 },
}

impl ChannelState {
    /// A valid channel, from `now_us` on.
    pub(crate) fn new(channel: Channel, cell: &CellConfig, mut rng: Rng, now_us: u64) -> Self {
        let tbs = &cell.tbs;
        let mut by_cqi = [Radio::OutOfRange; 16];
        for cqi in 1..=15u8 {
            let own = match &channel {
                Channel::CqiSeries(series) => series.cqi_to_mcs(),
                _ => None,
            };
            let mcs = match own {
                Some(mcs) => Some(mcs[usize::from(cqi) - 1]),
                None => cqi::mcs_of_cqi(tbs, cqi),
            };
            by_cqi[usize::from(cqi)] = mcs.map_or(Radio::OutOfRange, Radio::Mcs);
        }
        let kind = match &channel {
            Channel::GaussMarkov(config) => Some((
                Kind::GaussMarkov {
                    process: Process::new(config, &mut rng),
                    thresholds_db: cqi::snr_thresholds_db(tbs, cell.n_prb),
                },
                config.period_us,
            )),
            Channel::Mobility(chain) => {
                let mcs = chain.begin(&mut rng);
                Some((Kind::Mobility { chain: chain.clone(), mcs }, chain.period_us()))
            }
            _ => None,
        };
        let random = kind.map(|(kind, period_us)| {
            let now = kind.radio(&by_cqi);
            // Values change at multiples of the period, whenever the UE was added.
            let next_us = (now_us / period_us).saturating_add(1).saturating_mul(period_us);
            Random { kind, rng, period_us, next_us, now }
        });
        Self { channel, by_cqi, random }
    }

    /// Whether [`advance`](Self::advance) has an effect.
    pub(crate) fn is_random(&self) -> bool {
        self.random.is_some()
    }

    /// Advances a random channel to `now_us`.
    pub(crate) fn advance(&mut self, now_us: u64) {
        if let Some(random) = &mut self.random {
            random.advance(now_us, &self.by_cqi);
        }
    }

    /// The radio as by [`radio`](Self::radio), for a slot that has not begun: a random channel is
    /// advanced on a copy.
    pub(crate) fn radio_ahead(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match &self.random {
            Some(random) if random.next_us <= now_us => {
                let mut random = random.clone();
                random.advance(now_us, &self.by_cqi);
                random.now
            }
            _ => self.radio(now_us, since_us, until_us),
        }
    }

    /// Capacity of a slot that begins at `now_us`; a trace counts from `since_us`, the end of the last
    /// downlink slot, to `until_us`, the end of this one.
    pub(crate) fn radio(&self, now_us: u64, since_us: u64, until_us: u64) -> Radio {
        match (&self.random, &self.channel) {
            (Some(random), _) => random.now,
            (None, Channel::FixedMcs(mcs)) => Radio::Mcs(*mcs),
            (None, Channel::McsSeries(series)) => Radio::Mcs(series.at(now_us)),
            (None, Channel::CqiSeries(series)) => self.by_cqi[usize::from(series.at(now_us))],
            (None, Channel::Rate(series)) => Radio::Bytes(series.bytes_between(since_us, until_us)),
            (None, Channel::Mahimahi(trace)) => {
                Radio::Bytes(trace.bytes_between(since_us, until_us))
            }
            (None, Channel::GaussMarkov(_) | Channel::Mobility(_)) => Radio::OutOfRange,
        }
    }

    /// Whether it is a record of delivered bytes, on which no block fails.
    pub(crate) fn is_trace(&self) -> bool {
        matches!(self.channel, Channel::Mahimahi(_) | Channel::Rate(_))
    }
}

impl Random {
    fn advance(&mut self, now_us: u64, by_cqi: &[Radio; 16]) {
        if now_us < self.next_us {
            return;
        }
        while self.next_us <= now_us {
            self.kind.step(&mut self.rng);
            let Some(next_us) = self.next_us.checked_add(self.period_us) else { break };
            self.next_us = next_us;
        }
        self.now = self.kind.radio(by_cqi);
    }
}

impl Kind {
    fn step(&mut self, rng: &mut Rng) {
        match self {
            Self::GaussMarkov { process, .. } => process.step(rng),
            Self::Mobility { chain, mcs } => *mcs = chain.next(*mcs, rng),
        }
    }

    fn radio(&self, by_cqi: &[Radio; 16]) -> Radio {
        match self {
            Self::GaussMarkov { process, thresholds_db } => {
                let snr_db = process.snr_db();
                by_cqi[thresholds_db.partition_point(|threshold| *threshold <= snr_db)]
            }
            Self::Mobility { mcs, .. } => Radio::Mcs(*mcs),
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
        let channel = Channel::GaussMarkov(config);
        let mut tuned = ChannelState::new(channel, &CellConfig::lte_5mhz(), Rng::new(3, 1), 0);
        let (mut last, mut changes) = (tuned.radio(0, 0, 0), 0u32);
        for now_us in (1_000..2_000_000).step_by(1_000) {
            let ahead = tuned.radio_ahead(now_us, 0, 0);
            assert_eq!(tuned.radio(now_us, 0, 0), last, "radio_ahead draws nothing");
            tuned.advance(now_us);
            let now = tuned.radio(now_us, 0, 0);
            assert_eq!(ahead, now, "at {now_us} µs");
            changes += u32::from(now != last);
            last = now;
        }
        assert!(changes > 50, "{changes} changes in 200 periods");
    }
}
