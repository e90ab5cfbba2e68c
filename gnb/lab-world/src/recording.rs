//! What a caller has the world keep: rows of bearers and packets, changes of pacing.

use super::World;
use super::snapshot::{BearerSample, PacketSample};

/// Time between two samples of the bearers; also the finest period of reports.
pub(crate) const SAMPLE_PERIOD_US: u64 = 1_000;

/// Rows kept since they were last taken; `None` while nobody wants them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// When the bearers are sampled next.
    pub(crate) next_sample_us: u64,
    /// A row per bearer and ms.
    pub(crate) series: Option<Vec<BearerSample>>,
    /// A row per packet that left the RLC.
    pub(crate) packets: Option<Vec<PacketSample>>,
    /// RNTI and DRB of bearers whose pacer went over to forecasts (`true`) or back.
    pub(crate) pacing_changes: Option<Vec<(u16, u8, bool)>>,
}

fn keep<T>(rows: &mut Option<Vec<T>>, wanted: bool) {
    *rows = wanted.then(|| rows.take().unwrap_or_default());
}

fn take<T>(rows: &mut Option<Vec<T>>) -> Vec<T> {
    rows.as_mut().map(std::mem::take).unwrap_or_default()
}

impl World {
    /// Keeps a row per bearer and ms from now on, or no longer; see
    /// [`take_series`](Self::take_series).
    pub fn record_series(&mut self, wanted: bool) {
        keep(&mut self.recording.series, wanted);
    }

    /// The rows kept since the last call.
    pub fn take_series(&mut self) -> Vec<BearerSample> {
        take(&mut self.recording.series)
    }

    /// Keeps a row per packet from now on, or no longer; see [`take_packets`](Self::take_packets).
    pub fn record_packets(&mut self, wanted: bool) {
        keep(&mut self.recording.packets, wanted);
    }

    /// The rows kept since the last call.
    pub fn take_packets(&mut self) -> Vec<PacketSample> {
        take(&mut self.recording.packets)
    }

    /// Keeps changes of pacing from now on, or no longer; see
    /// [`take_pacing_changes`](Self::take_pacing_changes).
    pub fn record_pacing_changes(&mut self, wanted: bool) {
        keep(&mut self.recording.pacing_changes, wanted);
    }

    /// RNTI and DRB of bearers whose pacer went over to forecasts (`true`), or back to what it
    /// measures itself, since the last call.
    pub fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)> {
        take(&mut self.recording.pacing_changes)
    }
}
