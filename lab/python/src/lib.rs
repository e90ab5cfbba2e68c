//! Python module `gnb_lab._native`: the lab's world, stepped by hand. Documented in `_native.pyi`.

// `create_exception!` leaves no place for a doc comment; the stub documents both.
#![allow(missing_docs)]

mod columns;
mod scenario;
mod sheet;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use columns::{Recording, Table};
use lab_scenario::{LoadedScenario, Override, json_schema};
use lab_world::table::BEARER_COLUMNS;
use lab_world::{
    self as world, ControlRequest, Output, Payload, RanFunction, SubscriptionId,
    SubscriptionRequest,
};
use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde_json::Value;

create_exception!(gnb_lab, ScenarioError, PyValueError);
create_exception!(gnb_lab, E2Error, PyValueError);

/// JSON is the one shape that every part shares.
fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Times at which reports were taken, that of the newest of `take`, the answer that ended the steps, and
/// what is left.
type Stepped<'py> = (Vec<u64>, Option<u64>, Option<Bound<'py, PyAny>>, Vec<Indication>);

/// A RIC indication.
#[pyclass(frozen, module = "gnb_lab")]
struct Indication {
    inner: world::Indication,
}

#[pymethods]
impl Indication {
    #[getter]
    fn subscription(&self) -> u64 {
        self.inner.subscription.0
    }

    #[getter]
    fn ran_function_id(&self) -> u32 {
        self.inner.ran_function.id()
    }

    #[getter]
    fn ran_function_oid(&self) -> &'static str {
        self.inner.ran_function.oid()
    }

    #[getter]
    fn sequence(&self) -> u64 {
        self.inner.sequence
    }

    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.report.header)
    }

    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        match &self.inner.report.payload {
            Payload::Message(bytes) => PyBytes::new(py, bytes),
            Payload::Kpm(_) => PyBytes::new(py, &[]),
        }
    }

    #[getter]
    fn kpm<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Payload::Kpm(report) = &self.inner.report.payload else { return Ok(None) };
        let ues = PyList::empty(py);
        for ue in &report.ues {
            let values = PyDict::new(py);
            for (name, value) in &ue.values {
                values.set_item(name, value)?;
            }
            let row = PyDict::new(py);
            row.set_item("rnti", ue.rnti)?;
            row.set_item("values", values)?;
            ues.append(row)?;
        }
        let dict = PyDict::new(py);
        dict.set_item("period_ms", report.period_ms)?;
        dict.set_item("ues", ues)?;
        dict.set_item("unsupported", &report.unsupported[..])?;
        Ok(Some(dict))
    }

    #[getter]
    fn collected_at_us(&self) -> u64 {
        self.inner.report.collected_at_us
    }

    #[getter]
    fn received_at_us(&self) -> u64 {
        self.inner.received_at_us
    }

    fn __repr__(&self) -> String {
        format!(
            "Indication(subscription={}, ran_function_oid='{}', sequence={}, collected_at_us={})",
            self.inner.subscription.0,
            self.inner.ran_function.oid(),
            self.inner.sequence,
            self.inner.report.collected_at_us,
        )
    }
}

/// A gNB with its UEs and servers on virtual time.
#[pyclass(module = "gnb_lab")]
struct World {
    inner: world::World,
    /// Arrived while a control was waited for.
    waiting: VecDeque<world::Indication>,
    recording: Recording,
}

