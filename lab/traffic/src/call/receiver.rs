//! The receiver of a call: reassembles and shows frames, reports arrivals.

use std::collections::BTreeMap;

use super::CallConfig;
use super::{MediaFeedback, MediaPacket, RTP_HEADER_BYTES};
use crate::endpoint::{Endpoint, Measured};
use crate::ip::UDP_IP_HEADER_BYTES;
use crate::packet::{Body, Packet, Stamp, UdpSender};
use crate::sequence::SequenceTracker;
use crate::stats::{Arrivals, DelayRecorder, Figures};

/// Limit of incomplete frames; older ones are dropped.
const MAX_PARTIAL_FRAMES: u64 = 64;
/// Frames over which the mean gap is taken (W3C webrtc-stats, `freezeCount`).
const FREEZE_WINDOW: usize = 30;
/// A gap this much above the mean is a freeze, µs.
const FREEZE_MARGIN_US: u64 = 150_000;

/// An incomplete frame.
#[derive(Debug, Clone)]
struct Partial {
    /// Bitmap of the packets received.
    received: Vec<u64>,
    missing: u16,
    is_key: bool,
    captured_us: u64,
}

/// Gaps between the last frames shown.
#[derive(Debug, Clone, Default)]
struct Gaps {
    us: [u64; FREEZE_WINDOW],
    count: usize,
}

impl Gaps {
    /// A gap longer than max(3 δ, δ + 150 ms), δ the mean of the last 30, is a freeze.
    fn is_freeze(&mut self, gap_us: u64) -> bool {
        let known = self.count.min(FREEZE_WINDOW);
        let mean_us = self.us.iter().take(known).sum::<u64>() / known.max(1) as u64;
        let is_freeze = known > 0 && gap_us > (3 * mean_us).max(mean_us + FREEZE_MARGIN_US);
        self.us[self.count % FREEZE_WINDOW] = gap_us;
        self.count += 1;
        is_freeze
    }
}

/// Shows frames and reports to the sender.
#[derive(Debug, Clone)]
pub struct CallReceiver {
    sender: UdpSender,
    feedback_interval_us: u64,
    arrivals: Arrivals,
    media: SequenceTracker,
    audio: SequenceTracker,
    audio_delay: DelayRecorder,
    partial: BTreeMap<u64, Partial>,
    /// The next frame that can be decoded without a key frame.
    expected: u64,
    /// One above the highest number of a frame of which a packet arrived.
    seen: u64,
    /// A frame is missing; only a key frame helps.
    is_broken: bool,
    report: MediaFeedback,
    report_us: Option<u64>,
    last_shown_us: Option<u64>,
    gaps: Gaps,
    /// Time from the camera to the complete and decodable frame, per frame shown.
    frame_delay: DelayRecorder,
    undecodable_frames: u64,
    freezes: u64,
    frozen_us: u64,
}

impl CallReceiver {
    pub(crate) fn new(stamp: Stamp, config: &CallConfig) -> Self {
        Self {
            sender: UdpSender::new(stamp.not_ect()),
            feedback_interval_us: config.feedback_interval_us,
            arrivals: Arrivals::default(),
            media: SequenceTracker::default(),
            audio: SequenceTracker::default(),
            audio_delay: DelayRecorder::new(),
            partial: BTreeMap::new(),
            expected: 0,
            seen: 0,
            is_broken: false,
            report: MediaFeedback::default(),
            report_us: None,
            last_shown_us: None,
            gaps: Gaps::default(),
            frame_delay: DelayRecorder::new(),
            undecodable_frames: 0,
            freezes: 0,
            frozen_us: 0,
        }
    }

