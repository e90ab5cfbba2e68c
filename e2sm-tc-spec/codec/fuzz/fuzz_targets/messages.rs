//! Any bytes are refused or decode to a message. Run with `cargo +nightly fuzz run messages` in
//! `codec/`. The first byte selects the message; `vectors/` has seeds.

#![no_main]

use std::fmt::Debug;

use e2sm_tc::{v0, v1};

type Check = fn(&[u8]);

const MESSAGES: [Check; 15] = [
    check_v0::<v0::ControlHeader>,
    check_v0::<v0::ControlMessage>,
    check_v0::<v0::ControlOutcome>,
    check_v0::<v0::EventTrigger>,
    check_v0::<v0::IndicationHeader>,
    check_v0::<v0::IndicationMessage>,
    check_v1::<v1::ActionDefinition>,
    check_v1::<v1::ControlHeader>,
    check_v1::<v1::ControlMessage>,
    check_v1::<v1::ControlOutcome>,
    check_v1::<v1::EventTrigger>,
    check_v1::<v1::IndicationHeader>,
    check_v1::<v1::IndicationMessage>,
    check_v1::<v1::Pipeline>,
    check_v1::<v1::RanFunctionDefinition>,
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((choice, bytes)) = bytes.split_first() {
        MESSAGES[usize::from(*choice) % MESSAGES.len()](bytes);
    }
});

/// v1: bytes are refused, or are the one encoding of a message.
fn check_v1<M: v1::Message + PartialEq + Debug>(bytes: &[u8]) {
    let Ok((message, extended)) = v1::decode_with_extensions::<M>(bytes) else {
        return;
    };
    let encoded = v1::encode(&message).expect("what was decoded can be encoded");
    if extended {
        let again = v1::decode::<M>(&encoded).expect("what was encoded can be decoded");
        assert_eq!(again, message);
    } else {
        assert_eq!(encoded, bytes);
    }
}

/// v0: bytes are refused, or are the encoding of a message, except for the padding of filters.
fn check_v0<M: v0::Message>(bytes: &[u8]) {
    let Ok(message) = v0::decode::<M>(bytes) else {
        return;
    };
    let encoded = v0::encode(&message).expect("what was decoded can be encoded");
    assert_eq!(encoded.len(), bytes.len());
    let again = v0::decode::<M>(&encoded).expect("what was encoded can be decoded");
    assert_eq!(v0::encode(&again).expect("and encoded again"), encoded);
}
