//! `sojourn_gnb.h`: the host in C.
#![allow(unsafe_code, reason = "pointers from C; each use states why it is sound")]

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use crate::gnb::{Address, Gnb};
use crate::{Host, Settings, Taken};

/// RNTI of a UE that RLC and MAC do not know yet.
pub const SOJOURN_GNB_NO_RNTI: u32 = u32::MAX;

/// A bearer of the gNB.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SojournGnbBearer {
    /// UE as PDCP names it: in OAI the CU's UE id.
    pub ue: u64,
    /// RNTI, or `SOJOURN_GNB_NO_RNTI`.
    pub rnti: u32,
    /// DRB identity, 1 to 32.
    pub drb: u8,
}

/// Functions of the gNB.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SojournGnbFunctions {
    /// First argument of each function; never dereferenced.
    pub context: *mut c_void,
    /// Hands an SDU to PDCP, and through it to the RLC before it returns. Bytes that the RLC got;
    /// negative if PDCP refused it. Called by the thread that is in a call of the host; must not call
    /// the host.
    pub forward: Option<
        extern "C" fn(
            context: *mut c_void,
            bearer: SojournGnbBearer,
            sdu: *const u8,
            length: u32,
        ) -> i64,
    >,
}

/// Settings.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SojournGnbSettings {
    /// Template of the pipeline that bearers start with; null for `transparent`.
    pub pipeline: *const c_char,
    /// Buffers of 2 KiB for SDUs that wait; 0 for the default, 16384.
    pub buffers: u32,
    /// Source of all randomness.
    pub seed: u64,
    /// Time 0 of the calls' clock, in µs of Unix time.
    pub epoch_us: u64,
}

/// The TC RAN function of a gNB. All calls may come from any thread; times are µs of one monotonic clock.
#[derive(Debug)]
pub struct SojournGnb {
    host: Host,
}

struct Functions(SojournGnbFunctions);

// SAFETY: the context is never dereferenced, and whoever makes a host promises that `forward` may be
// called from every thread that calls the host.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl Gnb for Functions {
    fn forward(&self, bearer: Address, sdu: &[u8]) -> Option<u32> {
        let rnti = bearer.rnti.map_or(SOJOURN_GNB_NO_RNTI, u32::from);
        let bearer = SojournGnbBearer { ue: bearer.ue, rnti, drb: bearer.drb };
        let forward = self.0.forward?;
        u32::try_from(forward(self.0.context, bearer, sdu.as_ptr(), sdu.len() as u32)).ok()
    }
}

/// Version of the library, e.g. "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_gnb_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Makes a host. Null if that is not possible: `error`, unless null, then has the reason, cut to
/// `capacity` bytes with its NUL.
///
/// # Safety
/// `functions` and `settings` must be valid to read, `error` null or valid for `capacity` bytes. The
/// functions must return normally and may be called from each thread that calls the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_create(
    functions: *const SojournGnbFunctions,
    settings: *const SojournGnbSettings,
    error: *mut c_char,
    capacity: usize,
) -> *mut SojournGnb {
    // SAFETY: as documented under Safety, here and below.
    let make = || unsafe {
        let functions = functions.as_ref().filter(|functions| functions.forward.is_some());
        let functions = functions.ok_or("functions.forward is null".to_owned())?;
        let given = settings.as_ref().ok_or("settings is null".to_owned())?;
        let mut settings =
            Settings { seed: given.seed, epoch_us: given.epoch_us, ..Settings::default() };
        if !given.pipeline.is_null() {
            settings.pipeline = CStr::from_ptr(given.pipeline).to_string_lossy().into_owned();
        }
        if given.buffers != 0 {
            settings.buffers = given.buffers as usize;
        }
        Host::new(Box::new(Functions(*functions)), settings).map_err(|error| error.to_string())
    };
    let detail = match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Ok(host)) => return Box::into_raw(Box::new(SojournGnb { host })),
        Ok(Err(detail)) => detail,
        Err(_) => "a defect inside".to_owned(),
    };
    // SAFETY: as documented under Safety.
    unsafe { write_text(detail.as_bytes(), error, capacity) };
    std::ptr::null_mut()
}

/// Ends a host; what waits is lost. Null is allowed.
///
/// # Safety
/// `gnb` must come from `sojourn_gnb_create`, and no other call with it may be running or follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_destroy(gnb: *mut SojournGnb) {
    if !gnb.is_null() {
        // SAFETY: it was made by `Box::into_raw` and is not used again.
        drop(unsafe { Box::from_raw(gnb) });
    }
}

/// A DRB was set up; `sdap_header` is whether its SDUs begin with a downlink SDAP header. False if the
/// host does not serve it.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_bearer_up(
    gnb: *mut SojournGnb,
    ue: u64,
    drb: u8,
    sdap_header: bool,
    now_us: u64,
) -> bool {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, false, |host| host.bearer_up(ue, drb, sdap_header, now_us).is_ok()) }
}

