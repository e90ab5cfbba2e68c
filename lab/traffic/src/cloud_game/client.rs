//! The player's end of a cloud game.

use std::collections::BTreeMap;

use super::CloudGameConfig;
use crate::call::RTP_HEADER_BYTES;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet};
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::udp_cbr::{DatagramSink, DatagramSource};

/// An incomplete frame is given up after this many later ones.
const MAX_PARTIAL_FRAMES: u64 = 600;

/// Sends inputs and receives frames.
#[derive(Debug, Clone)]
pub struct CloudGameClient {
    inputs: DatagramSource,
    media: DatagramSink,
    /// Packets that frames miss.
    partial: BTreeMap<u64, u16>,
    /// One above the highest complete frame.
    expected: u64,
    /// Time from capture to the complete frame.
    frame_delay: DelayRecorder,
}

impl CloudGameClient {
    pub(crate) fn new(context: FlowContext, config: &CloudGameConfig) -> Self {
        let uplink = FlowContext { deadline_us: None, ..context };
        let inputs = context.periodic(config.input_interval_us, 1);
        Self {
            inputs: DatagramSource::new(uplink, config.input_bytes, inputs),
            media: DatagramSink::default(),
            partial: BTreeMap::new(),
            expected: 0,
            frame_delay: DelayRecorder::new(),
        }
    }
}

impl Endpoint for CloudGameClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let Body::Media(media) = &packet.body else { return };
        if !self.media.on_datagram(packet, media.seq, RTP_HEADER_BYTES, now_us) {
            return;
        }
        let missing = self.partial.entry(media.frame).or_insert(media.count);
        *missing = missing.saturating_sub(1);
        if *missing > 0 {
            return;
        }
        self.partial.remove(&media.frame);
        self.frame_delay.record(now_us, now_us.saturating_sub(media.captured_us));
        self.expected = self.expected.max(media.frame + 1);
        let oldest = self.expected.saturating_sub(MAX_PARTIAL_FRAMES);
        if self.partial.first_key_value().is_some_and(|(frame, _)| *frame < oldest) {
            self.partial = self.partial.split_off(&oldest);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.inputs.poll(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.inputs.next_deadline_us()
    }
}

impl Measured for CloudGameClient {
    fn sent(&self) -> (u64, u64) {
        self.inputs.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.media.arrivals())
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.media.lost_packets())
    }

    fn arrived_units(&self) -> Option<(&DelayRecorder, u64)> {
        Some((&self.frame_delay, self.expected))
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("frame", &self.frame_delay))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push_delay_ms("frame_delay", &self.frame_delay);
    }
}
