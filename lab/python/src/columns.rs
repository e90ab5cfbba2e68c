//! The tables of a recording, by column, for `gnb_lab.tables`.

use lab_world as world;
use lab_world::table::{BEARER_COLUMNS, Column, FLOW_COLUMNS, PACKET_COLUMNS};
use lab_world::{BearerSample, PacketSample};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// What was recorded so far: rows are taken out of the world when they are asked for.
#[derive(Clone, Default)]
pub(crate) struct Recording {
    /// `None` if not recorded.
    bearers: Option<Vec<BearerSample>>,
    packets: Option<Vec<PacketSample>>,
}

/// Values of a column: whole numbers of 64 bits, little-endian, or runs of the same text.
#[derive(IntoPyObject)]
pub(crate) enum Values<'py> {
    Int(Bound<'py, PyBytes>),
    Text(Vec<(String, usize)>),
}

/// Name, values, and, where a row may lack it, a bit per row that says whether it is there, lowest bit
/// first.
pub(crate) type Cells<'py> = (&'static str, Values<'py>, Option<Bound<'py, PyBytes>>);

/// A table: its number of rows and its columns.
pub(crate) type Table<'py> = (usize, Vec<Cells<'py>>);

impl Recording {
    /// Begins to record; a second call adds packets.
    pub(crate) fn begin(&mut self, inner: &mut world::World, packets: bool) {
        inner.record_series(true);
        self.bearers.get_or_insert_default();
        if packets {
            inner.record_packets(true);
            self.packets.get_or_insert_default();
        }
    }

    /// The table of this name; `None` if it is not recorded, or there is no such table.
    pub(crate) fn table<'py>(
        &mut self,
        py: Python<'py>,
        inner: &mut world::World,
        name: &str,
    ) -> Option<Table<'py>> {
        match name {
            "bearers" => {
                let rows = self.bearers.as_mut()?;
                rows.extend(inner.take_series());
                Some(of_rows(py, rows, BEARER_COLUMNS))
            }
            "packets" => {
                let rows = self.packets.as_mut()?;
                rows.extend(inner.take_packets());
                Some(of_rows(py, rows, PACKET_COLUMNS))
            }
            "flows" => Some(of_flows(py, inner)),
            _ => None,
        }
    }
}

fn of_rows<'py, R>(py: Python<'py>, rows: &[R], columns: &[Column<R>]) -> Table<'py> {
    let cells = |column: &Column<R>| {
        let values: Vec<Option<u64>> = rows.iter().map(column.value).collect();
        let there = column.optional.then(|| {
            let bits = |byte: &[Option<u64>]| {
                let bits = byte.iter().enumerate();
                bits.fold(0, |bits, (at, value)| bits | u8::from(value.is_some()) << at)
            };
            PyBytes::new(py, &values.chunks(8).map(bits).collect::<Vec<u8>>())
        });
        let values = ints(py, values.iter().map(|value| value.unwrap_or_default()));
        (column.name, values, there)
    };
    (rows.len(), columns.iter().map(cells).collect())
}

fn of_flows<'py>(py: Python<'py>, inner: &world::World) -> Table<'py> {
    let all = inner.flow_series();
    let rows = all.iter().map(|series| series.samples.len()).sum();
    let text = |of: fn(&world::table::FlowSeries<'_>) -> String| {
        Values::Text(all.iter().map(|series| (of(series), series.samples.len())).collect())
    };
    let samples = || all.iter().flat_map(|series| series.samples.iter().copied());
    let [flow, kind, quantity, time, value] = FLOW_COLUMNS;
    let columns = vec![
        (flow, text(|series| series.flow.to_owned()), None),
        (kind, text(|series| series.kind.to_owned()), None),
        (quantity, text(|series| series.quantity.to_owned()), None),
        (time, ints(py, samples().map(|(at_us, _)| at_us)), None),
        (value, ints(py, samples().map(|(_, value)| value)), None),
    ];
    (rows, columns)
}

fn ints<'py>(py: Python<'py>, values: impl Iterator<Item = u64>) -> Values<'py> {
    let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    Values::Int(PyBytes::new(py, &bytes))
}