fn load(
    scenario: &Bound<'_, PyAny>,
    overrides: Option<&Bound<'_, PyDict>>,
) -> PyResult<LoadedScenario> {
    let mut changes = Vec::new();
    for (path, value) in overrides.into_iter().flatten() {
        let path: String = path.extract()?;
        let change: Result<Override, String> = Override::new(&path, from_python(&value)?);
        changes.push(change.map_err(ScenarioError::new_err)?);
    }
    let here = Path::new("");
    let loaded = if let Ok(text) = scenario.extract::<String>() {
        LoadedScenario::from_yaml(&text, "scenario", here, &changes)
    } else if scenario.hasattr("__fspath__")? {
        let path: PathBuf = scenario.extract()?;
        LoadedScenario::from_file(&path, &changes)
    } else if scenario.hasattr("keys")? {
        let dict = scenario.py().import("builtins")?.call_method1("dict", (scenario,))?;
        LoadedScenario::from_value(from_python(&dict)?, "scenario", here, &changes)
    } else {
        let message = "expected YAML text, a path or a mapping";
        return Err(PyTypeError::new_err(message));
    };
    loaded.map_err(|error| ScenarioError::new_err(error.to_string()))
}

#[pymethods]
impl World {
    #[new]
    #[pyo3(signature = (scenario, *, overrides=None, epoch_us=None))]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, PyAny>,
        overrides: Option<&Bound<'_, PyDict>>,
        epoch_us: Option<u64>,
    ) -> PyResult<Self> {
        let loaded = load(scenario, overrides)?;
        let mut inner = py
            .detach(|| world::World::new(&loaded))
            .map_err(|error| ScenarioError::new_err(error.to_string()))?;
        if let Some(epoch_us) = epoch_us {
            inner.set_epoch_us(epoch_us);
        }
        let (waiting, recording) = Default::default();
        Ok(Self { inner, waiting, recording })
    }

    #[getter]
    fn now_us(&self) -> u64 {
        self.inner.now_us()
    }

    #[getter]
    fn epoch_us(&self) -> u64 {
        self.inner.epoch_us()
    }

    #[getter]
    fn node_id(&self) -> String {
        self.inner.node_id().to_owned()
    }

    #[getter]
    fn ran_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for offered in self.inner.nodes().into_iter().flat_map(|node| node.ran_functions) {
            dict.set_item(offered.function.oid(), PyBytes::new(py, &offered.definition))?;
        }
        Ok(dict)
    }

    #[pyo3(signature = (
        ran_function_oid,
        period_ms=None,
        action_definition=None,
        *,
        event_trigger=None,
        action_definitions=Vec::new(),
        kpm_measurements=Vec::new(),
    ))]
    fn subscribe(
        &mut self,
        ran_function_oid: String,
        period_ms: Option<u32>,
        action_definition: Option<Vec<u8>>,
        event_trigger: Option<Vec<u8>>,
        action_definitions: Vec<Vec<u8>>,
        kpm_measurements: Vec<String>,
    ) -> PyResult<u64> {
        let event_trigger = match (event_trigger, period_ms) {
            (Some(bytes), None) => bytes.into(),
            (None, Some(period_ms)) => world::periodic_trigger(&ran_function_oid, period_ms),
            _ => {
                let message = "expected either period_ms or event_trigger";
                return Err(E2Error::new_err(message));
            }
        };
        let action_definitions =
            action_definition.into_iter().chain(action_definitions).map(Into::into).collect();
        let request = SubscriptionRequest {
            node_id: self.inner.node_id().to_owned(),
            ran_function_oid,
            event_trigger,
            action_definitions,
            kpm_measurements,
        };
        let id = self.inner.subscribe(&request);
        id.map(|id| id.0).map_err(|error| E2Error::new_err(error.to_string()))
    }

    fn unsubscribe(&mut self, subscription: u64) -> bool {
        self.waiting.retain(|indication| indication.subscription.0 != subscription);
        self.inner.unsubscribe(SubscriptionId(subscription))
    }

    fn step_until(&mut self, py: Python<'_>, t_us: u64) -> Vec<Indication> {
        let mut arrived: Vec<_> = self.waiting.drain(..).collect();
        let inner = &mut self.inner;
        py.detach(|| {
            inner.step_until(t_us, &mut |output| {
                if let Output::Indication(indication) = output {
                    arrived.push(indication);
                }
            });
        });
        arrived.into_iter().map(|inner| Indication { inner }).collect()
    }

    #[pyo3(signature = (t_us, step_us, ran_function_oid, take, others=HashMap::new()))]
    fn step_taking<'py>(
        &mut self,
        py: Python<'py>,
        t_us: u64,
        step_us: u64,
        ran_function_oid: &str,
        take: &Bound<'py, PyAny>,
        others: HashMap<String, Bound<'py, PyAny>>,
    ) -> PyResult<Stepped<'py>> {
        if step_us == 0 {
            return Err(PyValueError::new_err("step_us: 0; expected 1 or more"));
        }
        let (mut times, mut newest_us) = (Vec::new(), None);
        while self.inner.now_us().saturating_add(step_us) <= t_us {
            let end_us = self.inner.now_us() + step_us;
            let mut arrived = self.step_until(py, end_us).into_iter();
            while let Some(indication) = arrived.next() {
                let inner = &indication.inner;
                let (oid, at_us) = (inner.ran_function.oid(), inner.report.collected_at_us);
                let is_first = oid == ran_function_oid;
                let answer = match (&inner.report.payload, others.get(oid)) {
                    (Payload::Message(message), _) if is_first => {
                        Some(take.call1((at_us, PyBytes::new(py, message)))?)
                    }
                    (Payload::Message(message), Some(other)) => {
                        Some(other.call1((end_us, at_us, PyBytes::new(py, message)))?)
                    }
                    _ => None,
                };
                if answer.as_ref().is_some_and(|answer| answer.is_none()) {
                    if times.last() != Some(&end_us) {
                        times.push(end_us);
                    }
                    newest_us = if is_first { Some(end_us) } else { newest_us };
                    continue;
                }
                let left = std::iter::once(indication).chain(arrived).collect();
                return Ok((times, newest_us, answer, left));
            }
        }
        Ok((times, newest_us, None, Vec::new()))
    }

    fn control<'py>(
        &mut self,
        py: Python<'py>,
        ran_function_oid: String,
        header: Vec<u8>,
        message: Vec<u8>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let request = ControlRequest {
            node_id: self.inner.node_id().to_owned(),
            ran_function_oid,
            header: header.into(),
            message: message.into(),
        };
        let ticket = self
            .inner
            .submit_control(request)
            .map_err(|error| E2Error::new_err(error.to_string()))?;
        let Self { inner, waiting, .. } = self;
        let reply = py.detach(|| {
            let mut answer = None;
            let mut t_us = inner.now_us();
            while answer.is_none() {
                inner.step_until(t_us, &mut |output| match output {
                    Output::Indication(indication) => waiting.push_back(indication),
                    Output::ControlDone { ticket: done, reply } if done == ticket => {
                        answer = Some(reply);
                    }
                    Output::ControlDone { .. } => {}
                });
                match inner.next_output_us() {
                    Some(at_us) => t_us = at_us,
                    None => break,
                }
            }
            answer
        });
        match reply {
            Some(reply) if reply.acknowledged || !reply.outcome.is_empty() => {
                Ok(PyBytes::new(py, &reply.outcome))
            }
            Some(reply) => Err(E2Error::new_err(reply.detail)),
            None => Err(E2Error::new_err("the control was not answered")),
        }
    }

    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(self.inner.summary())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &value)
    }

    fn bearers<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let samples = self.inner.bearer_samples();
        let row = |sample| {
            let row = PyDict::new(py);
            for column in BEARER_COLUMNS {
                row.set_item(column.name, (column.value)(&sample))?;
            }
            Ok(row)
        };
        samples.into_iter().map(row).collect()
    }

    #[pyo3(signature = (*, packets=false))]
    fn record(&mut self, packets: bool) {
        self.recording.begin(&mut self.inner, packets);
    }

    #[pyo3(signature = (table="bearers"))]
    fn frame<'py>(&mut self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyAny>> {
        let Self { inner, recording, .. } = self;
        let recorded: Option<Table<'_>> = recording.table(py, inner, table);
        let tables = py.import("gnb_lab.tables")?;
        match recorded {
            Some((rows, columns)) => tables.call_method1("of_columns", (rows, columns)),
            None => Err(PyValueError::new_err(match table {
                "bearers" => "bearers: not recorded; expected World.record() before".to_owned(),
                "packets" => {
                    "packets: not recorded; expected World.record(packets=True) before".to_owned()
                }
                _ => format!("'{table}': no such table; expected bearers, flows or packets"),
            })),
        }
    }

    fn packet_ledgers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(self.inner.packet_ledgers())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        to_python(py, &value)
    }

    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.inner
            .flow_samples()
            .into_iter()
            .map(|sample| {
                let row = PyDict::new(py);
                row.set_item("name", sample.name)?;
                row.set_item("kind", sample.kind)?;
                row.set_item("direction", sample.direction.name())?;
                row.set_item("rnti", sample.rnti)?;
                row.set_item("drb", sample.drb)?;
                row.set_item("goodput_bytes", sample.goodput_bytes)?;
                Ok(row)
            })
            .collect()
    }

    fn rtt_samples_us(&self, flow: &str) -> PyResult<Vec<(u64, u64)>> {
        self.inner
            .flow(flow)
            .and_then(|flow| flow.rtt())
            .map(|rtt| rtt.samples().to_vec())
            .ok_or_else(|| PyValueError::new_err(format!("'{flow}' is no ping flow")))
    }

    fn unanswered_pings_us(&self, flow: &str) -> PyResult<Vec<u64>> {
        self.inner
            .flow(flow)
            .filter(|flow| flow.kind() == "ping")
            .map(|flow| flow.unanswered_us())
            .ok_or_else(|| PyValueError::new_err(format!("'{flow}' is no ping flow")))
    }

    fn fork(&self, py: Python<'_>) -> Self {
        let inner = py.detach(|| self.inner.fork());
        Self { inner, waiting: self.waiting.clone(), recording: self.recording.clone() }
    }

    fn __repr__(&self) -> String {
        format!("World(now_us={})", self.inner.now_us())
    }
}

