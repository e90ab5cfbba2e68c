//! The CSV of UCC's 5G data set (Raca et al., MMSys 2020): about a row per second of what a phone
//! measured. The first line names the columns.

use std::io::BufRead;
use std::sync::Arc;

use super::TraceError;
use super::lines::{Lines, fields, header, place, wrong};
use super::measured::Missing;
use super::rate::MAX_RATE_KBPS;
use super::series::SNR_DB;

/// Longest trace accepted: a day.
pub const MAX_SECONDS: usize = 86_400;

const TIMESTAMP: &str = "Timestamp";
const TIMESTAMP_FORMAT: &str = "a time like 2019.12.16_12.27.05";

/// A column that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UccColumn {
    /// Channel quality indicator, 0 to 15.
    Cqi,
    /// SNR in dB.
    Snr,
    /// Rate of the download in kbit/s.
    DlBitrate,
}

impl UccColumn {
    /// Name in the first line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cqi => "CQI",
            Self::Snr => "SNR",
            Self::DlBitrate => "DL_bitrate",
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Cqi => "a whole number from 0 to 15, or '-'",
            Self::Snr => "a number from -50 to 80, or '-'",
            Self::DlBitrate => "a whole number of kbit/s up to 100000000, or '-'",
        }
    }

    fn accepts(self, value: f64) -> bool {
        match self {
            Self::Cqi => value.fract() == 0.0 && (0.0..=15.0).contains(&value),
            Self::Snr => SNR_DB.contains(&value),
            Self::DlBitrate => {
                value.fract() == 0.0 && (0.0..=f64::from(MAX_RATE_KBPS)).contains(&value)
            }
        }
    }
}

/// One column of a trace, second by second.
#[derive(Debug, Clone, PartialEq)]
pub struct UccTrace {
    column: UccColumn,
    seconds: Arc<[Option<f64>]>,
}

impl UccTrace {
    /// Reads `column`. The last row of a second counts; a second without a row repeats the previous
    /// one.
    ///
    /// # Errors
    /// [`TraceError`] naming line and column.
    pub fn read(reader: impl BufRead, column: UccColumn) -> Result<Self, TraceError> {
        let mut lines = Lines::new(reader);
        let names = header(&mut lines)?;
        let (time_at, value_at) = (place(&names, TIMESTAMP)?, place(&names, column.name())?);
        let mut seconds: Vec<Option<f64>> = Vec::new();
        let mut first_s = None;
        while let Some(row) = lines.next()? {
            if row.trim().is_empty() {
                continue;
            }
            let line = lines.line;
            let fields = fields(&row, &names, line)?;
            let at_s = timestamp_s(fields[time_at])
                .ok_or_else(|| wrong(line, TIMESTAMP, fields[time_at], TIMESTAMP_FORMAT))?;
            let value = parse(fields[value_at], column)
                .ok_or_else(|| wrong(line, column.name(), fields[value_at], column.expected()))?;
            let since_s = at_s - *first_s.get_or_insert(at_s);
            let at = usize::try_from(since_s).ok().filter(|at| *at + 1 >= seconds.len());
            let Some(at) = at else {
                let (column, time) = (TIMESTAMP, fields[time_at]);
                let found =
                    format!("line {line}, column '{column}': {time} is before the line above");
                return Err(TraceError::invalid(found, "an order"));
            };
            if at >= MAX_SECONDS {
                let found = format!("line {line}: more than {MAX_SECONDS} s after the first");
                return Err(TraceError::invalid(found, "a shorter trace"));
            }
            seconds.resize(at, seconds.last().copied().flatten());
            seconds.push(value);
        }
        if seconds.iter().all(Option::is_none) {
            let found = format!("no value in column '{}'", column.name());
            return Err(TraceError::invalid(found, "at least one row with one"));
        }
        Ok(Self { column, seconds: seconds.into() })
    }

    /// The column.
    pub fn column(&self) -> UccColumn {
        self.column
    }

    /// The values, second by second; `None` where the phone reported none.
    pub fn seconds(&self) -> &[Option<f64>] {
        &self.seconds
    }

    /// The values with the missing ones replaced: `None` only for [`Missing::Outage`].
    pub fn filled(&self, missing: Missing) -> Vec<Option<f64>> {
        missing.fill(&self.seconds)
    }
}

/// `Some(None)` for `-`, a missing value; `None` for anything else that is not a value.
fn parse(text: &str, column: UccColumn) -> Option<Option<f64>> {
    if text == "-" {
        return Some(None);
    }
    let value: f64 = text.parse().ok()?;
    column.accepts(value).then_some(Some(value))
}

