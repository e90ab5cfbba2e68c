//! The log of the servers as events for Python's.

use std::{fmt, sync::Arc};

use pyo3::{prelude::*, types::PyDict};
use tracing::{
    Event as TracingEvent, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::mailbox::{Event, ForPython, Mailbox};

/// A value of a field.
#[derive(IntoPyObject)]
enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
}

/// One line.
struct Record {
    level: &'static str,
    logger: &'static str,
    event: String,
    fields: Vec<(&'static str, Value)>,
}

impl ForPython for Record {
    /// Level, logger, event, and a dictionary of the fields.
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let fields = PyDict::new(py);
        for (name, value) in self.fields {
            fields.set_item(name, value)?;
        }
        Ok((self.level, self.logger, self.event, fields).into_pyobject(py)?.into_any())
    }
}

/// Passes events to the mailbox.
pub(crate) struct MailboxLog(pub(crate) Arc<Mailbox>);

/// Where the library of the servers logs.
const SERVERS: &str = "serving";
/// Where the audit log goes without a file.
const AUDIT: &str = "audit";

impl Subscriber for MailboxLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        *metadata.level() <= Level::INFO && (target == AUDIT || target.starts_with(SERVERS))
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        // None of what is logged here has spans.
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &TracingEvent<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let level = match *metadata.level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "info",
        };
        let logger = if metadata.target() == AUDIT { AUDIT } else { "" };
        let Fields { message, fields } = fields;
        let record = Record { level, logger, event: message, fields };
        self.0.push(Event::Log(Box::new(record)));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Fields {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        self.fields.push((field.name(), value));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            self.add(field, Value::Text(format!("{value:?}")));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::Text(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Value::Number(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Value::Flag(value));
    }
}
