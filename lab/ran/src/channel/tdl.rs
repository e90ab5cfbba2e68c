//! Tapped delay lines of 38.901 §7.7.2 and the fast fading of their taps.

use std::f64::consts::TAU;

use crate::rng::Rng;

/// A profile of 38.901 tables 7.7.2-1 to -5: A to C without, D and E with a line of sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TdlProfile {
    /// Table 7.7.2-1.
    A,
    /// Table 7.7.2-2.
    B,
    /// Table 7.7.2-3.
    C,
    /// Table 7.7.2-4.
    D,
    /// Table 7.7.2-5.
    E,
}

/// Delay over the delay spread, and power in dB.
type TapRow = (f64, f64);

const A: &[TapRow] = &[
    (0.0, -13.4),
    (0.3819, 0.0),
    (0.4025, -2.2),
    (0.5868, -4.0),
    (0.4610, -6.0),
    (0.5375, -8.2),
    (0.6708, -9.9),
    (0.5750, -10.5),
    (0.7618, -7.5),
    (1.5375, -15.9),
    (1.8978, -6.6),
    (2.2242, -16.7),
    (2.1718, -12.4),
    (2.4942, -15.2),
    (2.5119, -10.8),
    (3.0582, -11.3),
    (4.0810, -12.7),
    (4.4579, -16.2),
    (4.5695, -18.3),
    (4.7966, -18.9),
    (5.0066, -16.6),
    (5.3043, -19.9),
    (9.6586, -29.7),
];

const B: &[TapRow] = &[
    (0.0, 0.0),
    (0.1072, -2.2),
    (0.2155, -4.0),
    (0.2095, -3.2),
    (0.2870, -9.8),
    (0.2986, -1.2),
    (0.3752, -3.4),
    (0.5055, -5.2),
    (0.3681, -7.6),
    (0.3697, -3.0),
    (0.5700, -8.9),
    (0.5283, -9.0),
    (1.1021, -4.8),
    (1.2756, -5.7),
    (1.5474, -7.5),
    (1.7842, -1.9),
    (2.0169, -7.6),
    (2.8294, -12.2),
    (3.0219, -9.8),
    (3.6187, -11.4),
    (4.1067, -14.9),
    (4.2790, -9.2),
    (4.7834, -11.3),
];

#[expect(clippy::approx_constant, reason = "a delay of the table is near 2/π")]
const C: &[TapRow] = &[
    (0.0, -4.4),
    (0.2099, -1.2),
    (0.2219, -3.5),
    (0.2329, -5.2),
    (0.2176, -2.5),
    (0.6366, 0.0),
    (0.6448, -2.2),
    (0.6560, -3.9),
    (0.6584, -7.4),
    (0.7935, -7.1),
    (0.8213, -10.7),
    (0.9336, -11.1),
    (1.2285, -5.1),
    (1.3083, -6.8),
    (2.1704, -8.7),
    (2.7105, -13.2),
    (4.2589, -13.9),
    (4.6003, -13.9),
    (5.4902, -15.8),
    (5.6077, -17.1),
    (6.3065, -16.0),
    (6.6374, -15.7),
    (7.0427, -21.6),
    (8.6523, -22.8),
];

const D: &[TapRow] = &[
    (0.0, -13.5),
    (0.035, -18.8),
    (0.612, -21.0),
    (1.363, -22.8),
    (1.405, -17.9),
    (1.804, -20.1),
    (2.596, -21.9),
    (1.775, -22.9),
    (4.042, -27.8),
    (7.937, -23.6),
    (9.424, -24.8),
    (9.708, -30.0),
    (12.525, -27.7),
];

const E: &[TapRow] = &[
    (0.0, -22.03),
    (0.5133, -15.8),
    (0.5440, -18.1),
    (0.5630, -19.8),
    (0.5440, -22.9),
    (0.7112, -22.4),
    (1.9092, -18.6),
    (1.9293, -20.8),
    (1.9589, -22.6),
    (2.6426, -22.3),
    (3.7136, -25.6),
    (5.4524, -20.2),
    (12.0034, -29.8),
    (20.6519, -29.2),
];

