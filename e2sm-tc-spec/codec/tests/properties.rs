//! Properties of every message: round trips through bytes and JSON; damaged bytes are refused or
//! are the encoding of another message.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use e2sm_tc::testing::{v0_message, v1_message};
use e2sm_tc::{json, v0, v1};
use proptest::prelude::*;
use proptest::sample::Index;

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

/// v1: accepted bytes are the one encoding of a message, unless a later version extended it.
fn v1_is_canonical<M: v1::Message>(bytes: &[u8]) -> bool {
    v1::decode_with_extensions::<M>(bytes)
        .is_ok_and(|(message, extended)| extended || v1::encode(&message).unwrap() == bytes)
}

/// v0: accepted bytes are the encoding of a message, except for the padding of filters.
fn v0_is_canonical<M: v0::Message>(bytes: &[u8]) -> bool {
    v0::decode::<M>(bytes).is_ok_and(|message| {
        let again = v0::encode(&message).unwrap();
        let twice = v0::encode(&v0::decode::<M>(&again).unwrap()).unwrap();
        again.len() == bytes.len() && twice == again
    })
}

macro_rules! properties {
    ($module:ident, $version:ident, $values:ident, $is_canonical:ident:
        $($test:ident: $message:ident),* $(,)?
    ) => {
        mod $module {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(192))]
                $(
                    #[test]
                    fn $test(message in $values::<$version::$message>(), damage in damage()) {
                        type Message = $version::$message;
                        let bytes = $version::encode(&message).unwrap();
                        prop_assert_eq!($version::decode::<Message>(&bytes).unwrap(), message.clone());
                        let text = json::to_json(&message).unwrap();
                        prop_assert_eq!(json::from_json::<Message>(&text).unwrap(), message);
                        let damaged = damage.apply(&bytes);
                        let refused = $version::decode::<Message>(&damaged).is_err();
                        prop_assert!(refused || $is_canonical::<Message>(&damaged));
                    }
                )*
            }
        }
    };
}

properties!(v1_messages, v1, v1_message, v1_is_canonical:
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

properties!(v0_messages, v0, v0_message, v0_is_canonical:
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

    #[test]
    fn validation_never_panics(message in v1_message::<v1::ControlMessage>()) {
        if let Err(invalid) = v1::Validate::validate(&message) {
            prop_assert!(!invalid.element.is_empty());
        }
    }
}
