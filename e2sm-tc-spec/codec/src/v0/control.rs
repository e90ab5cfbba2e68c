//! RIC event trigger, control header, message and outcome of v0.

use serde::{Deserialize, Serialize};

use super::Filter;

/// RIC event trigger definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventTrigger {
    /// Report period.
    pub ms: u32,
}

/// RIC control header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlHeader {
    /// Without meaning.
    pub dummy: u32,
}

/// RIC control outcome: the layout knows no other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "out")]
pub enum ControlOutcome {
    /// Done.
    #[serde(rename = "OK")]
    Ok,
}

/// RIC control message: one stage of the one pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum ControlMessage {
    /// Stage 1.
    #[serde(rename = "CLS")]
    Classifier(ClassifierControl),
    /// Stage 2.
    #[serde(rename = "PLC")]
    Policer(PolicerControl),
    /// Stage 3.
    #[serde(rename = "QUEUE")]
    Queue(QueueControl),
    /// Stage 4.
    #[serde(rename = "SCH")]
    Scheduler(SchedulerControl),
    /// Stage 5.
    #[serde(rename = "SHP")]
    Shaper(ShaperControl),
    /// Stage 6.
    #[serde(rename = "PCR")]
    Pacer(PacerControl),
}

/// Stage 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act")]
pub enum ClassifierControl {
    /// Add a classifier or a filter.
    #[serde(rename = "ADD")]
    Add(AddClassifier),
    /// Remove it.
    #[serde(rename = "DEL")]
    Delete(DeleteClassifier),
    /// Change it.
    #[serde(rename = "MOD")]
    Modify(ModifyClassifier),
}

/// What to add at stage 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cls_type")]
pub enum AddClassifier {
    /// Round robin.
    #[serde(rename = "RR")]
    RoundRobin {
        /// Without meaning.
        dummy: u32,
    },
    /// A filter.
    #[serde(rename = "OSI")]
    Osi(NewFilter),
    /// Stochastic hash.
    #[serde(rename = "STO")]
    Stochastic {
        /// Without meaning.
        dummy: u32,
    },
}

/// What to remove at stage 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cls_type")]
pub enum DeleteClassifier {
    /// Round robin.
    #[serde(rename = "RR")]
    RoundRobin {
        /// Without meaning.
        dummy: u32,
    },
    /// A filter.
    #[serde(rename = "OSI")]
    Osi {
        /// Its id.
        filter_id: u32,
    },
    /// Stochastic hash.
    #[serde(rename = "STO")]
    Stochastic {
        /// Without meaning.
        dummy: u32,
    },
}

/// What to change at stage 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cls_type")]
pub enum ModifyClassifier {
    /// Round robin.
    #[serde(rename = "RR")]
    RoundRobin {
        /// Without meaning.
        dummy: u32,
    },
    /// The filter of that id.
    #[serde(rename = "OSI")]
    Osi {
        /// Its new content.
        filter: Filter,
    },
    /// Stochastic hash.
    #[serde(rename = "STO")]
    Stochastic {
        /// Without meaning.
        dummy: u32,
    },
}

/// A filter to add: a [`Filter`] without id and without layer 7. −1 matches everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFilter {
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
    /// Queue of what matches.
    pub dst_queue: i32,
}

/// Stage 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act")]
pub enum PolicerControl {
    /// Add a policer.
    #[serde(rename = "ADD")]
    Add {
        /// Without meaning.
        dummy: u32,
    },
    /// Remove it.
    #[serde(rename = "DEL")]
    Delete {
        /// Its id.
        id: u32,
    },
    /// Change it.
    #[serde(rename = "MOD")]
    Modify {
        /// Its id.
        id: u32,
        /// Rate above which packets are dropped.
        drop_rate_kbps: u32,
        /// Queue that deviated packets go to.
        dev_id: u32,
        /// Rate above which packets are deviated.
        dev_rate_kbps: u32,
        /// Whether it works, 0 or 1.
        active: u32,
    },
}

/// Stage 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act")]
pub enum QueueControl {
    /// Add a queue.
    #[serde(rename = "ADD")]
    Add(QueueParameters),
    /// Remove it.
    #[serde(rename = "DEL")]
    Delete {
        /// Its id.
        id: u32,
        /// Its kind.
        queue_type: QueueType,
    },
    /// Change it.
    #[serde(rename = "MOD")]
    Modify {
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
    #[serde(rename = "FIFO")]
    Fifo,
    /// CoDel (RFC 8289).
    #[serde(rename = "CODEL")]
    Codel,
    /// CoDel that marks.
    #[serde(rename = "ECN_CODEL")]
    EcnCodel,
}

/// Kind and parameters of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "queue_type")]
pub enum QueueParameters {
    /// First in, first out.
    #[serde(rename = "FIFO")]
    Fifo {
        /// Without meaning.
        dummy: u32,
    },
    /// CoDel (RFC 8289).
    #[serde(rename = "CODEL")]
    Codel {
        /// Acceptable standing sojourn time.
        target_ms: u32,
        /// Sliding window.
        interval_ms: u32,
    },
    /// CoDel that marks.
    #[serde(rename = "ECN_CODEL")]
    EcnCodel {
        /// Acceptable standing sojourn time.
        target_ms: u32,
        /// Sliding window.
        interval_ms: u32,
    },
}

/// Stage 4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act")]
pub enum SchedulerControl {
    /// Add a scheduler.
    #[serde(rename = "ADD")]
    Add {
        /// Without meaning.
        dummy: u32,
    },
    /// Remove it.
    #[serde(rename = "DEL")]
    Delete {
        /// Without meaning.
        dummy: u32,
    },
    /// Replace it.
    #[serde(rename = "MOD")]
    Modify(ModifyScheduler),
}

/// What the scheduler is replaced by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sch_type")]
pub enum ModifyScheduler {
    /// Round robin.
    #[serde(rename = "RR")]
    RoundRobin {
        /// Without meaning.
        dummy: u32,
    },
    /// Strict priority.
    #[serde(rename = "PRIO")]
    Priority {
        /// Queue ids from highest to lowest priority.
        q_prio: Vec<u32>,
    },
}

/// Stage 5.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act")]
pub enum ShaperControl {
    /// Add a shaper.
    #[serde(rename = "ADD")]
    Add {
        /// Without meaning.
        dummy: u32,
    },
    /// Remove it.
    #[serde(rename = "DEL")]
    Delete {
        /// Its id.
        id: u32,
    },
    /// Change it.
    #[serde(rename = "MOD")]
    Modify {
        /// Its id.
        id: u32,
        /// Window of the rate.
        time_window_ms: u32,
        /// Rate.
        max_rate_kbps: u32,
        /// Whether it works, 0 or 1.
        active: u32,
    },
}

/// Stage 6.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act")]
pub enum PacerControl {
    /// Add a pacer.
    #[serde(rename = "ADD")]
    Add {
        /// Without meaning.
        dummy: u32,
    },
    /// Remove it.
    #[serde(rename = "DEL")]
    Delete {
        /// Without meaning.
        dummy: u32,
    },
    /// Replace it.
    #[serde(rename = "MOD")]
    Modify(ModifyPacer),
}

/// What the pacer is replaced by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "pcr_type")]
pub enum ModifyPacer {
    /// None.
    #[serde(rename = "DUMMY")]
    Dummy {
        /// Without meaning.
        dummy: u32,
    },
    /// 5G-BDP.
    #[serde(rename = "5G_BDP")]
    Bdp5g {
        /// Occupancy of the RLC buffer.
        drb_sz: u32,
        /// When that was.
        tstamp: i64,
    },
}
