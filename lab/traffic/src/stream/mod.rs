//! Applications over TCP and QUIC: a two-way byte stream with messages, streams that share a connection,
//! and requests and responses on them.
//!
//! - [`StreamEnd`]: one end of a connection that sends and receives messages.
//! - [`RequestServer`]: responds with the number of bytes requested, on any number of connections, or
//!   as streams of one.
//! - [`RequestClient`]: sends requests and reports complete responses.
//!
//! The lab counts bytes and carries none. The content of a message is one word, which travels in the
//! segment that holds its last byte ([`crate::tcp::TcpSegment::message`]) and is delivered when the
//! stream is complete up to there: it is lost and retransmitted with its bytes.

mod connection;
mod http;
mod multiplexed;
mod requests;
mod segment;

pub use connection::StreamEnd;
pub(crate) use http::HttpKeys;
pub use http::{HttpConfig, HttpVersion};
pub(crate) use multiplexed::{QUIC_DATA_HEADER_BYTES, quic};
pub use requests::{Completed, Connections, RequestClient, RequestServer};
pub use segment::{Frame, StreamSegment};
