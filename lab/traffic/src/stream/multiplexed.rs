//! One end of a connection that carries many streams: HTTP/2 over TCP, HTTP/3 over QUIC.
//!
//! Both share the sender and receiver of [`crate::tcp`]: QUIC's recovery (RFC 9002) is that of RACK-TLP,
//! and its acknowledgements are selective. They differ in three ways. HTTP/2 binds bytes to streams
//! when it writes them to the socket, QUIC when a packet leaves. HTTP/2 delivers in the order of the
//! connection, QUIC in the order of each stream. QUIC has headers of its own over UDP.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::Arc;

use super::http::{HttpConfig, HttpVersion};
use super::segment::{Frame, StreamSegment};
use crate::endpoint::Endpoint;
use crate::ip::{IpVersion, UDP_IP_HEADER_BYTES};
use crate::packet::{Body, FlowId, Packet};
use crate::quic::{MAX_ACK_DELAY_US, PACKET_OVERHEAD_BYTES};
use crate::tcp::config::TcpConfig;
use crate::tcp::ranges::RangeSet;
use crate::tcp::{TcpReceiver, TcpSegment, TcpSender, TcpStats};

/// Longest DATA frame that a peer accepts unless it says otherwise (RFC 9113 §6.5.2).
const HTTP2_FRAME_BYTES: u32 = 16_384;
/// IP and UDP header, short header and AEAD tag.
const QUIC_HEADER_BYTES: u32 = UDP_IP_HEADER_BYTES + PACKET_OVERHEAD_BYTES;
/// STREAM frame: type, stream ID of 2 bytes, offset of 4, length of 2 (§19.8). The headers of further
/// frames in a packet, like those of HTTP/2 frames, are not counted.
const QUIC_STREAM_BYTES: u32 = 1 + 2 + 4 + 2;
/// Headers of a data packet of QUIC over IPv4.
pub(crate) const QUIC_DATA_HEADER_BYTES: u32 = QUIC_HEADER_BYTES + QUIC_STREAM_BYTES;
/// ACK frame: type, largest acknowledged of 4 bytes, delay of 2, count, first range of 2 (§19.3).
const QUIC_ACK_BYTES: u32 = 1 + 4 + 2 + 1 + 2;
/// Gap and length of a further range, two bytes each.
const QUIC_ACK_RANGE_BYTES: u32 = 4;

/// A complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) stream: u32,
    pub(super) word: Option<NonZeroU32>,
}

/// A message of which bytes are to be sent.
#[derive(Debug, Clone, Copy)]
struct Outgoing {
    stream: u32,
    offset: u32,
    end: u32,
    word: Option<NonZeroU32>,
}

impl Outgoing {
    /// The next bytes, at most `most`, of which there must be some.
    fn take(&mut self, most: u32) -> Frame {
        let bytes = most.min(self.end - self.offset);
        let Self { stream, offset, end, word } = *self;
        self.offset += bytes;
        Frame { stream, offset, bytes, is_last: self.offset == end, word }
    }
}

/// A message that arrives.
#[derive(Debug, Clone, Default)]
struct Incoming {
    received: RangeSet,
    in_order_bytes: u64,
    end: Option<u64>,
}

/// A segment above the contiguous part of the connection, or of it and not delivered yet.
#[derive(Debug, Clone)]
struct Early {
    end: u64,
    /// `None` if they have been delivered.
    frames: Option<Arc<[Frame]>>,
}

/// One end of an established connection with streams.
#[derive(Debug, Clone)]
pub(super) struct StreamsEnd {
    http: HttpConfig,
    sender: TcpSender,
    receiver: TcpReceiver,
    /// Messages with bytes that are not bound to a place in the connection, in turn.
    outgoing: VecDeque<Outgoing>,
    /// Frames in the socket of HTTP/2 that TCP has not sent.
    socket: VecDeque<Frame>,
    socket_bytes: u64,
    /// First byte of the connection that has not been sent.
    next_seq: u64,
    /// Frames of segments that are not acknowledged, by their first byte.
    sent: VecDeque<(u64, Arc<[Frame]>)>,
    sent_packets: u64,
    sent_bytes: u64,
    incoming: BTreeMap<u32, Incoming>,
    early: BTreeMap<u64, Early>,
    complete: VecDeque<Message>,
}

