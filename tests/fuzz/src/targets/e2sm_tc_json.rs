//! Messages in JSON: the first byte selects encoding and kind. JSON that is encoded is the same after
//! decoding, and encodes to the same bytes.

use e2sm_tc::json::{self, Encoding, Kind};

pub(crate) fn check(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let Ok(text) = str::from_utf8(text) else { return };
    let choice = usize::from(*choice);
    let (encoding, _) = Encoding::ALL[choice % Encoding::ALL.len()];
    let (kind, _) = Kind::ALL[choice / Encoding::ALL.len() % Kind::ALL.len()];
    // A refusal is a value.
    let _ = json::validate(kind, text);
    let Ok(bytes) = json::encode(encoding, kind, text) else { return };
    let shown = json::decode(encoding, kind, &bytes).expect("what was encoded can be decoded");
    let again = json::encode(encoding, kind, &shown).expect("and encoded again");
    assert_eq!(again, bytes, "{shown}");
}
