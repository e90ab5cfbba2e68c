//! RIC event trigger, control header, message and outcome of v0.

use serde::{Deserialize, Serialize};

use super::Filter;
use super::plain::{Cursor, Plain};
use crate::error::{DecodeError, EncodeError, Problem};

plain! {
    /// RIC event trigger definition.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct EventTrigger {
        /// Report period.
        ms: u32,
    }

    /// RIC control header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ControlHeader {
        /// Unused.
        dummy: u32,
    }

    /// RIC control outcome: the layout has success only.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ControlOutcome tagged "out" {
        /// Done.
        0 "OK" => Ok,
    }

    /// RIC control message: one stage of the one pipeline.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ControlMessage tagged "type" {
        /// Stage 1.
        0 "CLS" => Classifier(ClassifierControl),
        /// Stage 2.
        1 "PLC" => Policer(PolicerControl),
        /// Stage 3.
        2 "QUEUE" => Queue(QueueControl),
        /// Stage 4.
        3 "SCH" => Scheduler(SchedulerControl),
        /// Stage 5.
        4 "SHP" => Shaper(ShaperControl),
        /// Stage 6.
        5 "PCR" => Pacer(PacerControl),
    }

    /// Stage 1.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ClassifierControl tagged "act" {
        /// Add a classifier or a filter.
        0 "ADD" => Add(AddClassifier),
        /// Remove it.
        1 "DEL" => Delete(DeleteClassifier),
        /// Change it.
        2 "MOD" => Modify(ModifyClassifier),
    }

    /// What to add at stage 1.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum AddClassifier tagged "cls_type" {
        /// Round robin.
        0 "RR" => RoundRobin {
            /// Unused.
            dummy: u32,
        },
        /// A filter.
        1 "OSI" => Osi(NewFilter),
        /// Stochastic hash.
        2 "STO" => Stochastic {
            /// Unused.
            dummy: u32,
        },
    }

    /// What to remove at stage 1.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum DeleteClassifier tagged "cls_type" {
        /// Round robin.
        0 "RR" => RoundRobin {
            /// Unused.
            dummy: u32,
        },
        /// A filter.
        1 "OSI" => Osi {
            /// Its id.
            filter_id: u32,
        },
        /// Stochastic hash.
        2 "STO" => Stochastic {
            /// Unused.
            dummy: u32,
        },
    }

    /// What to change at stage 1.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ModifyClassifier tagged "cls_type" {
        /// Round robin.
        0 "RR" => RoundRobin {
            /// Unused.
            dummy: u32,
        },
        /// The filter of that id.
        1 "OSI" => Osi {
            /// Its new content.
            filter: Filter,
        },
        /// Stochastic hash.
        2 "STO" => Stochastic {
            /// Unused.
            dummy: u32,
        },
    }

    /// A filter to add: a [`Filter`] without id and without layer 7. −1 matches everything.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct NewFilter {
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
        /// Queue of matching packets.
        dst_queue: i32,
    }

    /// Stage 2.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum PolicerControl tagged "act" {
        /// Add a policer.
        0 "ADD" => Add {
            /// Unused.
            dummy: u32,
        },
        /// Remove it.
        1 "DEL" => Delete {
            /// Its id.
            id: u32,
        },
        /// Change it.
        2 "MOD" => Modify {
            /// Its id.
            id: u32,
            /// Rate above which packets are dropped.
            drop_rate_kbps: u32,
            /// Queue that deviated packets go to.
            dev_id: u32,
            /// Rate above which packets are deviated.
            dev_rate_kbps: u32,
            /// 1 if enabled, else 0.
            active: u32,
        },
    }

    /// Stage 3.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum QueueControl tagged "act" {
        /// Add a queue.
        0 "ADD" => Add(QueueParameters),
        /// Remove it.
        1 "DEL" => Delete {
            /// Its id.
            id: u32,
            /// Its kind.
            queue_type: QueueType,
        },
        /// Change it.
        2 "MOD" => Modify {
            /// Its id.
            id: u32,
            /// Its new kind and parameters.
            #[serde(flatten)]
            parameters: QueueParameters,
        },
    }

    /// Kind of a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum QueueType {
        /// First in, first out.
        0 "FIFO" => Fifo,
        /// CoDel (RFC 8289).
        1 "CODEL" => Codel,
        /// CoDel that marks.
        2 "ECN_CODEL" => EcnCodel,
    }

    /// Kind and parameters of a queue.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum QueueParameters tagged "queue_type" {
        /// First in, first out.
        0 "FIFO" => Fifo {
            /// Unused.
            dummy: u32,
        },
        /// CoDel (RFC 8289).
        1 "CODEL" => Codel {
            /// Acceptable standing sojourn time.
            target_ms: u32,
            /// Sliding window.
            interval_ms: u32,
        },
        /// CoDel that marks.
        2 "ECN_CODEL" => EcnCodel {
            /// Acceptable standing sojourn time.
            target_ms: u32,
            /// Sliding window.
            interval_ms: u32,
        },
    }

    /// Stage 4.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum SchedulerControl tagged "act" {
        /// Add a scheduler.
        0 "ADD" => Add {
            /// Unused.
            dummy: u32,
        },
        /// Remove it.
        1 "DEL" => Delete {
            /// Unused.
            dummy: u32,
        },
        /// Replace it.
        2 "MOD" => Modify(ModifyScheduler),
    }

    /// What the scheduler is replaced by.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ModifyScheduler tagged "sch_type" {
        /// Round robin.
        0 "RR" => RoundRobin {
            /// Unused.
            dummy: u32,
        },
        /// Strict priority.
        1 "PRIO" => Priority {
            /// Queue ids from highest to lowest priority.
            q_prio: Vec<u32>,
        },
    }

    /// Stage 5.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ShaperControl tagged "act" {
        /// Add a shaper.
        0 "ADD" => Add {
            /// Unused.
            dummy: u32,
        },
        /// Remove it.
        1 "DEL" => Delete {
            /// Its id.
            id: u32,
        },
        /// Change it.
        2 "MOD" => Modify {
            /// Its id.
            id: u32,
            /// Window of the rate.
            time_window_ms: u32,
            /// Rate.
            max_rate_kbps: u32,
            /// 1 if enabled, else 0.
            active: u32,
        },
    }

    /// Stage 6.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum PacerControl tagged "act" {
        /// Add a pacer.
        0 "ADD" => Add {
            /// Unused.
            dummy: u32,
        },
        /// Remove it.
        1 "DEL" => Delete {
            /// Unused.
            dummy: u32,
        },
        /// Replace it.
        2 "MOD" => Modify(ModifyPacer),
    }

    /// What the pacer is replaced by.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ModifyPacer tagged "pcr_type" {
        /// None.
        0 "DUMMY" => Dummy {
            /// Unused.
            dummy: u32,
        },
        /// 5G-BDP.
        1 "5G_BDP" => Bdp5g {
            /// Occupancy of the RLC buffer.
            drb_sz: u32,
            /// Time of that occupancy.
            tstamp: i64,
        },
    }
}