/// Configuration of a QUIC connection in the terms of TCP, with the payload that fills `mtu_bytes`.
pub(crate) fn quic(config: &TcpConfig, mtu_bytes: u32, ip_version: IpVersion) -> TcpConfig {
    let headers_bytes = QUIC_DATA_HEADER_BYTES + ip_version.extra_bytes();
    TcpConfig {
        mss_bytes: Some(config.mss_bytes.unwrap_or(mtu_bytes.saturating_sub(headers_bytes))),
        delayed_ack_us: config.delayed_ack_us.min(MAX_ACK_DELAY_US),
        // QUIC counts marks (§13.4); that is AccECN's feedback.
        accecn: config.accecn.or(config.ecn),
        ..config.clone()
    }
}

impl StreamsEnd {
    /// An end of the connection `flow`, which sends no new data from `stop_us` on.
    pub(super) fn new(
        flow: FlowId,
        dscp: u8,
        config: &TcpConfig,
        http: HttpConfig,
        stop_us: Option<u64>,
        seed: u64,
    ) -> Self {
        let config = TcpConfig { total_bytes: Some(0), ..config.clone() };
        Self {
            http,
            sender: TcpSender::new(flow, dscp, &config, 0, stop_us, seed),
            receiver: TcpReceiver::new(flow, dscp, &config),
            outgoing: VecDeque::new(),
            socket: VecDeque::new(),
            socket_bytes: 0,
            next_seq: 0,
            sent: VecDeque::new(),
            sent_packets: 0,
            sent_bytes: 0,
            incoming: BTreeMap::new(),
            early: BTreeMap::new(),
            complete: VecDeque::new(),
        }
    }

    /// Writes a message of `bytes` with the content `word` on a stream of its own, and sends what the
    /// window allows.
    pub(super) fn write(
        &mut self,
        stream: u32,
        bytes: NonZeroU32,
        word: Option<NonZeroU32>,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) {
        self.outgoing.push_back(Outgoing { stream, offset: 0, end: bytes.get(), word });
        self.sender.write(u64::from(bytes.get()), now_us);
        self.poll(now_us, out);
    }

    /// The next message that has arrived completely.
    pub(super) fn read(&mut self) -> Option<Message> {
        self.complete.pop_front()
    }

    /// Bytes of an incomplete message that were delivered.
    pub(super) fn received_bytes(&self, stream: u32) -> u64 {
        self.incoming.get(&stream).map_or(0, |message| message.in_order_bytes)
    }

    /// Data packets sent and their bytes, headers included.
    pub(super) fn sent(&self) -> (u64, u64) {
        (self.sent_packets, self.sent_bytes)
    }

    /// Statistics of its sender.
    pub(super) fn tcp_stats(&self) -> TcpStats {
        self.sender.stats()
    }

    fn is_quic(&self) -> bool {
        self.http.version == HttpVersion::V3
    }

    /// Processes a packet; returns the bytes that it delivers to the application.
    pub(super) fn receive(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) -> u64 {
        let Body::Streams(streams) = &packet.body else { return 0 };
        let first = out.len();
        let plain = Packet { body: Body::Tcp(streams.segment), ..packet.clone() };
        let mut delivered = 0;
        if streams.segment.payload_bytes > 0 {
            let before = self.receiver.delivered_bytes();
            self.receiver.on_packet(&plain, now_us, out);
            delivered = self.on_frames(streams, before);
        } else {
            self.sender.on_packet(&plain, now_us, out);
        }
        self.finish(first, out);
        delivered
    }

    /// Delivers the frames of a segment, and those that waited for it.
    fn on_frames(&mut self, streams: &StreamSegment, delivered_before: u64) -> u64 {
        let (seq, end) = (streams.segment.seq, streams.segment.end());
        if seq < delivered_before || self.early.contains_key(&seq) {
            return 0;
        }
        let is_isolated = self.is_quic() && self.http.loss_isolation != Some(false);
        let mut delivered = 0;
        if is_isolated {
            delivered += self.deliver(&streams.frames);
        }
        let frames = (!is_isolated).then(|| streams.frames.clone());
        self.early.insert(seq, Early { end, frames });
        let contiguous = self.receiver.delivered_bytes();
        while let Some(first) = self.early.first_entry()
            && first.get().end <= contiguous
        {
            if let Some(frames) = first.remove().frames {
                delivered += self.deliver(&frames);
            }
        }
        delivered
    }

    fn deliver(&mut self, frames: &[Frame]) -> u64 {
        let mut delivered = 0;
        for frame in frames {
            let message = self.incoming.entry(frame.stream).or_default();
            let (start, end) = (u64::from(frame.offset), u64::from(frame.offset + frame.bytes));
            message.received.insert(start, end, |_, _| {});
            if frame.is_last {
                message.end = Some(end);
            }
            let in_order = message.received.containing(0).map_or(0, |(_, end)| end);
            delivered += in_order - message.in_order_bytes;
            message.in_order_bytes = in_order;
            if message.end == Some(in_order) {
                self.incoming.remove(&frame.stream);
                self.complete.push_back(Message { stream: frame.stream, word: frame.word });
            }
        }
        delivered
    }

