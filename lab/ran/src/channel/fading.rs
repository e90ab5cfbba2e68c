//! The SNR of a UE that moves: mean by path loss or as given, shadowing, fast fading, interference.

use super::gauss_markov::Normal;
use super::path_loss::{LIGHT_M_S, LinkBudget, Shadowing};
use super::route::Route;
use super::series::SNR_DB;
use super::tdl::{BANDS, Tdl, TdlConfig, TdlProfile, bands};
use crate::error::{ConfigError, ensure};
use crate::phy::link::LOWEST_SNR;
use crate::rng::Rng;

/// Channel of a UE that moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// Mean SNR over the carrier.
    pub mean: MeanSnr,
    /// Shadowing; by the deployment if `None` and the mean has one, none otherwise.
    pub shadowing: Option<Shadowing>,
    /// Profile of the taps.
    pub profile: TdlProfile,
    /// Root mean square delay spread, ns.
    pub delay_spread_ns: f64,
    /// Speed, which sets Doppler shift and pace of shadowing.
    pub speed_kmh: f64,
    /// Carrier frequency.
    pub carrier_ghz: f64,
    /// Antennas of the UE, whose signals are combined; the mean SNR is that after combining.
    pub antennas: u8,
    /// Interference by neighbour cells.
    pub interference: Option<Interference>,
}

/// Where the mean SNR comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MeanSnr {
    /// A value in dB.
    Given(f64),
    /// Path loss and link budget.
    Path(LinkBudget),
    /// The same along a way, at each place of which the distance sets the path loss in place of that of the
    /// budget.
    Route(LinkBudget, Route),
}

/// Neighbour cells that send at times: noise and interference are `rise_db` above thermal noise
/// then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interference {
    /// Rise over thermal noise while neighbours send, dB.
    pub rise_db: f64,
    /// Share of the time in which they do.
    pub load: f64,
    /// Mean duration of a burst, µs.
    pub burst_us: u32,
}

/// Steps of a period of the largest Doppler shift, and the limits of a step.
const STEPS_PER_DOPPLER: f64 = 20.0;
const MAX_STEP_US: u64 = 10_000;

// The root below is the eighth.
const _: () = assert!(BANDS == 8);

impl Fading {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match &self.mean {
            MeanSnr::Given(mean) => {
                ensure(SNR_DB.contains(mean), "channel.mean_snr_db", mean, "-50 to 80 dB")?;
            }
            MeanSnr::Path(budget) => budget.validate()?,
            MeanSnr::Route(budget, route) => {
                budget.at(route.largest_distance_m()).validate()?;
            }
        }
        for (field, value, range) in [
            ("delay_spread_ns", self.delay_spread_ns, 0.0..=10_000.0),
            ("speed_kmh", self.speed_kmh, 0.0..=1_000.0),
            ("carrier_ghz", self.carrier_ghz, 0.1..=100.0),
        ] {
            let expected = format!("{} to {}", range.start(), range.end());
            ensure(range.contains(&value), format!("channel.{field}"), value, expected)?;
        }
        let antennas = self.antennas;
        ensure((1..=8).contains(&antennas), "channel.antennas", antennas, "1 to 8")?;
        if let Some(Shadowing { std_dev_db, correlation_m }) = self.shadowing {
            let path = "channel.shadowing";
            let expected = "0 to 40 dB";
            ensure(
                (0.0..=40.0).contains(&std_dev_db),
                format!("{path}.std_dev_db"),
                std_dev_db,
                expected,
            )?;
            let expected = "0.1 to 10000 m";
            let is_possible = (0.1..=10_000.0).contains(&correlation_m);
            ensure(is_possible, format!("{path}.correlation_m"), correlation_m, expected)?;
        }
        if let Some(Interference { rise_db, load, burst_us }) = self.interference {
            let path = "channel.interference";
            ensure(
                (0.0..=60.0).contains(&rise_db),
                format!("{path}.rise_db"),
                rise_db,
                "0 to 60 dB",
            )?;
            ensure((0.0..=1.0).contains(&load), format!("{path}.load"), load, "0 to 1")?;
            ensure(burst_us > 0, format!("{path}.burst_us"), burst_us, "1 or more")?;
        }
        Ok(())
    }

    fn doppler_hz(&self) -> f64 {
        self.speed_kmh / 3.6 * self.carrier_ghz * 1e9 / LIGHT_M_S
    }

    /// Time of a step in a cell whose slots have `slot_us`: a twentieth of the fastest fade, in
    /// whole slots.
    pub(super) fn step_us(&self, slot_us: u32) -> u64 {
        let slot_us = u64::from(slot_us);
        let wanted_us = 1e6 / (STEPS_PER_DOPPLER * self.doppler_hz()).max(1.0);
        let slots = (wanted_us.min(MAX_STEP_US as f64) as u64 / slot_us).max(1);
        slots * slot_us
    }
}

