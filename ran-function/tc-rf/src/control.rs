//! RIC control procedures as bytes: decoding and outcomes.

use e2sm_tc::DecodeError;
use e2sm_tc::v1::{
    self, BearerForecast, Cause, ControlHeader, ControlMessage, ControlOutcome, ForecastFeed,
    Validate,
};

/// Reads a RIC control of E2SM-TC v1. The error is the outcome to return: malformed, an element of
/// a later version, or a header whose style is not that of its message.
///
/// # Errors
/// [`ControlOutcome::Refused`] that names the part and the element.
pub fn read(header: &[u8], message: &[u8]) -> Result<ControlMessage, ControlOutcome> {
    let header: ControlHeader = v1::decode(header).map_err(|error| undecoded("header", &error))?;
    let message: ControlMessage =
        v1::decode(message).map_err(|error| undecoded("message", &error))?;
    if header.style != message.style() {
        let detail = format!("{}; the message is of style {}", header.style, message.style());
        return Err(refused(Cause::Inconsistent, "header.style", detail));
    }
    Ok(message)
}

/// Passes each forecast of a feed to `give`, which returns the revision of its bearer or with a
/// refusal. Bearers that are unknown are passed over, unless all of them are (E2SM-TC v1 §8).
///
/// `epoch_us` is time 0 of the bearers' clock in the clock of the feed.
pub fn feed(
    feed: &ForecastFeed,
    epoch_us: u64,
    mut give: impl FnMut(&BearerForecast) -> Result<u32, ControlOutcome>,
) -> ControlOutcome {
    if let Err(invalid) = feed.validate() {
        let element = format!("forecast_feed.{}", invalid.element);
        return refused(invalid.cause, &element, invalid.to_string());
    }
    let (mut first, mut unknown) = (None, None);
    for (index, forecast) in feed.bearers.iter().enumerate() {
        let origin_us = forecast.origin_us.saturating_sub(epoch_us);
        match give(&BearerForecast { origin_us, ..forecast.clone() }) {
            Ok(revision) => {
                first.get_or_insert(revision);
            }
            Err(ControlOutcome::Refused { cause, element, detail, revision, holder }) => {
                let element = format!("forecast_feed.bearers[{index}].{element}");
                let refusal = ControlOutcome::Refused { cause, element, detail, revision, holder };
                if cause != Cause::UnknownBearer {
                    return refusal;
                }
                unknown.get_or_insert(refusal);
            }
            Err(outcome) => return outcome,
        }
    }
    match (first, unknown) {
        (Some(revision), _) => ControlOutcome::Accepted { revision, lease_ms: None },
        (None, Some(refusal)) => refusal,
        (None, None) => {
            let detail = "none, expected at least one".to_owned();
            refused(Cause::OutOfRange, "forecast_feed.bearers", detail)
        }
    }
}

/// A refusal without a revision.
pub fn refused(cause: Cause, element: &str, detail: String) -> ControlOutcome {
    ControlOutcome::Refused {
        cause,
        element: element.to_owned(),
        detail,
        revision: None,
        holder: None,
    }
}

/// The answer of a node that maps no QoS flows to DRBs (E2SM-TC v1 §7.8).
pub fn no_qos_flow_mapping() -> ControlOutcome {
    let detail = "this node does not map QoS flows to DRBs by E2SM-TC".to_owned();
    refused(Cause::Unsupported, "qos_flow_mapping", detail)
}

/// The bytes of an outcome. One whose texts are too long or not printable for the wire is sent
/// with its cause alone.
pub fn encode_outcome(outcome: ControlOutcome) -> Vec<u8> {
    v1::encode(&outcome).unwrap_or_else(|_| {
        let ControlOutcome::Refused { cause, revision, holder, .. } = outcome else {
            return Vec::new();
        };
        let short = ControlOutcome::Refused {
            cause,
            element: String::new(),
            detail: String::new(),
            revision,
            holder,
        };
        v1::encode(&short).unwrap_or_default()
    })
}

fn undecoded(part: &str, error: &DecodeError) -> ControlOutcome {
    let element = if error.element.is_empty() {
        part.to_owned()
    } else {
        format!("{part}.{}", error.element)
    };
    refused(error.cause(), &element, error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    /// `control_delta` of `e2sm-tc-spec/tests/evolution.jsonl`, a control with a discipline of a later
    /// version; a message of a kind of its own; and one that is cut short.
    #[test]
    fn an_element_of_a_later_version_is_unsupported_and_named() {
        let header = v1::encode(&ControlHeader { style: 1, correlation_id: 0 }).unwrap();
        let delta = "0c00460100294007cf080248006e1800000300008104400111703800";
        for (message, cause, element) in [
            (
                delta,
                Cause::Unsupported,
                "message.transaction.change.delta[1].add_queues.discipline",
            ),
            ("a80100", Cause::Unsupported, "message"),
            (&delta[..40], Cause::Malformed, "message.transaction.change.delta[1].add_queues"),
        ] {
            let refusal = read(&header, &bytes(message)).unwrap_err();
            let ControlOutcome::Refused { cause: found, element: at, .. } = &refusal else {
                panic!("{refusal:?}");
            };
            assert_eq!((*found, at.starts_with(element)), (cause, true), "{refusal:?}");
            assert_eq!(v1::decode::<ControlOutcome>(&encode_outcome(refusal.clone())), Ok(refusal));
        }
    }
}