    /// HTTP/2 writes frames to the socket, stream after stream, while there is room.
    fn fill_socket(&mut self) {
        let limit = self.http.unsent_bytes.map_or_else(|| self.sender.window_bytes(), u64::from);
        while self.socket_bytes < limit {
            let Some(frame) = self.next_in_turn(HTTP2_FRAME_BYTES) else { break };
            self.socket_bytes += u64::from(frame.bytes);
            self.socket.push_back(frame);
        }
    }

    /// Bytes of the stream whose turn it is.
    fn next_in_turn(&mut self, most: u32) -> Option<Frame> {
        let mut outgoing = self.outgoing.pop_front()?;
        let frame = outgoing.take(most);
        if !frame.is_last {
            self.outgoing.push_back(outgoing);
        }
        Some(frame)
    }

    /// The frames of `bytes` new bytes of the connection.
    fn bind(&mut self, mut bytes: u32) -> Arc<[Frame]> {
        let mut frames = Vec::with_capacity(1);
        while bytes > 0 {
            let next = if self.is_quic() {
                self.next_in_turn(bytes)
            } else {
                if self.socket.is_empty() {
                    self.fill_socket();
                }
                self.take_from_socket(bytes)
            };
            // The sender has no bytes that were not written.
            let Some(frame) = next else { break };
            bytes -= frame.bytes;
            frames.push(frame);
        }
        frames.into()
    }

    fn take_from_socket(&mut self, most: u32) -> Option<Frame> {
        let front = self.socket.front_mut()?;
        let frame = if front.bytes > most {
            let part = Frame { bytes: most, is_last: false, ..*front };
            front.offset += most;
            front.bytes -= most;
            part
        } else {
            self.socket.pop_front()?
        };
        self.socket_bytes -= u64::from(frame.bytes);
        Some(frame)
    }

    /// Gives what sender and receiver put into `out` its frames and its length.
    fn finish(&mut self, first: usize, out: &mut [Packet]) {
        let acked = self.sender.acked_bytes();
        while self.sent.front().is_some_and(|(seq, _)| *seq < acked) {
            self.sent.pop_front();
        }
        for packet in out.iter_mut().skip(first) {
            let Body::Tcp(segment) = packet.body else { continue };
            let frames =
                if segment.payload_bytes == 0 { Arc::default() } else { self.frames_of(&segment) };
            let is_quic = self.is_quic();
            if is_quic {
                packet.len_bytes = quic_datagram_bytes(&segment);
            }
            if segment.payload_bytes > 0 {
                self.sent_packets += 1;
                self.sent_bytes += u64::from(packet.len_bytes);
            }
            packet.body = Body::Streams(Box::new(StreamSegment { segment, frames, is_quic }));
        }
        if !self.is_quic() {
            self.fill_socket();
        }
    }

    /// The frames of a data segment, new or repeated; segments keep their boundaries.
    fn frames_of(&mut self, segment: &TcpSegment) -> Arc<[Frame]> {
        if segment.seq < self.next_seq {
            let at = self.sent.binary_search_by_key(&segment.seq, |(seq, _)| *seq);
            return at
                .ok()
                .and_then(|at| self.sent.get(at))
                .map(|it| it.1.clone())
                .unwrap_or_default();
        }
        let frames = self.bind(segment.payload_bytes);
        self.next_seq = segment.end();
        self.sent.push_back((segment.seq, frames.clone()));
        frames
    }
}

/// Length of the datagram of a QUIC packet over IPv4.
fn quic_datagram_bytes(segment: &TcpSegment) -> u32 {
    if segment.payload_bytes > 0 {
        return QUIC_DATA_HEADER_BYTES + segment.payload_bytes;
    }
    let ranges = segment.sack.len() as u32;
    QUIC_HEADER_BYTES + QUIC_ACK_BYTES + QUIC_ACK_RANGE_BYTES * ranges
}

impl Endpoint for StreamsEnd {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.receive(packet, now_us, out);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let first = out.len();
        if self.receiver.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
            self.receiver.poll(now_us, out);
        }
        self.sender.poll(now_us, out);
        self.finish(first, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        [self.sender.next_deadline_us(), self.receiver.next_deadline_us()]
            .into_iter()
            .flatten()
            .min()
    }
}
