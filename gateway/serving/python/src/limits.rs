//! Rates, pools and accounts.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use parking_lot::Mutex;
use pyo3::prelude::*;
use serving::limits::{self as library, Limit, Limits, Refused};
use tracing::dispatcher::{Dispatch, with_default};

/// Seconds after which a client may ask for a share again.
const SHARE_RETRY_S: f64 = 1.0;

/// Keeps a text for ever. Names of limits are constants of a program: each is kept once.
pub(crate) fn interned(text: &str) -> &'static str {
    static KEPT: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut kept = KEPT.lock();
    if let Some(known) = kept.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(text);
    text
}

/// What a client may do in a time.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Rate(pub(crate) library::RateLimit);

#[pymethods]
impl Rate {
    #[new]
    fn new(limit: &str, per_s: u32, burst: u32, what: &str) -> Self {
        let limit = Limit { name: interned(limit), counts: interned(what) };
        Self(library::RateLimit { limit, rate: library::Rate { per_s, burst } })
    }

    #[getter]
    fn limit(&self) -> &'static str {
        self.0.limit.name
    }

    #[getter]
    fn what(&self) -> &'static str {
        self.0.limit.counts
    }

    #[getter]
    fn per_s(&self) -> u32 {
        self.0.rate.per_s
    }

    #[getter]
    fn burst(&self) -> u32 {
        self.0.rate.burst
    }

    fn __repr__(&self) -> String {
        let library::RateLimit { limit, rate } = self.0;
        format!("{} {}/s (burst {})", rate.per_s, limit.counts, rate.burst)
    }
}

/// A limit that a client has reached.
#[pyclass(frozen, get_all, module = "sojourn_serving")]
pub(crate) struct Exceeded {
    detail: String,
    retry_s: f64,
}

impl From<Refused> for Exceeded {
    fn from(refused: Refused) -> Self {
        let retry_s = refused.retry_after().map_or(SHARE_RETRY_S, |wait| wait.as_secs_f64());
        Self { detail: refused.message().to_owned(), retry_s }
    }
}

/// What all clients use together.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Pool(Arc<library::Pool>);

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (total, alpha = 1))]
    fn new(total: u64, alpha: u32) -> Self {
        Self(library::Pool::with_alpha(total, alpha))
    }

    #[getter]
    fn total(&self) -> u64 {
        self.0.capacity()
    }

    #[getter]
    fn held(&self) -> u64 {
        self.0.held()
    }
}

/// What one client holds of a pool.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Share(Arc<library::Share>);

#[pymethods]
impl Share {
    #[getter]
    fn held(&self) -> u64 {
        self.0.held()
    }

    fn take(&self, amount: u64) -> bool {
        self.0.try_take(amount)
    }

    fn give(&self, amount: u64) {
        self.0.give_back(amount);
    }

    /// Holds more or less than before, as measured.
    fn change(&self, by: i64) {
        if by < 0 {
            self.0.give_back(by.unsigned_abs());
        } else {
            self.0.take(by.unsigned_abs());
        }
    }
}

/// An amount held of a pool.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Hold(Mutex<Option<library::Hold>>);

#[pymethods]
impl Hold {
    fn correct(&self, amount: u64) {
        if let Some(hold) = &mut *self.0.lock() {
            hold.correct(amount);
        }
    }

    fn release(&self) {
        self.0.lock().take();
    }
}

/// The client whose limits count.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Account {
    account: Arc<library::Account>,
    limits: Limits,
    log: Dispatch,
}

impl Account {
    /// The account with the log of its guard.
    pub(crate) fn new(account: Arc<library::Account>, limits: Limits, log: Dispatch) -> Self {
        Self { account, limits, log }
    }
}

/// A limit of a pool by what it is of, and its label.
fn limit_of(what: &str, label: &str) -> Limit {
    let name = if label.is_empty() { what } else { label };
    Limit { name: interned(name), counts: interned(what) }
}

/// What [`Account::hold`] returns.
#[derive(IntoPyObject)]
pub(crate) enum Held {
    Hold(Hold),
    Exceeded(Exceeded),
}

#[pymethods]
impl Account {
    #[getter]
    fn key(&self) -> &str {
        &self.account.key
    }

    #[getter]
    fn shown(&self) -> &str {
        &self.account.name
    }

    #[pyo3(signature = (rate, count = 1))]
    fn take(&self, rate: &Rate, count: u32) -> Option<Exceeded> {
        let taken =
            with_default(&self.log, || self.account.take(rate.0, count, self.limits.now_us()));
        taken.err().map(Exceeded::from)
    }

    fn charge(&self, rate: &Rate, count: u32) {
        self.account.charge(rate.0, count, self.limits.now_us());
    }

    fn share(&self, pool: &Pool) -> Share {
        Share(self.account.share(&pool.0))
    }

    #[pyo3(signature = (pool, what, amount = 1, *, label = ""))]
    fn hold(&self, pool: &Pool, what: &str, amount: u64, label: &str) -> Held {
        let share = self.account.share(&pool.0);
        let limit = limit_of(what, label);
        match with_default(&self.log, || self.account.hold(&share, limit, amount)) {
            Ok(hold) => Held::Hold(Hold(Mutex::new(Some(hold)))),
            Err(refused) => Held::Exceeded(refused.into()),
        }
    }

    #[pyo3(signature = (pool, what, *, label = ""))]
    fn lost(&self, pool: &Pool, what: &str, label: &str) {
        let share = self.account.share(&pool.0);
        with_default(&self.log, || self.account.lost(&share, limit_of(what, label)));
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().account.key == self.account.key)
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.account.key.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<client {}>", self.account.name)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Rate>()?;
    module.add_class::<Exceeded>()?;
    module.add_class::<Pool>()?;
    module.add_class::<Share>()?;
    module.add_class::<Hold>()?;
    module.add_class::<Account>()?;
    module.add("CALLS", Rate(library::CALLS))?;
    module.add("REQUESTS", Rate(serving::http::REQUESTS))?;
    module.add("SCRAPES", Rate(serving::http::SCRAPES))?;
    module.add("REPORT_COST_BYTES", library::REPORT_COST_BYTES)?;
    module.add("REPORT_SHARE_ALPHA", library::REPORT_SHARE_ALPHA)
}
