//! Path loss, line of sight and shadowing of 38.901 §7.4, and the link budget that makes an SNR of
//! them.

use crate::error::{ConfigError, ensure};

/// Speed of light, m/s.
pub(super) const LIGHT_M_S: f64 = 299_792_458.0;

/// Thermal noise at 290 K, dBm/Hz.
const NOISE_DBM_HZ: f64 = -174.0;

/// A deployment of 38.901 table 7.2-1 to -3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deployment {
    /// Urban macro.
    UMa,
    /// Urban micro, street canyon.
    UMi,
    /// Rural macro.
    RMa,
    /// Indoor hotspot, mixed office.
    InH,
}

/// Place of a UE and budget of its link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkBudget {
    /// Deployment.
    pub deployment: Deployment,
    /// Distance on the ground, 10 to 10,000 m (1 to 150 m indoors).
    pub distance_m: f64,
    /// Whether there is a line of sight; drawn by 38.901 table 7.4.2-1 if `None`.
    pub line_of_sight: Option<bool>,
    /// Power of the base station over the carrier, dBm.
    pub tx_power_dbm: f64,
    /// Gains of both antennas less other losses, dB.
    pub antenna_gain_db: f64,
    /// Noise figure of the UE, dB.
    pub noise_figure_db: f64,
}

/// Shadowing of 38.901 table 7.5-6.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shadowing {
    /// Standard deviation, dB.
    pub std_dev_db: f64,
    /// Distance over which the correlation falls to 1/e, m.
    pub correlation_m: f64,
}

impl Deployment {
    /// Height of the base station, m (38.901 tables 7.2-1 to -3).
    const fn base_height_m(self) -> f64 {
        match self {
            Self::UMa => 25.0,
            Self::UMi => 10.0,
            Self::RMa => 35.0,
            Self::InH => 3.0,
        }
    }

    /// Height of the UE, m.
    const fn ue_height_m(self) -> f64 {
        match self {
            Self::InH => 1.0,
            Self::UMa | Self::UMi | Self::RMa => 1.5,
        }
    }

    /// Power over the carrier, dBm (38.901 table 7.8-1; the rural macro as the urban one).
    pub const fn tx_power_dbm(self) -> f64 {
        match self {
            Self::UMa | Self::RMa => 49.0,
            Self::UMi => 44.0,
            Self::InH => 24.0,
        }
    }

    /// Distances for which the formulas hold, m.
    const fn distances_m(self) -> std::ops::RangeInclusive<f64> {
        match self {
            Self::UMa | Self::UMi => 10.0..=5_000.0,
            Self::RMa => 10.0..=10_000.0,
            Self::InH => 1.0..=150.0,
        }
    }

    /// Probability of a line of sight at `distance_m` on the ground (38.901 table 7.4.2-1).
    pub fn line_of_sight_probability(self, distance_m: f64) -> f64 {
        let d = distance_m;
        match self {
            Self::RMa if d <= 10.0 => 1.0,
            Self::RMa => libm::exp(-(d - 10.0) / 1000.0),
            Self::UMi | Self::UMa if d <= 18.0 => 1.0,
            Self::UMi => 18.0 / d + libm::exp(-d / 36.0) * (1.0 - 18.0 / d),
            Self::UMa => 18.0 / d + libm::exp(-d / 63.0) * (1.0 - 18.0 / d),
            Self::InH if d <= 1.2 => 1.0,
            Self::InH if d < 6.5 => libm::exp(-(d - 1.2) / 4.7),
            Self::InH => 0.32 * libm::exp(-(d - 6.5) / 32.6),
        }
    }

    /// Shadowing with or without a line of sight.
    pub const fn shadowing(self, line_of_sight: bool) -> Shadowing {
        let (std_dev_db, correlation_m) = match (self, line_of_sight) {
            (Self::RMa, true) => (4.0, 37.0),
            (Self::RMa, false) => (8.0, 120.0),
            (Self::UMa, true) => (4.0, 37.0),
            (Self::UMa, false) => (6.0, 50.0),
            (Self::UMi, true) => (4.0, 10.0),
            (Self::UMi, false) => (7.82, 13.0),
            (Self::InH, true) => (3.0, 10.0),
            (Self::InH, false) => (8.03, 6.0),
        };
        Shadowing { std_dev_db, correlation_m }
    }

