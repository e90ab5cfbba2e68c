//! The packets of a case.

use std::net::{IpAddr, Ipv4Addr};

use tc_rf::{Ecn, FiveTuple};

use super::input::Enqueue;

/// A packet of a case.
#[derive(Clone, Debug)]
pub(super) struct Replayed {
    pub(super) flow: u32,
    pub(super) size: u32,
    /// Position among the arrivals, and when it arrived.
    pub(super) seq: u64,
    pub(super) arrived_us: u64,
    ecn: Ecn,
    pub(super) marked: bool,
}

impl Replayed {
    pub(super) fn new(enq: &Enqueue, seq: u64) -> Self {
        let (flow, size, ecn) = (enq.flow, enq.size, enq.ecn.into());
        Self { flow, size, seq, arrived_us: 0, ecn, marked: false }
    }

    pub(super) fn at(self, arrived_us: u64) -> Self {
        Self { arrived_us, ..self }
    }
}

impl tc_rf::Packet for Replayed {
    fn len_bytes(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> FiveTuple {
        // The case names the queue of each packet: nothing is classified.
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        FiveTuple {
            source: nowhere,
            destination: nowhere,
            source_port: 0,
            destination_port: 0,
            protocol: 0,
        }
    }
    fn dscp(&self) -> u8 {
        0
    }
    fn qfi(&self) -> Option<u8> {
        None
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
        self.marked = true;
    }
    fn set_dscp(&mut self, _dscp: u8) {}
}
