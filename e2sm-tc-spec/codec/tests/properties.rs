//! For every message: decoding undoes encoding, JSON carries it whole, and damaged bytes are
//! refused or decoded, never anything else.

#![allow(clippy::unwrap_used, reason = "a test says what is expected")]

use e2sm_tc::testing::{decode_noting_extensions, v0_message, v1_message};
use e2sm_tc::{json, v0, v1};
use proptest::prelude::*;
use proptest::sample::Index;

/// What happens to bytes on a bad day.
#[derive(Clone, Debug)]
enum Damage {
    Truncate(Index),
    Flip(Vec<Index>),
    Overwrite(Index, [u8; 4]),
    Append(Vec<u8>),
    Replace(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::Truncate),
        prop::collection::vec(any::<Index>(), 1..4).prop_map(Damage::Flip),
        (any::<Index>(), any::<[u8; 4]>()).prop_map(|(at, by)| Damage::Overwrite(at, by)),
        prop::collection::vec(any::<u8>(), 1..70).prop_map(Damage::Append),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Damage::Replace),
    ]
}

impl Damage {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::Truncate(at) => bytes.truncate(at.index(bytes.len())),
            Self::Flip(bits) => {
                for bit in bits {
                    let bit = bit.index(8 * bytes.len());
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            }
            Self::Overwrite(at, by) => {
                let at = at.index(bytes.len());
                for (byte, by) in bytes.iter_mut().skip(at).zip(by) {
                    *byte = *by;
                }
            }
            Self::Append(more) => bytes.extend_from_slice(more),
            Self::Replace(other) => bytes.clone_from(other),
        }
        bytes
    }
}

macro_rules! v1_properties {
    ($($test:ident: $message:ident,)*) => {
        mod v1_messages {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(192))]
                $(
                    #[test]
                    fn $test(message in v1_message::<v1::$message>(), damage in damage()) {
                        let bytes = v1::encode(&message).unwrap();
                        prop_assert_eq!(v1::decode::<v1::$message>(&bytes).unwrap(), message.clone());
                        let text = json::to_json(&message).unwrap();
                        prop_assert_eq!(json::from_json::<v1::$message>(&text).unwrap(), message);

                        let damaged = damage.apply(&bytes);
                        if let Ok((read, extended)) =
                            decode_noting_extensions::<v1::$message>(&damaged)
                        {
                            // What is accepted is the one encoding of what was read.
                            prop_assert!(extended || v1::encode(&read).unwrap() == damaged);
                        }
                    }
                )*
            }
        }
    };
}

v1_properties!(
    action_definition: ActionDefinition,
    control_header: ControlHeader,
    control_message: ControlMessage,
    control_outcome: ControlOutcome,
    event_trigger: EventTrigger,
    indication_header: IndicationHeader,
    indication_message: IndicationMessage,
    pipeline: Pipeline,
    ran_function_definition: RanFunctionDefinition,
);

macro_rules! v0_properties {
    ($($test:ident: $message:ident,)*) => {
        mod v0_messages {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(192))]
                $(
                    #[test]
                    fn $test(message in v0_message::<v0::$message>(), damage in damage()) {
                        let bytes = v0::encode(&message).unwrap();
                        prop_assert_eq!(v0::decode::<v0::$message>(&bytes).unwrap(), message.clone());
                        let text = json::to_json(&message).unwrap();
                        prop_assert_eq!(json::from_json::<v0::$message>(&text).unwrap(), message);

                        let damaged = damage.apply(&bytes);
                        if let Ok(read) = v0::decode::<v0::$message>(&damaged) {
                            // The same but for the holes of filters.
                            let again = v0::encode(&read).unwrap();
                            prop_assert_eq!(again.len(), damaged.len());
                            prop_assert_eq!(
                                v0::encode(&v0::decode::<v0::$message>(&again).unwrap()).unwrap(),
                                again
                            );
                        }
                    }
                )*
            }
        }
    };
}

v0_properties!(
    control_header: ControlHeader,
    control_message: ControlMessage,
    control_outcome: ControlOutcome,
    event_trigger: EventTrigger,
    indication_header: IndicationHeader,
    indication_message: IndicationMessage,
);

proptest! {
    /// Declared capabilities are compared with these names, so they must be those of JSON.
    #[test]
    fn kinds_are_named_as_in_json(pipeline in v1_message::<v1::Pipeline>()) {
        fn name_in_json(value: &impl serde::Serialize) -> String {
            match serde_json::to_value(value).unwrap() {
                serde_json::Value::String(name) => name,
                other => other.as_object().unwrap().keys().next().unwrap().clone(),
            }
        }
        prop_assert_eq!(pipeline.classifier.kind(), name_in_json(&pipeline.classifier));
        prop_assert_eq!(pipeline.scheduler.kind(), name_in_json(&pipeline.scheduler));
        prop_assert_eq!(pipeline.pacer.kind(), name_in_json(&pipeline.pacer));
        for set in &pipeline.queues {
            prop_assert_eq!(set.discipline.kind(), name_in_json(&set.discipline));
        }
    }

    /// Validation has an answer for whatever can be decoded.
    #[test]
    fn validation_never_panics(message in v1_message::<v1::ControlMessage>()) {
        if let Err(invalid) = v1::Validate::validate(&message) {
            prop_assert!(!invalid.element.is_empty());
        }
    }
}
