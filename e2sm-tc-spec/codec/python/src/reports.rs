//! Indications of v1 as objects. A controller reads 100 000 of them a second; as text they would
//! cost ten times as much.

use e2sm_tc::json::CodecError as JsonCodecError;
use e2sm_tc::v1::{self, BearerId, IndicationMessage, Inelastic, UeId};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::to_py_err;

/// 5QIs; SST and SD. The former are wider than they need to be: bytes would be `bytes` in Python.
type Qos = (Vec<u16>, Option<(u8, Option<u32>)>);
type FiveTuple = (String, String, u16, u16, u8);

/// State of one bearer's pipeline.
#[pyclass(frozen, module = "e2sm_tc")]
struct PipelineStatus(v1::PipelineStatus);

/// State of one queue.
#[pyclass(frozen, module = "e2sm_tc")]
struct QueueStatus(v1::QueueStatus);

/// Flows of one bearer.
#[pyclass(frozen, module = "e2sm_tc")]
struct FlowInventory(v1::FlowInventory);

/// One flow.
#[pyclass(frozen, module = "e2sm_tc")]
struct FlowRecord(v1::FlowRecord);

fn rnti(bearer: BearerId) -> Option<u16> {
    match bearer.ue {
        UeId::Rnti(rnti) => Some(rnti),
        UeId::GnbCuUeF1apId(_) => None,
    }
}

#[pymethods]
impl PipelineStatus {
    #[getter]
    fn rnti(&self) -> Option<u16> {
        rnti(self.0.bearer)
    }

    #[getter]
    fn drb(&self) -> u8 {
        self.0.bearer.drb
    }

    #[getter]
    fn revision(&self) -> u32 {
        self.0.revision
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn digest(&self) -> Option<u32> {
        self.0.digest
    }

    #[getter]
    fn safe(&self) -> bool {
        self.0.safe
    }

    #[getter]
    fn lease_left_ms(&self) -> Option<u32> {
        self.0.lease_left_ms
    }

    #[getter]
    fn owner(&self) -> Option<&str> {
        self.0.owner.as_deref()
    }

    #[getter]
    fn head_of_line_age_us(&self) -> u32 {
        self.0.head_of_line_age_us
    }

    /// Revision of the node default, position of its rule, and time since the bearer was set up by it,
    /// ms; `None` if the pipeline in force is not from there.
    #[getter]
    fn by_default(&self) -> Option<(u32, u8, u32)> {
        self.0.by_default.map(|it| (it.revision, it.rule, it.age_ms))
    }

    /// 5QIs and S-NSSAI (SST, SD) of what the bearer carries, as far as the node knows.
    #[getter]
    fn qos(&self) -> Qos {
        let Some(qos) = &self.0.qos else { return (Vec::new(), None) };
        let five_qis = qos.five_qis.iter().copied().map(u16::from).collect();
        (five_qis, qos.s_nssai.map(|slice| (slice.sst, slice.sd)))
    }

    #[getter]
    fn dropped_packets(&self) -> u64 {
        self.0.dropped_packets
    }

    #[getter]
    fn queues(&self) -> Vec<QueueStatus> {
        self.0.queues.iter().copied().map(QueueStatus).collect()
    }

    fn ungreedy_queues(&self, used: Option<Vec<u16>>) -> Vec<QueueStatus> {
        self.of_ungreedy(used.as_deref()).copied().map(QueueStatus).collect()
    }

    fn ungreedy_sojourn_us(&self, used: Option<Vec<u16>>) -> u32 {
        let sojourn_us = |queue: &v1::QueueStatus| match queue.mean_sojourn_us {
            // A queue that forwards nothing has no mean over 100 ms; its last counts.
            0 if queue.backlog_bytes > 0 => queue.last_sojourn_us,
            mean_us => mean_us,
        };
        self.of_ungreedy(used.as_deref()).map(sojourn_us).max().unwrap_or(0)
    }
}

impl PipelineStatus {
    /// The queues that ungreedy flows use; `used`: those that the inventory has such a flow in.
    ///
    /// The delay of a greedy flow in a queue of its own harms no other flow: its own congestion control built
    /// that queue. Without an inventory flows cannot be assigned to queues: one queue is shared by all; of
    /// several, the one that forwarded most is taken as the greedy flow's.
    fn of_ungreedy<'a>(
        &'a self,
        used: Option<&'a [u16]>,
    ) -> impl Iterator<Item = &'a v1::QueueStatus> {
        let queues = &self.0.queues;
        let most = queues.iter().map(|queue| queue.forwarded_bytes).max();
        let busiest = queues.iter().position(|queue| Some(queue.forwarded_bytes) == most);
        let greedy = busiest.filter(|_| used.is_none() && queues.len() > 1);
        let of_others = move |(index, queue): (usize, &'a v1::QueueStatus)| {
            let taken = used.is_none_or(|used| used.contains(&queue.id)) && Some(index) != greedy;
            taken.then_some(queue)
        };
        queues.iter().enumerate().filter_map(of_others)
    }
}

