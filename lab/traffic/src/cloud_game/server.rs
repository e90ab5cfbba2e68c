//! The server of a cloud game.

use super::CloudGameConfig;
use crate::call::FramePacer;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::rng::Rng;
use crate::stats::{Arrivals, Due, Figures};
use crate::timer::Periodic;
use crate::udp_cbr::DatagramSink;

/// Sends frames and receives inputs.
#[derive(Debug, Clone)]
pub struct CloudGameServer {
    config: CloudGameConfig,
    random: Rng,
    renderer: Periodic,
    pacer: FramePacer,
    sender: UdpSender,
    frames: u64,
    due: Option<Due>,
    inputs: DatagramSink,
}

impl CloudGameServer {
    pub(crate) fn new(context: FlowContext, config: &CloudGameConfig) -> Self {
        Self {
            config: config.clone(),
            random: Rng::stream(context.seed, 0),
            renderer: context.periodic(1_000_000, u64::from(config.frames_per_s)),
            pacer: FramePacer::default(),
            sender: UdpSender::new(context.stamp),
            frames: 0,
            due: context.deadline_us.map(Due::new),
            inputs: DatagramSink::default(),
        }
    }
}

impl Endpoint for CloudGameServer {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.inputs.on_packet(packet, now_us, out);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while let Some(number) = self.renderer.fire(now_us) {
            let bytes = self.config.frame_bytes(number, &mut self.random);
            self.pacer.push(number, bytes, self.config.is_key(number), now_us);
            self.frames += 1;
            if let Some(due) = &mut self.due {
                due.on_sent(now_us);
            }
        }
        let rate_bps = self.config.pacing_factor * self.config.rate_bps as f64;
        while let Some(next) = self.pacer.pop_due(now_us) {
            let body = Body::Media(next.packet);
            let len_bytes = self.sender.send(next.payload_bytes, body, now_us, out);
            self.pacer.on_sent(len_bytes, rate_bps, now_us);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        [self.renderer.next_us(), self.pacer.next_us()].into_iter().flatten().min()
    }
}

impl Measured for CloudGameServer {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.inputs.arrivals())
    }

    fn due(&self) -> Option<&Due> {
        self.due.as_ref()
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("frames_sent_count", self.frames as f64);
        figures.push_delay_ms("input_delay", self.inputs.arrivals().delay());
        figures.push("inputs_lost_count", self.inputs.lost_packets() as f64);
    }
}
