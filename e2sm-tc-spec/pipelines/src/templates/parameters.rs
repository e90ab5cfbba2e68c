//! Parameters that several templates take.

use std::ops::RangeInclusive;

use e2sm_tc::v1::{BufferLimit, FlowMatch, Isolation, Overflow, Pacer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::ParameterError;

/// Hash buckets of a template: what a stranger can make a node allocate is bounded by the service
/// model's 65536 queues and by the node; more than this no template needs.
pub(super) const QUEUES: RangeInclusive<u16> = 1..=4096;
/// Below 256 bytes DRR goes round too often per packet; Linux has the same bound.
pub(super) const QUANTUM_BYTES: RangeInclusive<u32> = 256..=1 << 20;
/// Delays: up to ten seconds.
pub(super) const DELAY_US: RangeInclusive<u32> = 1..=10_000_000;

/// CoDel (RFC 8289 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodelParameters {
    /// Standing sojourn that is accepted, µs; 5 ms (RFC 8289 §4.4).
    #[schemars(range(min = 1, max = 10_000_000))]
    pub target_us: u32,
    /// About the longest round trip, µs; 100 ms (RFC 8289 §4.4).
    #[schemars(range(min = 1, max = 10_000_000))]
    pub interval_us: u32,
    /// Mark ECN-capable packets instead of dropping them (RFC 8290 §5.1.3 recommends it).
    pub ecn: bool,
}

impl Default for CodelParameters {
    fn default() -> Self {
        Self { target_us: 5_000, interval_us: 100_000, ecn: true }
    }
}

impl CodelParameters {
    /// The same for a CU that is `delay_us` away from its DU, one way.
    ///
    /// Every round trip crosses F1 twice. CoDel's interval is the longest round trip of the flows
    /// that share the queue (RFC 8289 §4.3), so it grows by both crossings, and the target keeps its
    /// share of it (§4.4): with the target for a co-located CU the queue runs empty after each drop.
    #[must_use]
    pub fn across_f1(self, delay_us: u32) -> Self {
        let interval_us = self.interval_us.saturating_add(delay_us.saturating_mul(2));
        let part = u64::from(self.target_us) * u64::from(interval_us);
        let target_us = part.checked_div(u64::from(self.interval_us)).unwrap_or_default();
        Self { interval_us, target_us: u32::try_from(target_us).unwrap_or(u32::MAX), ..self }
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("codel.interval_us", self.interval_us, DELAY_US)?;
        within("codel.target_us", self.target_us, 1..=self.interval_us)
    }
}

/// Flows that go before shares are fair, because drops do not slow them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InelasticParameters {
    /// Most of what the bearer drains that goes first, thousandths; half.
    #[schemars(range(min = 1, max = 900))]
    pub part_milli: u16,
    /// QoS flows whose packets count as marked, beside those of the DSCPs of inelastic traffic and those
    /// of a bearer whose 5QIs have guaranteed rates.
    #[schemars(length(max = 64), inner(range(max = 63)))]
    pub qfis: Vec<u8>,
}

impl Default for InelasticParameters {
    fn default() -> Self {
        Self { part_milli: 500, qfis: Vec::new() }
    }
}

impl InelasticParameters {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("inelastic.part_milli", self.part_milli, 1..=900)?;
        within("inelastic.qfis", self.qfis.len(), 0..=64)?;
        self.qfis.iter().try_for_each(|&qfi| within("inelastic.qfis", qfi, 0..=63))
    }
}

/// Bound on all queues of a pipeline together: 10240 packets (RFC 8290 §5.2.3) and 32 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Buffer {
    /// Packets.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub packets: u32,
    /// Bytes.
    #[schemars(range(min = 1_500, max = 2_000_000_000))]
    pub bytes: u32,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { packets: 10_240, bytes: 32 << 20 }
    }
}

impl Buffer {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("buffer.packets", self.packets, 1..=10_000_000)?;
        within("buffer.bytes", self.bytes, 1_500..=2_000_000_000)
    }

    pub(super) fn dropping(self, overflow: Overflow) -> BufferLimit {
        BufferLimit { packets: self.packets, bytes: self.bytes, overflow }
    }
}

/// Between queues of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowScheduler {
    /// Deficits in bytes, with new and old lists (RFC 8290 §4.2).
    #[default]
    DeficitRoundRobin,
    /// Packet by packet, for nodes that have no other.
    RoundRobin,
    /// The queue of the lowest id first.
    StrictPriority,
}

/// 5G-BDP, as in all pipelines of irazabal2024. It keeps more in the RLC buffer than e5G-BDP and DRQL,
/// and loses least on channels whose capacity comes in bursts.
pub(super) const PACER: Pacer = Pacer::Bdp5g;