/// A DRB was released; what waits for it is dropped.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_bearer_down(
    gnb: *mut SojournGnb,
    ue: u64,
    drb: u8,
    now_us: u64,
) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.bearer_down(ue, drb, now_us)) }
}

/// A UE was removed with all its DRBs.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_ue_gone(gnb: *mut SojournGnb, ue: u64, now_us: u64) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.ue_gone(ue, now_us)) }
}

/// RLC and MAC call the UE by this RNTI from now on.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_ue_is(gnb: *mut SojournGnb, ue: u64, rnti: u16, now_us: u64) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.ue_is(ue, rnti, now_us)) }
}

/// A logical channel of a UE carries a DRB.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_channel_up(
    gnb: *mut SojournGnb,
    rnti: u16,
    lcid: u8,
    drb: u8,
) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.channel_up(rnti, lcid, drb)) }
}

/// A logical channel was released.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_channel_down(gnb: *mut SojournGnb, rnti: u16, lcid: u8) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.channel_down(rnti, lcid)) }
}

/// The RLC removed a UE.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_rnti_gone(gnb: *mut SojournGnb, rnti: u16) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.rnti_gone(rnti)) }
}

/// The RLC calls a UE by another RNTI.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_rnti_changed(gnb: *mut SojournGnb, from: u16, to: u16) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.rnti_changed(from, to)) }
}

/// A downlink SDU, before PDCP numbers it. True if the host took it (it is copied); else the gNB goes
/// on with it as without the host.
///
/// # Safety
/// `gnb` must be null or live, `sdu` valid for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_packet_in(
    gnb: *mut SojournGnb,
    ue: u64,
    drb: u8,
    sdu: *const u8,
    length: u32,
    now_us: u64,
) -> bool {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, false, |host| {
            host.packet_in(ue, drb, bytes(sdu, length as usize), now_us) == Taken::Yes
        })
    }
}

/// The MAC asks, in a slot of `slot_us`, for the status of an RLC buffer that holds `rlc_bytes`; returns
/// the bytes to add.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_status_asked(
    gnb: *mut SojournGnb,
    rnti: u16,
    lcid: u8,
    slot_us: u32,
    rlc_bytes: u32,
    now_us: u64,
) -> u32 {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, 0, |host| host.status_asked(rnti, lcid, slot_us, rlc_bytes, now_us)) }
}

/// The MAC is about to take `block_bytes` from the RLC, which holds `rlc_bytes`, in a slot of `slot_us`:
/// hands down what fills the block.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_block_pulled(
    gnb: *mut SojournGnb,
    rnti: u16,
    lcid: u8,
    slot_us: u32,
    block_bytes: u32,
    rlc_bytes: u32,
    now_us: u64,
) {
    let pulled =
        |host: &Host| host.block_pulled(rnti, lcid, slot_us, block_bytes, rlc_bytes, now_us);
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), pulled) }
}

/// A slot of a cell has passed, in which calls of the host by the thread that schedules took `own_ns`
/// together, and what the host called for them, PDCP and RLC, `below_ns`; 0 if there was none. Cells
/// count from 0. Slots are the time of the radio: a pipeline that waits for the MAC's questions counts it,
/// where it lags behind the clock of `now_us`.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_slot_took(
    gnb: *mut SojournGnb,
    cell: u32,
    slot_us: u32,
    own_ns: u64,
    below_ns: u64,
) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.slot_took(cell, slot_us, own_ns, below_ns)) }
}

/// Does the housekeeping. To be called a few times per second by a thread that is not real-time.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_poll(gnb: *mut SojournGnb, now_us: u64) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.poll(now_us)) }
}

/// State of all bearers and events since the call before, as JSON with its NUL. Length without the NUL;
/// 0 if it does not fit.
///
/// # Safety
/// `gnb` must be null or live, `out` valid for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_status(
    gnb: *mut SojournGnb,
    now_us: u64,
    out: *mut c_char,
    capacity: usize,
) -> usize {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, 0, |host| {
            let text = serde_json::to_vec(&host.status(now_us)).unwrap_or_default();
            if text.len() >= capacity {
                return 0;
            }
            write_text(&text, out, capacity);
            text.len()
        })
    }
}

/// A RIC control of E2SM-TC v1. Writes the outcome, which may be a refusal; its length, 0 if it does not
/// fit.
///
/// # Safety
/// `gnb` must be null or live, `header` and `message` valid for their lengths, `out` for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_control_v1(
    gnb: *mut SojournGnb,
    header: *const u8,
    header_length: usize,
    message: *const u8,
    message_length: usize,
    now_us: u64,
    out: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, 0, |host| {
            let header = bytes(header, header_length);
            let outcome = host.control_v1(header, bytes(message, message_length), now_us);
            write(&outcome, out, capacity)
        })
    }
}

