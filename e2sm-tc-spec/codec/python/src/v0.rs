//! E2SM-TC v0 translated to v1: `tc_pipelines::v0`. A state stays in Rust, because it is compared
//! with each report; controls are bytes, pipelines and status are JSON.

use std::fmt::Display;

use e2sm_tc::json::CodecError as JsonCodecError;
use e2sm_tc::v0::{self, ControlMessage, IndicationMessage, Message};
use e2sm_tc::v1::Pipeline;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tc_pipelines::v0::{self as mapping, BearerContext, Counters, NodeState};

use crate::pipelines::{PipelineError, from_json, to_json, with_pipeline_attributes};
use crate::{codec_error, to_py_err};

create_exception!(
    e2sm_tc,
    UnsupportedInV0,
    PipelineError,
    "A pipeline that E2SM-TC v0 cannot express or that exceeds the node's limits."
);

create_exception!(
    e2sm_tc,
    V0ControlError,
    PyValueError,
    "A control that a v0 node in this state refuses."
);

fn message<M: Message>(py: Python<'_>, data: &[u8]) -> PyResult<M> {
    v0::decode(data).map_err(|error| to_py_err(py, &JsonCodecError::Decode(error)))
}

fn control_error(error: impl Display) -> PyErr {
    V0ControlError::new_err(error.to_string())
}

/// The pipeline of a v0 node.
#[pyclass(frozen, eq, module = "e2sm_tc", name = "V0State")]
#[derive(PartialEq)]
struct State(NodeState);

#[pymethods]
impl State {
    #[staticmethod]
    #[pyo3(signature = (queue = 0))]
    fn safe(queue: u16) -> Self {
        Self(NodeState::safe(queue))
    }

    #[staticmethod]
    fn observed(py: Python<'_>, indication: &[u8]) -> PyResult<Self> {
        let report: IndicationMessage = message(py, indication)?;
        NodeState::observed(&report)
            .map(Self)
            .map_err(|error| codec_error(py, &format!("indication: {error}"), "indication"))
    }

    #[getter]
    fn base(&self) -> u16 {
        self.0.base()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.pipeline().name
    }

    #[getter]
    fn is_safe(&self) -> bool {
        self.0.is_safe()
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &self.0)
    }

    fn agrees_with(&self, seen: &Self) -> bool {
        self.0.agrees_with(&seen.0)
    }

    fn controls_to<'py>(
        &self,
        py: Python<'py>,
        target: &Self,
    ) -> PyResult<Vec<Vec<Bound<'py, PyBytes>>>> {
        let encoded = |control: ControlMessage| {
            let bytes = v0::encode(&control)
                .map_err(|error| to_py_err(py, &JsonCodecError::Encode(error)))?;
            Ok(PyBytes::new(py, &bytes))
        };
        mapping::plan(&self.0, &target.0)
            .and_then(|controls| mapping::groups(&self.0, controls))
            .map_err(control_error)?
            .into_iter()
            .map(|group| group.into_iter().map(encoded).collect())
            .collect()
    }

    fn after(&self, py: Python<'_>, control: &[u8]) -> PyResult<Self> {
        self.0.apply(&message(py, control)?).map(Self).map_err(control_error)
    }
}

/// The v0 state equivalent to a v1 pipeline.
#[pyfunction]
fn lower(
    py: Python<'_>,
    pipeline: &str,
    base: u16,
    max_queues: u16,
    max_filters: u16,
) -> PyResult<State> {
    let pipeline: Pipeline = from_json(py, "pipeline", pipeline)?;
    mapping::lower(&pipeline, base, &mapping::capabilities(max_queues, max_filters))
        .map(State)
        .map_err(|error| {
            with_pipeline_attributes(py, UnsupportedInV0::new_err(error.to_string()), &error.0)
        })
}

/// The v1 capabilities that v0 supports.
#[pyfunction]
fn v0_capabilities(py: Python<'_>, max_queues: u16, max_filters: u16) -> PyResult<String> {
    to_json(py, &mapping::capabilities(max_queues, max_filters))
}

/// The ids of a report's queues.
#[pyfunction]
fn queue_numbers(shaper_ids: Vec<u32>) -> Vec<u16> {
    mapping::queue_numbers(shaper_ids.into_iter())
}

/// Reports of a v0 node as v1 status.
#[pyclass(module = "e2sm_tc", name = "V0Reports")]
#[derive(Default)]
struct Reports {
    counters: Counters,
    newest: Option<IndicationMessage>,
}

#[pymethods]
impl Reports {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, py: Python<'_>, indication: &[u8]) -> PyResult<()> {
        let report = message(py, indication)?;
        self.counters.take(&report);
        self.newest = Some(report);
        Ok(())
    }

    fn status(&self, py: Python<'_>, state: &State, context: &str) -> PyResult<Option<String>> {
        let context: BearerContext = from_json(py, "context", context)?;
        let newest = self.newest.as_ref();
        let lifted = newest.map(|report| mapping::lift(report, &self.counters, &state.0, &context));
        lifted.map(|status| to_json(py, &status)).transpose()
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UnsupportedInV0", module.py().get_type::<UnsupportedInV0>())?;
    module.add("V0ControlError", module.py().get_type::<V0ControlError>())?;
    module.add_class::<State>()?;
    module.add_class::<Reports>()?;
    module.add_function(wrap_pyfunction!(lower, module)?)?;
    module.add_function(wrap_pyfunction!(queue_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(v0_capabilities, module)?)
}
