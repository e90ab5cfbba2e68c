//! The MAC scheduler in a scenario: its name alone, or its name with parameters and slices.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Violation;
use super::check::{Check, within};
use super::model::{Cell, Ue};

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

const MAX_SLICES: usize = 256;

/// Checks the scheduler and where the UEs are in its slices.
pub(super) fn check(cell: &Cell, ues: &[Ue]) -> Check {
    let scheduler = &cell.scheduler;
    let uses_pf = scheduler.kind == SchedulerKind::Pf
        || scheduler.slices.iter().any(|slice| slice.ue_scheduler == UeScheduler::Pf);
    let is_eqp = scheduler.kind == SchedulerKind::Eqp;
    let belongs = [
        ("slices", !scheduler.slices.is_empty(), scheduler.kind.has_slices(), "fp and eqp"),
        ("quantum_limit_prb", scheduler.quantum_limit_prb.is_some(), is_eqp, "eqp"),
        ("time_constant_ms", scheduler.time_constant_ms.is_some(), uses_pf, "pf"),
        ("granularity", scheduler.granularity.is_some(), uses_pf, "pf"),
    ];
    for (key, given, fits, kinds) in belongs {
        if given && !fits {
            let message = format!("is for kind {kinds} alone, this is {}", scheduler.kind.name());
            return Err(Violation::new(format!("cell.scheduler.{key}"), message));
        }
    }
    let limit_prb = scheduler.quantum_limit_prb.unwrap_or(1);
    within("cell.scheduler.quantum_limit_prb", limit_prb, 1..=10_000)?;
    let constant_ms = scheduler.time_constant_ms.unwrap_or(1);
    within("cell.scheduler.time_constant_ms", constant_ms, 1..=100_000)?;
    let mut shares = Shares { n_prb: cell.n_prb, sum: 0 };
    if scheduler.slices.is_empty() {
        by_ue(scheduler.kind, ues, &mut shares)
    } else {
        by_slice(&scheduler.slices, ues, &mut shares)
    }
}

fn by_slice(slices: &[SliceSpec], ues: &[Ue], shares: &mut Shares) -> Check {
    if slices.len() > MAX_SLICES {
        let message = format!("{} slices; expected at most {MAX_SLICES}", slices.len());
        return Err(Violation::new("cell.scheduler.slices", message));
    }
    let mut ids = HashSet::new();
    for (index, slice) in slices.iter().enumerate() {
        let path = format!("cell.scheduler.slices[{index}]");
        if !ids.insert(slice.id) {
            let message = format!("{} is taken by an earlier slice", slice.id);
            return Err(Violation::new(format!("{path}.id"), message));
        }
        shares.add(slice.percent, format!("{path}.percent"))?;
    }
    for (index, ue) in ues.iter().enumerate() {
        let path = format!("ues[{index}]");
        if ue.prb_share_percent.is_some() {
            let path = format!("{path}.prb_share_percent");
            return Err(Violation::new(path, "is for a scheduler without cell.scheduler.slices"));
        }
        let Some(slice) = ue.slice else {
            let message = "missing; there are cell.scheduler.slices";
            return Err(Violation::new(format!("{path}.slice"), message));
        };
        if !ids.contains(&slice) {
            let message = format!("{slice} is none of cell.scheduler.slices");
            return Err(Violation::new(format!("{path}.slice"), message));
        }
    }
    Ok(())
}

fn by_ue(kind: SchedulerKind, ues: &[Ue], shares: &mut Shares) -> Check {
    if kind.has_slices() && ues.len() > MAX_SLICES {
        let message = format!("{} entries; {} has {MAX_SLICES}", ues.len(), kind.name());
        return Err(Violation::new("ues", message));
    }
    for (index, ue) in ues.iter().enumerate() {
        if ue.slice.is_some() {
            let path = format!("ues[{index}].slice");
            return Err(Violation::new(path, "is for a scheduler with cell.scheduler.slices"));
        }
        let path = format!("ues[{index}].prb_share_percent");
        match (kind.has_slices(), ue.prb_share_percent) {
            (false, None) => {}
            (false, Some(_)) => {
                return Err(Violation::new(path, "is for cell.scheduler fp and eqp alone"));
            }
            (true, None) => {
                let message = format!("missing; cell.scheduler {} needs it", kind.name());
                return Err(Violation::new(path, message));
            }
            (true, Some(percent)) => shares.add(percent, path)?,
        }
    }
    Ok(())
}

/// Shares of the slices so far.
struct Shares {
    n_prb: u16,
    sum: u32,
}

impl Shares {
    fn add(&mut self, percent: u8, path: String) -> Check {
        within(&path, percent, 1..=100)?;
        if u32::from(percent) * u32::from(self.n_prb) < 100 {
            let message = format!("{percent} % of {} PRBs is not one", self.n_prb);
            return Err(Violation::new(path, message));
        }
        self.sum += u32::from(percent);
        if self.sum > 100 {
            let message = format!("the shares sum to {} %; expected at most 100", self.sum);
            return Err(Violation::new(path, message));
        }
        Ok(())
    }
}
