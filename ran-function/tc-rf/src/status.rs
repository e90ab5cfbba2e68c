//! The report of a pipeline's state.

use e2sm_tc::v1::{QueueId, QueueStatus};

use crate::Packet;
use crate::stage::Stage;

/// Most queues in one report.
const MAX_REPORTED_QUEUES: usize = 256;

/// A value as wide as the service model reports it.
pub(crate) fn clamp(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Position of one series of reports: the packets reported of each queue. Each series has its own, so
/// that no report takes the traffic of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportCursor {
    /// Packets counted for each queue that had any, by id.
    reported: Vec<(QueueId, u64)>,
}

/// Queues with a backlog or traffic since `cursor`, largest backlog first. The cursor moves on.
pub(crate) fn queues<P: Packet>(
    stage: &Stage<P>,
    cursor: &mut ReportCursor,
    now_us: u64,
) -> Vec<QueueStatus> {
    let mut reported = Vec::new();
    let mut now = Vec::with_capacity(cursor.reported.len());
    let mut before = cursor.reported.iter().peekable();
    for index in stage.touched.iter() {
        let queue = &stage.queues[index];
        let Some(stats) = stage.stats(index) else { continue };
        let packets = stats.packets();
        // Both are sorted by id.
        while before.next_if(|(id, _)| *id < queue.id).is_some() {}
        let previous = before.next_if(|(id, _)| *id == queue.id).map_or(0, |(_, packets)| *packets);
        if packets > 0 {
            now.push((queue.id, packets));
        }
        if packets == previous && queue.backlog.is_empty() {
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
            mean_sojourn_us: clamp(queue.forwarded.sojourn.mean_us(now_us)),
            last_sojourn_us: clamp(stats.last_sojourn_us),
            shaped: stage.is_shaped(index as u32),
        });
    }
    cursor.reported = now;
    reported.sort_by_key(|queue| (std::cmp::Reverse(queue.backlog_bytes), queue.id));
    reported.truncate(MAX_REPORTED_QUEUES);
    reported
}