#[pymethods]
impl QueueStatus {
    #[getter]
    fn id(&self) -> u16 {
        self.0.id
    }

    #[getter]
    fn backlog_bytes(&self) -> u32 {
        self.0.backlog_bytes
    }

    #[getter]
    fn forwarded_bytes(&self) -> u64 {
        self.0.forwarded_bytes
    }

    #[getter]
    fn forwarded_packets(&self) -> u64 {
        self.0.forwarded_packets
    }

    #[getter]
    fn dropped_packets(&self) -> u64 {
        self.0.dropped_packets
    }

    #[getter]
    fn marked_packets(&self) -> u64 {
        self.0.marked_packets
    }

    #[getter]
    fn mean_sojourn_us(&self) -> u32 {
        self.0.mean_sojourn_us
    }

    #[getter]
    fn last_sojourn_us(&self) -> u32 {
        self.0.last_sojourn_us
    }
}

#[pymethods]
impl FlowInventory {
    #[getter]
    fn rnti(&self) -> Option<u16> {
        rnti(self.0.bearer)
    }

    #[getter]
    fn drb(&self) -> u8 {
        self.0.bearer.drb
    }

    #[getter]
    fn active_flows(&self) -> u32 {
        self.0.active_flows
    }

    #[getter]
    fn flows(&self) -> Vec<FlowRecord> {
        self.0.flows.iter().cloned().map(FlowRecord).collect()
    }
}

#[pymethods]
impl FlowRecord {
    #[getter]
    fn five_tuple(&self) -> FiveTuple {
        let flow = &self.0.flow;
        let addresses = (flow.source.to_string(), flow.destination.to_string());
        (addresses.0, addresses.1, flow.source_port, flow.destination_port, flow.protocol)
    }

    #[getter]
    fn qfi(&self) -> Option<u8> {
        self.0.qfi
    }

    #[getter]
    fn ecn(&self) -> &'static str {
        self.0.ecn.kind()
    }

    #[getter]
    fn rate_kbps(&self) -> u32 {
        self.0.rate_kbps
    }

    #[getter]
    fn mean_packet_bytes(&self) -> u16 {
        self.0.mean_packet_bytes
    }

    #[getter]
    fn backlog_bytes(&self) -> u32 {
        self.0.backlog_bytes
    }

    #[getter]
    fn queue(&self) -> u16 {
        self.0.queue
    }

    #[getter]
    fn inelastic(&self) -> Option<&'static str> {
        self.0.inelastic.as_ref().map(Inelastic::kind)
    }
}

/// Decodes an indication to its style and the bearers' objects; events to JSON.
#[pyfunction]
fn decode_indication<'py>(
    py: Python<'py>,
    data: &[u8],
) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    let message: IndicationMessage =
        v1::decode(data).map_err(|error| to_py_err(py, &JsonCodecError::Decode(error)))?;
    Ok(match message {
        IndicationMessage::PipelineStatus(all) => {
            let bearers = PyList::new(py, all.into_iter().map(PipelineStatus))?;
            ("pipeline_status", bearers.into_any())
        }
        IndicationMessage::FlowInventory(all) => {
            let bearers = PyList::new(py, all.into_iter().map(FlowInventory))?;
            ("flow_inventory", bearers.into_any())
        }
        IndicationMessage::Events(all) => {
            let text = e2sm_tc::json::to_json(&all).map_err(|error| to_py_err(py, &error))?;
            ("events", text.into_pyobject(py)?.into_any())
        }
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PipelineStatus>()?;
    module.add_class::<QueueStatus>()?;
    module.add_class::<FlowInventory>()?;
    module.add_class::<FlowRecord>()?;
    module.add_function(wrap_pyfunction!(decode_indication, module)?)
}
