//! A packet of the gNB inside the pipeline.

use std::ffi::c_void;

use e2sm_tc::v1::{Ecn, FiveTuple};
use tc_rf::{InnerFlow, Packet};

use crate::ip::{self, Headers};
use crate::types::{TC_RF_NO_QFI, TcRfPacket, TcRfResult};

/// Most that an IP packet without jumbo option can be (RFC 8200 §3).
const MAX_LENGTH_BYTES: u32 = 40 + 65_535;

/// The gNB's pointers with what was read of the headers at ingress.
#[derive(Debug)]
pub(crate) struct CPacket {
    raw: TcRfPacket,
    headers: Headers,
}

// SAFETY: `read` was promised that nobody else touches the bytes until the packet is handed on; `sdu`
// is never looked at. The bearer's lock orders what threads do with it.
unsafe impl Send for CPacket {}

impl CPacket {
    /// Reads the headers of a packet of the gNB.
    ///
    /// # Safety
    /// `raw.ip` must be null or point at `raw.length_bytes` bytes that stay valid, and that nobody
    /// else writes, until the packet is handed on.
    pub(crate) unsafe fn read(raw: &TcRfPacket) -> Result<Self, (TcRfResult, String)> {
        if raw.ip.is_null() {
            return Err((TcRfResult::NullPointer, "packet.ip is null".to_owned()));
        }
        if raw.length_bytes > MAX_LENGTH_BYTES {
            let detail = format!(
                "packet.length_bytes: {}; expected at most {MAX_LENGTH_BYTES}",
                raw.length_bytes
            );
            return Err((TcRfResult::OutOfRange, detail));
        }
        if raw.qfi > 63 && raw.qfi != TC_RF_NO_QFI {
            let detail = format!("packet.qfi: {}; expected 0 to 63, or TC_RF_NO_QFI", raw.qfi);
            return Err((TcRfResult::OutOfRange, detail));
        }
        // SAFETY: not null, and the caller vouches for the length.
        let bytes = unsafe { std::slice::from_raw_parts(raw.ip, raw.length_bytes as usize) };
        let headers = Headers::parse(bytes).ok_or_else(|| {
            let first =
                bytes.first().map_or_else(|| "no byte".to_owned(), |b| format!("0x{b:02x}"));
            let detail = format!("packet of {} bytes, first {first}", bytes.len());
            (TcRfResult::NotAnIpPacket, format!("{detail}; expected an IPv4 or IPv6 header"))
        })?;
        Ok(Self { raw: *raw, headers })
    }

    pub(crate) fn sdu(&self) -> *mut c_void {
        self.raw.sdu
    }

    fn set_traffic_class(&mut self) {
        // SAFETY: `read` was promised that the bytes stay valid and ours to write until the packet
        // is handed on, and after that there is no `CPacket`.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(self.raw.ip, self.raw.length_bytes as usize) };
        ip::set_traffic_class(bytes, self.headers.traffic_class());
    }
}

/// The innermost flow that was read of a packet.
pub fn inner_flow(headers: &Headers) -> Option<InnerFlow> {
    let ip::Inner { flow, dscp, label } = headers.inner?;
    Some(InnerFlow { flow, dscp, label })
}

impl Packet for CPacket {
    fn len_bytes(&self) -> u32 {
        self.raw.length_bytes
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
        (self.raw.qfi != TC_RF_NO_QFI).then_some(self.raw.qfi)
    }

    fn ecn(&self) -> Ecn {
        self.headers.ecn
    }

    fn set_ce(&mut self) {
        self.headers.ecn = Ecn::Ce;
        self.set_traffic_class();
    }

    fn set_dscp(&mut self, dscp: u8) {
        self.headers.dscp = dscp & 0x3f;
        self.set_traffic_class();
    }
}
