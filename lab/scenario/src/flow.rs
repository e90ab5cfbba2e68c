//! A flow in the scenario file: keys that every flow has, and the configuration of its application.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use traffic::{AppConfig, Direction, Ecn, FlowConfig, HostConfig, IpVersion, TunnelConfig};

/// Start jitter if unset: flows are not in phase with each other or with the slots.
const START_JITTER_MS: u32 = 20;

/// A flow between a server and a UE.
///
/// In the file the keys of [`FlowKeys`] stand beside `kind` and the keys of that application.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Keys that every flow has.
    pub keys: FlowKeys,
    /// The application.
    pub app: AppConfig,
}

/// Keys that every flow has.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct FlowKeys {
    /// Name, unique in the scenario.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// RNTI of the UE, or `each` for one such flow per UE; the only UE if unset.
    #[serde(default)]
    pub rnti: Option<FlowUe>,
    /// DRB of the UE that carries it; if unset the one that carries its `qfi`, or the UE's first.
    #[serde(default)]
    #[schemars(range(min = 1, max = 32))]
    pub drb: Option<u8>,
    /// Which end sends the data: the server (`down`), or the UE (`up`) for kinds tcp, quic, udp_cbr and voip.
    #[serde(default)]
    pub direction: Direction,
    /// Start time.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub start_s: f64,
    /// End time; that of the scenario if unset.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub stop_s: Option<f64>,
    /// One-way delay between its server and the CU, at most 1 s; `split.core_delay_us` if unset.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    pub core_delay_us: Option<u32>,
    /// DSCP, 0..=63 (RFC 2474). Of kind `host` it selects: the flow carries packets with this DSCP, and
    /// a UE's first such flow also those whose DSCP none has.
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub dscp: u8,
    /// QoS flow identifier, 0..=63 (23.501 §5.7).
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub qfi: Option<u8>,
    /// Number of equal flows, 1..=64, named `NAME#1`, `NAME#2`, … if more than one. Their starts are
    /// spread over `start_jitter_ms` so that no two coincide.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub count: u8,
    /// The start is delayed by a time below this, drawn from the seed; 0..=60000 ms, 20 if unset.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    pub start_jitter_ms: Option<u32>,
    /// Time from sending within which a frame or packet of kinds voip, game, cloud_game, call and udp_cbr
    /// is of use, 1..=1000 ms; the packet delay budget of 23.501 Table 5.7.4-1 if unset (voip 100, call 150,
    /// game 50), a frame interval and the delay to the CU for cloud_game, none for udp_cbr.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub deadline_ms: Option<u32>,
    /// Version of IP, 4 or 6.
    #[serde(default)]
    pub ip_version: IpVersion,
    /// Number of its server, 1..=254: flows with the same number come from one address.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 254))]
    pub server: u8,
    /// Number of the host behind the UE that it goes to, 1..=200: the UE itself is 1, others have addresses
    /// that are routed to it (framed routes, 23.501 §5.6.14).
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 200))]
    pub ue_host: u8,
    /// ECN field of data; for kinds over UDP but quic. TCP and QUIC negotiate it with `ecn`.
    #[serde(default)]
    pub ecn_field: Ecn,
    /// Name of the tunnel that carries it: the flows of a UE with the same name are in one outer 5-tuple.
    /// None if unset.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    pub tunnel: Option<String>,
}

fn one() -> u8 {
    1
}

/// UEs of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowUe {
    /// The UE with this RNTI.
    Rnti(u16),
    /// One such flow for each UE.
    Each,
}

impl Flow {
    /// Whether a UE has it.
    pub fn is_of(&self, rnti: u16) -> bool {
        !matches!(self.keys.rnti, Some(FlowUe::Rnti(wanted)) if wanted != rnti)
    }

    /// Real hosts at each UE, on its first DRB.
    pub fn hosts(name: &str) -> Self {
        Self {
            keys: FlowKeys {
                name: name.to_owned(),
                rnti: Some(FlowUe::Each),
                drb: None,
                direction: Direction::default(),
                start_s: 0.0,
                stop_s: None,
                core_delay_us: None,
                dscp: 0,
                qfi: None,
                count: 1,
                start_jitter_ms: None,
                deadline_ms: None,
                ip_version: IpVersion::V4,
                server: one(),
                ue_host: one(),
                ecn_field: Ecn::NotEct,
                tunnel: None,
            },
            app: AppConfig::Host(HostConfig::default()),
        }
    }

    /// The names of its copies.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        let keys = &self.keys;
        (1..=keys.count).map(|copy| match keys.count {
            1 => keys.name.clone(),
            _ => format!("{}#{copy}", keys.name),
        })
    }

    /// The configuration of its two ends; `tunnel` is what carries it ([`Scenario::tunnel_of`](crate::Scenario::tunnel_of)),
    /// `core_delay_us` the delay between server and CU if it has none of its own.
    pub fn config(&self, tunnel: Option<TunnelConfig>, core_delay_us: u32) -> FlowConfig {
        let micros = |seconds: f64| (seconds * 1e6).round() as u64;
        let jitter_ms = self.keys.start_jitter_ms.unwrap_or(START_JITTER_MS);
        FlowConfig {
            app: self.app.clone(),
            direction: self.keys.direction,
            start_us: micros(self.keys.start_s),
            stop_us: self.keys.stop_s.map(micros),
            start_jitter_us: u64::from(jitter_ms) * 1000,
            deadline_us: self.keys.deadline_ms.map(|ms| u64::from(ms) * 1000),
            dscp: self.keys.dscp,
            ecn: self.keys.ecn_field,
            ip_version: self.keys.ip_version,
            tunnel,
            core_delay_us: u64::from(self.keys.core_delay_us.unwrap_or(core_delay_us)),
        }
    }
}

const EACH: &str = "each";

impl<'de> Deserialize<'de> for FlowUe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RntiOrEach;
        impl Visitor<'_> for RntiOrEach {
            type Value = FlowUe;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an RNTI (1..=65519) or 'each'")
            }

            fn visit_u64<E: Error>(self, rnti: u64) -> Result<FlowUe, E> {
                u16::try_from(rnti)
                    .map(FlowUe::Rnti)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(rnti), &self))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<FlowUe, E> {
                if word == EACH {
                    Ok(FlowUe::Each)
                } else {
                    Err(E::invalid_value(Unexpected::Str(word), &self))
                }
            }
        }
        deserializer.deserialize_any(RntiOrEach)
    }
}

impl JsonSchema for FlowUe {
    fn schema_name() -> Cow<'static, str> {
        "FlowUe".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "type": "integer", "minimum": 1, "maximum": 65519 },
                { "const": EACH }
            ]
        })
    }
}
