//! RIC indication of v0.

use serde::{Deserialize, Serialize};

use super::QueueType;
use super::plain::{Cursor, Hole, Plain};
use crate::error::{DecodeError, EncodeError, Problem};

plain! {
    /// RIC indication header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct IndicationHeader {
        /// Unused.
        dummy: u32,
    }

    /// RIC indication message: the state of the one pipeline.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct IndicationMessage {
        /// Stage 4.
        sch: SchedulerStatus,
        /// Stage 6.
        pcr: PacerStatus,
        /// Stage 1.
        cls: ClassifierStatus,
        /// Stages 5, 2 and 3 of each queue.
        q: Vec<QueueStatus>,
        /// Wall clock, µs.
        tstamp: i64,
    }

    /// Stage 4.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum SchedulerStatus tagged "type" {
        /// Round robin.
        0 "RR" => RoundRobin,
        /// Strict priority.
        1 "PRIO" => Priority {
            /// Queue ids from highest to lowest priority.
            q_prio: Vec<u32>,
        },
    }

    /// Stage 6.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct PacerStatus {
        /// Its kind.
        #[serde(rename = "type")]
        kind: PacerType,
        /// Its id.
        id: u32,
        /// Measured bandwidth.
        mtr: Meter,
    }

    /// Kind of a pacer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum PacerType {
        /// None.
        0 "DUMMY" => Dummy,
        /// 5G-BDP.
        1 "5G_BDP" => Bdp5g,
    }

    /// A measured bandwidth.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Meter {
        /// Bandwidth; the unit is not stated.
        #[serde(with = "float")]
        bnd_flt: f32,
        /// Measuring window.
        time_window_ms: u32,
    }

    /// Stage 1.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ClassifierStatus tagged "type" {
        /// Round robin.
        0 "RR" => RoundRobin {
            /// Unused.
            dummy: u32,
        },
        /// Filters.
        1 "OSI" => Osi {
            /// Filters in order of precedence.
            flt: Vec<Filter>,
        },
        /// Stochastic hash.
        2 "STO" => Stochastic {
            /// Unused.
            dummy: u32,
        },
    }

    /// A filter of the OSI classifier; −1 matches everything. On the wire as the compiler lays it
    /// out: 48 bytes with padding after the id and at the end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Filter {
        /// Its id.
        id: u32 => Hole,
        /// Source IPv4 address.
        src_addr: i64,
        /// Destination IPv4 address.
        dst_addr: i64,
        /// Source port.
        src_port: i32,
        /// Destination port.
        dst_port: i32,
        /// IP protocol number.
        protocol: i32,
        /// Layer 7; the values are not stated.
        l7: u32,
        /// Queue of matching packets.
        dst_queue: i32 => Hole,
    }

    /// A queue with its shaper and policer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct QueueStatus {
        /// Stage 5.
        shp: Shaper,
        /// Stage 2.
        plc: Policer,
        /// Stage 3.
        queue: Queue,
    }

    /// Stage 5 of a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Shaper {
        /// Its id.
        id: u32,
        /// 1 if enabled, else 0.
        active: u32,
        /// Rate.
        max_rate_kbps: u32,
        /// Measured bandwidth.
        mtr: Meter,
    }

    /// Stage 2 of a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Policer {
        /// Its id.
        id: u32,
        /// Measured bandwidth.
        mtr: Meter,
        /// Packets dropped, cumulative.
        dropped_pkts: u32,
        /// Packets marked, cumulative.
        marked_pkts: u32,
        /// Rate.
        #[serde(with = "float")]
        max_rate_kbps: f32,
        /// 1 if enabled, else 0.
        active: u32,
        /// Queue of packets within the rate.
        dst_id: u32,
        /// Queue of packets above it.
        dev_id: u32,
    }

    /// Stage 3 of a queue. Its id is not on the wire: the `id_not_on_wire` that published vectors
    /// carry is ignored when encoding and absent after decoding.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub enum Queue tagged "type" {
        /// First in, first out.
        0 "FIFO" => Fifo(DroppingQueue),
        /// CoDel (RFC 8289).
        1 "CODEL" => Codel(DroppingQueue),
        /// CoDel that marks.
        2 "ECN_CODEL" => EcnCodel(MarkingQueue),
    }

    /// Counters of a queue that drops.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct DroppingQueue {
        /// Bytes queued.
        bytes: u32,
        /// Packets queued.
        pkts: u32,
        /// Bytes forwarded, cumulative.
        bytes_fwd: u32,
        /// Packets forwarded, cumulative.
        pkts_fwd: u32,
        /// Packets dropped, cumulative.
        dropped_pkts: u32,
        /// Mean sojourn; the unit is not stated.
        #[serde(with = "float")]
        avg_sojourn_time: f32,
        /// Sojourn of the last packet; the unit is not stated.
        last_sojourn_time: i64,
    }

    /// Counters of a queue that marks.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct MarkingQueue {
        /// Bytes queued.
        bytes: u32,
        /// Packets queued.
        pkts: u32,
        /// Bytes forwarded, cumulative.
        bytes_fwd: u32,
        /// Packets forwarded, cumulative.
        pkts_fwd: u32,
        /// Packets marked, cumulative.
        marked_pkts: u32,
        /// Mean sojourn; the unit is not stated.
        #[serde(with = "float")]
        avg_sojourn_time: f32,
        /// Sojourn of the last packet; the unit is not stated.
        last_sojourn_time: i64,
    }
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
