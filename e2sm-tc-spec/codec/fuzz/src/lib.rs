//! What must hold of any bytes. Run a target with `cargo +nightly fuzz run v1_control` in the
//! folder above; `vectors/` makes good seeds.

use std::fmt::Debug;

use e2sm_tc::{testing, v0, v1};

/// v1: bytes are refused, or they are the one encoding of a message.
pub fn v1<M: v1::Message + PartialEq + Debug>(bytes: &[u8]) {
    let Ok((message, extended)) = testing::decode_noting_extensions::<M>(bytes) else {
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

/// v0: bytes are refused, or they are a message's, but for the holes of filters.
pub fn v0<M: v0::Message>(bytes: &[u8]) {
    let Ok(message) = v0::decode::<M>(bytes) else {
        return;
    };
    let encoded = v0::encode(&message).expect("what was decoded can be encoded");
    assert_eq!(encoded.len(), bytes.len());
    let again = v0::decode::<M>(&encoded).expect("what was encoded can be decoded");
    assert_eq!(v0::encode(&again).expect("and encoded again"), encoded);
}
