//! Types of the C interface.

use std::ffi::c_void;

/// Result of a call. Texts: `tc_rf_result_text`; details: `tc_rf_last_error`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcRfResult {
    /// Done.
    Ok = 0,
    /// A pointer that must not be null is null.
    NullPointer = 1,
    /// No such bearer here.
    UnknownBearer = 2,
    /// A bearer of that RNTI and DRB is here already.
    BearerExists = 3,
    /// The bytes are not an IPv4 or IPv6 packet; it was not taken.
    NotAnIpPacket = 4,
    /// A value is outside its range.
    OutOfRange = 5,
    /// No template of that name.
    UnknownTemplate = 6,
    /// A pipeline was refused.
    Refused = 7,
    /// The call came from a callback.
    Busy = 8,
    /// A defect inside; the handle should be destroyed.
    Internal = 9,
}

impl TcRfResult {
    pub(crate) fn text(self) -> &'static std::ffi::CStr {
        match self {
            Self::Ok => c"done",
            Self::NullPointer => c"a pointer is null",
            Self::UnknownBearer => c"no such bearer",
            Self::BearerExists => c"the bearer exists already",
            Self::NotAnIpPacket => c"not an IPv4 or IPv6 packet",
            Self::OutOfRange => c"a value is outside its range",
            Self::UnknownTemplate => c"no template of that name",
            Self::Refused => c"the pipeline was refused",
            Self::Busy => c"a callback must not call back",
            Self::Internal => c"a defect inside",
        }
    }
}

/// A bearer: what the service model calls (UE, DRB).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcRfBearer {
    /// RNTI of the UE.
    pub rnti: u16,
    /// DRB identity, 1 to 32 (38.331).
    pub drb: u8,
}

/// What a bearer carries, as far as the gNB knows when it sets the bearer up.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfBearerQos {
    /// 5QIs of its QoS flows (23.501 §5.7.4).
    pub five_qis: *const u8,
    /// How many, at most 64.
    pub five_qi_count: usize,
    /// Whether the slice of its PDU session is known.
    pub has_s_nssai: bool,
    /// Slice/service type (23.003 §28.4.2).
    pub sst: u8,
    /// Whether the slice has a differentiator.
    pub has_sd: bool,
    /// Slice differentiator, 0 to 0xffffff.
    pub sd: u32,
}

/// QFI of a packet without a known QFI.
pub const TC_RF_NO_QFI: u8 = 255;

/// A downlink packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfPacket {
    /// The gNB's reference to the packet; passed to the callbacks, never dereferenced.
    pub sdu: *mut c_void,
    /// First byte of the IP header. Must stay valid and unmoved until a callback hands the packet
    /// on: the ECN and DSCP bits are changed in place, with the IPv4 header checksum.
    pub ip: *mut u8,
    /// Length of the IP packet in bytes.
    pub length_bytes: u32,
    /// QoS flow identifier, 0 to 63, or `TC_RF_NO_QFI`.
    pub qfi: u8,
}

/// A packet recalled from the RLC.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfReturned {
    /// The packet.
    pub packet: TcRfPacket,
    /// Time at which it first entered the pipeline, µs.
    pub arrived_us: u64,
}

/// State of a bearer's RLC buffer, taken right after the MAC pulled from it for a slot. The fields
/// after `dl_opportunity` serve some pacers; zero where the DU does not report them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfRlcStatus {
    /// Time at which it was taken, µs.
    pub at_us: u64,
    /// Bytes left in the RLC buffer.
    pub occupancy_bytes: u32,
    /// SDUs left in the RLC buffer.
    pub occupancy_packets: u32,
    /// What the MAC could have pulled in that slot at the present MCS; 0 when unknown.
    pub capacity_bytes_per_tti: u32,
    /// Length of a slot, µs.
    pub tti_us: u32,
    /// Whether the slot carried downlink for the cell.
    pub dl_opportunity: bool,
    /// Whether `status_pdu_at_us` holds.
    pub has_status_pdu: bool,
    /// Whether `received_bytes` holds.
    pub has_received_bytes: bool,
    /// RLC-AM: SDUs sent whole that wait for a status PDU.
    pub unacknowledged_packets: u32,
    /// Bytes of those.
    pub unacknowledged_bytes: u32,
    /// SDUs removed from the RLC since the last status: sent (UM) or acknowledged (AM).
    pub removed_packets: u32,
    /// Sum of the times those were in the RLC, µs.
    pub removed_sum_us: u64,
    /// Shortest of them, µs.
    pub removed_min_us: u32,
    /// Longest of them, µs.
    pub removed_max_us: u32,
    /// RLC-AM: when the newest status PDU of the UE came, µs.
    pub status_pdu_at_us: u64,
    /// Bytes of the bearer's SDUs, from its first, up to the newest that reached the DU; those lost
    /// or refused before it count (38.425 §5.4.2.1 names them).
    pub received_bytes: u64,
}

/// Room in a transport block, for pulls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfBlockRoom {
    /// Bytes of the longest IP packet that would leave whole; headers of PDCP, RLC and MAC are taken off.
    pub bytes: u32,
    /// Whether the two below hold.
    pub has_next_block: bool,
    /// The same of the block in the next slot with downlink, at the present MCS and with as many PRBs.
    pub next_block_bytes: u32,
    /// Time at which the MAC will build that one, µs.
    pub next_block_at_us: u64,
}

/// Why a packet was dropped.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcRfDrop {
    /// Sent above the rate of its queue's policer.
    Policer = 0,
    /// Its queue was full.
    QueueLimit = 1,
    /// The bearer's buffer was full.
    BufferLimit = 2,
    /// Active queue management (CoDel, PIE, …) chose it, or the cut of a backlog that it takes over.
    Aqm = 3,
    /// Its bearer was removed, or the handle destroyed.
    BearerRemoved = 4,
}

/// What happened to a bearer's pipeline.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcRfEvent {
    /// Another pipeline is in force.
    PipelineChanged = 0,
    /// The lease ended and the safe pipeline is back.
    LeaseExpired = 1,
    /// A pacer replaced `none`: SDUs that the RLC has not begun to send should be returned through
    /// `tc_rf_recall_unsent`, else they stay ahead of the new pipeline.
    RecallUnsent = 2,
    /// Another event of the service model; the next report carries it.
    Other = 3,
    /// The pacer uses a forecast from now on.
    PacedByForecast = 4,
    /// The pacer returned to its own measurements: no forecast covers the present.
    PacedByOwnMeasure = 5,
}

/// Bytes or text owned by the handle, valid until the next call with it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfBytes {
    /// First byte.
    pub data: *const u8,
    /// How many.
    pub length: usize,
}
