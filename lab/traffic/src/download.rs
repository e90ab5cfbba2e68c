//! A download manager: one file over a fixed number of TCP connections, part by part.
//!
//! An idle connection requests the next part, so that all end at about the same time; the file is
//! complete when its last part is. This is how aria2 (`--split`, `--piece-length` of 1 MiB), game stores and
//! package managers fetch.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::error::{ConfigError, check};
use crate::packet::Packet;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::stream::{Connections, RequestClient};

/// A download of one file over several connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DownloadConfig {
    /// TCP connections, 1..=64.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub connections: u16,
    /// Size of the file, bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub file_bytes: u64,
    /// Size of a part, 1000..=1073741824 bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1_000, max = 1_073_741_824)))]
    pub part_bytes: u32,
    /// Size of a request, bytes.
    pub request_bytes: u32,
}

impl Default for DownloadConfig {
    fn default() -> Self {
        Self { connections: 8, file_bytes: 100_000_000, part_bytes: 1 << 20, request_bytes: 350 }
    }
}

impl DownloadConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("download.connections", self.connections, 1..=64, "1 to 64")?;
        check("download.file_bytes", self.file_bytes, 1..=1 << 50, "1 byte to 1 PiB")?;
        let part = "1000 bytes to 1 GiB";
        check("download.part_bytes", self.part_bytes, 1_000..=1 << 30, part)?;
        check("download.request_bytes", self.request_bytes, 1..=65_536, "1 to 65536 bytes")
    }
}

/// Fetches the file.
#[derive(Debug, Clone)]
pub struct DownloadClient {
    client: RequestClient,
    part_bytes: u32,
    file_bytes: u64,
    /// Bytes not requested yet.
    left_bytes: u64,
    fetched_bytes: u64,
    start_us: u64,
    stop_us: Option<u64>,
    has_begun: bool,
    complete_us: Option<u64>,
    part_fetch: DelayRecorder,
}

impl DownloadClient {
    pub(crate) fn new(
        context: FlowContext,
        config: &DownloadConfig,
        connections: Connections<'_>,
    ) -> Self {
        Self {
            client: RequestClient::new(connections, config.request_bytes),
            part_bytes: config.part_bytes,
            file_bytes: config.file_bytes,
            left_bytes: config.file_bytes,
            fetched_bytes: 0,
            start_us: context.start_us,
            stop_us: context.stop_us,
            has_begun: false,
            complete_us: None,
            part_fetch: DelayRecorder::new(),
        }
    }

    /// Time at which the whole file had arrived.
    pub fn complete_us(&self) -> Option<u64> {
        self.complete_us
    }

    fn is_stopped(&self, now_us: u64) -> bool {
        self.stop_us.is_some_and(|stop_us| now_us >= stop_us)
    }

    /// Requests a part on each idle connection.
    fn request_parts(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.is_stopped(now_us) {
            return;
        }
        while let Some(connection) = self.client.idle_connection() {
            let bytes = self.left_bytes.min(u64::from(self.part_bytes)) as u32;
            let Some(bytes) = NonZeroU32::new(bytes) else { break };
            self.left_bytes -= u64::from(bytes.get());
            self.client.request(connection, bytes, now_us, out);
        }
    }

    fn begin_us(&self) -> Option<u64> {
        (!self.has_begun && !self.is_stopped(self.start_us)).then_some(self.start_us)
    }
}

impl Endpoint for DownloadClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.client.on_packet(packet, now_us, out);
        while let Some(done) = self.client.completed() {
            self.fetched_bytes += u64::from(done.bytes.get());
            self.part_fetch.record(now_us, now_us.saturating_sub(done.requested_us));
            if self.fetched_bytes == self.file_bytes {
                self.complete_us = Some(now_us);
            }
            self.request_parts(now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.client.poll(now_us, out);
        if self.begin_us().is_some_and(|at_us| at_us <= now_us) {
            self.has_begun = true;
            self.request_parts(now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        [self.client.next_deadline_us(), self.begin_us()].into_iter().flatten().min()
    }
}

impl Measured for DownloadClient {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.client.arrivals())
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("part", &self.part_fetch))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("parts_count", self.part_fetch.count() as f64);
        figures.push_delay_s("part_fetch", &self.part_fetch);
        if let Some(complete_us) = self.complete_us {
            let took_us = complete_us.saturating_sub(self.start_us).max(1);
            figures.push("download_s", took_us as f64 / 1e6);
            figures.push("download_mean_mbps", self.file_bytes as f64 * 8.0 / took_us as f64);
        }
    }
}
