//! What all servers of a program share.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::StreamExt;
use parking_lot::Mutex;
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyBytes, PyList, PyTuple},
};
use serving::{
    SetupError as LibraryError,
    access::{AccessControl, AccessFile, Audit, Caller as LibraryCaller},
    address::{Bound as BoundAddress, Listen},
    incoming::{
        CertificateFiles, Certificates, ClientCertificate, Identify, Incoming, PemFile, Protocol,
        Terms, check_certificate_files,
    },
    limits::{ClientKey, Connections, Limits},
    listener::{Listening, bind_all},
    metrics::ServingMetrics,
};
use tokio::{
    runtime::{self, Handle, Runtime},
    sync::watch,
    time::interval,
};
use tracing::dispatcher::{self, DefaultGuard, Dispatch};

use crate::{
    families::{Family, families},
    limits::{Account, interned},
    log::MailboxLog,
    mailbox::{Event, Mailbox},
    setup_error,
};

/// Threads of the servers: TLS, HTTP and the bytes of messages.
const WORKERS: usize = 2;
/// Period of checking certificates and access file for changes.
const RELOAD_PERIOD: Duration = Duration::from_secs(1);

/// PEM files of a server as Python names them: certificate, key, client CA.
pub(crate) type Files = (PathBuf, PathBuf, Option<PathBuf>);

/// The files with the settings of a section.
pub(crate) fn certificate_files(section: &str, files: Files) -> CertificateFiles {
    let pem = |key: &str, path| PemFile { setting: format!("{section}.{key}:"), path };
    let (certificate, key, client_ca) = files;
    CertificateFiles {
        certificate: pem("certificate_file", certificate),
        key: pem("key_file", key),
        client_ca: client_ca.map(|path| pem("client_ca_file", path)),
    }
}

/// What the servers of a program share with its event loop.
pub(crate) struct Shared {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) access: Arc<AccessControl>,
    pub(crate) limits: Limits,
    pub(crate) metrics: ServingMetrics,
    dispatch: Dispatch,
    certificates: Mutex<Vec<Arc<Certificates>>>,
    clients: Mutex<Vec<ClientCertificate>>,
}

impl Shared {
    /// Runs with the log of this guard.
    pub(crate) fn logged<T>(&self, run: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.dispatch, run)
    }

    fn check(&self) {
        self.access.reload();
        let certificates = self.certificates.lock().clone();
        certificates.iter().for_each(|each| each.reload(&self.access.audit));
        self.clients.lock().iter_mut().for_each(ClientCertificate::check);
    }
}

/// A server's sockets, certificates and connections, before it runs.
pub(crate) struct Front {
    terms: Terms,
    sockets: Vec<Listening>,
    certificates: Option<Arc<Certificates>>,
    pub(crate) connections: Connections,
}

impl Front {
    pub(crate) fn bound(&self) -> &BoundAddress {
        // `bind_all` binds at least one.
        &self.sockets[0].bound
    }

    /// The connections of all sockets; within a runtime.
    pub(crate) fn incoming(self, shared: &Shared) -> std::io::Result<Vec<Incoming>> {
        let access = Arc::clone(&shared.access);
        let identify: Identify =
            Arc::new(move |peer| LibraryCaller::new(&access, peer.clone(), None).client_key());
        let Self { terms, sockets, certificates, connections } = self;
        tokio::spawn(connections.clone().end_idle());
        sockets
            .into_iter()
            .map(|socket| {
                Ok(Incoming::new(
                    terms,
                    socket.accept()?,
                    certificates.clone(),
                    connections.clone(),
                    Arc::clone(&identify),
                ))
            })
            .collect()
    }
}

/// Access file, audit log, limits and metrics of a program; its servers are made with it.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Guard {
    pub(crate) shared: Arc<Shared>,
    runtime: Mutex<State>,
}

enum State {
    New,
    Running(Runtime, watch::Sender<bool>),
    Closed,
}