impl TdlProfile {
    /// Taps that fade.
    const fn taps(self) -> &'static [TapRow] {
        match self {
            Self::A => A,
            Self::B => B,
            Self::C => C,
            Self::D => D,
            Self::E => E,
        }
    }

    /// Power of the line of sight at delay 0, in dB.
    const fn line_of_sight_db(self) -> Option<f64> {
        match self {
            Self::A | Self::B | Self::C => None,
            Self::D => Some(-0.2),
            Self::E => Some(-0.03),
        }
    }
}

/// Sinusoids of a tap. Sums of eight with random phases are within a few percent of Rayleigh's
/// distribution.
const SINUSOIDS: usize = 8;

/// Doppler shift of the line of sight over the largest (38.901 §7.7.2).
const LINE_OF_SIGHT_DOPPLER: f64 = 0.7;

/// Bands in which the gain is computed where nothing depends on the place of a block in the carrier; it sees
/// their mean capacity. Others are computed so many at once.
pub(super) const BANDS: usize = 8;

/// A complex number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn of_phase(radians: f64) -> Self {
        let (im, re) = libm::sincos(radians);
        Self { re, im }
    }

    fn times(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }

    fn scaled(self, factor: f64) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }
}

/// Real and imaginary parts of as many complex numbers, apart so that they are computed at once.
#[derive(Debug, Clone, Copy)]
struct Complexes<const N: usize> {
    re: [f64; N],
    im: [f64; N],
}

impl<const N: usize> Complexes<N> {
    const ZERO: Self = Self { re: [0.0; N], im: [0.0; N] };

    fn of(numbers: [Complex; N]) -> Self {
        Self { re: numbers.map(|number| number.re), im: numbers.map(|number| number.im) }
    }

    /// Multiplies each by its own factor.
    fn multiply(&mut self, factors: &Self) {
        for at in 0..N {
            let (re, im) = (self.re[at], self.im[at]);
            self.re[at] = re * factors.re[at] - im * factors.im[at];
            self.im[at] = re * factors.im[at] + im * factors.re[at];
        }
    }

    /// Adds `numbers`, all times `factor`.
    fn add_times(&mut self, numbers: &Self, factor: Complex) {
        for at in 0..N {
            self.re[at] += numbers.re[at] * factor.re - numbers.im[at] * factor.im;
            self.im[at] += numbers.re[at] * factor.im + numbers.im[at] * factor.re;
        }
    }

    fn sum(&self) -> Complex {
        Complex { re: self.re.iter().sum(), im: self.im.iter().sum() }
    }
}

/// The sinusoids of a tap and their turns in one step.
#[derive(Debug, Clone)]
struct Tap {
    now: Complexes<SINUSOIDS>,
    turn: Complexes<SINUSOIDS>,
}

/// Fast fading of one receiving antenna.
#[derive(Debug, Clone)]
struct Antenna {
    taps: Vec<Tap>,
    /// Line of sight and its turn in one step.
    sight: Option<(Complex, Complex)>,
}

/// Shape of the fading of a UE.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TdlConfig {
    /// Profile.
    pub(super) profile: TdlProfile,
    /// Scale of the delays.
    pub(super) delay_spread_s: f64,
    /// Largest Doppler shift.
    pub(super) doppler_hz: f64,
    /// Width of the carrier.
    pub(super) bandwidth_hz: f64,
    /// Antennas of the UE, which fade independently and are combined.
    pub(super) antennas: u8,
    /// Time of a step.
    pub(super) step_s: f64,
    /// Frequencies at which the gain is wanted, of the carrier's width from its middle.
    pub(super) places: Vec<f64>,
}

/// Middles of [`BANDS`] bands of the carrier.
pub(super) fn bands() -> Vec<f64> {
    (0..BANDS).map(|band| (band as f64 + 0.5) / BANDS as f64 - 0.5).collect()
}

/// Fast fading of a UE, step by step.
#[derive(Debug, Clone)]
pub(super) struct Tdl {
    antennas: Vec<Antenna>,
    /// Responses at each [`BANDS`] places.
    parts: Vec<Responses>,
    /// Places; the last part may have fewer.
    places: usize,
}

/// What the taps do at some places of the carrier.
#[derive(Debug, Clone)]
struct Responses {
    /// Response of each tap at each place.
    taps: Vec<Complexes<BANDS>>,
    /// Response of the line of sight.
    sight: Complexes<BANDS>,
}

