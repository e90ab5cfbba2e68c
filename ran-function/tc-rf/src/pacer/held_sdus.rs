//! SDUs below a pacer that bounds their number.

use super::ReceivedStatus;

/// Assumed length of an SDU while there is none.
const FULL_SDU_BYTES: u64 = 1_500;

/// SDUs in the RLC at the last status plus those handed down since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldSdus {
    packets: u64,
    bytes: u64,
}

impl HeldSdus {
    /// Those of a status; none before the first.
    pub(super) fn of(received: Option<&ReceivedStatus>) -> Self {
        received.map_or_else(Self::default, |received| Self {
            packets: received.held_packets(),
            bytes: received.held_bytes(),
        })
    }

    pub(super) fn sent(&mut self, len_bytes: u64) {
        self.packets += 1;
        self.bytes += len_bytes;
    }

    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// So many SDUs of the mean length of those held now, bytes.
    pub(super) fn bytes_of(&self, packets: u64) -> u64 {
        self.bytes.checked_div(self.packets).unwrap_or(FULL_SDU_BYTES) * packets
    }
}