/// State of the SNR.
#[derive(Debug, Clone)]
pub(super) struct FadingProcess {
    mean_db: f64,
    moving: Option<Moving>,
    shadowing: Option<Shadow>,
    tdl: Tdl,
    interference: Option<Bursts>,
}

/// A UE on its way.
#[derive(Debug, Clone)]
struct Moving {
    budget: LinkBudget,
    route: Route,
    line_of_sight: bool,
    travelled_m: f64,
    step_m: f64,
    carrier_ghz: f64,
    bandwidth_hz: f64,
}

impl Moving {
    fn mean_db(&self) -> f64 {
        let budget = self.budget.at(self.route.distance_m(self.travelled_m));
        budget.snr_db(self.carrier_ghz, self.bandwidth_hz, self.line_of_sight)
    }

    fn step(&mut self) -> f64 {
        self.travelled_m += self.step_m;
        self.mean_db()
    }
}

#[derive(Debug, Clone)]
struct Shadow {
    off_db: f64,
    std_dev_db: f64,
    correlation: f64,
    normal: Normal,
}

/// Bursts of interference: an on-off Markov chain.
#[derive(Debug, Clone)]
struct Bursts {
    is_on: bool,
    rise_db: f64,
    begin: f64,
    end: f64,
}

impl FadingProcess {
    /// A random start, for a carrier of `bandwidth_hz` and slots of `slot_us`; `pieces` are the middles of
    /// those of which the capacity is wanted.
    pub(super) fn new(
        config: &Fading,
        bandwidth_hz: f64,
        slot_us: u32,
        pieces: Option<Vec<f64>>,
        rng: &mut Rng,
    ) -> Self {
        let step_s = config.step_us(slot_us) as f64 / 1e6;
        let mut sight = |budget: &LinkBudget| {
            let probability = budget.deployment.line_of_sight_probability(budget.distance_m);
            budget.line_of_sight.unwrap_or_else(|| rng.chance(probability))
        };
        let (mean_db, own, moving) = match &config.mean {
            MeanSnr::Given(mean_db) => (*mean_db, None, None),
            MeanSnr::Path(budget) => {
                let line_of_sight = sight(budget);
                let mean_db = budget.snr_db(config.carrier_ghz, bandwidth_hz, line_of_sight);
                (mean_db, Some(budget.deployment.shadowing(line_of_sight)), None)
            }
            MeanSnr::Route(budget, route) => {
                let budget = budget.at(route.distance_m(0.0));
                let line_of_sight = sight(&budget);
                let moving = Moving {
                    budget,
                    route: *route,
                    line_of_sight,
                    travelled_m: 0.0,
                    step_m: config.speed_kmh / 3.6 * step_s,
                    carrier_ghz: config.carrier_ghz,
                    bandwidth_hz,
                };
                let own = budget.deployment.shadowing(line_of_sight);
                (moving.mean_db(), Some(own), Some(moving))
            }
        };
        let shadowing = config.shadowing.or(own).map(|shadowing| {
            let mut normal = Normal::default();
            let step_m = config.speed_kmh / 3.6 * step_s;
            Shadow {
                off_db: shadowing.std_dev_db * normal.draw(rng),
                std_dev_db: shadowing.std_dev_db,
                correlation: libm::exp(-step_m / shadowing.correlation_m),
                normal,
            }
        });
        let tdl = TdlConfig {
            profile: config.profile,
            delay_spread_s: config.delay_spread_ns * 1e-9,
            doppler_hz: config.doppler_hz(),
            bandwidth_hz,
            antennas: config.antennas,
            step_s,
            places: pieces.unwrap_or_else(bands),
        };
        let interference = config.interference.map(|interference| {
            let Interference { rise_db, load, burst_us } = interference;
            let end = (step_s * 1e6 / f64::from(burst_us)).min(1.0);
            // Balance of beginnings and ends.
            let begin = if load < 1.0 { (end * load / (1.0 - load)).min(1.0) } else { 1.0 };
            let end = if load < 1.0 { end } else { 0.0 };
            Bursts { is_on: rng.chance(load), rise_db, begin, end }
        });
        Self { mean_db, moving, shadowing, tdl: Tdl::new(&tdl, rng), interference }
    }

