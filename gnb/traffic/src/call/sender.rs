//! The sender of a call: camera, encoder, pacer and controller.

use std::collections::VecDeque;

use super::CallConfig;
use super::detector::Usage;
use super::encoder::Encoder;
use super::gcc::Gcc;
use super::{MAX_MEDIA_BYTES, MediaPacket, RTP_HEADER_BYTES};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::rng::SplitMix64;
use crate::stats::{Due, Figures};
use crate::timer::Periodic;

/// The pacer sends at this multiple of the rate (libwebrtc), so that a frame leaves within 0.4 of
/// its interval rather than in one burst.
const PACING_FACTOR: f64 = 2.5;
/// Minimum time between two requested key frames, as in libwebrtc.
const MIN_KEY_GAP_US: u64 = 300_000;

/// A media packet that waits for the pacer.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: MediaPacket,
    payload_bytes: u32,
}

/// Sends video at the rate that congestion control allows.
#[derive(Debug, Clone)]
pub struct CallSender {
    sender: UdpSender,
    camera: Periodic,
    encoder: Encoder,
    gcc: Gcc,
    waiting: VecDeque<Waiting>,
    pace_next_ns: u64,
    next_seq: u64,
    key_wanted: bool,
    last_key_us: Option<u64>,
    frames: u64,
    key_frames: u64,
    target_sum_bps: f64,
    over_uses: u64,
    due: Option<Due>,
}

impl CallSender {
    pub(crate) fn new(context: FlowContext, config: &CallConfig) -> Self {
        Self {
            sender: UdpSender::new(context.stamp),
            camera: context.periodic(1_000_000, u64::from(config.frames_per_s)),
            encoder: Encoder::new(config, SplitMix64::stream(context.seed, 0)),
            gcc: Gcc::new(config),
            waiting: VecDeque::new(),
            pace_next_ns: 0,
            next_seq: 0,
            key_wanted: false,
            last_key_us: None,
            frames: 0,
            key_frames: 0,
            target_sum_bps: 0.0,
            over_uses: 0,
            due: context.deadline_us.map(Due::new),
        }
    }

    fn take_frame(&mut self, number: u64, now_us: u64) {
        let target_bps = self.gcc.target_bps();
        let key_allowed =
            self.last_key_us.is_none_or(|at_us| now_us.saturating_sub(at_us) >= MIN_KEY_GAP_US);
        let frame = self.encoder.encode(target_bps, self.key_wanted && key_allowed);
        if frame.is_key {
            self.key_wanted = false;
            self.last_key_us = Some(now_us);
            self.key_frames += 1;
        }
        self.frames += 1;
        if let Some(due) = &mut self.due {
            due.on_sent(now_us);
        }
        self.target_sum_bps += target_bps;
        // Packets of one frame are of equal size, as libwebrtc's packetiser makes them. A frame has
        // at most as many packets as its index can count.
        let count = frame.bytes.div_ceil(MAX_MEDIA_BYTES).clamp(1, u32::from(u16::MAX));
        for index in 0..count {
            let bytes = frame.bytes / count + u32::from(index < frame.bytes % count);
            let packet = MediaPacket {
                seq: self.next_seq,
                frame: number,
                index: index as u16,
                count: count as u16,
                is_key: frame.is_key,
                captured_us: now_us,
            };
            self.next_seq += 1;
            let payload_bytes = bytes.min(MAX_MEDIA_BYTES) + RTP_HEADER_BYTES;
            self.waiting.push_back(Waiting { packet, payload_bytes });
        }
    }

    fn release(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.pace_next_ns <= now_us * 1_000
            && let Some(Waiting { packet, payload_bytes }) = self.waiting.pop_front()
        {
            let len_bytes = self.sender.send(payload_bytes, Body::Media(packet), now_us, out);
            self.gcc.on_sent(packet.seq, len_bytes, now_us);
            let rate_bps = PACING_FACTOR * self.gcc.target_bps();
            let gap_ns = (f64::from(len_bytes) * 8e9 / rate_bps) as u64;
            self.pace_next_ns = self.pace_next_ns.max(now_us * 1_000) + gap_ns;
        }
    }
}

impl Endpoint for CallSender {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let Body::MediaFeedback(feedback) = &packet.body else { return };
        self.key_wanted |= feedback.wants_key_frame;
        let before = self.gcc.usage();
        self.gcc.on_feedback(feedback, now_us);
        self.over_uses += u64::from(before != Usage::Over && self.gcc.usage() == Usage::Over);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while let Some(number) = self.camera.fire(now_us) {
            self.take_frame(number, now_us);
        }
        self.release(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let pace_us = (!self.waiting.is_empty()).then(|| self.pace_next_ns.div_ceil(1_000));
        [self.camera.next_us(), pace_us].into_iter().flatten().min()
    }
}

impl Measured for CallSender {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn due(&self) -> Option<&Due> {
        self.due.as_ref()
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("frames_sent_count", self.frames as f64);
        figures.push("key_frames_count", self.key_frames as f64);
        figures.push("target_mean_kbps", self.target_sum_bps / self.frames as f64 / 1e3);
        figures.push("over_uses_count", self.over_uses as f64);
    }
}
