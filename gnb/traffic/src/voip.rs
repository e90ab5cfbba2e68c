//! Voice frames, downlink, both ways, or out and back. No silence suppression: G.711 has none.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::endpoint::{Endpoint, Measured};
use crate::error::{ConfigError, check};
use crate::mos::rate_call;
use crate::packet::{Body, Packet, Stamp};
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::timer::Periodic;
use crate::udp_cbr::{DatagramSink, DatagramSource};

/// Voice frames at a constant interval. The defaults are G.711 in RTP (irazabal2021 §V): 160 B of
/// voice and 12 B of RTP every 20 ms, a datagram of 200 B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct VoipConfig {
    /// UDP payload of a frame, 1..=9000 bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 9000)))]
    pub payload_bytes: u32,
    /// Time between frames, 1..=60000 ms.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub interval_ms: u32,
    /// The UE sends frames as well.
    pub bidirectional: bool,
    /// The UE sends the frames and the server returns each at once, as irtt does, whose client
    /// measures the round trip. Excludes `bidirectional`.
    pub echoed: bool,
}

impl Default for VoipConfig {
    fn default() -> Self {
        Self { payload_bytes: 172, interval_ms: 20, bidirectional: false, echoed: false }
    }
}

impl VoipConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("payload_bytes", self.payload_bytes, 1..=9000, "1 to 9000 bytes")?;
        check("interval_ms", self.interval_ms, 1..=60_000, "1 to 60000 ms")?;
        if self.echoed && self.bidirectional {
            return Err(ConfigError::new("echoed", true, "false with bidirectional true"));
        }
        Ok(())
    }
}

/// Frames waited for at a time: at 50 a second, more than a minute of round trip.
const MAX_OUT: usize = 4096;

/// One end of a call: it listens, and talks or answers if it has something to say.
#[derive(Debug, Clone)]
pub struct VoipEnd {
    side: Side,
    talk: Option<DatagramSource>,
    listen: DatagramSink,
    /// Sends each frame it hears back at once, as the server of irtt does.
    answers: bool,
    /// Frames that are to come back.
    out_and_back: Option<OutAndBack>,
}

/// What the client of irtt knows.
#[derive(Debug, Clone, Default)]
struct OutAndBack {
    /// Number and time of the frames not yet back, oldest first.
    out: VecDeque<(u64, u64)>,
    rtt: DelayRecorder,
}

/// Which end of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Ue,
}

impl VoipEnd {
    pub(crate) fn new(
        stamp: Stamp,
        config: &VoipConfig,
        side: Side,
        start_us: u64,
        stop_us: Option<u64>,
    ) -> Self {
        let timer = Periodic::new(start_us, stop_us, u64::from(config.interval_ms) * 1_000, 1);
        let talks = match side {
            Side::Server => !config.echoed,
            Side::Ue => config.echoed || config.bidirectional,
        };
        Self {
            side,
            talk: talks.then(|| DatagramSource::new(stamp, config.payload_bytes, timer)),
            listen: DatagramSink::default(),
            answers: config.echoed && side == Side::Server,
            out_and_back: (config.echoed && side == Side::Ue).then(OutAndBack::default),
        }
    }

    /// What it heard.
    pub fn listen(&self) -> &DatagramSink {
        &self.listen
    }

    /// What it says of itself, if it does.
    pub fn talk(&self) -> Option<&DatagramSource> {
        self.talk.as_ref()
    }

    /// Frames it sent, answers included.
    pub fn sent_packets(&self) -> u64 {
        self.talk.as_ref().map_or(self.answered(), DatagramSource::sent_packets)
    }

    /// Their bytes, IP headers included.
    pub fn sent_bytes(&self) -> u64 {
        let answered = if self.answers { self.listen.arrivals().bytes() } else { 0 };
        self.talk.as_ref().map_or(answered, DatagramSource::sent_bytes)
    }

    fn answered(&self) -> u64 {
        if self.answers { self.listen.arrivals().packets() } else { 0 }
    }

    /// Round trips of the frames that came back, where they do.
    pub fn rtt(&self) -> Option<&DelayRecorder> {
        self.out_and_back.as_ref().map(|frames| &frames.rtt)
    }
}

