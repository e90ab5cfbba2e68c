//! E2SM-TC v1: the first byte selects the message. Bytes are refused, or are the one encoding of a
//! message, extensions apart.

use std::fmt::Debug;

use e2sm_tc::Problem;
use e2sm_tc::v1::{self, Validate};

use crate::Cursor;

const MESSAGES: [fn(&[u8]); 10] = [
    check_message::<v1::ActionDefinition>,
    check_message::<v1::ControlHeader>,
    check_message::<v1::ControlMessage>,
    check_message::<v1::ControlOutcome>,
    check_message::<v1::EventTrigger>,
    check_message::<v1::IndicationHeader>,
    check_message::<v1::IndicationMessage>,
    check_message::<v1::Pipeline>,
    check_message::<v1::RanFunctionDefinition>,
    check_control,
];

pub(crate) fn check(input: &[u8]) {
    if let Some((choice, bytes)) = input.split_first() {
        MESSAGES[usize::from(*choice) % MESSAGES.len()](bytes);
    }
}

fn check_message<M: v1::Message + PartialEq + Debug>(bytes: &[u8]) {
    let Ok((message, extended)) = v1::decode_with_extensions::<M>(bytes) else { return };
    let encoded = match v1::encode(&message) {
        Err(error) if extended && error.problem == Problem::NeverSent => return,
        encoded => encoded.expect("what was decoded can be encoded"),
    };
    if extended {
        let again = v1::decode::<M>(&encoded).expect("what was encoded can be decoded");
        assert_eq!(again, message);
    } else {
        assert_eq!(encoded, bytes);
    }
}

/// A control as a RAN function takes it: header, then message. What is refused is refused with an
/// outcome that can be sent.
fn check_control(bytes: &[u8]) {
    let mut input = Cursor::new(bytes);
    let header = input.block();
    match tc_rf::control::read(header, input.rest()) {
        // A refusal is a value.
        Ok(message) => {
            let _ = message.validate();
        }
        Err(outcome) => {
            let sent = tc_rf::control::encode_outcome(outcome);
            v1::decode::<v1::ControlOutcome>(&sent).expect("an outcome that can be read");
        }
    }
}
