//! E2SM-TC v0: the first byte selects the message. Bytes are refused or are the encoding of a message,
//! except for the padding of filters; a control becomes edits of a pipeline or is refused.

use std::sync::LazyLock;

use e2sm_tc::{v0, v1::Pipeline};

const MESSAGES: [fn(&[u8]); 6] = [
    check_message::<v0::ControlHeader>,
    check_control,
    check_message::<v0::ControlOutcome>,
    check_message::<v0::EventTrigger>,
    check_message::<v0::IndicationHeader>,
    check_message::<v0::IndicationMessage>,
];

static PIPELINES: LazyLock<Vec<Pipeline>> = LazyLock::new(|| {
    tc_pipelines::templates::NAMES
        .iter()
        .filter_map(|name| tc_pipelines::templates::by_name(name))
        .collect()
});

pub(crate) fn check(input: &[u8]) {
    let pipelines = &*PIPELINES;
    assert!(!pipelines.is_empty());
    if let Some((choice, bytes)) = input.split_first() {
        MESSAGES[usize::from(*choice) % MESSAGES.len()](bytes);
    }
}

fn check_message<M: v0::Message>(bytes: &[u8]) {
    let Ok(message) = v0::decode::<M>(bytes) else { return };
    let encoded = v0::encode(&message).expect("what was decoded can be encoded");
    assert_eq!(encoded.len(), bytes.len());
    let again = v0::decode::<M>(&encoded).expect("what was encoded can be decoded");
    assert_eq!(v0::encode(&again).expect("and encoded again"), encoded);
}

fn check_control(bytes: &[u8]) {
    check_message::<v0::ControlMessage>(bytes);
    let Ok(message) = v0::decode::<v0::ControlMessage>(bytes) else { return };
    for pipeline in &*PIPELINES {
        // A refusal is a value.
        let _ = tc_pipelines::v0::edits(pipeline, &message);
    }
}