impl Tdl {
    /// A random start.
    pub(super) fn new(config: &TdlConfig, rng: &mut Rng) -> Self {
        let rows = config.profile.taps();
        let sight_db = config.profile.line_of_sight_db();
        let linear = |db: f64| libm::exp10(db / 10.0);
        let sum: f64 =
            rows.iter().map(|(_, db)| linear(*db)).sum::<f64>() + sight_db.map_or(0.0, linear);
        let response = |places: &[f64], delay: f64, db: f64, parts: usize| {
            let amplitude = (linear(db) / sum / parts as f64).sqrt();
            Complexes::of(std::array::from_fn(|band| {
                let at = places.get(band).copied().unwrap_or_default();
                let cycles = at * config.bandwidth_hz * delay * config.delay_spread_s;
                Complex::of_phase(-TAU * (cycles - libm::floor(cycles))).scaled(amplitude)
            }))
        };
        let turn = |of_doppler: f64| {
            Complex::of_phase(TAU * config.doppler_hz * of_doppler * config.step_s)
        };
        let antennas = (0..config.antennas).map(|_| {
            let taps = rows.iter().map(|_| {
                // Arrivals from all around, turned by a random angle in each tap.
                let offset = rng.uniform();
                let arrival = |at: usize| TAU * (at as f64 + offset) / SINUSOIDS as f64;
                Tap {
                    turn: Complexes::of(std::array::from_fn(|at| turn(libm::cos(arrival(at))))),
                    now: Complexes::of(std::array::from_fn(|_| random_phase(rng))),
                }
            });
            let taps = taps.collect();
            let sight = sight_db.map(|_| (random_phase(rng), turn(LINE_OF_SIGHT_DOPPLER)));
            Antenna { taps, sight }
        });
        let parts = config.places.chunks(BANDS).map(|places| {
            let of_tap = |(delay, db): &TapRow| response(places, *delay, *db, SINUSOIDS);
            Responses {
                taps: rows.iter().map(of_tap).collect(),
                sight: sight_db.map_or(Complexes::ZERO, |db| response(places, 0.0, db, 1)),
            }
        });
        Self { antennas: antennas.collect(), parts: parts.collect(), places: config.places.len() }
    }

    pub(super) fn step(&mut self) {
        for antenna in &mut self.antennas {
            for tap in &mut antenna.taps {
                tap.now.multiply(&tap.turn);
            }
            if let Some((now, turn)) = &mut antenna.sight {
                *now = now.times(*turn);
            }
        }
    }

    /// Power gain at each of the first [`BANDS`] places, combined over the antennas; 1 in the mean.
    pub(super) fn gains(&self) -> [f64; BANDS] {
        self.parts.first().map_or([0.0; BANDS], |part| self.gains_of(part))
    }

    /// The same at all places.
    pub(super) fn all_gains(&self) -> impl Iterator<Item = f64> + '_ {
        self.parts.iter().flat_map(|part| self.gains_of(part)).take(self.places)
    }

    fn gains_of(&self, part: &Responses) -> [f64; BANDS] {
        let mut gains = [0.0; BANDS];
        for antenna in &self.antennas {
            let mut sums = Complexes::ZERO;
            for (tap, response) in antenna.taps.iter().zip(&part.taps) {
                sums.add_times(response, tap.now.sum());
            }
            if let Some((now, _)) = antenna.sight {
                sums.add_times(&part.sight, now);
            }
            for (at, gain) in gains.iter_mut().enumerate() {
                let power = sums.re[at] * sums.re[at] + sums.im[at] * sums.im[at];
                *gain += power / self.antennas.len() as f64;
            }
        }
        gains
    }
}

