//! Keys of a scenario that choose and configure the congestion control of a TCP sender.

use serde::{Deserialize, Serialize};

use super::form::Form;
use super::{C2TcpConfig, CongestionConfig};
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
    /// BBR version 2, the `v2alpha` branch of Linux and draft-cardwell-iccrg-bbr-congestion-control-02.
    /// Always paces. With `ecn`: ECT(1) and AccECN.
    Bbr2,
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
    /// Its form, for `cubic`, `c2tcp`, `reno`, `westwood` and `bbr`; the others have one. If unset that
    /// of Linux, over QUIC that of the RFCs.
    pub form: Option<Form>,
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
    /// The configuration of the chosen congestion control, in the form `default` if none is chosen.
    ///
    /// # Errors
    /// A key of another one, or a value out of range.
    pub fn config(&self, default: Form) -> Result<CongestionConfig, ConfigError> {
        self.check()?;
        let form = self.form.unwrap_or(default);
        Ok(match self.congestion_control {
            CongestionControl::Cubic => CongestionConfig::Cubic(form),
            CongestionControl::Reno => CongestionConfig::Reno(form),
            CongestionControl::Westwood => CongestionConfig::Westwood(form),
            CongestionControl::Vegas => CongestionConfig::Vegas,
            CongestionControl::Bbr => CongestionConfig::Bbr(form),
            CongestionControl::Bbr2 => CongestionConfig::Bbr2,
            CongestionControl::Bbr3 => CongestionConfig::Bbr3,
            CongestionControl::Prague => CongestionConfig::Prague,
            CongestionControl::C2tcp => CongestionConfig::C2tcp(C2TcpConfig {
                form,
                target_ms: self.c2tcp_target_ms,
                setpoint_ms: self.c2tcp_setpoint_ms,
                interval_ms: self.c2tcp_interval_ms,
            }),
        })
    }

    fn check(&self) -> Result<(), ConfigError> {
        use CongestionControl::{Bbr2, Bbr3, Prague, Vegas};
        let control = self.congestion_control;
        if let (Some(form), Vegas | Bbr2 | Bbr3 | Prague) = (self.form, control) {
            let name = format!("{form:?}").to_lowercase();
            let expected = "unset; vegas, bbr2, bbr3 and prague have one form";
            return Err(ConfigError::new("form", name, expected));
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
            keys.config(Form::default()).map_err(|error| error.to_string())
        };
        for good in [
            r#"{"congestion_control": "bbr", "form": "rfc"}"#,
            r#"{"congestion_control": "westwood", "form": "linux"}"#,
            r#"{"congestion_control": "bbr2"}"#,
            r#"{"form": "rfc"}"#,
            r#"{"congestion_control": "c2tcp", "c2tcp_setpoint_ms": 80, "c2tcp_interval_ms": 20}"#,
        ] {
            with(good).unwrap();
        }
        for (wrong, message) in [
            (
                r#"{"congestion_control": "bbr3", "form": "linux"}"#,
                "form: linux; expected unset; vegas, bbr2, bbr3 and prague have one form",
            ),
            (
                r#"{"congestion_control": "prague", "form": "rfc"}"#,
                "form: rfc; expected unset; vegas, bbr2, bbr3 and prague have one form",
            ),
            (
                r#"{"c2tcp_setpoint_ms": 80}"#,
                "c2tcp_setpoint_ms: 80; expected unset unless congestion_control is c2tcp",
            ),
        ] {
            assert_eq!(with(wrong).unwrap_err(), message);
        }
    }

    #[test]
    fn the_form_is_the_one_asked_for_or_the_default_of_the_transport() {
        let unset = CongestionKeys::default();
        let rfc = CongestionKeys { form: Some(Form::Rfc), ..unset };
        assert_eq!(unset.config(Form::Linux).unwrap(), CongestionConfig::Cubic(Form::Linux));
        assert_eq!(unset.config(Form::Rfc).unwrap(), CongestionConfig::Cubic(Form::Rfc));
        assert_eq!(rfc.config(Form::Linux).unwrap(), CongestionConfig::Cubic(Form::Rfc));
    }
}
