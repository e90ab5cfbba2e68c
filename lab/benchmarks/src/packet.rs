//! The packet of the benchmarks.

use std::net::{IpAddr, Ipv4Addr};

use tc_rf::{Ecn, FiveTuple, Packet};

/// A TCP segment of 1500 bytes, about the size in memory of a packet of the emulator.
#[derive(Clone, Debug)]
pub(crate) struct BenchPacket {
    flow: FiveTuple,
    ecn: Ecn,
    _handle: [u64; 6],
}

impl Packet for BenchPacket {
    fn len_bytes(&self) -> u32 {
        1500
    }
    fn flow(&self) -> FiveTuple {
        self.flow
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
    }
    fn set_dscp(&mut self, _dscp: u8) {}
}

/// A multiplicative hash of 10 bits.
pub(crate) fn spread(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54
}

/// A packet of flow `n`, one of 1024 by its hash.
fn packet(n: u64, ecn: Ecn) -> BenchPacket {
    let host = spread(n) as u16;
    BenchPacket {
        flow: FiveTuple {
            source: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            destination: IpAddr::V4(Ipv4Addr::new(10, 0, (host >> 8) as u8, host as u8)),
            source_port: 443,
            destination_port: 50_000,
            protocol: 6,
        },
        ecn,
        _handle: [n; 6],
    }
}

/// The flows' packets, every other one of them ECT(1).
pub(crate) fn packets(count: u64, flows: u64) -> Vec<BenchPacket> {
    let ecn = |n: u64| if n.is_multiple_of(2) { Ecn::Ect1 } else { Ecn::NotEct };
    (0..count).map(|n| packet(n % flows, ecn(n))).collect()
}