fn random_phase(rng: &mut Rng) -> Complex {
    Complex::of_phase(TAU * rng.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(profile: TdlProfile) -> TdlConfig {
        TdlConfig {
            profile,
            delay_spread_s: 300e-9,
            doppler_hz: 100.0,
            bandwidth_hz: 38.16e6,
            antennas: 1,
            step_s: 0.0005,
            places: bands(),
        }
    }

    /// Gains of band 0 and band `BANDS - 1`, from many starts.
    fn series(config: &TdlConfig, starts: u64, steps: usize) -> Vec<Vec<[f64; 2]>> {
        (0..starts)
            .map(|start| {
                let mut tdl = Tdl::new(config, &mut Rng::new(start, 1));
                (0..steps)
                    .map(|_| {
                        tdl.step();
                        let gains = tdl.gains();
                        [gains[0], gains[BANDS - 1]]
                    })
                    .collect()
            })
            .collect()
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        sum / count
    }

    #[test]
    fn the_mean_gain_is_one_and_without_line_of_sight_it_is_rayleighs() {
        for profile in [TdlProfile::A, TdlProfile::B, TdlProfile::C, TdlProfile::D, TdlProfile::E] {
            let all = series(&config(profile), 200, 400);
            let gains = || all.iter().flatten().map(|gains| gains[0]);
            let average = mean(gains());
            assert!((average - 1.0).abs() < 0.05, "{profile:?}: {average}");
            let faded = mean(gains().map(|gain| f64::from(u8::from(gain < 0.1))));
            // The power of Rayleigh's amplitude is exponential: 1 - exp(-0.1) of it is below a
            // tenth.
            match profile.line_of_sight_db() {
                None => assert!((faded - 0.095).abs() < 0.012, "{profile:?}: {faded}"),
                // A Rice factor of 9 dB and more.
                Some(_) => assert!(faded < 0.005, "{profile:?}: {faded}"),
            }
        }
    }

    /// The correlation of the amplitude's square is J0 squared (Clarke): zero where 2π f τ = 2.405.
    #[test]
    fn the_gain_is_uncorrelated_after_the_time_of_clarke() {
        let all = series(&config(TdlProfile::C), 400, 200);
        let covariance = |lag: usize| {
            mean(all.iter().flat_map(|run| {
                run.iter().zip(&run[lag..]).map(|(a, b)| (a[0] - 1.0) * (b[0] - 1.0))
            }))
        };
        let variance = covariance(0);
        assert!((variance - 1.0).abs() < 0.15, "{variance}");
        // J0(2π · 100 Hz · 1 ms)² = 0.815; zero after 3.83 ms.
        let near = covariance(2) / variance;
        assert!((near - 0.815).abs() < 0.05, "{near}");
        let far = covariance(8) / variance;
        assert!(far.abs() < 0.06, "{far}");
    }

    /// Power gains of Rayleigh's fading correlate as the square of the channel's frequency
    /// correlation.
    #[test]
    fn long_delays_make_the_carrier_selective() {
        for (delay_spread_s, is_selective) in [(0.5e-9, false), (100e-9, true), (300e-9, true)] {
            let config = TdlConfig { delay_spread_s, ..config(TdlProfile::C) };
            let all = series(&config, 600, 40);
            let found = mean(all.iter().flatten().map(|gains| (gains[0] - 1.0) * (gains[1] - 1.0)));
            let apart_hz = config.bandwidth_hz * (BANDS - 1) as f64 / BANDS as f64;
            let powers: Vec<f64> = C.iter().map(|(_, db)| libm::exp10(db / 10.0)).collect();
            let sum = C.iter().zip(&powers).fold(Complex::default(), |sum, ((delay, _), power)| {
                let radians = -TAU * apart_hz * delay * delay_spread_s;
                let part = Complex::of_phase(radians).scaled(*power);
                Complex { re: sum.re + part.re, im: sum.im + part.im }
            });
            let expected = (sum.re * sum.re + sum.im * sum.im) / powers.iter().sum::<f64>().powi(2);
            assert!((found - expected).abs() < 0.12, "{delay_spread_s}: {found} {expected}");
            assert_eq!(expected < 0.3, is_selective, "{delay_spread_s}: {expected}");
        }
    }

    #[test]
    fn antennas_lessen_fades() {
        let variance = |antennas: u8| {
            let all = series(&TdlConfig { antennas, ..config(TdlProfile::A) }, 200, 100);
            mean(all.iter().flatten().map(|gains| (gains[0] - 1.0).powi(2)))
        };
        let (one, four) = (variance(1), variance(4));
        assert!((four / one - 0.25).abs() < 0.06, "{one} {four}");
    }
}
