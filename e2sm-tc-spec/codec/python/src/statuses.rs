//! A pipeline status of all bearers of a report: as objects, and as one array.

use std::collections::HashMap;
use std::sync::Arc;

use e2sm_tc::v1::{self, BearerId, UeId};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList};

/// `rnti` of a row whose UE is identified otherwise, `lease_left_ms` of one without lease.
const NO_RNTI: u32 = u32::MAX;
const NO_LEASE: i64 = -1;

/// Bearer with a C-RNTI.
type Code = (u16, u8);

/// C-RNTI and DRB of a bearer; `None` for a UE identified otherwise.
fn code(bearer: BearerId) -> Option<Code> {
    match bearer.ue {
        UeId::Rnti(rnti) => Some((rnti, bearer.drb)),
        UeId::GnbCuUeF1apId(_) => None,
    }
}

/// C-RNTI of a bearer; `None` for a UE identified otherwise.
pub(crate) fn rnti(bearer: BearerId) -> Option<u16> {
    code(bearer).map(|(rnti, _)| rnti)
}

/// 5QIs; SST and SD. The former are wider than they need to be: bytes would be `bytes` in Python.
type Qos = (Vec<u16>, Option<(u8, Option<u32>)>);

/// State of one bearer's pipeline: a row of a report.
#[pyclass(frozen, module = "e2sm_tc")]
struct PipelineStatus {
    all: Arc<[v1::PipelineStatus]>,
    row: usize,
}

impl PipelineStatus {
    /// The status of a row; `None` if there are fewer.
    fn of(all: &Arc<[v1::PipelineStatus]>, row: usize) -> Option<Self> {
        (row < all.len()).then(|| Self { all: Arc::clone(all), row })
    }

    fn it(&self) -> &v1::PipelineStatus {
        &self.all[self.row]
    }
}

/// State of one queue.
#[pyclass(frozen, module = "e2sm_tc")]
struct QueueStatus(v1::QueueStatus);

#[pymethods]
impl PipelineStatus {
    #[getter]
    fn rnti(&self) -> Option<u16> {
        rnti(self.it().bearer)
    }

    #[getter]
    fn drb(&self) -> u8 {
        self.it().bearer.drb
    }

    #[getter]
    fn revision(&self) -> u32 {
        self.it().revision
    }

    #[getter]
    fn name(&self) -> &str {
        &self.it().name
    }

    #[getter]
    fn digest(&self) -> Option<u32> {
        self.it().digest
    }

    #[getter]
    fn safe(&self) -> bool {
        self.it().safe
    }

    #[getter]
    fn lease_left_ms(&self) -> Option<u32> {
        self.it().lease_left_ms
    }

    #[getter]
    fn owner(&self) -> Option<&str> {
        self.it().owner.as_deref()
    }

    #[getter]
    fn head_of_line_age_us(&self) -> u32 {
        self.it().head_of_line_age_us
    }

    /// Revision of the node default, position of its rule, and time since the bearer was set up by it,
    /// ms; `None` if the pipeline in force is not from there.
    #[getter]
    fn by_default(&self) -> Option<(u32, u8, u32)> {
        self.it().by_default.map(|it| (it.revision, it.rule, it.age_ms))
    }

    /// 5QIs and S-NSSAI (SST, SD) of what the bearer carries, as far as the node knows.
    #[getter]
    fn qos(&self) -> Qos {
        let Some(qos) = &self.it().qos else { return (Vec::new(), None) };
        let five_qis = qos.five_qis.iter().copied().map(u16::from).collect();
        (five_qis, qos.s_nssai.map(|slice| (slice.sst, slice.sd)))
    }

    /// Revision of the UE's mapping of QoS flows, and QFIs that the bearer carries; `None` where they
    /// cannot move to other DRBs. The latter are wider than they need to be, as 5QIs are.
    #[getter]
    fn qos_flows(&self) -> Option<(u32, Vec<u16>)> {
        let flows = self.it().qos_flows.as_ref()?;
        Some((flows.revision, flows.qfis.iter().copied().map(u16::from).collect()))
    }

    #[getter]
    fn dropped_packets(&self) -> u64 {
        self.it().dropped_packets
    }

    #[getter]
    fn queues(&self) -> Vec<QueueStatus> {
        self.it().queues.iter().copied().map(QueueStatus).collect()
    }

    fn ungreedy_queues(&self, used: Option<Vec<u16>>) -> Vec<QueueStatus> {
        ungreedy(self.it(), used.as_deref()).copied().map(QueueStatus).collect()
    }

