//! The inner state of a discipline as JSON.

use serde_json::{Map, Value};
use tc_rf::queueing::{QueueState, StateValue};

/// Inner state under the names of the discipline's RFC or paper; empty where there is none.
pub(super) fn inner(queue: &QueueState) -> Value {
    let numbers = queue.aqm.report(&queue.discipline).into_iter().map(|(name, value)| {
        let value = match value {
            StateValue::Flag(flag) => flag.into(),
            StateValue::Integer(number) => number.into(),
            StateValue::Real(number) => number.into(),
        };
        (name.to_owned(), value)
    });
    Value::Object(numbers.collect::<Map<_, _>>())
}
