//! The sender of a call: camera, encoder, pacer, controller and microphone.

use super::detector::Usage;
use super::encoder::Encoder;
use super::gcc::Gcc;
use super::pacer::{FramePacer, Waiting};
use super::{AUDIO_FRAME_MS, CallConfig, RTP_HEADER_BYTES};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::rng::Rng;
use crate::stats::{Due, Figures};
use crate::timer::Periodic;

/// The pacer sends at this multiple of the rate (libwebrtc), so that a frame leaves within 0.4 of
/// its interval rather than in one burst.
const PACING_FACTOR: f64 = 2.5;
/// Minimum time between two requested key frames, as in libwebrtc.
const MIN_KEY_GAP_US: u64 = 300_000;

/// Audio frames beside the video.
#[derive(Debug, Clone)]
struct Audio {
    payload_bytes: u32,
    timer: Periodic,
}

/// Sends video at the rate that congestion control allows.
#[derive(Debug, Clone)]
pub struct CallSender {
    sender: UdpSender,
    camera: Periodic,
    encoder: Encoder,
    gcc: Gcc,
    pacer: FramePacer,
    audio: Option<Audio>,
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
            encoder: Encoder::new(config, Rng::stream(context.seed, 0)),
            gcc: Gcc::new(config),
            pacer: FramePacer::default(),
            audio: config.audio_kbps.map(|kbps| Audio {
                payload_bytes: RTP_HEADER_BYTES + kbps * AUDIO_FRAME_MS / 8,
                timer: context.periodic(u64::from(AUDIO_FRAME_MS) * 1_000, 1),
            }),
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
        self.pacer.push(number, frame.bytes, frame.is_key, now_us);
    }

    fn release(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while let Some(Waiting { packet, payload_bytes }) = self.pacer.pop_due(now_us) {
            let len_bytes = self.sender.send(payload_bytes, Body::Media(packet), now_us, out);
            self.gcc.on_sent(packet.seq, len_bytes, now_us);
            self.pacer.on_sent(len_bytes, PACING_FACTOR * self.gcc.target_bps(), now_us);
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
        // Audio is not paced (libwebrtc), and not under the control of the video's rate.
        if let Some(audio) = &mut self.audio {
            while let Some(seq) = audio.timer.fire(now_us) {
                self.sender.send(audio.payload_bytes, Body::Udp { seq }, now_us, out);
            }
        }
        self.release(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let audio_us = self.audio.as_ref().and_then(|audio| audio.timer.next_us());
        [self.camera.next_us(), self.pacer.next_us(), audio_us].into_iter().flatten().min()
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
