//! RLC reports in FlexRIC's plain layout: u32 n, n records, i64 timestamp, little-endian.

use std::fmt;

const COUNT_BYTES: usize = 4;
const TIMESTAMP_BYTES: usize = 8;

/// Byte offsets of the fields within a record.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Length of a record.
    pub record: usize,
    /// `txpdu_bytes`, u32, cumulative.
    pub pdu_bytes: usize,
    /// `txbuf_occ_bytes`, u32.
    pub occupancy_bytes: usize,
    /// `txsdu_avg_time_to_tx`, f64, µs.
    pub mean_sojourn: usize,
    /// `txsdu_wt_us`, u32.
    pub head_of_line_age: usize,
    /// `rnti`, u32.
    pub rnti: usize,
    /// `rbid`, u8.
    pub rbid: usize,
    /// Records for which a message has room: one with as many may leave out others, which the next ones have.
    pub most_records: usize,
}

/// A field that ends behind its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldError {
    /// Name in [`Fields`].
    pub field: &'static str,
    /// Length of a record.
    pub record: usize,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected an offset within a record of {} bytes", self.field, self.record)
    }
}

impl std::error::Error for FieldError {}

impl Fields {
    /// The offsets, if each field lies within a record.
    ///
    /// # Errors
    /// The first field that does not.
    pub fn checked(self) -> Result<Self, FieldError> {
        let ends = [
            ("pdu_bytes", self.pdu_bytes, 4),
            ("occupancy_bytes", self.occupancy_bytes, 4),
            ("mean_sojourn", self.mean_sojourn, 8),
            ("head_of_line_age", self.head_of_line_age, 4),
            ("rnti", self.rnti, 4),
            ("rbid", self.rbid, 1),
        ];
        for (field, offset, bytes) in ends {
            if offset.checked_add(bytes).is_none_or(|end| end > self.record) {
                return Err(FieldError { field, record: self.record });
            }
        }
        Ok(self)
    }
}

/// A message whose length does not match its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameError {
    /// Length of the message.
    pub bytes: usize,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message: {} bytes do not match the count of records in front", self.bytes)
    }
}

impl std::error::Error for FrameError {}

/// C-RNTI and DRB identity of a bearer: `rnti << 8 | drb`.
pub type BearerCode = u32;

/// The records of a report.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    bytes: &'a [u8],
    fields: Fields,
}

/// What the windows keep of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) pdu_bytes: u32,
    pub(crate) occupancy_bytes: u32,
    pub(crate) mean_us: f32,
    pub(crate) hol_us: f32,
}

impl<'a> Rows<'a> {
    pub(crate) fn of(message: &'a [u8], fields: Fields) -> Result<Self, FrameError> {
        let wrong = FrameError { bytes: message.len() };
        let (count, rest) = message.split_first_chunk::<COUNT_BYTES>().ok_or(wrong)?;
        let records = (u32::from_le_bytes(*count) as usize).checked_mul(fields.record);
        let bytes = rest.len().checked_sub(TIMESTAMP_BYTES).ok_or(wrong)?;
        if records != Some(bytes) {
            return Err(wrong);
        }
        Ok(Self { bytes: &rest[..bytes], fields })
    }

    /// Whether bearers may be left out for want of room.
    pub(crate) fn are_full(self) -> bool {
        self.bytes.len() == self.fields.most_records.saturating_mul(self.fields.record)
    }

    fn records(self) -> impl Iterator<Item = &'a [u8]> {
        self.bytes.chunks_exact(self.fields.record)
    }

    /// RNTI and DRB of each row as the report has them.
    pub(crate) fn names(self) -> impl Iterator<Item = (u32, u8)> {
        let Fields { rnti, rbid, .. } = self.fields;
        self.records().map(move |record| (u32_at(record, rnti), record[rbid]))
    }

    pub(crate) fn values(self) -> impl Iterator<Item = Row> {
        let fields = self.fields;
        self.records().map(move |record| Row {
            pdu_bytes: u32_at(record, fields.pdu_bytes),
            occupancy_bytes: u32_at(record, fields.occupancy_bytes),
            mean_us: f64_at(record, fields.mean_sojourn) as f32,
            hol_us: u32_at(record, fields.head_of_line_age) as f32,
        })
    }
}

/// The code of a bearer; `None`: the report's numbers name none.
pub(crate) fn code_of((rnti, rbid): (u32, u8)) -> Option<BearerCode> {
    (rnti <= 0xFFFF && (1..=32).contains(&rbid)).then(|| rnti << 8 | u32::from(rbid))
}

// `Fields::checked` saw that the fields lie within a record.
fn u32_at(record: &[u8], offset: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&record[offset..offset + 4]);
    u32::from_le_bytes(bytes)
}

fn f64_at(record: &[u8], offset: usize) -> f64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[offset..offset + 8]);
    f64::from_le_bytes(bytes)
}
