//! Applications over TCP: a two-way byte stream with messages, and requests and responses on it.
//!
//! - [`StreamEnd`]: one end of a connection that sends and receives messages.
//! - [`RequestServer`]: responds with the number of bytes requested, on any number of connections.
//! - [`RequestClient`]: sends requests and reports complete responses.
//!
//! The lab counts bytes and carries none. The content of a message is one word, which travels in the
//! segment that holds its last byte ([`crate::tcp::TcpSegment::message`]) and is delivered when the
//! stream is complete up to there: it is lost and retransmitted with its bytes.

mod connection;
mod requests;

pub use connection::StreamEnd;
pub use requests::{Completed, Connections, RequestClient, RequestServer};