    /// Adds a packet to its frame; returns the frame once it is complete.
    fn assemble(&mut self, media: &MediaPacket) -> Option<Partial> {
        let partial = self.partial.entry(media.frame).or_insert_with(|| Partial {
            received: vec![0; usize::from(media.count).div_ceil(64)],
            missing: media.count,
            is_key: media.is_key,
            captured_us: media.captured_us,
        });
        let word = partial.received.get_mut(usize::from(media.index) / 64)?;
        let bit = 1 << (media.index % 64);
        if *word & bit == 0 {
            *word |= bit;
            partial.missing = partial.missing.saturating_sub(1);
        }
        if partial.missing > 0 { None } else { self.partial.remove(&media.frame) }
    }

    fn on_media(&mut self, media: &MediaPacket, now_us: u64) {
        self.seen = self.seen.max(media.frame + 1);
        if media.frame < self.expected {
            return;
        }
        if let Some(frame) = self.assemble(media) {
            if frame.is_key || (!self.is_broken && media.frame == self.expected) {
                self.show(media.frame, &frame, now_us);
            } else {
                self.undecodable_frames += 1;
                self.is_broken = true;
            }
        }
        // The path preserves the order of a flow: packets two frames old are lost.
        if media.frame > self.expected + 1 {
            self.is_broken = true;
        }
        let oldest = self.expected.max(media.frame.saturating_sub(MAX_PARTIAL_FRAMES));
        if self.partial.first_key_value().is_some_and(|(frame, _)| *frame < oldest) {
            self.partial = self.partial.split_off(&oldest);
        }
    }

    fn show(&mut self, number: u64, frame: &Partial, now_us: u64) {
        self.expected = number + 1;
        self.is_broken = false;
        self.frame_delay.record(now_us, now_us.saturating_sub(frame.captured_us));
        if let Some(last_us) = self.last_shown_us.replace(now_us) {
            let gap_us = now_us.saturating_sub(last_us);
            if self.gaps.is_freeze(gap_us) {
                self.freezes += 1;
                self.frozen_us += gap_us;
            }
        }
    }
}

impl Endpoint for CallReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let is_new = match &packet.body {
            Body::Media(media) => self.media.on_arrival(media.seq),
            Body::Udp { seq } => self.audio.on_arrival(*seq),
            _ => return,
        };
        self.arrivals.on_packet(packet, now_us);
        if !is_new {
            return;
        }
        let headers_bytes = UDP_IP_HEADER_BYTES + RTP_HEADER_BYTES;
        let payload_bytes = packet.len_bytes.saturating_sub(headers_bytes);
        self.arrivals.on_delivered(u64::from(payload_bytes), now_us);
        let Body::Media(media) = &packet.body else {
            self.audio_delay.record(now_us, now_us.saturating_sub(packet.sent_us));
            return;
        };
        self.report.arrivals.push((media.seq, now_us));
        self.report_us.get_or_insert(now_us + self.feedback_interval_us);
        self.on_media(media, now_us);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.report_us.is_none_or(|at_us| at_us > now_us) {
            return;
        }
        self.report_us = None;
        let mut report = std::mem::take(&mut self.report);
        report.wants_key_frame = self.is_broken;
        let bytes = report.payload_bytes();
        self.sender.send(bytes, Body::MediaFeedback(Box::new(report)), now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.report_us
    }
}

impl Measured for CallReceiver {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.media.lost() + self.audio.lost())
    }

    fn arrived_units(&self) -> Option<(&DelayRecorder, u64)> {
        Some((&self.frame_delay, self.seen))
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("frame", &self.frame_delay))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("frames_shown_count", self.frame_delay.count() as f64);
        figures.push("frames_undecodable_count", self.undecodable_frames as f64);
        figures.push_delay_ms("frame_delay", &self.frame_delay);
        figures.push("freezes_count", self.freezes as f64);
        figures.push("frozen_s", self.frozen_us as f64 / 1e6);
        if self.audio_delay.count() > 0 {
            figures.push_delay_ms("audio_delay", &self.audio_delay);
            let lost = self.audio.lost() as f64;
            let sent = lost + self.audio_delay.count() as f64;
            figures.push("audio_lost_pct", 100.0 * lost / sent);
        }
    }
}
