//! The MAC scheduler in a scenario: the name of a kind, or a kind with parameters and slices.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Allocation of the PRBs of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerKind {
    /// Round robin over the UEs with data.
    #[default]
    #[serde(alias = "round_robin")]
    Rr,
    /// Proportional fair: the highest ratio of instantaneous to averaged rate.
    #[serde(alias = "proportional_fair")]
    Pf,
    /// Slices own shares, used or not (irazabal2021 §VI-B, FP).
    #[serde(alias = "fixed_partition")]
    Fp,
    /// Slices own shares and lend PRBs to each other, so that packets are sent whole (irazabal2021
    /// §IV-B).
    #[serde(alias = "elastic_quantum_partition")]
    Eqp,
}

impl SchedulerKind {
    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rr => "rr",
            Self::Pf => "pf",
            Self::Fp => "fp",
            Self::Eqp => "eqp",
        }
    }

    /// Whether slices own shares.
    pub const fn has_slices(self) -> bool {
        matches!(self, Self::Fp | Self::Eqp)
    }
}

impl JsonSchema for SchedulerKind {
    fn schema_name() -> Cow<'static, str> {
        "SchedulerKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Round robin, proportional fair, fixed partition (FP) or elastic quantum \
                partition (EQP of irazabal2021).",
            "enum": [
                "rr", "round_robin", "pf", "proportional_fair", "fp", "fixed_partition", "eqp",
                "elastic_quantum_partition"
            ]
        })
    }
}

/// Scheduling of the UEs of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UeScheduler {
    /// Round robin.
    #[default]
    Rr,
    /// Proportional fair.
    Pf,
}

/// Granularity of proportional fair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PfGranularity {
    /// One decision a slot.
    #[default]
    Wideband,
    /// One per resource block group.
    PerRbg,
}

/// A slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// Its number, which UEs refer to.
    pub id: u8,
    /// Share of the PRBs of each slot, rounded down to whole PRBs; all of them at most 100.
    #[schemars(range(min = 1, max = 100))]
    pub percent: u8,
    /// Scheduling of its UEs.
    #[serde(default)]
    pub ue_scheduler: UeScheduler,
}

/// The MAC scheduler: a kind, with parameters of its own. In the file also the name of a kind alone.
///
/// `slices` belong to `fp` and `eqp`; without, each entry of `ues` is a slice with its
/// `prb_share_percent`. `quantum_limit_prb` belongs to `eqp`; `time_constant_ms` and `granularity`
/// to `pf` and to slices that use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacScheduler {
    /// Allocation of PRBs to UEs or slices.
    pub kind: SchedulerKind,
    /// The slices.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub slices: Vec<SliceSpec>,
    /// PRBs a slice may owe the others under EQP, 1..=10000; 100 if unset (irazabal2021 §V-E).
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub quantum_limit_prb: Option<u16>,
    /// Time constant of the averaged throughput of a UE, 1..=100000 ms; 100 if unset.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub time_constant_ms: Option<u32>,
    /// Granularity of proportional fair.
    #[serde(default)]
    pub granularity: Option<PfGranularity>,
}

/// Reads a mapping, or the name of a kind.
pub(super) fn name_or_mapping<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<MacScheduler, D::Error> {
    struct NameOrMapping;
    impl<'de> Visitor<'de> for NameOrMapping {
        type Value = MacScheduler;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("rr, pf, fp or eqp, or a mapping with such a 'kind'")
        }

        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<MacScheduler, E> {
            let kind = SchedulerKind::deserialize(StrDeserializer::new(name))?;
            Ok(MacScheduler { kind, ..MacScheduler::default() })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MacScheduler, A::Error> {
            MacScheduler::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(NameOrMapping)
}

/// JSON schema of a mapping or the name of a kind.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "A kind by its name, or with parameters.",
        "oneOf": [
            generator.subschema_for::<SchedulerKind>(),
            generator.subschema_for::<MacScheduler>()
        ]
    })
}
