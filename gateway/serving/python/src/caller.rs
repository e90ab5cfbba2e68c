//! The client of a call or request.

use pyo3::prelude::*;
use serving::{
    access::{Caller as LibraryCaller, Entry, Right},
    admission::Client,
};

use tracing::dispatcher::{Dispatch, with_default};

use crate::limits::Account;

/// Why a client is refused.
#[pyclass(frozen, get_all, module = "sojourn_serving")]
pub(crate) struct Refusal {
    reason: &'static str,
    detail: String,
}

/// The client of a call or request.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Caller {
    caller: LibraryCaller,
    account: Py<Account>,
    log: Dispatch,
}

impl Caller {
    /// The client with the log of its guard.
    pub(crate) fn new(py: Python<'_>, client: Client, log: Dispatch) -> PyResult<Self> {
        let Client { caller, account, limits } = client;
        let account = Py::new(py, Account::new(account, limits, log.clone()))?;
        Ok(Self { caller, account, log })
    }
}

#[pymethods]
impl Caller {
    #[getter]
    fn who(&self) -> String {
        self.caller.who()
    }

    #[getter]
    fn name(&self) -> String {
        self.caller.name().unwrap_or_default()
    }

    #[getter]
    fn address(&self) -> String {
        self.caller.address().to_string()
    }

    #[getter]
    fn audited(&self) -> bool {
        with_default(&self.log, || self.caller.is_audited())
    }

    #[getter]
    fn account(&self, py: Python<'_>) -> Py<Account> {
        self.account.clone_ref(py)
    }

    fn sees(&self, node_id: &str) -> bool {
        self.caller.sees(node_id)
    }

    #[pyo3(signature = (right, node_id = "", *, what = ""))]
    fn refusal(&self, right: &str, node_id: &str, what: &str) -> PyResult<Option<Refusal>> {
        let right = right_of(right)?;
        let node = (!node_id.is_empty()).then_some(node_id);
        let required = with_default(&self.log, || self.caller.require(right, node, what));
        let refused = required.err();
        Ok(refused
            .map(|refusal| Refusal { reason: refusal.reason.name(), detail: refusal.message }))
    }

    #[pyo3(signature = (action, outcome, *, node = "", ran_function = "", what = "", limited = false))]
    fn audit(
        &self,
        action: &str,
        outcome: &str,
        node: &str,
        ran_function: &str,
        what: &str,
        limited: bool,
    ) {
        let who = self.caller.who();
        let entry = Entry { who: &who, peer: None, action, node, ran_function, what, outcome };
        with_default(&self.log, || {
            if limited {
                self.caller.record_attempt(&entry);
            } else {
                self.caller.record(&entry);
            }
        });
    }
}

/// The right of a name.
pub(crate) fn right_of(name: &str) -> PyResult<Right> {
    Right::ALL.into_iter().find(|right| right.name() == name).ok_or_else(|| {
        let expected = "expected read, subscribe or control";
        pyo3::exceptions::PyValueError::new_err(format!("{name:?} is no right; {expected}"))
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Refusal>()?;
    module.add_class::<Caller>()
}
