//! AMD PDUs and the sizes of their headers (38.322 §6.2.2.4).

use super::AmSnLength;

/// One AMD PDU: a complete SDU or a segment. The packet itself stays in the transmitter until all its
/// bytes are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmdPdu {
    /// Sequence number on the air.
    pub sn: u32,
    /// Number of the SDU since the entity was established, from 0. Not on the air: detects a PDU so
    /// late that its `sn` means another SDU by then.
    pub seq: u64,
    /// Number of re-establishments. Not on the air: re-establishment flushes the HARQ buffers, so
    /// earlier PDUs never arrive.
    pub incarnation: u32,
    /// Segment offset.
    pub so: u32,
    /// Bytes of the SDU in this PDU.
    pub data_bytes: u32,
    /// Whether it contains the last byte of the SDU.
    pub last: bool,
    /// P: requests a status report.
    pub poll: bool,
}

impl AmdPdu {
    /// Whether the PDU contains a complete SDU.
    pub fn is_complete(&self) -> bool {
        self.so == 0 && self.last
    }

    /// Bytes of the PDU, header included.
    pub fn len_bytes(&self, sn: AmSnLength) -> u32 {
        header_bytes(sn, self.so == 0) + self.data_bytes
    }
}

/// Header of an AMD PDU: D/C, P, SI and SN in two bytes (12 bits of SN) or, with two reserved bits,
/// three (18 bits); all but the first segment add 16 bits of SO.
pub fn header_bytes(sn: AmSnLength, first: bool) -> u32 {
    let fixed = match sn {
        AmSnLength::Twelve => 2,
        AmSnLength::Eighteen => 3,
    };
    if first { fixed } else { fixed + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_sizes_are_those_of_38_322() {
        // Figures 6.2.2.4-1 to -4.
        assert_eq!(header_bytes(AmSnLength::Twelve, true), 2);
        assert_eq!(header_bytes(AmSnLength::Twelve, false), 4);
        assert_eq!(header_bytes(AmSnLength::Eighteen, true), 3);
        assert_eq!(header_bytes(AmSnLength::Eighteen, false), 5);
    }
}
