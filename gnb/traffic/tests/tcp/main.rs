//! A TCP flow over virtual links: the laws it must obey and the accidents it must survive.

mod acks;
mod delivery;
mod ecn;
mod laws;
mod link;
mod pair;
mod recovery;
mod sender;
