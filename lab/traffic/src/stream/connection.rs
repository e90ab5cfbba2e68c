//! One end of a TCP connection that carries messages both ways.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use crate::endpoint::Endpoint;
use crate::packet::{Body, FlowId, Packet};
use crate::tcp::config::TcpConfig;
use crate::tcp::{TcpReceiver, TcpSender, TcpStats};

/// One end of an established connection: a sender and a receiver.
///
/// Acknowledgements are segments of their own and never ride on data: requests are few and answers
/// long, so piggybacking would save next to nothing.
#[derive(Debug, Clone)]
pub struct StreamEnd {
    sender: TcpSender,
    receiver: TcpReceiver,
    written_bytes: u64,
    /// Words of messages the peer has not acknowledged yet, by the offset of their end.
    outgoing: VecDeque<(u64, NonZeroU32)>,
    /// Words that arrived ahead of the bytes before them, by the offset of their end.
    incoming: Vec<(u64, NonZeroU32)>,
    /// Messages that end at or below this offset have been handed out.
    read_bytes: u64,
}

impl StreamEnd {
    /// An end of the connection `flow`. `config` must have passed
    /// [`crate::FlowConfig::validate`]; its `total_bytes` is ignored. `seed` is for random
    /// choices of congestion control.
    pub fn new(flow: FlowId, dscp: u8, config: &TcpConfig, seed: u64) -> Self {
        let config = TcpConfig { total_bytes: Some(0), ..config.clone() };
        Self {
            sender: TcpSender::new(flow, dscp, &config, 0, None, seed),
            receiver: TcpReceiver::new(flow, dscp, &config),
            written_bytes: 0,
            outgoing: VecDeque::new(),
            incoming: Vec::new(),
            read_bytes: 0,
        }
    }

    /// Writes a message of `bytes` (at least one) with the content `word`, and sends what the window
    /// allows. A segment carries one word: of messages that end within one segment only the first is
    /// delivered, so a caller with several waits for the response in between.
    pub fn write(
        &mut self,
        bytes: NonZeroU32,
        word: Option<NonZeroU32>,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) {
        self.sender.write(u64::from(bytes.get()), now_us);
        self.written_bytes += u64::from(bytes.get());
        self.outgoing.extend(word.map(|word| (self.written_bytes, word)));
        self.poll(now_us, out);
    }

    /// Content of the next message that has been received completely and in order.
    pub fn read(&mut self) -> Option<NonZeroU32> {
        let delivered = self.received_bytes();
        let (index, &(end, word)) = self
            .incoming
            .iter()
            .enumerate()
            .filter(|(_, (end, _))| *end <= delivered)
            .min_by_key(|(_, (end, _))| *end)?;
        self.incoming.swap_remove(index);
        self.read_bytes = end;
        Some(word)
    }

    /// Bytes that have arrived from the peer, in order and once.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.delivered_bytes()
    }

    /// Bytes written so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Bytes that were written and not sent yet.
    pub(crate) fn unsent_bytes(&self, now_us: u64) -> u64 {
        self.sender.unsent_bytes(now_us)
    }

    /// Bytes that the peer has acknowledged.
    pub fn acked_bytes(&self) -> u64 {
        self.sender.acked_bytes()
    }

    /// Statistics of its sender.
    pub fn tcp_stats(&self) -> TcpStats {
        self.sender.stats()
    }

    fn note_word(&mut self, end: u64, word: NonZeroU32) {
        // Duplicate segments carry the word again.
        if end > self.read_bytes && self.incoming.iter().all(|(known, _)| *known != end) {
            self.incoming.push((end, word));
        }
    }

    /// Puts the words of messages into the segments, new or repeated, that hold their last bytes.
    fn put_words(&mut self, sent: &mut [Packet]) {
        let acked = self.sender.acked_bytes();
        while self.outgoing.front().is_some_and(|(end, _)| *end <= acked) {
            self.outgoing.pop_front();
        }
        for packet in sent {
            if let Body::Tcp(segment) = &mut packet.body
                && segment.payload_bytes > 0
            {
                segment.message = self
                    .outgoing
                    .iter()
                    .find(|(end, _)| segment.seq < *end && *end <= segment.end())
                    .map(|(_, word)| *word);
            }
        }
    }
}

impl Endpoint for StreamEnd {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::Tcp(segment) = &packet.body else { return };
        if segment.payload_bytes > 0 {
            if let Some(word) = segment.message {
                self.note_word(segment.end(), word);
            }
            self.receiver.on_packet(packet, now_us, out);
        } else {
            let first = out.len();
            self.sender.on_packet(packet, now_us, out);
            self.put_words(&mut out[first..]);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.receiver.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
            self.receiver.poll(now_us, out);
        }
        let first = out.len();
        self.sender.poll(now_us, out);
        self.put_words(&mut out[first..]);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        [self.sender.next_deadline_us(), self.receiver.next_deadline_us()]
            .into_iter()
            .flatten()
            .min()
    }
}