    /// Path loss in dB at `distance_m` on the ground and `carrier_ghz` (38.901 table 7.4.1-1).
    pub fn path_loss_db(self, distance_m: f64, carrier_ghz: f64, line_of_sight: bool) -> f64 {
        let log = libm::log10;
        let (base_m, ue_m) = (self.base_height_m(), self.ue_height_m());
        let between_m = base_m - ue_m;
        let d = libm::hypot(distance_m, between_m);
        let carrier_hz = carrier_ghz * 1e9;
        let clear_db = match self {
            Self::UMa | Self::UMi => {
                let (first, slope, after) =
                    if self == Self::UMa { (28.0, 22.0, 9.0) } else { (32.4, 21.0, 9.5) };
                // Effective environment height of 1 m.
                let break_m = 4.0 * (base_m - 1.0) * (ue_m - 1.0) * carrier_hz / LIGHT_M_S;
                if distance_m <= break_m {
                    first + slope * log(d) + 20.0 * log(carrier_ghz)
                } else {
                    let squares = break_m * break_m + between_m * between_m;
                    first + 40.0 * log(d) + 20.0 * log(carrier_ghz) - after * log(squares)
                }
            }
            Self::RMa => {
                let break_m = std::f64::consts::TAU * base_m * ue_m * carrier_hz / LIGHT_M_S;
                let near = |d: f64| {
                    let height = libm::pow(BUILDING_M, 1.72);
                    20.0 * log(40.0 * std::f64::consts::PI * d * carrier_ghz / 3.0)
                        + (0.03 * height).min(10.0) * log(d)
                        - (0.044 * height).min(14.77)
                        + 0.002 * log(BUILDING_M) * d
                };
                if distance_m <= break_m {
                    near(d)
                } else {
                    near(break_m) + 40.0 * log(d / break_m)
                }
            }
            Self::InH => 32.4 + 17.3 * log(d) + 20.0 * log(carrier_ghz),
        };
        if line_of_sight {
            return clear_db;
        }
        let blocked_db = match self {
            Self::UMa => 13.54 + 39.08 * log(d) + 20.0 * log(carrier_ghz) - 0.6 * (ue_m - 1.5),
            Self::UMi => 22.4 + 35.3 * log(d) + 21.3 * log(carrier_ghz) - 0.3 * (ue_m - 1.5),
            Self::RMa => {
                let ratio = BUILDING_M / base_m;
                161.04 - 7.1 * log(STREET_M) + 7.5 * log(BUILDING_M)
                    - (24.37 - 3.7 * ratio * ratio) * log(base_m)
                    + (43.42 - 3.1 * log(base_m)) * (log(d) - 3.0)
                    + 20.0 * log(carrier_ghz)
                    - (3.2 * libm::pow(log(11.75 * ue_m), 2.0) - 4.97)
            }
            Self::InH => 17.30 + 38.3 * log(d) + 24.9 * log(carrier_ghz),
        };
        blocked_db.max(clear_db)
    }
}

/// Average height of buildings and width of streets of a rural macro cell, m.
const BUILDING_M: f64 = 5.0;
const STREET_M: f64 = 20.0;