/// Seconds since 1970 of `YYYY.MM.DD_hh.mm.ss`.
fn timestamp_s(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('_')?;
    let three = |text: &str| -> Option<[i64; 3]> {
        let numbers: Option<Vec<i64>> = text
            .split('.')
            .map(|part| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?)
            .collect();
        numbers?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (three(date)?, three(time)?);
    let possible = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    possible
        .then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days of the Gregorian calendar, counted in eras of 400 years that begin in March (Hinnant,
/// "chrono-compatible low-level date algorithms").
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year / 400;
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Timestamp,SNR,CQI,DL_bitrate\n";

    fn read(rows: &str, column: UccColumn) -> Result<UccTrace, String> {
        let text = format!("{HEADER}{rows}");
        UccTrace::read(text.as_bytes(), column).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_row_of_a_second_counts_and_gaps_are_filled() {
        let rows = "2019.12.31_23.59.58,5.0,12,30\n\
                    2019.12.31_23.59.58,-3.5,11,2\n\
                    2019.12.31_23.59.59,-,-,7\n\
                    2020.01.01_00.00.02,1,9,8\r\n";
        let cqi = read(rows, UccColumn::Cqi).unwrap();
        assert_eq!(cqi.seconds(), [Some(11.0), None, None, None, Some(9.0)]);
        assert_eq!(cqi.filled(Missing::Hold), [11.0, 11.0, 11.0, 11.0, 9.0].map(Some));
        assert_eq!(cqi.filled(Missing::Outage), cqi.seconds());
        let rate = read(rows, UccColumn::DlBitrate).unwrap();
        assert_eq!(rate.seconds(), [2.0, 7.0, 7.0, 7.0, 8.0].map(Some));
        assert_eq!(read(rows, UccColumn::Snr).unwrap().seconds()[0], Some(-3.5));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_name() {
        let text = format!("\u{feff}{HEADER}2020.02.28_00.00.00,1,6,1\n");
        let cqi = UccTrace::read(text.as_bytes(), UccColumn::Cqi).unwrap();
        assert_eq!(cqi.seconds(), [Some(6.0)]);
        let error = UccTrace::read(&b"[{\"CQI\": 1}]"[..], UccColumn::Cqi).unwrap_err().to_string();
        assert_eq!(error, "line 1: JSON; expected a line that names the columns");
    }

    #[test]
    fn a_trace_that_begins_without_a_value_holds_the_first_one() {
        let rows = "2020.02.28_00.00.00,1,-,1\n2020.02.28_00.00.01,1,6,1\n";
        let cqi = read(rows, UccColumn::Cqi).unwrap();
        assert_eq!(cqi.filled(Missing::Hold), [Some(6.0), Some(6.0)]);
    }

    #[test]
    fn errors_name_line_column_and_value() {
        let good = "2020.02.14_13.21.26,5.0,12,30\n";
        for (rows, column, expected) in [
            (
                "2020.02.14_13.21.26,5.0,NaN,30\n",
                UccColumn::Cqi,
                "line 2, column 'CQI': 'NaN'; expected a whole number from 0 to 15, or '-'",
            ),
            ("x,5.0,1,30\n", UccColumn::Cqi, "line 2, column 'Timestamp': 'x'; expected a time"),
            (
                "2020.13.14_13.21.26,5.0,12,30\n",
                UccColumn::Cqi,
                "line 2, column 'Timestamp': '2020.13.14_13.21.26'; expected a time like",
            ),
            ("2020.02.14_13.21.26,5.0,16,30\n", UccColumn::Cqi, "line 2, column 'CQI': '16'"),
            ("2020.02.14_13.21.26,5.0,,30\n", UccColumn::Cqi, "line 2, column 'CQI': ''"),
            ("2020.02.14_13.21.26,inf,1,30\n", UccColumn::Snr, "line 2, column 'SNR': 'inf'"),
            (
                "2020.02.14_13.21.26,1,1,-3\n",
                UccColumn::DlBitrate,
                "line 2, column 'DL_bitrate': '-3'; expected a whole number of kbit/s",
            ),
            ("2020.02.14_13.21.26,1,1\n", UccColumn::Cqi, "line 2: 3 fields; expected 4"),
            (
                &format!("{good}2020.02.14_13.21.24,5.0,12,30\n"),
                UccColumn::Cqi,
                "line 3, column 'Timestamp': 2020.02.14_13.21.24 is before the line above",
            ),
            (
                &format!("{good}2020.02.16_13.21.26,5.0,12,30\n"),
                UccColumn::Cqi,
                "line 3: more than 86400 s after the first",
            ),
            ("", UccColumn::Cqi, "no value in column 'CQI'"),
            ("2020.02.14_13.21.26,5.0,-,30\n", UccColumn::Cqi, "no value in column 'CQI'"),
        ] {
            let error = read(rows, column).unwrap_err();
            assert!(error.starts_with(expected), "{rows:?}: {error}");
        }
    }

    #[test]
    fn a_file_of_another_format_is_refused() {
        let error =
            |text: &str| UccTrace::read(text.as_bytes(), UccColumn::Cqi).unwrap_err().to_string();
        assert_eq!(error(""), "empty; expected a line that names the columns");
        assert_eq!(error("1\n2\n"), "line 1: no column 'Timestamp'; expected it among the names");
        assert_eq!(error("Timestamp,x\n"), "line 1: no column 'CQI'; expected it among the names");
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let error = UccTrace::read(endless, UccColumn::Cqi).unwrap_err().to_string();
        assert_eq!(error, "line 1: cannot read: longer than 4096 bytes");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(timestamp_s("1970.01.01_00.00.00"), Some(0));
        assert_eq!(timestamp_s("2000.03.01_00.00.00"), Some(951_868_800));
        assert_eq!(timestamp_s("2020.02.29_23.59.59"), Some(1_583_020_799));
        for wrong in ["2020.02.14", "2020.02_1.2.3", "2020.02.14_25.00.00", "2020.-2.14_1.1.1"] {
            assert_eq!(timestamp_s(wrong), None, "{wrong}");
        }
    }
}
