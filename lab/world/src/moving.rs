//! Channels of UEs that move, from a scenario.

use ran::{Channel, Deployment, LinkBudget, MeanSnr, MobilityPattern, Route, TdlProfile};

/// A fading channel of a UE on a way, to a base station at `base_m`; others stay.
pub(super) fn along(channel: &Channel, route_m: [[f64; 2]; 2], base_m: [f64; 2]) -> Channel {
    match channel {
        Channel::Ideal(channel) => Channel::Ideal(Box::new(along(channel, route_m, base_m))),
        Channel::Fading(fading) => {
            let [from_m, to_m] = route_m;
            let route = Route { from_m, to_m, base_m };
            let mean = match fading.mean {
                MeanSnr::Path(budget) | MeanSnr::Route(budget, _) => MeanSnr::Route(budget, route),
                MeanSnr::Given(mean_db) => MeanSnr::Given(mean_db),
            };
            Channel::Fading(ran::Fading { mean, ..*fading })
        }
        other => other.clone(),
    }
}

/// Channel by the models of 38.901.
pub(super) fn fading(fading: &lab_scenario::Fading) -> ran::Fading {
    let mean = match (&fading.path, fading.mean_snr_db) {
        (Some(path), _) => {
            let deployment = match path.model {
                lab_scenario::Deployment::Uma => Deployment::UMa,
                lab_scenario::Deployment::Umi => Deployment::UMi,
                lab_scenario::Deployment::Rma => Deployment::RMa,
                lab_scenario::Deployment::Inh => Deployment::InH,
            };
            MeanSnr::Path(LinkBudget {
                deployment,
                // That of the way where there is one.
                distance_m: path.distance_m.unwrap_or_default(),
                line_of_sight: path.line_of_sight,
                tx_power_dbm: path.tx_power_dbm.unwrap_or(deployment.tx_power_dbm()),
                antenna_gain_db: path.antenna_gain_db,
                noise_figure_db: path.noise_figure_db,
            })
        }
        (None, mean) => MeanSnr::Given(mean.unwrap_or_default()),
    };
    ran::Fading {
        mean,
        shadowing: fading.shadowing.map(|shadowing| ran::Shadowing {
            std_dev_db: shadowing.std_dev_db,
            correlation_m: shadowing.correlation_m,
        }),
        profile: match fading.profile {
            lab_scenario::Profile::TdlA => TdlProfile::A,
            lab_scenario::Profile::TdlB => TdlProfile::B,
            lab_scenario::Profile::TdlC => TdlProfile::C,
            lab_scenario::Profile::TdlD => TdlProfile::D,
            lab_scenario::Profile::TdlE => TdlProfile::E,
        },
        delay_spread_ns: fading.delay_spread_ns,
        speed_kmh: fading.speed_kmh,
        carrier_ghz: fading.carrier_ghz,
        antennas: fading.antennas,
        interference: fading.interference.map(|interference| ran::Interference {
            rise_db: interference.rise_db,
            load: interference.load,
            burst_us: interference.burst_ms * 1000,
        }),
    }
}

/// Markov chain of MCS.
pub(super) fn mobility(mobility: &lab_scenario::Mobility) -> ran::MobilityModel {
    let pattern = match mobility.pattern {
        lab_scenario::MobilityPattern::Static => MobilityPattern::Static,
        lab_scenario::MobilityPattern::Pedestrian => MobilityPattern::Pedestrian,
        lab_scenario::MobilityPattern::Car => MobilityPattern::Car,
        lab_scenario::MobilityPattern::Tram => MobilityPattern::Tram,
        lab_scenario::MobilityPattern::Train => MobilityPattern::Train,
    };
    let base = pattern.model();
    let us = |ms: Option<u32>, base: u64| ms.map_or(base, |ms| u64::from(ms) * 1000);
    ran::MobilityModel {
        mean_mcs: mobility.mean_mcs.unwrap_or(base.mean_mcs),
        std_dev_mcs: mobility.std_dev_mcs.unwrap_or(base.std_dev_mcs),
        coherence_us: us(mobility.coherence_ms, base.coherence_us),
        period_us: us(mobility.period_ms, base.period_us),
    }
}