impl Guard {
    /// Sockets, certificates and connections of a server.
    pub(crate) fn front(
        &self,
        protocol: Protocol,
        section: &str,
        listen: &str,
        files: Option<Files>,
        is_insecure: bool,
        max_connections: usize,
    ) -> PyResult<Front> {
        let shared = &self.shared;
        let address: Listen = listen
            .parse()
            .map_err(|expected| setup_error(format!("{section}.listen: {listen}: {expected}")))?;
        let made = shared.logged(|| {
            let metrics = shared.metrics.clone();
            let read = |files| {
                Certificates::new(protocol, certificate_files(section, files), metrics)
                    .map(Arc::new)
            };
            let certificates = files.map(read).transpose()?;
            let sockets = bind_all(&address).map_err(|source| LibraryError::Bind {
                setting: format!("{section}.listen:"),
                listen: listen.to_owned(),
                source,
            })?;
            Ok::<_, LibraryError>((certificates, sockets))
        });
        let (certificates, sockets) = made.map_err(setup_error)?;
        shared.certificates.lock().extend(certificates.clone());
        shared.access.expect(protocol);
        let has_client_ca = certificates.as_ref().is_some_and(|each| each.has_client_ca());
        let terms = Terms { protocol, has_client_ca, is_insecure };
        let open = shared.metrics.connections(protocol.name());
        let is_http = protocol != Protocol::Grpc;
        let connections = shared.limits.connections(max_connections, is_http, open);
        Ok(Front { terms, sockets, certificates, connections })
    }

    /// The runtime of the servers, which starts with the first of them.
    pub(crate) fn handle(&self) -> PyResult<Handle> {
        let mut state = self.runtime.lock();
        if let State::New = *state {
            let dispatch = self.shared.dispatch.clone();
            let runtime = runtime::Builder::new_multi_thread()
                .worker_threads(WORKERS)
                .thread_name("serving")
                .enable_all()
                .on_thread_start(move || log_of_thread(&dispatch))
                .build()
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
            let (stop, stopped) = watch::channel(false);
            let shared = Arc::clone(&self.shared);
            runtime.spawn(look_after(shared, stopped));
            *state = State::Running(runtime, stop);
        }
        match &*state {
            State::Running(runtime, _) => Ok(runtime.handle().clone()),
            _ => Err(PyRuntimeError::new_err("the guard is closed")),
        }
    }
}

/// Makes the log of a guard that of a thread of its runtime.
fn log_of_thread(dispatch: &Dispatch) {
    use std::cell::RefCell;
    thread_local! {
        static LOG: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
    }
    LOG.set(Some(dispatcher::set_default(dispatch)));
}

