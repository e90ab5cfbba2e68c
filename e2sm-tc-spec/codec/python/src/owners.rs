//! Which client each owner of a node is: `tc_pipelines::owners`.

use e2sm_tc::v1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tc_pipelines::owners;

/// A node lease that was admitted; `Owners.answered` takes it back.
#[pyclass(module = "e2sm_tc")]
struct Asked(Option<owners::Asked>);

/// Which client each owner of a node is; times are in µs of one clock.
#[pyclass(module = "e2sm_tc")]
#[derive(Default)]
struct Owners(owners::Owners);

#[pymethods]
impl Owners {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Whether a client, `(name, connection, instance)`, may send a node this control: the refusal as a
    /// control outcome, or `None`, and the node lease to be answered, if it is one. `ValueError`: the
    /// instance is too long.
    fn admit<'py>(
        &mut self,
        py: Python<'py>,
        node_id: &str,
        message: &[u8],
        client: (&str, &str, &[u8]),
        now_us: u64,
    ) -> PyResult<(Option<Bound<'py, PyBytes>>, Option<Asked>)> {
        let (name, connection, instance) = client;
        let client = owners::Client::new(name, connection, instance);
        let client = client.map_err(PyValueError::new_err)?;
        match self.0.admit(node_id, message, &client, now_us) {
            Ok(asked) => Ok((None, asked.map(|asked| Asked(Some(asked))))),
            Err(refusal) => {
                let refusal = v1::encode(&refusal);
                let refusal = refusal.map_err(|error| PyValueError::new_err(error.to_string()))?;
                Ok((Some(PyBytes::new(py, &refusal)), None))
            }
        }
    }

    /// Takes in the outcome of a node lease, once; `None`: it took no effect.
    fn answered(&mut self, asked: &mut Asked, outcome: Option<&[u8]>, now_us: u64) {
        let answer = outcome.map_or(owners::Answer::NotCarriedOut, owners::Answer::Outcome);
        self.settle(asked, answer, now_us);
    }

    /// A node lease whose outcome is unknown: it may have taken effect.
    fn lost(&mut self, asked: &mut Asked, now_us: u64) {
        self.settle(asked, owners::Answer::Lost, now_us);
    }
}

impl Owners {
    fn settle(&mut self, asked: &mut Asked, answer: owners::Answer<'_>, now_us: u64) {
        if let Some(asked) = asked.0.take() {
            self.0.answered(asked, answer, now_us);
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Asked>()?;
    module.add_class::<Owners>()
}
