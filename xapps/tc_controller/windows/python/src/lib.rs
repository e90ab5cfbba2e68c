//! Python module `rlc_windows`. Documented in `rlc_windows.pyi`.

// The stub documents what Python sees.
#![allow(missing_docs)]

use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use rlc_windows::{Objective, Taken};

/// Byte offsets of the fields within a record.
#[pyclass(frozen, module = "rlc_windows")]
struct Fields(rlc_windows::Fields);

#[pymethods]
impl Fields {
    #[new]
    #[pyo3(signature = (*, record, pdu_bytes, occupancy_bytes, mean_sojourn, head_of_line_age, rnti, rbid, most_records))]
    #[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
    fn new(
        record: usize,
        pdu_bytes: usize,
        occupancy_bytes: usize,
        mean_sojourn: usize,
        head_of_line_age: usize,
        rnti: usize,
        rbid: usize,
        most_records: usize,
    ) -> PyResult<Self> {
        let fields = rlc_windows::Fields {
            record,
            pdu_bytes,
            occupancy_bytes,
            mean_sojourn,
            head_of_line_age,
            rnti,
            rbid,
            most_records,
        };
        fields.checked().map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// What is to be done about a report.
#[pyclass(frozen, get_all, module = "rlc_windows")]
#[derive(Default)]
struct Report {
    late: bool,
    new: Vec<usize>,
    gone: Vec<u32>,
    began: Vec<usize>,
    ended: Vec<usize>,
}

/// Bound, ms; percentile, %; window, ms; confirm time, ms; clear ratio; clear time, ms.
type ObjectiveTuple = (f64, f64, u32, u32, f64, u32);

/// See [`rlc_windows::Windows`].
#[pyclass(subclass, module = "rlc_windows")]
struct Windows(rlc_windows::Windows);

#[pymethods]
impl Windows {
    #[new]
    fn new(depth: usize, period_us: u32, gone_after: u64, fields: &Bound<'_, Fields>) -> Self {
        Self(rlc_windows::Windows::new(depth, period_us, gone_after, fields.get().0))
    }

    fn take(&mut self, at_us: i64, message: &[u8]) -> PyResult<Option<Report>> {
        let taken = self.0.take(at_us, message);
        Ok(match taken.map_err(|error| PyValueError::new_err(error.to_string()))? {
            Taken::Quiet => None,
            Taken::Late => Some(Report { late: true, ..Report::default() }),
            Taken::Changed(changes) => {
                Some(Report { new: changes.new, gone: changes.gone, ..Report::default() })
            }
            Taken::Judged(found) => {
                Some(Report { began: found.began, ended: found.ended, ..Report::default() })
            }
        })
    }

    fn judge(&mut self) -> (Vec<usize>, Vec<usize>) {
        let found = self.0.judge();
        (found.began, found.ended)
    }

    fn watch(&mut self, slot: usize, objective: Option<ObjectiveTuple>) {
        let objective = objective.map(
            |(bound_ms, percentile, window_ms, confirm_ms, clear_ratio, clear_ms)| Objective {
                bound_ms,
                percentile,
                window_ms,
                confirm_ms,
                clear_ratio,
                clear_ms,
            },
        );
        self.0.watch(slot, objective.as_ref());
    }

    fn free(&mut self, code: u32) {
        self.0.forget(code);
    }

    fn set_pipeline_us(&mut self, slot: usize, sojourn_us: f32) {
        self.0.set_pipeline_us(slot, sojourn_us);
    }

    fn set_pipelines_us(
        &mut self,
        rntis: PyReadonlyArray1<'_, u32>,
        drbs: PyReadonlyArray1<'_, u8>,
        sojourns_us: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<()> {
        let (rntis, drbs, all_us) = (rntis.as_array(), drbs.as_array(), sojourns_us.as_array());
        if rntis.len() != drbs.len() || rntis.len() != all_us.len() {
            let lengths = [rntis.len(), drbs.len(), all_us.len()];
            let message =
                format!("rntis, drbs, sojourns_us: expected equal lengths, got {lengths:?}");
            return Err(PyValueError::new_err(message));
        }
        for ((&rnti, &drb), &sojourn_us) in rntis.iter().zip(drbs).zip(all_us) {
            // A UE without C-RNTI is in no RLC report.
            let Ok(rnti) = u16::try_from(rnti) else { continue };
            if let Some(slot) = self.0.slot(u32::from(rnti) << 8 | u32::from(drb)) {
                self.0.set_pipeline_us(slot, sojourn_us);
            }
        }
        Ok(())
    }

    #[getter]
    fn bearers(&self) -> usize {
        self.0.bearers()
    }

    #[getter]
    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    #[getter]
    fn reports(&self) -> u64 {
        self.0.reports()
    }

    #[getter]
    fn unaddressable(&self) -> u64 {
        self.0.unaddressable()
    }

    fn newest_us(&self) -> i64 {
        self.0.newest_us()
    }

    fn has(&self, at_us: i64) -> bool {
        self.0.has(at_us)
    }

    fn slot_of(&self, code: u32) -> Option<usize> {
        self.0.slot(code)
    }

    fn code_at(&self, slot: usize) -> Option<u32> {
        self.0.code(slot)
    }

    fn hol_us(&self, slot: usize) -> PyResult<f32> {
        at(self.0.hol_us(), slot)
    }

    fn mean_us(&self, slot: usize) -> PyResult<f32> {
        at(self.0.mean_us(), slot)
    }

    fn sojourn_us(&self, slot: usize) -> PyResult<f32> {
        at(self.0.sojourn_us(), slot)
    }

    fn occupancy_bytes(&self, slot: usize) -> PyResult<u32> {
        at(self.0.occupancy_bytes(), slot)
    }

    fn drained_bytes(&self, slot: usize) -> PyResult<i64> {
        at(self.0.drained_bytes(), slot)
    }

    fn all_sojourns_us<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.0.sojourn_us().to_pyarray(py)
    }

    #[getter]
    fn any_violating(&self) -> bool {
        self.0.any_violating()
    }

    fn violating(&self) -> Vec<usize> {
        self.0.violating().collect()
    }

    fn violates(&self, slot: usize) -> bool {
        self.0.violates(slot)
    }

    fn over_for_us(&self, slot: usize) -> u64 {
        self.0.over_for_us(slot)
    }

    fn serving_kbps(&self, slot: usize) -> Option<f64> {
        self.0.serving_kbps(slot)
    }

    fn lowest_kbps(&self, slot: usize, span_us: i64) -> Option<f64> {
        self.0.lowest_kbps(slot, span_us)
    }

    fn sojourn_percentile(&self, slot: usize, since_us: i64, percentile: f64) -> Option<f32> {
        self.0.sojourn_percentile(slot, since_us, percentile)
    }

    fn always_queued(&self, slot: usize, since_us: i64) -> bool {
        self.0.always_queued(slot, since_us)
    }

    fn sojourn_growth(&self, slot: usize, since_us: i64) -> f64 {
        self.0.sojourn_growth(slot, since_us)
    }

    fn drain_kbps(&self, slot: usize, since_us: i64) -> Option<f64> {
        self.0.drain_kbps(slot, since_us)
    }

    fn share_of_drain(&self, slot: usize, since_us: i64) -> Option<f64> {
        self.0.share_of_drain(slot, since_us)
    }

    fn samples<'py>(
        &self,
        py: Python<'py>,
        taken: u64,
        stride: u64,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f32>>) {
        let (slots, sojourns_us): (Vec<_>, Vec<_>) =
            self.0.samples(taken, stride).into_iter().unzip();
        let slots = slots.into_iter().map(|slot| slot as i64);
        (PyArray1::from_iter(py, slots), PyArray1::from_vec(py, sojourns_us))
    }
}

fn at<T: Copy>(column: &[T], slot: usize) -> PyResult<T> {
    column.get(slot).copied().ok_or_else(|| {
        PyIndexError::new_err(format!("slot {slot}; expected one of {}", column.len()))
    })
}

#[pymodule(gil_used = true, name = "rlc_windows")]
fn rlc_windows_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Fields>()?;
    module.add_class::<Report>()?;
    module.add_class::<Windows>()
}