/// Checks files for changes, and logs what clients were refused, until the guard is closed.
async fn look_after(shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let refusals = shared.metrics.limited().log();
    let changes = async {
        let mut changes = shared.access.changes();
        while changes.next().await.is_some() {
            shared.mailbox.push(Event::AccessChanged);
        }
    };
    let files = async {
        let mut ticks = interval(RELOAD_PERIOD);
        loop {
            ticks.tick().await;
            let shared = Arc::clone(&shared);
            // A file system may be slow; connections are not.
            let _ = tokio::task::spawn_blocking(move || shared.check()).await;
        }
    };
    tokio::select! {
        () = refusals => {}
        () = changes => {}
        () = files => {}
        // A dropped sender means that the guard was dropped.
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}

#[pymethods]
impl Guard {
    #[new]
    fn new(access_file: Option<PathBuf>, audit_file: Option<PathBuf>) -> PyResult<Self> {
        let mailbox = Mailbox::new()?;
        let dispatch = Dispatch::new(MailboxLog(Arc::clone(&mailbox)));
        let metrics = ServingMetrics::default();
        let made = dispatcher::with_default(&dispatch, || {
            let audit = Audit::new(audit_file.as_deref(), access_file.is_some(), metrics.clone());
            let audit = audit.map_err(|source| {
                setup_error(LibraryError::Audit {
                    setting: "access.audit_file:".to_owned(),
                    path: audit_file.unwrap_or_default(),
                    source,
                })
            })?;
            AccessControl::new(access_file, audit, metrics.clone()).map_err(setup_error)
        });
        let shared = Shared {
            mailbox,
            access: Arc::new(made?),
            limits: Limits::new(metrics.limited()),
            metrics,
            dispatch,
            certificates: Mutex::default(),
            clients: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared), runtime: Mutex::new(State::New) })
    }

    #[getter]
    fn limited(&self) -> bool {
        self.shared.access.is_limited()
    }

    fn account(&self, name: &str) -> Account {
        let limits = &self.shared.limits;
        let account = limits.account(&ClientKey::named(name));
        Account::new(account, limits.clone(), self.shared.dispatch.clone())
    }

    fn client_certificate(&self, use_: &str, path: PathBuf) {
        let metrics = self.shared.metrics.clone();
        let made = self.shared.logged(|| ClientCertificate::new(interned(use_), path, metrics));
        self.shared.clients.lock().push(made);
    }

    /// Looks after files from now on, with or without a server.
    fn start(&self) -> PyResult<()> {
        self.handle().map(drop)
    }

    fn check(&self, py: Python<'_>) {
        py.detach(|| self.shared.logged(|| self.shared.check()));
    }

    fn metrics(&self) -> PyResult<Vec<Family>> {
        families(&self.shared.metrics)
    }

    fn fileno(&self) -> i32 {
        self.shared.mailbox.descriptor()
    }

    /// The events that wait, as tuples that begin with their kind.
    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let events = PyList::empty(py);
        for event in self.shared.mailbox.drain() {
            events.append(to_python(py, event)?)?;
        }
        Ok(events)
    }

    /// Ends all servers at once.
    fn close(&self, py: Python<'_>) {
        let state = std::mem::replace(&mut *self.runtime.lock(), State::Closed);
        if let State::Running(runtime, stop) = state {
            stop.send_replace(true);
            // Without the lock of the interpreter: its threads never need it, but end sooner.
            py.detach(|| runtime.shutdown_background());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The drop of a runtime waits for what blocks; the end of an interpreter must not.
        if let State::Running(runtime, _) = std::mem::replace(self.runtime.get_mut(), State::Closed)
        {
            runtime.shutdown_background();
        }
    }
}

/// An event as the tuple of its kind, number and value. `py/sojourn_serving/guard.py` has the kinds in this
/// order.
fn to_python<'py>(py: Python<'py>, event: Event) -> PyResult<Bound<'py, PyTuple>> {
    match event {
        Event::Message(number, message) => {
            (0_u8, number, PyBytes::new(py, &message)).into_pyobject(py)
        }
        Event::Begin(server, new) => (1_u8, server, new.object(py)?).into_pyobject(py),
        Event::Writable(number) => (2_u8, number, py.None()).into_pyobject(py),
        Event::RequestsEnded(number, why) => (3_u8, number, why).into_pyobject(py),
        Event::Gone(number) => (4_u8, number, py.None()).into_pyobject(py),
        Event::Body(number, Ok(body)) => (5_u8, number, PyBytes::new(py, &body)).into_pyobject(py),
        Event::Body(number, Err(problem)) => (5_u8, number, problem).into_pyobject(py),
        Event::AccessChanged => (6_u8, 0_u64, py.None()).into_pyobject(py),
        Event::Log(record) => (7_u8, 0_u64, record.object(py)?).into_pyobject(py),
        Event::ServerEnded(server) => (8_u8, server, py.None()).into_pyobject(py),
    }
}

/// Raises `SetupError` for an access file that cannot be used.
#[pyfunction]
fn check_access_file(path: PathBuf) -> PyResult<()> {
    AccessFile::read(&path).map(drop).map_err(setup_error)
}

/// Raises `SetupError` for certificates of a section that cannot be used.
#[pyfunction]
fn check_certificates(
    section: &str,
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
) -> PyResult<()> {
    let files = certificate_files(section, (certificate, key, client_ca));
    check_certificate_files(Protocol::Grpc, &files).map_err(setup_error)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Guard>()?;
    module.add_function(wrap_pyfunction!(check_access_file, module)?)?;
    module.add_function(wrap_pyfunction!(check_certificates, module)?)
}
