//! Account of where every downlink packet of a bearer is: for proofs that none is lost or
//! duplicated unseen.

use serde::Serialize;

use super::World;
use super::bearer::Bearer;

/// Downlink packets of one bearer since virtual time 0, by where they are or how they ended.
///
/// Each packet is in one place, so `entered` is the sum of all others, unless the radio loses blocks:
/// SDUs of which a block was lost are not attributed to bearers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketLedger {
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Entered SDAP.
    pub entered: u64,
    /// Queued in the TC pipeline.
    pub in_pipeline: u64,
    /// Dropped by queue disciplines of the pipeline.
    pub dropped_by_discipline: u64,
    /// Dropped on arrival by policers and limits of the pipeline.
    pub dropped_on_arrival: u64,
    /// Packets on F1-U to the DU.
    pub on_f1: u64,
    /// Lost on F1-U.
    pub lost_on_f1: u64,
    /// Recalled from the DU, on the way back to the pipeline.
    pub recalled: u64,
    /// Waiting in the RLC, or in the AQM in its place.
    pub in_rlc: u64,
    /// Dropped by a full RLC buffer, or by the AQM in its place.
    pub dropped_by_rlc: u64,
    /// Sent, and not yet delivered by the UE's PDCP.
    pub in_air: u64,
    /// Delivered by the UE's PDCP.
    pub delivered: u64,
    /// Discarded because the UE left.
    pub released: u64,
}

impl PacketLedger {
    /// Packets accounted for after they entered.
    pub fn accounted(&self) -> u64 {
        [
            self.in_pipeline,
            self.dropped_by_discipline,
            self.dropped_on_arrival,
            self.on_f1,
            self.lost_on_f1,
            self.recalled,
            self.in_rlc,
            self.dropped_by_rlc,
            self.in_air,
            self.delivered,
            self.released,
        ]
        .into_iter()
        .sum()
    }
}

impl World {
    /// The packets of every bearer, attached or not, in the order of the scenario.
    pub fn packet_ledgers(&self) -> Vec<PacketLedger> {
        let mut ledgers: Vec<_> = self.bearers.iter().map(|b| self.ledger_of(b)).collect();
        for packet in self.links.f1_down.iter() {
            ledgers[packet.bearer as usize].on_f1 += 1;
        }
        for (index, packets) in self.links.recalled.iter() {
            ledgers[*index as usize].recalled += packets.len() as u64;
        }
        if let Some(handovers) = &self.handovers {
            handovers.returned_to_cu().for_each(|bearer| ledgers[bearer as usize].recalled += 1);
            handovers.sent_to_du().for_each(|bearer| ledgers[bearer as usize].on_f1 += 1);
        }
        ledgers
    }

    fn ledger_of(&self, bearer: &Bearer) -> PacketLedger {
        let Bearer { tc, tally, measured, rlc_queue, .. } = bearer;
        let rlc = bearer.cell.and_then(|place| self.cells.bearer_status(place));
        let undelivered = bearer.cell.and_then(|place| self.cells.sdus_undelivered(place));
        let undelivered = undelivered.unwrap_or(0) as u64;
        // RLC-AM may send again what the UE has.
        let waiting = rlc.map_or(0, |status| u64::from(status.occupancy_packets)).min(undelivered);
        let managed = rlc_queue.as_ref().map_or(0, |queue| queue.backlog().1);
        let managed = bearer.cell.map_or(0, |_| u64::from(managed));
        let in_pipeline = bearer.cell.map_or(0, |_| tc.backlog_packets());
        PacketLedger {
            rnti: bearer.ue_rnti,
            drb: bearer.drb,
            entered: measured.ingress_packets,
            in_pipeline: in_pipeline.into(),
            dropped_by_discipline: tally.aqm_dropped,
            dropped_on_arrival: tally.dropped.packets - tally.aqm_dropped,
            on_f1: 0,
            lost_on_f1: bearer.f1.as_ref().map_or(0, |f1| f1.lost_packets().0),
            recalled: 0,
            in_rlc: waiting + managed,
            dropped_by_rlc: bearer.rlc_dropped_packets(),
            in_air: undelivered - waiting,
            delivered: measured.drained_packets,
            released: measured.released_packets,
        }
    }
}
