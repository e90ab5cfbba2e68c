//! Voice frames: in one direction, in both, or echoed. No silence suppression: G.711 has none.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::error::{ConfigError, check};
use crate::mos::rate_call;
use crate::packet::{Body, Packet};
use crate::stats::{Arrivals, DelayRecorder, Due, Figures};
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

/// Limit of echoed frames outstanding: at 50 per second, more than a minute of round trip.
const MAX_OUTSTANDING: usize = 4096;

/// One end of a call: it receives frames, and sends or echoes them depending on its side.
#[derive(Debug, Clone)]
pub struct VoipEnd {
    side: Side,
    source: Option<DatagramSource>,
    sink: DatagramSink,
    /// Returns each frame at once, as the server of irtt.
    echoes: bool,
    /// Frames whose echo is measured.
    echoed_frames: Option<EchoedFrames>,
}

/// State of an irtt-like client.
#[derive(Debug, Clone, Default)]
struct EchoedFrames {
    /// Number and time of sending of the outstanding frames, oldest first.
    outstanding: VecDeque<(u64, u64)>,
    rtt: DelayRecorder,
}

/// End of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Ue,
}

impl VoipEnd {
    pub(crate) fn new(
        context: FlowContext,
        config: &VoipConfig,
        direction: Direction,
        side: Side,
    ) -> Self {
        let timer = context.periodic(u64::from(config.interval_ms) * 1_000, 1);
        let sends = match (side, direction) {
            (Side::Server, Direction::Down) => !config.echoed,
            (Side::Ue, Direction::Down) => config.echoed || config.bidirectional,
            (side, Direction::Up) => side == Side::Ue,
        };
        Self {
            side,
            source: sends.then(|| DatagramSource::new(context, config.payload_bytes, timer)),
            sink: DatagramSink::default(),
            echoes: config.echoed && side == Side::Server,
            echoed_frames: (config.echoed && side == Side::Ue).then(EchoedFrames::default),
        }
    }
}

impl EchoedFrames {
    fn on_echo(&mut self, seq: u64, now_us: u64) {
        if let Ok(at) = self.outstanding.binary_search_by_key(&seq, |(seq, _)| *seq)
            && let Some((_, sent_us)) = self.outstanding.remove(at)
        {
            self.rtt.record(now_us, now_us.saturating_sub(sent_us));
        }
    }
}

impl Endpoint for VoipEnd {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.sink.on_packet(packet, now_us, out);
        let Body::Udp { seq } = packet.body else { return };
        if self.echoes {
            out.push(Packet { sent_us: now_us, ..packet.clone() });
        }
        if let Some(frames) = &mut self.echoed_frames {
            frames.on_echo(seq, now_us);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let Some(source) = &mut self.source else { return };
        let before = out.len();
        source.poll(now_us, out);
        if let Some(frames) = &mut self.echoed_frames {
            frames.outstanding.extend(out[before..].iter().filter_map(
                |packet| match packet.body {
                    Body::Udp { seq } => Some((seq, packet.sent_us)),
                    _ => None,
                },
            ));
            frames.outstanding.drain(..frames.outstanding.len().saturating_sub(MAX_OUTSTANDING));
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.source.as_ref().and_then(Endpoint::next_deadline_us)
    }
}

impl Measured for VoipEnd {
    fn sent(&self) -> (u64, u64) {
        match &self.source {
            Some(source) => source.sent(),
            None if self.echoes => (self.sink.arrivals().packets(), self.sink.arrivals().bytes()),
            None => (0, 0),
        }
    }

    fn rtt(&self) -> Option<&DelayRecorder> {
        self.echoed_frames.as_ref().map(|frames| &frames.rtt)
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.sink.arrivals())
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.sink.lost_packets())
    }

    fn due(&self) -> Option<&Due> {
        self.source.as_ref().and_then(Measured::due)
    }

    fn arrived_units(&self) -> Option<(&DelayRecorder, u64)> {
        self.sink.arrived_units()
    }

    fn figures(&self, figures: &mut Figures) {
        let delay = self.sink.arrivals().delay();
        if let Some(voice) = rate_call(delay, self.sink.lost_packets()) {
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
    use crate::packet::Stamp;

    fn end(config: &VoipConfig, side: Side) -> VoipEnd {
        let stamp = Stamp { dscp: 46, ..Stamp::default() };
        VoipEnd::new(
            FlowContext { stamp, start_us: 1_000, ..FlowContext::default() },
            config,
            Direction::Down,
            side,
        )
    }

    #[test]
    fn a_g711_frame_is_a_200_byte_datagram_each_20_ms() {
        let mut server = end(&VoipConfig::default(), Side::Server);
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
    fn the_ue_sends_nothing_in_a_one_way_call() {
        assert_eq!(end(&VoipConfig::default(), Side::Ue).next_deadline_us(), None);
    }

    #[test]
    fn the_ue_measures_the_round_trip_of_echoed_frames() {
        let config = VoipConfig { echoed: true, ..VoipConfig::default() };
        let (mut server, mut ue) = (end(&config, Side::Server), end(&config, Side::Ue));
        assert_eq!(server.next_deadline_us(), None, "the server only echoes");
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let now_us = ue.next_deadline_us().unwrap();
            ue.poll(now_us, &mut up);
        }
        // The second is lost on its way up.
        server.on_packet(&up[0], 10_000, &mut down);
        server.on_packet(&up[2], 51_000, &mut down);
        assert_eq!((down[1].len_bytes, down[1].sent_us), (200, 51_000));
        for answer in [&down[0], &down[1], &down[1]] {
            ue.on_packet(answer, answer.sent_us + 5_000, &mut Vec::new());
        }
        let rtt = ue.rtt().unwrap().summary();
        assert_eq!((rtt.count, rtt.min_us, rtt.max_us), (2, 14_000, 15_000));
        assert_eq!(server.sent(), (2, 400));
        assert_eq!(ue.lost_packets(), Some(1));
    }
}