#[pyfunction]
fn scenario_schema(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &json_schema())
}

#[pyfunction]
fn block_error_rate(modulation_order: u8, rate: f64, bits: u32, snr_db: f64) -> PyResult<f64> {
    let is_possible = [2, 4, 6, 8, 10].contains(&modulation_order) && (0.01..=0.99).contains(&rate);
    if !is_possible || !snr_db.is_finite() {
        let message = format!(
            "modulation_order {modulation_order}, rate {rate}, snr_db {snr_db}; expected 2, 4, 6, 8 or \
             10, 0.01 to 0.99 and a number"
        );
        return Err(PyValueError::new_err(message));
    }
    Ok(ran::phy::Code::new(modulation_order, rate).curve(bits).error_rate(snr_db))
}

#[pymodule]
#[pyo3(name = "_native")]
fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("RLC_OID", RanFunction::Rlc.oid())?;
    m.add("MAC_OID", RanFunction::Mac.oid())?;
    m.add("KPM_OID", RanFunction::Kpm.oid())?;
    m.add("TC_V0_OID", RanFunction::TcV0.oid())?;
    m.add("TC_V1_OID", RanFunction::TcV1.oid())?;
    m.add("ScenarioError", py.get_type::<ScenarioError>())?;
    m.add("E2Error", py.get_type::<E2Error>())?;
    m.add_class::<Indication>()?;
    m.add_class::<World>()?;
    m.add("FORMATS", lab_recording::Format::ALL.map(lab_recording::Format::name))?;
    m.add_class::<scenario::Scenario>()?;
    m.add_class::<scenario::Run>()?;
    m.add_function(wrap_pyfunction!(scenario::parse_override, m)?)?;
    m.add_function(wrap_pyfunction!(sheet::write_table, m)?)?;
    m.add_function(wrap_pyfunction!(block_error_rate, m)?)?;
    m.add_function(wrap_pyfunction!(scenario_schema, m)?)
}