impl OutAndBack {
    fn came_back(&mut self, seq: u64, now_us: u64) {
        if let Ok(at) = self.out.binary_search_by_key(&seq, |(seq, _)| *seq)
            && let Some((_, sent_us)) = self.out.remove(at)
        {
            self.rtt.record(now_us, now_us.saturating_sub(sent_us));
        }
    }
}

impl Endpoint for VoipEnd {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.listen.on_packet(packet, now_us, out);
        let Body::Udp { seq } = packet.body else { return };
        if self.answers {
            out.push(Packet { sent_us: now_us, ..packet.clone() });
        }
        if let Some(frames) = &mut self.out_and_back {
            frames.came_back(seq, now_us);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let Some(talk) = &mut self.talk else { return };
        let before = out.len();
        talk.poll(now_us, out);
        if let Some(frames) = &mut self.out_and_back {
            frames.out.extend(out[before..].iter().filter_map(|packet| match packet.body {
                Body::Udp { seq } => Some((seq, packet.sent_us)),
                _ => None,
            }));
            frames.out.drain(..frames.out.len().saturating_sub(MAX_OUT));
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.talk.as_ref().and_then(Endpoint::next_deadline_us)
    }
}

impl Measured for VoipEnd {
    fn sent(&self) -> (u64, u64) {
        (self.sent_packets(), self.sent_bytes())
    }

    fn rtt(&self) -> Option<&DelayRecorder> {
        self.rtt()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.listen.arrivals())
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.listen.lost_packets())
    }

    fn figures(&self, figures: &mut Figures) {
        let delay = self.listen.arrivals().delay();
        if let Some(voice) = rate_call(delay, self.listen.lost_packets()) {
            let way = if self.side == Side::Server { "uplink_" } else { "" };
            let mut push = |name: &str, value| figures.push(&format!("{way}{name}"), value);
            push("mos", voice.mos);
            push("r_factor", voice.r);
            push("playout_delay_ms", voice.playout_us as f64 / 1e3);
            push("late_or_lost_pct", 100.0 * voice.loss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::Ecn;

    const STAMP: Stamp = Stamp { flow: 0, dscp: 46, ecn: Ecn::NotEct };

    #[test]
    fn a_g711_frame_is_a_200_byte_datagram_each_20_ms() {
        let config = VoipConfig::default();
        let mut server = VoipEnd::new(STAMP, &config, Side::Server, 1_000, None);
        let mut out = Vec::new();
        for _ in 0..50 {
            let now_us = server.next_deadline_us().unwrap();
            server.poll(now_us, &mut out);
        }
        assert!(out.iter().all(|packet| packet.len_bytes == 200 && packet.dscp == 46));
        assert!(out.windows(2).all(|pair| pair[1].sent_us - pair[0].sent_us == 20_000));
        assert_eq!(out[0].sent_us, 1_000);
    }

    #[test]
    fn the_far_end_talks_only_when_asked_to() {
        let config = VoipConfig::default();
        let silent = VoipEnd::new(STAMP, &config, Side::Ue, 0, None);
        assert_eq!(silent.next_deadline_us(), None);
    }

    #[test]
    fn an_echoed_frame_is_sent_by_the_ue_and_timed_when_it_is_back() {
        let config = VoipConfig { echoed: true, ..VoipConfig::default() };
        let mut server = VoipEnd::new(STAMP, &config, Side::Server, 0, None);
        let mut ue = VoipEnd::new(STAMP, &config, Side::Ue, 0, None);
        assert_eq!(server.next_deadline_us(), None, "the server speaks when spoken to");
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let now_us = ue.next_deadline_us().unwrap();
            ue.poll(now_us, &mut up);
        }
        // The second is lost on its way up.
        server.on_packet(&up[0], 9_000, &mut down);
        server.on_packet(&up[2], 50_000, &mut down);
        assert_eq!((down[1].len_bytes, down[1].sent_us), (200, 50_000));
        for answer in [&down[0], &down[1], &down[1]] {
            ue.on_packet(answer, answer.sent_us + 5_000, &mut Vec::new());
        }
        let rtt = ue.rtt().unwrap().summary();
        assert_eq!((rtt.count, rtt.min_us, rtt.max_us), (2, 14_000, 15_000));
        assert_eq!((server.sent_packets(), server.sent_bytes()), (2, 400));
        assert_eq!(ue.listen().lost_packets(), 1);
    }
}