    pub(super) fn step(&mut self, rng: &mut Rng) {
        self.tdl.step();
        if let Some(moving) = &mut self.moving {
            self.mean_db = moving.step();
        }
        if let Some(shadow) = &mut self.shadowing {
            let innovation = (1.0 - shadow.correlation * shadow.correlation).sqrt();
            shadow.off_db = shadow.correlation * shadow.off_db
                + shadow.std_dev_db * innovation * shadow.normal.draw(rng);
        }
        if let Some(bursts) = &mut self.interference {
            let change = if bursts.is_on { bursts.end } else { bursts.begin };
            bursts.is_on ^= rng.chance(change);
        }
    }

    /// SNR at a gain of 1.
    fn mean_snr(&self) -> f64 {
        let shadow_db = self.shadowing.as_ref().map_or(0.0, |shadow| shadow.off_db);
        let rise_db =
            self.interference.as_ref().map_or(0.0, |b| if b.is_on { b.rise_db } else { 0.0 });
        libm::exp10((self.mean_db + shadow_db - rise_db) / 10.0)
    }

    /// Capacity of each piece, nats for each symbol.
    pub(super) fn capacities(&self) -> impl Iterator<Item = f64> + '_ {
        let snr = self.mean_snr();
        self.tdl.all_gains().map(move |gain| libm::log1p(snr * gain))
    }

    /// SNR in dB of a flat channel with the mean capacity of the bands.
    pub(super) fn snr_db(&self) -> f64 {
        let snr = self.mean_snr();
        // The mean of log (1 + SNR) over the bands, as a product and its root.
        let product: f64 = self.tdl.gains().iter().map(|gain| 1.0 + snr * gain).product();
        let mean_capacity = product.sqrt().sqrt().sqrt() - 1.0;
        10.0 * libm::log10(mean_capacity.max(LOWEST_SNR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::path_loss::Deployment;

    fn fading() -> Fading {
        Fading {
            mean: MeanSnr::Given(15.0),
            shadowing: None,
            profile: TdlProfile::C,
            delay_spread_ns: 100.0,
            speed_kmh: 3.0,
            carrier_ghz: 3.5,
            antennas: 2,
            interference: None,
        }
    }

    fn series(config: &Fading, seed: u64, steps: usize) -> Vec<f64> {
        let mut rng = Rng::new(seed, 1);
        let mut process = FadingProcess::new(config, 38.16e6, 500, None, &mut rng);
        (0..steps)
            .map(|_| {
                process.step(&mut rng);
                process.snr_db()
            })
            .collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn steps_follow_the_speed() {
        let at = |speed_kmh| Fading { speed_kmh, ..fading() }.step_us(500);
        // 9.7 Hz, 97 Hz and 389 Hz of Doppler.
        assert_eq!([0.0, 3.0, 30.0, 120.0].map(at), [10_000, 5_000, 500, 500]);
    }

    #[test]
    fn a_ue_that_stands_keeps_its_snr_and_one_that_moves_fades() {
        let spread = |speed_kmh| {
            let values = series(&Fading { speed_kmh, ..fading() }, 5, 2_000);
            let mean = mean(&values);
            (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 2_000.0).sqrt()
        };
        assert!(spread(0.0) < 1e-9);
        assert!(spread(3.0) > 0.5);
    }

    #[test]
    fn shadowing_has_its_deviation_and_pace() {
        let shadowing = Some(Shadowing { std_dev_db: 6.0, correlation_m: 50.0 });
        let config = Fading { shadowing, profile: TdlProfile::E, speed_kmh: 60.0, ..fading() };
        let means: Vec<f64> = (0..400).map(|seed| series(&config, seed, 1)[0]).collect();
        let mean_db = mean(&means);
        let deviation = (means.iter().map(|v| (v - mean_db).powi(2)).sum::<f64>() / 400.0).sqrt();
        assert!((deviation - 6.0).abs() < 0.7, "{deviation}");
        // 50 m at 16.7 m/s are 3 s, 6000 steps.
        let values = series(&config, 3, 6_000);
        let (first, last) = (mean(&values[..100]), mean(&values[5_900..]));
        assert!((first - last).abs() > 0.5, "{first} {last}");
    }

    #[test]
    fn neighbours_take_their_rise_for_their_share_of_the_time() {
        let interference = Some(Interference { rise_db: 10.0, load: 0.3, burst_us: 50_000 });
        let quiet = Fading { speed_kmh: 0.0, ..fading() };
        let base = series(&quiet, 5, 1)[0];
        let values = series(&Fading { interference, ..quiet }, 5, 100_000);
        let hit = values.iter().filter(|value| **value < base - 5.0).count() as f64 / 100_000.0;
        assert!((hit - 0.3).abs() < 0.03, "{hit}");
    }

    #[test]
    fn a_place_sets_mean_and_shadowing() {
        let at = |distance_m| {
            let budget = LinkBudget {
                deployment: Deployment::UMi,
                distance_m,
                line_of_sight: Some(false),
                tx_power_dbm: 44.0,
                antenna_gain_db: 8.0,
                noise_figure_db: 9.0,
            };
            let config = Fading { mean: MeanSnr::Path(budget), ..fading() };
            config.validate().unwrap();
            let all: Vec<f64> = (0..200).map(|seed| series(&config, seed, 1)[0]).collect();
            mean(&all)
        };
        assert!(at(50.0) > at(100.0) + 5.0 && at(100.0) > at(300.0) + 10.0);
    }

    #[test]
    fn a_ue_on_its_way_has_the_mean_of_each_place() {
        let budget = LinkBudget {
            deployment: Deployment::UMa,
            distance_m: 10.0,
            line_of_sight: Some(true),
            tx_power_dbm: 49.0,
            antenna_gain_db: 8.0,
            noise_figure_db: 9.0,
        };
        let route = Route { from_m: [100.0, 0.0], to_m: [1_100.0, 0.0], base_m: [0.0, 0.0] };
        let config = Fading { mean: MeanSnr::Route(budget, route), speed_kmh: 72.0, ..fading() };
        config.validate().unwrap();
        let mut rng = Rng::new(1, 1);
        let mut process = FadingProcess::new(&config, 38.16e6, 500, None, &mut rng);
        let mean_db = |distance_m| budget.at(distance_m).snr_db(3.5, 38.16e6, true);
        assert_eq!(process.mean_db, mean_db(100.0));
        // 20 m/s for 30 s in steps of a slot.
        (0..60_000).for_each(|_| process.step(&mut rng));
        assert!((process.mean_db - mean_db(700.0)).abs() < 0.01, "{}", process.mean_db);
        let far = Route { to_m: [6_000.0, 0.0], ..route };
        let error = Fading { mean: MeanSnr::Route(budget, far), ..config }.validate().unwrap_err();
        assert_eq!(error.to_string(), "channel.path.distance_m: 6000; expected 10 to 5000 m");
    }

    #[test]
    fn invalid_values_are_refused() {
        for (config, expected) in [
            (
                Fading { speed_kmh: f64::NAN, ..fading() },
                "channel.speed_kmh: NaN; expected 0 to 1000",
            ),
            (Fading { antennas: 0, ..fading() }, "channel.antennas: 0; expected 1 to 8"),
            (
                Fading {
                    interference: Some(Interference { rise_db: 3.0, load: 1.5, burst_us: 1 }),
                    ..fading()
                },
                "channel.interference.load: 1.5; expected 0 to 1",
            ),
        ] {
            assert_eq!(config.validate().unwrap_err().to_string(), expected);
        }
    }
}