    fn ungreedy_sojourn_us(&self, used: Option<Vec<u16>>) -> u32 {
        ungreedy_sojourn_us(self.it(), used.as_deref())
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

/// Queues that ungreedy flows of bearers use, as far as inventories have such flows.
#[pyclass(module = "e2sm_tc")]
#[derive(Default)]
struct UngreedyQueues(HashMap<Code, Vec<u16>>);

#[pymethods]
impl UngreedyQueues {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn set(&mut self, rnti: u16, drb: u8, queues: Option<Vec<u16>>) {
        match queues {
            Some(queues) => self.0.insert((rnti, drb), queues),
            None => self.0.remove(&(rnti, drb)),
        };
    }
}

impl UngreedyQueues {
    fn of(&self, bearer: BearerId) -> Option<&[u16]> {
        code(bearer).and_then(|code| self.0.get(&code)).map(Vec::as_slice)
    }
}

/// The statuses of all bearers of a report.
#[pyclass(frozen, sequence, module = "e2sm_tc")]
pub(crate) struct PipelineStatuses(pub(crate) Arc<[v1::PipelineStatus]>);

#[pymethods]
impl PipelineStatuses {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let rows = (0..self.0.len()).filter_map(|row| PipelineStatus::of(&self.0, row));
        PyList::new(py, rows.collect::<Vec<_>>())?.try_iter()
    }

    fn __getitem__(&self, row: isize) -> PyResult<PipelineStatus> {
        let rows = self.0.len();
        let from_start = if row < 0 { row.checked_add_unsigned(rows) } else { Some(row) };
        let row_at = from_start.and_then(|row| usize::try_from(row).ok());
        let status = row_at.and_then(|row| PipelineStatus::of(&self.0, row));
        status.ok_or_else(|| PyIndexError::new_err(format!("{row}; expected one of {rows} rows")))
    }

    /// The rows that show another pipeline in force than those of `former`; `None` if the bearers are others.
    fn changed_since(&self, former: &Self) -> Option<Vec<usize>> {
        let pairs = || self.0.iter().zip(former.0.iter());
        let same_bearers =
            self.0.len() == former.0.len() && pairs().all(|(now, old)| now.bearer == old.bearer);
        same_bearers.then(|| {
            let differs = pairs().map(|(now, old)| shown(now) != shown(old));
            differs.enumerate().filter_map(|(row, differs)| differs.then_some(row)).collect()
        })
    }

    /// The rows of `e2sm_tc.STATUS_ROW` as bytes.
    fn rows<'py>(&self, py: Python<'py>, used: &UngreedyQueues) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, self.0.len() * ROW_BYTES, |rows| {
            for (row, status) in rows.chunks_exact_mut(ROW_BYTES).zip(self.0.iter()) {
                write_row(row, status, ungreedy_sojourn_us(status, used.of(status.bearer)));
            }
            Ok(())
        })
    }
}

/// What a status shows of the pipeline in force: all but what goes on by itself.
fn shown(status: &v1::PipelineStatus) -> impl PartialEq + use<'_> {
    let by_default = status.by_default.map(|it| (it.revision, it.rule));
    let owner = status.owner.as_deref();
    (status.revision, status.safe, status.digest, by_default, &status.name, owner)
}

/// Bytes of a row; the fields are those of `e2sm_tc.STATUS_ROW`.
const ROW_BYTES: usize = 56;

fn write_row(row: &mut [u8], status: &v1::PipelineStatus, sojourn_us: u32) {
    let queues = &status.queues;
    let backlog_bytes: u64 = queues.iter().map(|queue| u64::from(queue.backlog_bytes)).sum();
    let rnti = code(status.bearer).map_or(NO_RNTI, |(rnti, _)| u32::from(rnti));
    let mut place = 0;
    let mut write = |bytes: &[u8]| {
        row[place..place + bytes.len()].copy_from_slice(bytes);
        place += bytes.len();
    };
    write(&status.dropped_packets.to_ne_bytes());
    write(&queues.iter().map(|queue| queue.marked_packets).sum::<u64>().to_ne_bytes());
    write(&backlog_bytes.to_ne_bytes());
    write(&status.lease_left_ms.map_or(NO_LEASE, i64::from).to_ne_bytes());
    write(&rnti.to_ne_bytes());
    write(&status.revision.to_ne_bytes());
    write(&status.head_of_line_age_us.to_ne_bytes());
    write(&(sojourn_us as f32).to_ne_bytes());
    write(&[status.bearer.drb, u8::from(status.safe)]);
}

/// The longest sojourn in the queues that ungreedy flows use, µs.
fn ungreedy_sojourn_us(status: &v1::PipelineStatus, used: Option<&[u16]>) -> u32 {
    let sojourn_us = |queue: &v1::QueueStatus| match queue.mean_sojourn_us {
        // A queue that forwards nothing has no mean over 100 ms; its last counts.
        0 if queue.backlog_bytes > 0 => queue.last_sojourn_us,
        mean_us => mean_us,
    };
    ungreedy(status, used).map(sojourn_us).max().unwrap_or(0)
}

/// The queues that ungreedy flows use; `used`: those that the inventory has such a flow in.
///
/// The delay of a greedy flow in a queue of its own harms no other flow: its own congestion control built
/// that queue. Without an inventory flows cannot be assigned to queues: one queue is shared by all; of
/// several, the one that forwarded most is taken as the greedy flow's.
fn ungreedy<'a>(
    status: &'a v1::PipelineStatus,
    used: Option<&'a [u16]>,
) -> impl Iterator<Item = &'a v1::QueueStatus> {
    let queues = &status.queues;
    let most = queues.iter().map(|queue| queue.forwarded_bytes).max();
    let busiest = queues.iter().position(|queue| Some(queue.forwarded_bytes) == most);
    let greedy = busiest.filter(|_| used.is_none() && queues.len() > 1);
    let of_others = move |(index, queue): (usize, &'a v1::QueueStatus)| {
        let taken = used.is_none_or(|used| used.contains(&queue.id)) && Some(index) != greedy;
        taken.then_some(queue)
    };
    queues.iter().enumerate().filter_map(of_others)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PipelineStatus>()?;
    module.add_class::<QueueStatus>()?;
    module.add_class::<PipelineStatuses>()?;
    module.add_class::<UngreedyQueues>()
}