/// Begins a subscription of E2SM-TC v1: `EventTrigger` and `ActionDefinition`. The period at which to
/// ask for its reports, ms; 0 if it is refused: `error`, unless null, then has the reason, cut to
/// `capacity` bytes with its NUL.
///
/// # Safety
/// `gnb` must be null or live, `trigger` and `action` valid for their lengths, `error` null or valid for
/// `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_subscribe_v1(
    gnb: *mut SojournGnb,
    request: u32,
    trigger: *const u8,
    trigger_length: usize,
    action: *const u8,
    action_length: usize,
    error: *mut c_char,
    capacity: usize,
) -> u32 {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, 0, |host| {
            let trigger = bytes(trigger, trigger_length);
            match host.subscribe_v1(request, trigger, bytes(action, action_length)) {
                Ok(period_ms) => period_ms,
                Err(detail) => {
                    write_text(detail.as_bytes(), error, capacity);
                    0
                }
            }
        })
    }
}

/// Ends a subscription.
///
/// # Safety
/// `gnb` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_unsubscribe_v1(gnb: *mut SojournGnb, request: u32) {
    // SAFETY: as documented under Safety.
    unsafe { call(gnb, (), |host| host.unsubscribe_v1(request)) }
}

/// The report of a subscription that is due now. Writes header and message; length of the message, 0 if
/// there is none or it does not fit.
///
/// # Safety
/// `gnb` must be null or live, `header` valid for `header_capacity` bytes, `header_length` null or valid
/// to write, `message` valid for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_report_v1(
    gnb: *mut SojournGnb,
    request: u32,
    now_us: u64,
    header: *mut u8,
    header_capacity: usize,
    header_length: *mut usize,
    message: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, 0, |host| {
            let Some((head, body)) = host.report_v1(request, capacity, now_us) else { return 0 };
            let written = write(&head, header, header_capacity);
            if written == 0 || header_length.is_null() {
                return 0;
            }
            *header_length = written;
            write(&body, message, capacity)
        })
    }
}

/// The RAN function definition of E2SM-TC v1 for E2 setup; its length, 0 if it does not fit.
///
/// # Safety
/// `out` must be valid for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_definition_v1(out: *mut u8, capacity: usize) -> usize {
    let definition = catch_unwind(Host::definition_v1).ok().flatten().unwrap_or_default();
    // SAFETY: as documented under Safety.
    unsafe { write(&definition, out, capacity) }
}

/// A RIC control of TC v0. True if it was applied; else `error`, unless null, has the reason, cut to
/// `capacity` bytes with its NUL.
///
/// # Safety
/// `gnb` must be null or live, `header` and `message` valid for their lengths, `error` null or valid for
/// `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_control_v0(
    gnb: *mut SojournGnb,
    header: *const u8,
    header_length: usize,
    message: *const u8,
    message_length: usize,
    now_us: u64,
    error: *mut c_char,
    capacity: usize,
) -> bool {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, false, |host| {
            let header = bytes(header, header_length);
            match host.control_v0(header, bytes(message, message_length), now_us) {
                Ok(()) => true,
                Err(detail) => {
                    write_text(detail.as_bytes(), error, capacity);
                    false
                }
            }
        })
    }
}

/// The indication message of TC v0; its length, 0 if there is none or it does not fit.
///
/// # Safety
/// `gnb` must be null or live, `out` valid for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_gnb_report_v0(
    gnb: *mut SojournGnb,
    now_us: u64,
    out: *mut u8,
    capacity: usize,
) -> usize {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(gnb, 0, |host| write(&host.report_v0(now_us).unwrap_or_default(), out, capacity))
    }
}

/// A call; `otherwise` without a host, and after a defect outside of any bearer.
///
/// # Safety
/// `gnb` must be null or live.
unsafe fn call<R>(gnb: *mut SojournGnb, otherwise: R, act: impl FnOnce(&Host) -> R) -> R {
    // SAFETY: as documented under Safety.
    match unsafe { gnb.as_ref() } {
        None => otherwise,
        Some(gnb) => catch_unwind(AssertUnwindSafe(|| act(&gnb.host))).unwrap_or(otherwise),
    }
}

/// # Safety
/// `start` must be valid for `length` bytes, or the length 0.
unsafe fn bytes<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if start.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: not null, and the caller vouches for the length.
    unsafe { slice::from_raw_parts(start, length) }
}

/// # Safety
/// `out` must be null or valid for `capacity` bytes.
unsafe fn write(value: &[u8], out: *mut u8, capacity: usize) -> usize {
    if out.is_null() || value.len() > capacity {
        return 0;
    }
    // SAFETY: not null, and large enough.
    unsafe { out.copy_from_nonoverlapping(value.as_ptr(), value.len()) };
    value.len()
}

/// # Safety
/// `out` must be null or valid for `capacity` bytes.
unsafe fn write_text(text: &[u8], out: *mut c_char, capacity: usize) {
    if out.is_null() || capacity == 0 {
        return;
    }
    let length = text.len().min(capacity - 1);
    // SAFETY: not null, and large enough for the text and its NUL.
    unsafe {
        out.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), length);
        *out.add(length) = 0;
    }
}
