//! PHY delay, block errors and HARQ retransmissions.

use std::collections::VecDeque;

use crate::error::{ConfigError, ensure};
use crate::numerology::SlotKind;
use crate::phy::Reception;
use crate::rlc::RlcPdu;

/// Most transmissions of a transport block, and HARQ rounds in the MAC report.
pub const MAX_TRANSMISSIONS: u8 = 4;

/// Most HARQ processes of a UE (38.214 §5.1).
pub const MAX_PROCESSES: u8 = 16;

/// Error probabilities of transport blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockErrors {
    /// Probability that a first transmission fails: the target BLER of link adaptation. Blocks on
    /// trace channels never fail, since a trace records delivered bytes.
    pub bler: f64,
    /// Factor of the error probability from one transmission to the next by soft combining: 1 is no
    /// gain, 0 makes the second transmission succeed.
    pub combining_gain: f64,
}

impl Default for BlockErrors {
    /// No errors; a combining gain of 0.1: twice the energy is 3 dB, and the error rate of a turbo
    /// or LDPC code falls by a decade in less.
    fn default() -> Self {
        Self { bler: 0.0, combining_gain: 0.1 }
    }
}

impl BlockErrors {
    /// Probability that transmission number `number` fails, counted from 0.
    pub fn probability(&self, number: u8) -> f64 {
        self.bler * self.combining_gain.powi(i32::from(number))
    }

    pub(crate) fn validate(&self, path: &str) -> Result<(), ConfigError> {
        let fields = [("bler", self.bler), ("combining_gain", self.combining_gain)];
        for (field, value) in fields {
            ensure((0.0..=1.0).contains(&value), format!("{path}.{field}"), value, "0 to 1")?;
        }
        Ok(())
    }
}

/// PHY and HARQ of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HarqConfig {
    /// Time from the start of a slot until the UE's RLC receives the transport block.
    pub phy_delay_us: u32,
    /// Errors of UEs without their own.
    pub errors: BlockErrors,
    /// Time from a transmission until its process can be used again.
    pub rtt_us: u32,
    /// HARQ processes of a UE, 1 to 16.
    pub processes: u8,
    /// Most transmissions of a block, the first included, 1 to 4.
    pub max_transmissions: u8,
}

impl Default for HarqConfig {
    /// A slot of 0.5 ms and 1 ms for decoding; no errors; 16 processes (38.331
    /// `nrofHARQ-ProcessesForPDSCH`).
    fn default() -> Self {
        Self {
            phy_delay_us: 1500,
            errors: BlockErrors::default(),
            rtt_us: 5000,
            processes: MAX_PROCESSES,
            max_transmissions: MAX_TRANSMISSIONS,
        }
    }
}

impl HarqConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.errors.validate("harq")?;
        let (most, processes) = (self.max_transmissions, self.processes);
        let path = "harq.max_transmissions";
        ensure((1..=MAX_TRANSMISSIONS).contains(&most), path, most, "1 to 4")?;
        let path = "harq.processes";
        ensure((1..=MAX_PROCESSES).contains(&processes), path, processes, "1 to 16")?;
        ensure(self.rtt_us > 0, "harq.rtt_us", 0, "1 or more")
    }
}

/// The HARQ processes of a UE.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes {
    /// Blocks that wait for a retransmission.
    failed: u8,
    /// Times at which the other processes in use become free, in order.
    free_us: VecDeque<u64>,
}

impl Processes {
    /// Whether one of `processes` is free.
    pub(crate) fn is_free(&self, processes: u8, now_us: u64) -> bool {
        let over = self.free_us.partition_point(|at_us| *at_us <= now_us);
        self.free_us.len() - over + usize::from(self.failed) < usize::from(processes)
    }

    /// A block sent at `now_us` occupies its process until `until_us`, or longer if it failed.
    pub(crate) fn transmitted(&mut self, failed: bool, now_us: u64, until_us: u64) {
        while self.free_us.front().is_some_and(|at_us| *at_us <= now_us) {
            self.free_us.pop_front();
        }
        if failed {
            self.failed += 1;
        } else {
            self.free_us.push_back(until_us);
        }
    }

    /// The last retransmission of a failed block; its process is free from `until_us` on.
    pub(crate) fn retransmitted_last(&mut self, until_us: u64) {
        self.failed = self.failed.saturating_sub(1);
        self.free_us.push_back(until_us);
    }
}

/// A transport block that waits for its retransmission.
#[derive(Debug, Clone)]
pub(crate) struct PendingBlock<P> {
    pub(crate) ue: usize,
    pub(crate) due_us: u64,
    pub(crate) n_prb: u16,
    /// The kind of slot it was sized for.
    pub(crate) kind: SlotKind,
    pub(crate) transmissions: u8,
    /// Its receiver, where errors follow from the SNR.
    pub(crate) reception: Option<Reception>,
    /// PDUs with their bearer.
    pub(crate) pdus: Vec<(usize, RlcPdu<P>)>,
}

/// Pending retransmissions of a cell, in the order they are due.
pub(crate) type PendingBlocks<P> = VecDeque<PendingBlock<P>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combining_makes_each_transmission_fail_less() {
        let errors = BlockErrors { bler: 0.2, combining_gain: 0.5 };
        assert_eq!([0, 1, 2].map(|number| errors.probability(number)), [0.2, 0.1, 0.05]);
        let perfect = BlockErrors { bler: 0.2, combining_gain: 0.0 };
        assert_eq!((perfect.probability(0), perfect.probability(1)), (0.2, 0.0));
    }

    #[test]
    fn a_process_is_busy_for_a_round_trip_and_longer_when_its_block_failed() {
        let mut processes = Processes::default();
        processes.transmitted(false, 0, 8_000);
        processes.transmitted(true, 1_000, 9_000);
        assert!(!processes.is_free(2, 7_999));
        assert!(processes.is_free(2, 8_000));
        processes.transmitted(false, 8_000, 16_000);
        assert!(!processes.is_free(2, 15_000), "the failed block is still in its process");
        processes.retransmitted_last(17_000);
        assert!(processes.is_free(2, 16_000));
        assert!(!processes.is_free(1, 16_999));
        assert!(processes.is_free(1, 17_000));
    }
}
