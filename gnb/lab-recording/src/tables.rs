//! Parquet tables.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::RecordingError;
use lab_world::{BearerSample, PacketSample, World};

/// One column of a row group.
enum Column {
    Int(Vec<i64>),
    /// Absent values are null.
    Optional(Vec<Option<i64>>),
    Text(Vec<ByteArray>),
}

/// A table being written, a row group at a time.
#[derive(Debug)]
struct Table {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl Table {
    fn create(path: &Path, schema: &str) -> Result<Self, RecordingError> {
        let schema = parse_message_type(schema).map_err(RecordingError::table(path))?;
        let file = File::create(path).map_err(RecordingError::io(path))?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(RecordingError::table(path))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    fn append(&mut self, columns: Vec<Column>) -> Result<(), RecordingError> {
        let path = self.path.clone();
        self.row_group(columns).map_err(RecordingError::table(&path))
    }

    fn row_group(&mut self, columns: Vec<Column>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            let Some(mut writer) = group.next_column()? else { break };
            match (writer.untyped(), column) {
                (ColumnWriter::Int64ColumnWriter(writer), Column::Int(values)) => {
                    writer.write_batch(&values, None, None)?;
                }
                (ColumnWriter::Int64ColumnWriter(writer), Column::Optional(values)) => {
                    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                    let values: Vec<i64> = values.into_iter().flatten().collect();
                    writer.write_batch(&values, Some(&levels), None)?;
                }
                (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(values)) => {
                    writer.write_batch(&values, None, None)?;
                }
                _ => return Err(ParquetError::General("column of another type".to_owned())),
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), RecordingError> {
        self.writer.finish().map(|_| ()).map_err(RecordingError::table(&self.path))
    }
}

/// A column of whole numbers of `rows`.
fn ints<R>(rows: &[R], value: impl Fn(&R) -> u64) -> Column {
    Column::Int(rows.iter().map(|row| value(row) as i64).collect())
}

/// `bearers.parquet`: a row per bearer and ms.
#[derive(Debug)]
pub(super) struct BearerTable(Table);

impl BearerTable {
    pub(super) fn create(path: &Path) -> Result<Self, RecordingError> {
        let schema = "message bearers {
            required int64 time_us;
            required int64 rnti;
            required int64 drb;
            required int64 rlc_occupancy_bytes;
            required int64 rlc_occupancy_packets;
            required int64 rlc_hol_us;
            required int64 rlc_mean_sojourn_us;
            required int64 tc_backlog_bytes;
            required int64 tc_backlog_packets;
            optional int64 pacer_limit_bytes;
            required int64 ingress_bytes;
            required int64 drained_bytes;
            required int64 mcs;
            required int64 used_prb;
            required int64 cell_used_prb;
            required int64 cell_available_prb;
        }";
        Table::create(path, schema).map(Self)
    }

    pub(super) fn append(&mut self, rows: &[BearerSample]) -> Result<(), RecordingError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.0.append(vec![
            ints(rows, |r| r.time_us),
            ints(rows, |r| r.rnti.into()),
            ints(rows, |r| r.drb.into()),
            ints(rows, |r| r.rlc_occupancy_bytes.into()),
            ints(rows, |r| r.rlc_occupancy_packets.into()),
            ints(rows, |r| r.hol_us),
            ints(rows, |r| r.mean_sojourn_us.into()),
            ints(rows, |r| r.tc_backlog_bytes),
            ints(rows, |r| r.tc_backlog_packets.into()),
            Column::Optional(rows.iter().map(|r| r.pacer_limit_bytes.map(i64::from)).collect()),
            ints(rows, |r| r.ingress_bytes),
            ints(rows, |r| r.drained_bytes),
            ints(rows, |r| r.mcs.into()),
            ints(rows, |r| r.used_prb),
            ints(rows, |r| r.cell.used_prb),
            ints(rows, |r| r.cell.available_prb),
        ])
    }

    pub(super) fn finish(self) -> Result<(), RecordingError> {
        self.0.finish()
    }
}

/// `packets.parquet`: a row per downlink packet that left the RLC.
#[derive(Debug)]
pub(super) struct PacketTable(Table);

impl PacketTable {
    pub(super) fn create(path: &Path) -> Result<Self, RecordingError> {
        let schema = "message packets {
            required int64 flow_index;
            required int64 rnti;
            required int64 drb;
            required int64 len_bytes;
            required int64 sent_us;
            required int64 sdap_us;
            required int64 rlc_us;
            required int64 mac_us;
            required int64 ue_us;
            required int64 ce;
        }";
        Table::create(path, schema).map(Self)
    }

    pub(super) fn append(&mut self, rows: &[PacketSample]) -> Result<(), RecordingError> {
        if rows.is_empty() {
            return Ok(());
        }
        self.0.append(vec![
            ints(rows, |r| r.flow.into()),
            ints(rows, |r| r.rnti.into()),
            ints(rows, |r| r.drb.into()),
            ints(rows, |r| r.len_bytes.into()),
            ints(rows, |r| r.sent_us),
            ints(rows, |r| r.sdap_us),
            ints(rows, |r| r.rlc_us),
            ints(rows, |r| r.mac_us),
            ints(rows, |r| r.ue_us),
            ints(rows, |r| r.ce.into()),
        ])
    }

    pub(super) fn finish(self) -> Result<(), RecordingError> {
        self.0.finish()
    }
}

/// `flows.parquet`: samples of flows. `quantity` is `rtt`, `one_way` or `app_delay` (µs, at the time
/// measured; the last is what the application judges itself by: frame, action to screen, page load,
/// chunk) or `goodput_bytes` (cumulative).
pub(super) fn write_flows(path: &Path, world: &World) -> Result<(), RecordingError> {
    let schema = "message flows {
        required binary flow (UTF8);
        required binary kind (UTF8);
        required binary quantity (UTF8);
        required int64 time_us;
        required int64 value;
    }";
    let mut table = Table::create(path, schema)?;
    for (name, kind, flow) in world.flows() {
        let rtt = flow.rtt().map(|rtt| rtt.samples().to_vec()).unwrap_or_default();
        let one_way = flow.one_way_delay().samples().to_vec();
        let goodput = cumulative_goodput(flow, world.now_us());
        let app = flow.app_delay().map(|(_, delay)| delay.samples().to_vec()).unwrap_or_default();
        let quantities =
            [("rtt", rtt), ("one_way", one_way), ("app_delay", app), ("goodput_bytes", goodput)];
        for (quantity, samples) in quantities {
            if samples.is_empty() {
                continue;
            }
            let text = |word: &str| Column::Text(vec![ByteArray::from(word); samples.len()]);
            table.append(vec![
                text(name),
                text(kind),
                text(quantity),
                ints(&samples, |(at_us, _)| *at_us),
                ints(&samples, |(_, value)| *value),
            ])?;
        }
    }
    table.finish()
}

/// Bytes handed to the application by the end of each bin, from nothing at time 0.
fn cumulative_goodput(flow: &traffic::Flow, now_us: u64) -> Vec<(u64, u64)> {
    let goodput = flow.ue.arrivals().goodput();
    let mut total = 0;
    let mut samples = vec![(0, 0)];
    for (index, bytes) in (1..).zip(goodput.bins()) {
        total += bytes;
        samples.push(((index * goodput.bin_us()).min(now_us), total));
    }
    samples
}
