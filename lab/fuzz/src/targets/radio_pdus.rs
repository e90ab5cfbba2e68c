//! PDUs of the radio: the RLC STATUS PDU (38.322 §6.2.2.5) and the F1-U delivery status (38.425
//! §5.5.2.2); the first byte selects one. What was decoded is the same after encoding.

use ran::{AmSnLength, DeliveryStatus, rlc::am::StatusPdu};

pub(crate) fn check(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    match choice % 3 {
        0 => status(bytes, AmSnLength::Twelve),
        1 => status(bytes, AmSnLength::Eighteen),
        _ => delivery_status(bytes),
    }
}

fn status(bytes: &[u8], sn_length: AmSnLength) {
    let Ok(pdu) = StatusPdu::decode(bytes, sn_length) else { return };
    let encoded = pdu.encode(sn_length);
    assert_eq!(encoded.len(), pdu.len_bytes(sn_length) as usize);
    assert_eq!(StatusPdu::decode(&encoded, sn_length), Ok(pdu));
}

fn delivery_status(bytes: &[u8]) {
    let Ok(frame) = DeliveryStatus::decode(bytes) else { return };
    let encoded = frame.encode();
    let again = DeliveryStatus::decode(&encoded).expect("what was encoded can be decoded");
    // The frame has room for fewer ranges than its count can say.
    assert_eq!(again.lost[..], frame.lost[..again.lost.len()]);
    assert_eq!(DeliveryStatus { lost: frame.lost.clone(), ..again }, frame);
}
