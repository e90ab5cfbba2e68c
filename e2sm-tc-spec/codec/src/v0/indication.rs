//! RIC indication of v0.

use serde::{Deserialize, Serialize};

use super::QueueType;

/// RIC indication header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndicationHeader {
    /// Without meaning.
    pub dummy: u32,
}

/// RIC indication message: the state of the one pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndicationMessage {
    /// Stage 4.
    pub sch: SchedulerStatus,
    /// Stage 6.
    pub pcr: PacerStatus,
    /// Stage 1.
    pub cls: ClassifierStatus,
    /// Stages 5, 2 and 3 of each queue.
    pub q: Vec<QueueStatus>,
    /// Wall clock, µs.
    pub tstamp: i64,
}

/// Stage 4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum SchedulerStatus {
    /// Round robin.
    #[serde(rename = "RR")]
    RoundRobin,
    /// Strict priority.
    #[serde(rename = "PRIO")]
    Priority {
        /// Queue ids from highest to lowest priority.
        q_prio: Vec<u32>,
    },
}

/// Stage 6.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacerStatus {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: PacerType,
    /// Its id.
    pub id: u32,
    /// Bandwidth it sees.
    pub mtr: Meter,
}

/// Kind of a pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacerType {
    /// None.
    #[serde(rename = "DUMMY")]
    Dummy,
    /// 5G-BDP.
    #[serde(rename = "5G_BDP")]
    Bdp5g,
}

/// A measured bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// Bandwidth; the unit is not stated.
    #[serde(with = "float")]
    pub bnd_flt: f32,
    /// Measuring window.
    pub time_window_ms: u32,
}

/// Stage 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum ClassifierStatus {
    /// Round robin.
    #[serde(rename = "RR")]
    RoundRobin {
        /// Without meaning.
        dummy: u32,
    },
    /// Filters.
    #[serde(rename = "OSI")]
    Osi {
        /// In order of precedence.
        flt: Vec<Filter>,
    },
    /// Stochastic hash.
    #[serde(rename = "STO")]
    Stochastic {
        /// Without meaning.
        dummy: u32,
    },
}

/// A filter of the OSI classifier. −1 matches everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Its id.
    pub id: u32,
    /// Source IPv4 address.
    pub src_addr: i64,
    /// Destination IPv4 address.
    pub dst_addr: i64,
    /// Source port.
    pub src_port: i32,
    /// Destination port.
    pub dst_port: i32,
    /// IP protocol number.
    pub protocol: i32,
    /// Layer 7; the values are not stated.
    pub l7: u32,
    /// Queue of what matches.
    pub dst_queue: i32,
}

/// A queue with its shaper and policer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Stage 5.
    pub shp: Shaper,
    /// Stage 2.
    pub plc: Policer,
    /// Stage 3.
    pub queue: Queue,
}

/// Stage 5 of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shaper {
    /// Its id.
    pub id: u32,
    /// Whether it works, 0 or 1.
    pub active: u32,
    /// Rate.
    pub max_rate_kbps: u32,
    /// Bandwidth it sees.
    pub mtr: Meter,
}

/// Stage 2 of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policer {
    /// Its id.
    pub id: u32,
    /// Bandwidth it sees.
    pub mtr: Meter,
    /// Packets dropped, cumulative.
    pub dropped_pkts: u32,
    /// Packets marked, cumulative.
    pub marked_pkts: u32,
    /// Rate.
    #[serde(with = "float")]
    pub max_rate_kbps: f32,
    /// Whether it works, 0 or 1.
    pub active: u32,
    /// Queue of packets within the rate.
    pub dst_id: u32,
    /// Queue of packets above it.
    pub dev_id: u32,
}

/// Stage 3 of a queue. Its id is not on the wire: the `id_not_on_wire` that published vectors
/// carry is ignored when encoding and never made up when decoding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Queue {
    /// First in, first out.
    #[serde(rename = "FIFO")]
    Fifo(DroppingQueue),
    /// CoDel (RFC 8289).
    #[serde(rename = "CODEL")]
    Codel(DroppingQueue),
    /// CoDel that marks.
    #[serde(rename = "ECN_CODEL")]
    EcnCodel(MarkingQueue),
}

impl Queue {
    /// Its kind.
    #[must_use]
    pub fn queue_type(&self) -> QueueType {
        match self {
            Self::Fifo(_) => QueueType::Fifo,
            Self::Codel(_) => QueueType::Codel,
            Self::EcnCodel(_) => QueueType::EcnCodel,
        }
    }
}

/// Counters of a queue that drops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DroppingQueue {
    /// Bytes queued.
    pub bytes: u32,
    /// Packets queued.
    pub pkts: u32,
    /// Bytes forwarded, cumulative.
    pub bytes_fwd: u32,
    /// Packets forwarded, cumulative.
    pub pkts_fwd: u32,
    /// Packets dropped, cumulative.
    pub dropped_pkts: u32,
    /// Mean sojourn; the unit is not stated.
    #[serde(with = "float")]
    pub avg_sojourn_time: f32,
    /// Sojourn of the last packet; the unit is not stated.
    pub last_sojourn_time: i64,
}

/// Counters of a queue that marks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarkingQueue {
    /// Bytes queued.
    pub bytes: u32,
    /// Packets queued.
    pub pkts: u32,
    /// Bytes forwarded, cumulative.
    pub bytes_fwd: u32,
    /// Packets forwarded, cumulative.
    pub pkts_fwd: u32,
    /// Packets marked, cumulative.
    pub marked_pkts: u32,
    /// Mean sojourn; the unit is not stated.
    #[serde(with = "float")]
    pub avg_sojourn_time: f32,
    /// Sojourn of the last packet; the unit is not stated.
    pub last_sojourn_time: i64,
}

/// Floats in JSON, which has no number for `NaN` and the infinities: those are strings.
mod float {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum NumberOrName {
        Number(f64),
        Name(String),
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        match *value {
            value if value.is_finite() => serializer.serialize_f32(value),
            value if value.is_nan() => serializer.serialize_str("NaN"),
            f32::INFINITY => serializer.serialize_str("Infinity"),
            _ => serializer.serialize_str("-Infinity"),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
        match NumberOrName::deserialize(deserializer)? {
            NumberOrName::Number(number) if number.abs() <= f64::from(f32::MAX) => {
                Ok(number as f32)
            }
            NumberOrName::Number(number) => Err(D::Error::custom(format!(
                "expected a number that a 32-bit float can hold, found {number}"
            ))),
            NumberOrName::Name(name) => match name.as_str() {
                "NaN" => Ok(f32::NAN),
                "Infinity" => Ok(f32::INFINITY),
                "-Infinity" => Ok(f32::NEG_INFINITY),
                _ => Err(D::Error::custom(format!(
                    "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", found {name:?}"
                ))),
            },
        }
    }
}
