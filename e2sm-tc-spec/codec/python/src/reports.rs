//! Indications of v1 as objects. A controller reads 100 000 of them a second; as text they would
//! cost ten times as much.

use e2sm_tc::json::CodecError as JsonCodecError;
use e2sm_tc::v1::{self, IndicationMessage, Inelastic};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::statuses::{PipelineStatuses, rnti};
use super::to_py_err;

type FiveTuple = (String, String, u16, u16, u8);

/// Flows of one bearer.
#[pyclass(frozen, module = "e2sm_tc")]
struct FlowInventory(v1::FlowInventory);

/// One flow.
#[pyclass(frozen, module = "e2sm_tc")]
struct FlowRecord(v1::FlowRecord);

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
            let bearers = Bound::new(py, PipelineStatuses(all.into()))?;
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
    module.add_class::<FlowInventory>()?;
    module.add_class::<FlowRecord>()?;
    module.add_function(wrap_pyfunction!(decode_indication, module)?)
}