/// What a pacer's parameters are when a template's user names the pacer alone.
fn pacer_defaults(kind: &str) -> Option<Value> {
    Some(match kind {
        "drql" => json!({"mtu_bytes": 1500}),
        // Whatever the radio takes: a fixed limit of 15 kB is 290 ms at 500 kbit/s and a third of 580 Mbit/s.
        "dql" => json!({"min_bytes": 0, "max_bytes": 1_000_000}),
        // T, target and α of irazabal2021 §VI; up to 256 SDUs and the threshold by the gaps between status
        // PDUs of kumar2018 §IV. The 10 SDUs of irazabal2021, of which in RLC-AM those count that wait for
        // a status PDU, carry 0.1 of 40 Mbit/s there, and in RLC-UM 154 of 580.
        "dyn_rlc" => json!({
            "interval_us": 10_000, "target_us": 3_000, "min_sdus": 1, "max_sdus": 256,
            "alpha_milli": 50, "metric": "interval_average", "status_gap_beta_milli": 1_750,
        }),
        "ebb" => json!({"target_us": 10_000}),
        // As far as a pacer where CU and DU are together keeps the radio busy, at least.
        "base_stock" => json!({"stale_us": 500_000, "level_milli": 980, "bound_us": null}),
        "forecast" => json!({"stale_us": 500_000}),
        _ => return None,
    })
}

const SPELLING: &str =
    "the name of a pacer, or its name with parameters: {drql: {mtu_bytes: 1400}}";

/// Reads E2SM-TC's `Pacer`, of which parameters may be left out: `drql`, or `{drql: {mtu_bytes: 1400}}`.
pub(super) fn pacer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pacer, D::Error> {
    let (kind, given) = match Value::deserialize(deserializer)? {
        Value::String(kind) => (kind, Map::new()),
        Value::Object(one) if one.len() == 1 => match one.into_iter().next() {
            Some((kind, Value::Object(given))) => (kind, given),
            Some((kind, other)) => {
                return Err(D::Error::custom(format!("{kind}: {other}; expected {SPELLING}")));
            }
            None => return Err(D::Error::custom(format!("{{}}; expected {SPELLING}"))),
        },
        other => {
            return Err(D::Error::custom(format!("{other}; expected {SPELLING}")));
        }
    };
    let value = match pacer_defaults(&kind) {
        Some(mut parameters) => {
            if let Some(defaults) = parameters.as_object_mut() {
                defaults.extend(given);
            }
            json!({ kind: parameters })
        }
        None if given.is_empty() => Value::String(kind),
        None => return Err(D::Error::custom(format!("{kind}: expected no parameters"))),
    };
    serde_json::from_value(value).map_err(D::Error::custom)
}

/// The schema of what [`pacer`] reads.
pub(super) fn isolation_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Isolation::KINDS})
}

pub(super) fn pacer_schema(_: &mut SchemaGenerator) -> Schema {
    let named = Pacer::KINDS;
    let tuned: Map<String, Value> = named
        .iter()
        .filter_map(|kind| {
            let defaults = pacer_defaults(kind)?;
            let names = defaults.as_object()?.iter();
            let each: Map<String, Value> =
                names.map(|(name, value)| (name.clone(), json!({"default": value}))).collect();
            let of = json!({"type": "object", "properties": each, "additionalProperties": false});
            Some(((*kind).to_owned(), of))
        })
        .collect();
    json_schema!({
        "description": "Stage 6, how much the RLC is given: the name of a pacer, or the name with \
                        parameters, of which the rest are the defaults.",
        "oneOf": [
            { "type": "string", "enum": named },
            {
                "type": "object",
                "properties": tuned,
                "additionalProperties": false,
                "minProperties": 1,
                "maxProperties": 1
            }
        ]
    })
}

/// Checks the ranges of matches, which E2SM-TC does not name as this template does.
pub(super) fn check_matches(path: &str, matches: &[FlowMatch]) -> Result<(), ParameterError> {
    for (i, rule) in matches.iter().enumerate() {
        for (field, value) in [("dscp", rule.dscp), ("qfi", rule.qfi)] {
            if let Some(value) = value {
                within(&format!("{path}.matches[{i}].{field}"), value, 0..=63)?;
            }
        }
    }
    Ok(())
}

pub(super) fn within<T: PartialOrd + std::fmt::Display>(
    parameter: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), ParameterError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ParameterError {
        parameter: parameter.to_owned(),
        detail: format!("{value}; expected {} to {}", range.start(), range.end()),
    })
}

#[cfg(test)]
mod tests {
    use super::CodelParameters;

    #[test]
    fn interval_grows_by_the_round_trip_over_f1_and_the_target_with_it() {
        let codel = |delay_us| {
            let codel = CodelParameters::default().across_f1(delay_us);
            (codel.interval_us, codel.target_us)
        };
        assert_eq!(codel(0), (100_000, 5_000));
        assert_eq!(codel(10_000), (120_000, 6_000));
        assert_eq!(codel(40_000), (180_000, 9_000));
        let (interval_us, target_us) = codel(u32::MAX);
        assert_eq!(interval_us, u32::MAX);
        assert_eq!(target_us, u32::MAX / 20);
    }

    #[test]
    fn no_interval_is_no_panic() {
        let codel = CodelParameters { interval_us: 0, ..CodelParameters::default() };
        assert_eq!(codel.across_f1(10).interval_us, 20);
    }
}
