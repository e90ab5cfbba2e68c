//! UMD PDUs and the sizes of their headers (38.322 §6.2.2.3, 38.321 §6.1.2).

use super::SnLength;

/// The SDU itself with what the transmitter knows of it; travels with the last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload<P> {
    /// The packet.
    pub sdu: P,
    /// When the RLC took it.
    pub enqueued_us: u64,
    /// When its last byte went to the MAC.
    pub dequeued_us: u64,
}

/// One UMD PDU: a whole SDU or a segment of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UmdPdu<P> {
    /// Sequence number; on the air only when this is a segment.
    pub sn: u16,
    /// Which SDU of the bearer this is, from 0. Not on the air: PDCP's COUNT and the means to
    /// notice that segments of two SDUs met under one sequence number.
    pub count: u64,
    /// Segment offset: bytes of the SDU before this segment.
    pub so: u32,
    /// Bytes of the SDU in this PDU.
    pub data_bytes: u32,
    /// Whether the last byte of the SDU is in it.
    pub last: bool,
    /// Present in the last segment.
    pub payload: Option<Payload<P>>,
}

impl<P> UmdPdu<P> {
    /// Whether the PDU carries a whole SDU.
    pub fn is_complete(&self) -> bool {
        self.so == 0 && self.last
    }

    /// Bytes of the RLC header.
    pub fn header_bytes(&self, sn: SnLength) -> u32 {
        header_bytes(sn, self.so == 0, self.last)
    }
}

/// Header of a UMD PDU. A whole SDU has only SI (one byte); a segment adds the sequence number,
/// which shares SI's byte when it has 6 bits, and all but the first segment add 16 bits of SO.
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

/// MAC subheader R/F/LCID/L in front of a PDU: L takes one byte up to 255, else two.
pub fn mac_subheader_bytes(pdu_bytes: u32) -> u32 {
    if pdu_bytes < 256 { 2 } else { 3 }
}

/// The longest PDU that fits `room` together with its MAC subheader.
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
