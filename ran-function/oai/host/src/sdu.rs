//! Downlink SDUs of a bearer while they wait, in memory that is taken once, at the start.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use e2sm_tc::v1::{Ecn, FiveTuple};
use tc_rf::{InnerFlow, Packet};
use tc_rf_c::inner_flow;
use tc_rf_c::ip::{self, Headers};

/// Holds an IP packet of an Ethernet MTU with the SDAP header, and GTP-U jumbo of most cores.
const BUFFER_BYTES: usize = 2048;

/// Buffers for SDUs. A gNB's threads take and return them without a lock and without allocation.
#[derive(Debug)]
pub(crate) struct BufferPool {
    free: ArrayQueue<Box<[u8]>>,
    exhausted: AtomicU64,
    oversize: AtomicU64,
}

impl BufferPool {
    /// Allocates all buffers and touches their memory.
    pub(crate) fn new(buffers: usize) -> Arc<Self> {
        let free = ArrayQueue::new(buffers.max(1));
        for _ in 0..free.capacity() {
            // The queue is as large as the loop is long.
            let _ = free.push(vec![1; BUFFER_BYTES].into_boxed_slice());
        }
        Arc::new(Self { free, exhausted: AtomicU64::new(0), oversize: AtomicU64::new(0) })
    }

    /// A buffer of at least that many bytes; none if all are in use. SDUs that are larger than a
    /// buffer, which only jumbo frames are, are allocated.
    fn take(&self, bytes: usize) -> Option<Box<[u8]>> {
        if bytes > BUFFER_BYTES {
            self.oversize.fetch_add(1, Ordering::Relaxed);
            return Some(vec![0; bytes].into_boxed_slice());
        }
        let buffer = self.free.pop();
        if buffer.is_none() {
            self.exhausted.fetch_add(1, Ordering::Relaxed);
        }
        buffer
    }

    fn give_back(&self, buffer: Box<[u8]>) {
        if buffer.len() == BUFFER_BYTES {
            // There is room: each buffer came from here.
            let _ = self.free.push(buffer);
        }
    }

    /// Buffers that are not in use.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// SDUs that found no buffer.
    pub(crate) fn exhausted(&self) -> u64 {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// SDUs for which memory was allocated.
    pub(crate) fn oversize(&self) -> u64 {
        self.oversize.load(Ordering::Relaxed)
    }
}

/// A PDCP SDU that waits: its bytes as the gNB handed them over, with the IP header at `ip_at`.
#[derive(Debug)]
pub(crate) struct Sdu {
    /// Empty only while it is dropped.
    bytes: Box<[u8]>,
    length: usize,
    ip_at: usize,
    qfi: Option<u8>,
    headers: Headers,
    pool: Arc<BufferPool>,
}

impl Sdu {
    /// Copies an SDU; none without a free buffer.
    pub(crate) fn copy(pool: &Arc<BufferPool>, sdu: &[u8], sdap_header: bool) -> Option<Self> {
        let mut bytes = pool.take(sdu.len())?;
        bytes[..sdu.len()].copy_from_slice(sdu);
        let ip_at = usize::from(sdap_header).min(sdu.len());
        // 37.324 §6.2.2.2: RDI, RQI, six bits of QFI.
        let qfi = sdu.first().filter(|_| sdap_header).map(|byte| byte & 0x3f);
        let headers = Headers::parse(&sdu[ip_at..]).unwrap_or(NO_IP);
        Some(Self { bytes, length: sdu.len(), ip_at, qfi, headers, pool: Arc::clone(pool) })
    }

    /// The SDU for PDCP.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn rewrite_traffic_class(&mut self) {
        let class = self.headers.traffic_class();
        ip::set_traffic_class(&mut self.bytes[self.ip_at..self.length], class);
    }
}

/// What an SDU is taken for that is no IP packet (an Ethernet PDU session, 23.501 §5.6.10.2): one
/// flow without addresses, which no discipline marks.
const NO_IP: Headers = Headers {
    flow: FiveTuple {
        source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        source_port: 0,
        destination_port: 0,
        protocol: 0,
    },
    dscp: 0,
    ecn: Ecn::NotEct,
    inner: None,
};

impl Drop for Sdu {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.bytes));
    }
}

impl Packet for Sdu {
    fn len_bytes(&self) -> u32 {
        // At most what a C int counts.
        (self.length - self.ip_at) as u32
    }

    fn flow(&self) -> FiveTuple {
        self.headers.flow
    }

    fn inner(&self) -> Option<InnerFlow> {
        inner_flow(&self.headers)
    }

    fn dscp(&self) -> u8 {
        self.headers.dscp
    }

    fn qfi(&self) -> Option<u8> {
        self.qfi
    }

    fn ecn(&self) -> Ecn {
        self.headers.ecn
    }

    fn set_ce(&mut self) {
        self.headers.ecn = Ecn::Ce;
        self.rewrite_traffic_class();
    }

    fn set_dscp(&mut self, dscp: u8) {
        self.headers.dscp = dscp & 0x3f;
        // Bytes that are no IP header stay as they are.
        if self.headers.flow != NO_IP.flow {
            self.rewrite_traffic_class();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4() -> Vec<u8> {
        let mut bytes = vec![0x45, 0b10, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 1, 10, 0, 1, 2];
        bytes.extend([0x14, 0x51, 0xc0, 0x00, 0, 8, 0, 0]);
        bytes
    }

    #[test]
    fn the_qos_flow_is_read_of_the_sdap_header_and_the_ip_header_behind_it() {
        let pool = BufferPool::new(1);
        let mut with_header = vec![0x80 | 9];
        with_header.extend(ipv4());
        let mut sdu = Sdu::copy(&pool, &with_header, true).expect("a buffer");
        assert_eq!((sdu.qfi(), sdu.len_bytes(), sdu.ecn()), (Some(9), 28, Ecn::Ect0));
        sdu.set_ce();
        assert_eq!(sdu.as_bytes()[..3], [0x89, 0x45, 0b11]);
        assert!(Sdu::copy(&pool, &with_header, true).is_none(), "the only buffer is in use");
        drop(sdu);
        assert_eq!((pool.free(), pool.exhausted()), (1, 1));
    }

    #[test]
    fn what_is_no_ip_packet_is_forwarded_as_it_came() {
        let pool = BufferPool::new(1);
        let frame = [0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x06];
        let mut sdu = Sdu::copy(&pool, &frame, false).expect("a buffer");
        sdu.set_dscp(46);
        assert_eq!((sdu.as_bytes(), sdu.qfi()), (&frame[..], None));
    }

    #[test]
    fn a_jumbo_frame_needs_no_buffer_of_the_pool() {
        let pool = BufferPool::new(1);
        let sdu = Sdu::copy(&pool, &[0x45; 9000], false).expect("memory");
        assert_eq!((sdu.as_bytes().len(), pool.free(), pool.oversize()), (9000, 1, 1));
        drop(sdu);
        assert_eq!(pool.free(), 1);
    }
}
