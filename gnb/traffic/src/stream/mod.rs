//! Applications over TCP: a two-way byte stream with messages, and requests and answers on it.
//!
//! - [`StreamEnd`]: one end of a connection — write a message, hear when one has arrived.
//! - [`RequestServer`]: answers "send me N bytes" on any number of connections.
//! - [`RequestClient`]: asks, and says when an answer is complete.
//!
//! The lab counts bytes and carries none. What a message has to *say* is one word, which travels in
//! the segment that holds its last byte ([`crate::tcp::TcpSegment::message`]) and is handed out when
//! the stream has been delivered in order up to there, so it takes exactly the way its bytes take,
//! losses and retransmissions included.

mod client;
mod connection;
mod server;

pub use client::{Completed, RequestClient};
pub use connection::StreamEnd;
pub use server::RequestServer;
