//! UMD PDUs and the sizes of their headers (38.322 §6.2.2.3, 38.321 §6.1.2).

use super::SnLength;

/// The SDU with its times in the transmitter; contained in the last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload<P> {
    /// The packet.
    pub sdu: P,
    /// Time at which the RLC enqueued it.
    pub enqueued_us: u64,
    /// Time at which its last byte was submitted to the MAC.
    pub dequeued_us: u64,
}

/// One UMD PDU: a complete SDU or a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UmdPdu<P> {
    /// Sequence number; on the air in segments only.
    pub sn: u16,
    /// PDCP's COUNT of the SDU. Not on the air: detects segments of two SDUs with one sequence
    /// number.
    pub count: u64,
    /// Segment offset.
    pub so: u32,
    /// Bytes of the SDU in this PDU.
    pub data_bytes: u32,
    /// Whether it contains the last byte of the SDU.
    pub last: bool,
    /// Present in the last segment.
    pub payload: Option<Payload<P>>,
}

impl<P> UmdPdu<P> {
    /// Whether the PDU contains a complete SDU.
    pub fn is_complete(&self) -> bool {
        self.so == 0 && self.last
    }
}

/// Bytes of a UMD PDU header: SI (one byte); in a segment also the sequence number, which shares SI's
/// byte if it has 6 bits; in all but the first segment also 16 bits of SO.
pub fn header_bytes(sn: SnLength, first: bool, last: bool) -> u32 {
    let sn_byte = match sn {
        SnLength::Six => 0,
        SnLength::Twelve => 1,
    };
    match (first, last) {
        (true, true) => 1,
        (true, false) => 1 + sn_byte,
        (false, _) => 1 + sn_byte + 2,
    }
}

/// Bytes of the MAC subheader R/F/LCID/L: L takes one byte up to 255, else two.
pub fn mac_subheader_bytes(pdu_bytes: u32) -> u32 {
    if pdu_bytes < 256 { 2 } else { 3 }
}

/// The longest PDU that fits `room` with its MAC subheader.
pub fn longest_pdu(room: u32) -> u32 {
    let short = room.saturating_sub(2).min(255);
    let long = room.saturating_sub(3);
    if long > 255 { long } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_sizes_are_those_of_38_322() {
        use SnLength::{Six, Twelve};
        assert_eq!(header_bytes(Six, true, true), 1);
        assert_eq!(header_bytes(Six, true, false), 1);
        assert_eq!(header_bytes(Six, false, true), 3);
        assert_eq!(header_bytes(Twelve, true, true), 1);
        assert_eq!(header_bytes(Twelve, true, false), 2);
        assert_eq!(header_bytes(Twelve, false, false), 4);
    }

    #[test]
    fn the_longest_pdu_fills_the_room() {
        for room in 0..2000 {
            let pdu = longest_pdu(room);
            if pdu > 0 {
                assert!(pdu + mac_subheader_bytes(pdu) <= room);
            }
            assert!(pdu + 1 + mac_subheader_bytes(pdu + 1) > room);
        }
    }
}
