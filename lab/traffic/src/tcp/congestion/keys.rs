//! Keys of a scenario that choose and configure the congestion control of a TCP sender.

use serde::{Deserialize, Serialize};

use super::{BbrConfig, C2TcpConfig, CongestionConfig, CubicConfig, RenoConfig};
use crate::error::{ConfigError, check};

/// Congestion control of a TCP sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CongestionControl {
    /// RFC 9438, the default of Linux, Windows and macOS.
    #[default]
    Cubic,
    /// RFC 5681 and 6582.
    Reno,
    /// Westwood+ (Mascolo et al. 2004): after a loss, bandwidth times minimum RTT.
    Westwood,
    /// Brakmo and Peterson 1995: keeps two to four segments queued.
    Vegas,
    /// BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00. Always paces.
    Bbr,
    /// BBR version 3, draft-ietf-ccwg-bbr-02. Always paces. With `ecn`: ECT(1) and AccECN.
    Bbr3,
    /// draft-briscoe-iccrg-prague-congestion-control-03. Always paces, ECT(1) and AccECN.
    Prague,
    /// Abbasloo et al. 2019: Cubic with a bound on the RTT.
    C2tcp,
}

/// Keys of the congestion control, which stand beside those of a TCP sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CongestionKeys {
    /// Congestion control.
    pub congestion_control: CongestionControl,
    /// `bbr` adds aggregated acknowledgements to its window, as Linux since 5.1; the draft does not.
    pub bbr_ack_aggregation: bool,
    /// `bbr` paces at 1 % below its rate, as Linux since 4.20; the draft does not.
    pub bbr_pacing_margin: bool,
    /// `cubic` leaves slow start by the HyStart of Linux, not by RFC 9406, and grows at least 5 % per RTT
    /// before the first reduction, as Linux does and RFC 9438 does not.
    pub cubic_as_in_linux: bool,
    /// `reno` counts acknowledgements (RFC 5681 §3.1), not acknowledged bytes (RFC 3465): with
    /// delayed acknowledgements its window grows at half the speed.
    pub reno_ack_counting: bool,
    /// `c2tcp`: average RTT to which it tunes its setpoint, 1..=60000 ms; 50 if unset (JSAC 2019).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub c2tcp_target_ms: Option<u32>,
    /// `c2tcp`: fixed setpoint of the RTT, 1..=60000 ms (IFIP 2018: 100); if unset a multiple of the
    /// minimum RTT, tuned to the target.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub c2tcp_setpoint_ms: Option<u32>,
    /// `c2tcp`: how long the RTT may exceed the setpoint, 1..=60000 ms; the setpoint if unset.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub c2tcp_interval_ms: Option<u32>,
}

impl CongestionKeys {
    /// The configuration of the chosen congestion control.
    ///
    /// # Errors
    /// A key of another one, or a value out of range.
    pub fn config(&self) -> Result<CongestionConfig, ConfigError> {
        self.check()?;
        Ok(match self.congestion_control {
            CongestionControl::Cubic => {
                CongestionConfig::Cubic(CubicConfig { as_in_linux: self.cubic_as_in_linux })
            }
            CongestionControl::Reno => {
                CongestionConfig::Reno(RenoConfig { ack_counting: self.reno_ack_counting })
            }
            CongestionControl::Westwood => CongestionConfig::Westwood,
            CongestionControl::Vegas => CongestionConfig::Vegas,
            CongestionControl::Bbr => CongestionConfig::Bbr(BbrConfig {
                ack_aggregation: self.bbr_ack_aggregation,
                pacing_margin: self.bbr_pacing_margin,
            }),
            CongestionControl::Bbr3 => CongestionConfig::Bbr3,
            CongestionControl::Prague => CongestionConfig::Prague,
            CongestionControl::C2tcp => CongestionConfig::C2tcp(C2TcpConfig {
                target_ms: self.c2tcp_target_ms,
                setpoint_ms: self.c2tcp_setpoint_ms,
                interval_ms: self.c2tcp_interval_ms,
            }),
        })
    }

    fn check(&self) -> Result<(), ConfigError> {
        let control = self.congestion_control;
        let (bbr, cubic) = (CongestionControl::Bbr, CongestionControl::Cubic);
        let only_bbr = "false unless congestion_control is bbr";
        let only_cubic = "false unless congestion_control is cubic";
        let only_reno = "false unless congestion_control is reno";
        for (field, is_set, owner, expected) in [
            ("bbr_ack_aggregation", self.bbr_ack_aggregation, bbr, only_bbr),
            ("bbr_pacing_margin", self.bbr_pacing_margin, bbr, only_bbr),
            ("cubic_as_in_linux", self.cubic_as_in_linux, cubic, only_cubic),
            ("reno_ack_counting", self.reno_ack_counting, CongestionControl::Reno, only_reno),
        ] {
            if is_set && control != owner {
                return Err(ConfigError::new(field, "true", expected));
            }
        }
        for (field, value) in [
            ("c2tcp_target_ms", self.c2tcp_target_ms),
            ("c2tcp_setpoint_ms", self.c2tcp_setpoint_ms),
            ("c2tcp_interval_ms", self.c2tcp_interval_ms),
        ] {
            let Some(value) = value else { continue };
            if control != CongestionControl::C2tcp {
                let expected = "unset unless congestion_control is c2tcp";
                return Err(ConfigError::new(field, value, expected));
            }
            check(field, value, 1..=60_000, "1 to 60000 ms")?;
        }
        if let (Some(target), Some(_)) = (self.c2tcp_target_ms, self.c2tcp_setpoint_ms) {
            let expected = "unset with c2tcp_setpoint_ms, which fixes what the target tunes";
            return Err(ConfigError::new("c2tcp_target_ms", target, expected));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_do_not_fit_the_congestion_control_are_refused_by_name() {
        let with = |text: &str| {
            let keys: CongestionKeys = serde_json::from_str(text).unwrap();
            keys.config().map_err(|error| error.to_string())
        };
        for good in [
            r#"{"congestion_control": "bbr", "bbr_ack_aggregation": true, "bbr_pacing_margin": true}"#,
            r#"{"congestion_control": "reno", "reno_ack_counting": true}"#,
            r#"{"cubic_as_in_linux": true}"#,
            r#"{"congestion_control": "c2tcp", "c2tcp_setpoint_ms": 80, "c2tcp_interval_ms": 20}"#,
        ] {
            with(good).unwrap();
        }
        for (wrong, message) in [
            (
                r#"{"bbr_ack_aggregation": true}"#,
                "bbr_ack_aggregation: true; expected false unless congestion_control is bbr",
            ),
            (
                r#"{"bbr_pacing_margin": true}"#,
                "bbr_pacing_margin: true; expected false unless congestion_control is bbr",
            ),
            (
                r#"{"reno_ack_counting": true}"#,
                "reno_ack_counting: true; expected false unless congestion_control is reno",
            ),
            (
                r#"{"congestion_control": "reno", "cubic_as_in_linux": true}"#,
                "cubic_as_in_linux: true; expected false unless congestion_control is cubic",
            ),
            (
                r#"{"c2tcp_setpoint_ms": 80}"#,
                "c2tcp_setpoint_ms: 80; expected unset unless congestion_control is c2tcp",
            ),
        ] {
            assert_eq!(with(wrong).unwrap_err(), message);
        }
    }
}
