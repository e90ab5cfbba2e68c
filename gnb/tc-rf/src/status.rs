//! The report of a pipeline's state.

use e2sm_tc::v1::QueueStatus;

use crate::Packet;
use crate::stage::Stage;

/// Most queues in one report.
const MAX_REPORTED_QUEUES: usize = 256;

/// A value as wide as the service model reports it.
pub(crate) fn clamp(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Queues with a backlog or traffic since the last report, largest backlog first.
pub(crate) fn queues<P: Packet>(stage: &mut Stage<P>, now_us: u64) -> Vec<QueueStatus> {
    let mut reported = Vec::new();
    for index in 0..stage.queues.len() {
        let shaped = stage.is_parked(index as u32);
        let queue = &stage.queues[index];
        let stats = &mut stage.stats[index];
        let active = stats.take_activity();
        if !active && queue.backlog.is_empty() {
            continue;
        }
        reported.push(QueueStatus {
            id: queue.id,
            backlog_bytes: clamp(queue.backlog.bytes),
            backlog_packets: queue.backlog.packets,
            forwarded_packets: stats.forwarded_packets,
            forwarded_bytes: stats.forwarded_bytes,
            dropped_packets: stats.dropped_packets,
            marked_packets: stats.marked_packets + stats.threshold_marked_packets,
            policed_packets: stats.policed_packets,
            mean_sojourn_us: clamp(stats.sojourn.mean_us(now_us)),
            last_sojourn_us: clamp(stats.last_sojourn_us),
            shaped,
        });
    }
    reported.sort_by_key(|queue| (std::cmp::Reverse(queue.backlog_bytes), queue.id));
    reported.truncate(MAX_REPORTED_QUEUES);
    reported
}
