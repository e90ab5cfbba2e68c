//! The MAC scheduler in a scenario: its name alone, or its name with parameters and slices.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Who gets the PRBs of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerKind {
    /// UEs with data share each slot in turn.
    #[default]
    #[serde(alias = "round_robin")]
    Rr,
    /// Whoever could get most now, over what it has been getting.
    #[serde(alias = "proportional_fair")]
    Pf,
    /// Slices own shares, used or not (irazabal2021 §VI-B, FP).
    #[serde(alias = "fixed_partition")]
    Fp,
    /// Slices own shares and lend one another PRBs, so that packets leave whole (irazabal2021
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

/// How the UEs of a slice share what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UeScheduler {
    /// In turn.
    #[default]
    Rr,
    /// Proportional fair.
    Pf,
}

/// At what grain proportional fair shares a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PfGranularity {
    /// One decision a slot.
    #[default]
    Wideband,
    /// One per resource block group.
    PerRbg,
}

/// A slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SliceSpec {
    /// What UEs call it.
    pub id: u8,
    /// Share of the PRBs of each slot, rounded down to whole PRBs; all of them at most 100.
    #[schemars(range(min = 1, max = 100))]
    pub percent: u8,
    /// How its UEs share them.
    #[serde(default)]
    pub ue_scheduler: UeScheduler,
}

/// The MAC scheduler: a kind, with parameters of its own.
///
/// `slices` belong to `fp` and `eqp`; without, each entry of `ues` is a slice with its
/// `prb_share_percent`. `quantum_limit_prb` belongs to `eqp`; `time_constant_ms` and `granularity`
/// to `pf` and to slices that use it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spelled {
    /// Who gets the PRBs.
    kind: SchedulerKind,
    /// The slices.
    #[serde(default)]
    #[schemars(length(max = 256))]
    slices: Vec<SliceSpec>,
    /// PRBs a slice may owe the others, 1..=10000; 100 when absent (irazabal2021 §V-E).
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    quantum_limit_prb: Option<u16>,
    /// Time constant of the average of what a UE gets, 1..=100000 ms; 100 when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    time_constant_ms: Option<u32>,
    /// At what grain a slot is shared.
    #[serde(default)]
    granularity: Option<PfGranularity>,
}

/// The MAC scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MacScheduler {
    /// Who gets the PRBs.
    pub kind: SchedulerKind,
    /// The slices; empty where each entry of the scenario's UEs is one.
    pub slices: Vec<SliceSpec>,
    /// PRBs a slice may owe the others under EQP.
    pub quantum_limit_prb: Option<u16>,
    /// Time constant of proportional fair.
    pub time_constant_ms: Option<u32>,
    /// Granularity of proportional fair.
    pub granularity: Option<PfGranularity>,
}

impl From<Spelled> for MacScheduler {
    fn from(spelled: Spelled) -> Self {
        let Spelled { kind, slices, quantum_limit_prb, time_constant_ms, granularity } = spelled;
        Self { kind, slices, quantum_limit_prb, time_constant_ms, granularity }
    }
}

impl<'de> Deserialize<'de> for MacScheduler {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrMapping;
        impl<'de> Visitor<'de> for NameOrMapping {
            type Value = Spelled;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("rr, pf, fp or eqp, or a mapping with such a 'kind'")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Spelled, E> {
                let kind = SchedulerKind::deserialize(StrDeserializer::new(name))?;
                Ok(Spelled { kind, ..Spelled::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Spelled, A::Error> {
                Spelled::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(NameOrMapping).map(Self::from)
    }
}

impl Serialize for MacScheduler {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, slices, quantum_limit_prb, time_constant_ms, granularity } = self.clone();
        Spelled { kind, slices, quantum_limit_prb, time_constant_ms, granularity }
            .serialize(serializer)
    }
}

impl JsonSchema for MacScheduler {
    fn schema_name() -> Cow<'static, str> {
        "MacScheduler".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A kind by its name, or with parameters.",
            "oneOf": [
                generator.subschema_for::<SchedulerKind>(),
                generator.subschema_for::<Spelled>()
            ]
        })
    }
}
