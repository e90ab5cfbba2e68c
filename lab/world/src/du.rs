//! The DU: packets from CU to RLC, answers to RLC status queries, RLC status after each slot.

use tc_rf::RlcStatus;

use super::bearer::{Bearer, RlcEntry};
use super::cells::{Cells, Place};
use super::cu::GnbParts;
use super::f1;
use super::links::Left;
use super::packet::GnbPacket;
use super::rlc_queue::RlcQueue;

/// A packet arrives over F1-U.
pub(crate) fn enter_rlc(packet: GnbPacket, gnb: &mut GnbParts<'_>) {
    let GnbParts { bearers, cells, now_us, .. } = gnb;
    let Bearer { cell: place, rlc_queue, drql_limit, measured, f1, .. } =
        &mut bearers[packet.bearer as usize];
    measured.received_bytes = measured.received_bytes.max(packet.sent_bytes);
    let Some(Place { cell, bearer: place }) = *place else {
        measured.released_packets += 1;
        return;
    };
    let cell = &mut cells[cell];
    let (queue, limit) = (rlc_queue.as_mut(), drql_limit.as_mut());
    let mut f1 = f1.as_deref_mut();
    let next_count = cell.next_count(place).unwrap_or(0);
    let count = f1.as_mut().map(|f1| f1.arrive(packet.f1_number, next_count, *now_us));
    RlcEntry { cell, place, queue, limit, f1, measured }.put(packet, count, *now_us);
}

/// Answers the RLC status queries that reached the DU.
pub(crate) fn answer_rlc_queries(gnb: &mut GnbParts<'_>) {
    while let Some((_, index)) = gnb.links.rlc_queries.pop_due(gnb.now_us) {
        let f1 = gnb.bearers[index as usize].f1.as_mut();
        if let Some((at_us, frame)) = f1.and_then(|f1| f1.answer(gnb.now_us)) {
            let left = left(&mut gnb.bearers[index as usize], gnb.cells);
            gnb.links.f1_up.push(at_us, (index, (frame, left)));
        }
    }
}

/// How far the QoS flows of a bearer have left its RLC; empty where none can move, and while the bearer is
/// between two cells.
pub(crate) fn left(bearer: &mut Bearer, cells: &Cells) -> Left {
    if bearer.is_held || !bearer.measured.flows_in_rlc.any() {
        return Left::default();
    }
    let buffered = bearer.cell.and_then(|place| cells.buffered(place));
    let waiting_bytes = buffered.map_or(0, |(_, bytes)| bytes);
    bearer.measured.flows_in_rlc.left(waiting_bytes)
}

/// The state of a bearer's RLC after a slot; `None` if it is not in the cell.
pub(crate) fn rlc_status(
    bearer: &mut Bearer,
    cells: &mut Cells,
    now_us: u64,
) -> Option<(Place, RlcStatus)> {
    let place = bearer.cell?;
    let cell = &mut cells[place.cell];
    let state = cell.bearer_status(place.bearer)?;
    let queued = bearer.rlc_queue.as_ref().map_or((0, 0), RlcQueue::backlog);
    let measured = &mut bearer.measured;
    let mut removed = std::mem::take(&mut measured.removed);
    removed.merge(&f1::narrowed(&cell.take_removed(place.bearer).unwrap_or_default()));
    measured.removals.sdus += u64::from(removed.count);
    measured.removals.blocks += u64::from(removed.count > 0);
    measured.removals.delay_us += removed.sum_us;
    let status = RlcStatus {
        at_us: now_us,
        occupancy_bytes: state.occupancy_bytes + queued.0,
        occupancy_packets: state.occupancy_packets + queued.1,
        capacity_bytes_per_tti: state.capacity_bytes_per_tti,
        tti_us: state.tti_us,
        dl_opportunity: state.dl_opportunity,
        unacknowledged_packets: state.unacknowledged_packets,
        unacknowledged_bytes: state.unacknowledged_bytes,
        removed,
        status_pdu_at_us: state.status_pdu_at_us,
        received_bytes: Some(measured.received_bytes),
    };
    if let Some(limit) = &mut bearer.drql_limit {
        limit.on_tti(&status);
    }
    Some((place, status))
}