impl LinkBudget {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let path = "channel.path";
        let distances = self.deployment.distances_m();
        let expected = format!("{} to {} m", distances.start(), distances.end());
        let distance_m = self.distance_m;
        ensure(
            distances.contains(&distance_m),
            format!("{path}.distance_m"),
            distance_m,
            expected,
        )?;
        for (field, value, range) in [
            ("tx_power_dbm", self.tx_power_dbm, -30.0..=80.0),
            ("antenna_gain_db", self.antenna_gain_db, -50.0..=50.0),
            ("noise_figure_db", self.noise_figure_db, 0.0..=30.0),
        ] {
            let expected = format!("{} to {}", range.start(), range.end());
            ensure(range.contains(&value), format!("{path}.{field}"), value, expected)?;
        }
        Ok(())
    }

    /// The same at `distance_m` on the ground, at least the shortest for which the formulas hold.
    pub(super) fn at(self, distance_m: f64) -> Self {
        Self { distance_m: distance_m.max(*self.deployment.distances_m().start()), ..self }
    }

    /// Mean SNR in dB over a carrier of `bandwidth_hz` at `carrier_ghz`.
    pub fn snr_db(&self, carrier_ghz: f64, bandwidth_hz: f64, line_of_sight: bool) -> f64 {
        let loss_db = self.deployment.path_loss_db(self.distance_m, carrier_ghz, line_of_sight);
        let noise_dbm = NOISE_DBM_HZ + 10.0 * libm::log10(bandwidth_hz) + self.noise_figure_db;
        self.tx_power_dbm + self.antenna_gain_db - loss_db - noise_dbm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values computed by hand from table 7.4.1-1 at 3.5 GHz.
    #[test]
    fn losses_are_those_of_the_table() {
        for (deployment, distance_m, line_of_sight, loss_db) in [
            // d3D = 101.09 to 25 m above 1.5 m: 28 + 22·2.0107 + 10.881.
            (Deployment::UMa, 100.0, true, 83.17),
            // 13.54 + 39.08·2.0107 + 10.881.
            (Deployment::UMa, 100.0, false, 103.04),
            // d3D = 100.36: 32.4 + 21·2.0016 + 10.881.
            (Deployment::UMi, 100.0, true, 85.31),
            // 22.4 + 35.3·2.0016 + 21.3·0.5441.
            (Deployment::UMi, 100.0, false, 104.64),
            // d3D = 20.10: 32.4 + 17.3·1.3032 + 10.881.
            (Deployment::InH, 20.0, true, 65.83),
            // 17.3 + 38.3·1.3032 + 24.9·0.5441.
            (Deployment::InH, 20.0, false, 80.76),
        ] {
            let own_db = deployment.path_loss_db(distance_m, 3.5, line_of_sight);
            assert!((own_db - loss_db).abs() < 0.05, "{deployment:?} {distance_m}: {own_db}");
        }
    }

    #[test]
    fn losses_grow_with_distance_and_blockage() {
        for deployment in [Deployment::UMa, Deployment::UMi, Deployment::RMa, Deployment::InH] {
            let range = deployment.distances_m();
            let mut last = [0.0; 2];
            let mut last_probability = 1.0;
            let mut distance_m = *range.start();
            while distance_m <= *range.end() {
                let clear = deployment.path_loss_db(distance_m, 3.5, true);
                let blocked = deployment.path_loss_db(distance_m, 3.5, false);
                assert!(blocked >= clear, "{deployment:?} {distance_m}");
                // Both parts of the dual-slope models meet at the break point within a decibel.
                assert!(
                    clear > last[0] - 1.0 && blocked > last[1] - 1.0,
                    "{deployment:?} {distance_m}"
                );
                last = [clear, blocked];
                let probability = deployment.line_of_sight_probability(distance_m);
                assert!((0.0..=1.0).contains(&probability), "{deployment:?} {distance_m}");
                assert!(probability <= last_probability + 1e-12, "{deployment:?} {distance_m}");
                last_probability = probability;
                distance_m *= 1.05;
            }
        }
    }

    #[test]
    fn a_link_budget_is_what_is_left_above_the_noise() {
        let budget = LinkBudget {
            deployment: Deployment::UMa,
            distance_m: 500.0,
            line_of_sight: None,
            tx_power_dbm: 49.0,
            antenna_gain_db: 8.0,
            noise_figure_db: 9.0,
        };
        let loss_db = Deployment::UMa.path_loss_db(500.0, 3.5, false);
        let snr_db = budget.snr_db(3.5, 38.16e6, false);
        // -174 + 75.8 + 9 = -89.2 dBm of noise.
        assert!((snr_db - (57.0 - loss_db + 89.18)).abs() < 0.02, "{snr_db}");
        let far = LinkBudget { distance_m: 9_000.0, ..budget };
        let error = far.validate().unwrap_err().to_string();
        assert_eq!(error, "channel.path.distance_m: 9000; expected 10 to 5000 m");
    }
}
