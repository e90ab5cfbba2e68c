//! Voice frames, downlink or both ways. No silence suppression: G.711 has none.

use crate::config::VoipConfig;
use crate::endpoint::Endpoint;
use crate::packet::{FlowId, Packet};
use crate::timer::Periodic;
use crate::udp_cbr::{DatagramSink, DatagramSource};

/// One end of a call: it listens, and talks if it has something to say.
#[derive(Debug, Clone)]
pub struct VoipEnd {
    talk: Option<DatagramSource>,
    listen: DatagramSink,
}

impl VoipEnd {
    pub(crate) fn new(
        flow: FlowId,
        dscp: u8,
        config: &VoipConfig,
        talks: bool,
        start_us: u64,
        stop_us: Option<u64>,
    ) -> Self {
        let timer = Periodic::new(start_us, stop_us, config.interval_us, 1);
        Self {
            talk: talks.then(|| DatagramSource::new(flow, dscp, config.payload_bytes, timer)),
            listen: DatagramSink::default(),
        }
    }

    /// What it heard.
    pub fn listen(&self) -> &DatagramSink {
        &self.listen
    }

    /// What it says, if it does.
    pub fn talk(&self) -> Option<&DatagramSource> {
        self.talk.as_ref()
    }
}

impl Endpoint for VoipEnd {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.listen.on_packet(packet, now_us, out);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if let Some(talk) = &mut self.talk {
            talk.poll(now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.talk.as_ref().and_then(Endpoint::next_deadline_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_g711_frame_is_a_200_byte_datagram_each_20_ms() {
        let config = VoipConfig::default();
        let mut server = VoipEnd::new(0, 46, &config, true, 1_000, None);
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
        let silent = VoipEnd::new(0, 0, &config, false, 0, None);
        assert_eq!(silent.next_deadline_us(), None);
    }
}
