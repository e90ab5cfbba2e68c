//! The functions of `tc_rf.h`.

use std::ffi::{CStr, c_char};

use e2sm_tc::v1::{BearerQos, SNssai};
use tc_rf::{BlockRoom, NextBlock, RlcStatus, SduDelays};

use crate::callbacks::TcRfCallbacks;
use crate::function::{Failure, Function};
use crate::handle::{self, TcRf};
use crate::packet::CPacket;
use crate::types::{
    TcRfBearer, TcRfBearerQos, TcRfBlockRoom, TcRfBytes, TcRfPacket, TcRfResult, TcRfReturned,
    TcRfRlcStatus,
};

/// Version of the library, e.g. "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tc_rf_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// What a result means, in English.
#[unsafe(no_mangle)]
pub extern "C" fn tc_rf_result_text(result: TcRfResult) -> *const c_char {
    result.text().as_ptr()
}

/// Makes a RAN function without bearers. `seed` is where all its randomness comes from.
///
/// # Safety
/// `callbacks` must be valid to read, `out` to write. The callbacks must return normally.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_create(
    callbacks: *const TcRfCallbacks,
    seed: u64,
    out: *mut *mut TcRf,
) -> TcRfResult {
    if callbacks.is_null() || out.is_null() {
        return TcRfResult::NullPointer;
    }
    // SAFETY: not null, and the caller vouches for it.
    let callbacks = unsafe { *callbacks };
    if callbacks.forward.is_none() || callbacks.dropped.is_none() {
        return TcRfResult::NullPointer;
    }
    let handle = Box::new(TcRf::new(Function::new(callbacks, seed)));
    // SAFETY: as above.
    unsafe { *out = Box::into_raw(handle) };
    TcRfResult::Ok
}

/// Ends a RAN function; queued packets come back through `dropped`. Null is allowed.
///
/// # Safety
/// `handle` must come from `tc_rf_create`, no other thread may be in a call with it, and it must not
/// be used again, unless the result is `TC_RF_RESULT_BUSY`: then it still is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_destroy(handle: *mut TcRf) -> TcRfResult {
    // SAFETY: the caller passes null or a handle from `tc_rf_create`.
    let Some(reference) = (unsafe { handle.as_ref() }) else { return TcRfResult::Ok };
    let result = reference.call(|function| {
        function.remove_all();
        Ok(())
    });
    if result != TcRfResult::Busy {
        // SAFETY: it was made by `Box::into_raw` and is not used again.
        drop(unsafe { Box::from_raw(handle) });
    }
    result
}

/// What was wrong in the calling thread's last call that failed; valid until its next call that
/// fails.
///
/// # Safety
/// `handle` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_last_error(handle: *const TcRf) -> *const c_char {
    // SAFETY: the caller passes null or a live handle.
    unsafe { handle.as_ref() }.map_or(c"handle is null".as_ptr(), |_| handle::last_error())
}

/// Adds a bearer, with the transparent pipeline as its initial one. Where a RIC has set a node
/// default, the bearer starts with the pipeline of the first rule that matches; `qos` is what rules
/// match beside the DRB identity, null if it is not known. To be called before the bearer's first
/// packet.
///
/// # Safety
/// `handle` must be null or live, `qos` null or valid to read, as must be what it points at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_add_bearer(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    qos: *const TcRfBearerQos,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let qos = match qos.as_ref() {
                Some(qos) => qos_of(qos)?,
                None => BearerQos::default(),
            };
            function.add(bearer, qos, now_us)
        })
    }
}

/// Removes a bearer; its queued packets come back through `dropped`.
///
/// # Safety
/// `handle` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_remove_bearer(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe { call(handle, |function| function.remove(bearer, now_us)) }
}

/// Takes a downlink packet. With `TC_RF_RESULT_OK` it is the library's until `forward` or
/// `dropped` names it, which may be within this call; else it still is the caller's.
///
/// # Safety
/// `handle` must be null or live, `packet` null or valid to read; what `packet.ip` points at must
/// be as documented there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_ingress(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    packet: *const TcRfPacket,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let packet = packet.as_ref().ok_or_else(|| null("packet"))?;
            let packet = CPacket::read(packet)?;
            function.with(bearer, |control, sink| {
                control.ingress(packet, now_us, sink);
            })
        })
    }
}

/// Returns forwarded packets that the RLC has not begun to send, oldest first:
/// all of them are taken or, with another result than `TC_RF_RESULT_OK`, none. See
/// `TC_RF_EVENT_RECALL_UNSENT`.
///
/// # Safety
/// `handle` must be null or live, `packets` valid for `count` of them, each as for
/// `tc_rf_ingress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_recall_unsent(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    packets: *const TcRfReturned,
    count: usize,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            if count == 0 {
                return Ok(());
            }
            if packets.is_null() {
                return Err(null("packets"));
            }
            let returned = std::slice::from_raw_parts(packets, count);
            let read = |item: &TcRfReturned| Ok((CPacket::read(&item.packet)?, item.arrived_us));
            let packets = returned.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
            function.with(bearer, |control, _| {
                control.recall_unsent(packets.into_iter(), now_us);
            })
        })
    }
}

/// Reports the state of a bearer's RLC buffer. Call `tc_rf_egress` after it.
///
/// # Safety
/// `handle` must be null or live, `status` null or valid to read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_rlc_status(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    status: *const TcRfRlcStatus,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let status = status.as_ref().ok_or_else(|| null("status"))?;
            if status.tti_us == 0 {
                let detail = "status.tti_us: 0; expected the length of a slot in µs".to_owned();
                return Err((TcRfResult::OutOfRange, detail));
            }
            let status = RlcStatus {
                at_us: status.at_us,
                occupancy_bytes: status.occupancy_bytes,
                occupancy_packets: status.occupancy_packets,
                capacity_bytes_per_tti: status.capacity_bytes_per_tti,
                tti_us: status.tti_us,
                dl_opportunity: status.dl_opportunity,
                unacknowledged_packets: status.unacknowledged_packets,
                unacknowledged_bytes: status.unacknowledged_bytes,
                removed: SduDelays {
                    count: status.removed_packets,
                    sum_us: status.removed_sum_us,
                    min_us: status.removed_min_us,
                    max_us: status.removed_max_us,
                },
                status_pdu_at_us: status.has_status_pdu.then_some(status.status_pdu_at_us),
                received_bytes: status.has_received_bytes.then_some(status.received_bytes),
            };
            function.with(bearer, |control, _| {
                control.rlc_status(&status, now_us);
            })
        })
    }
}

/// Forwards, through `forward`, what may go to PDCP now.
///
/// # Safety
/// `handle` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_egress(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe { call(handle, |function| function.egress(bearer, now_us)) }
}

/// Packets that can be pulled in the slot that the MAC is about to schedule, to be added to the RLC's
/// buffer status. Zero unless the pacer is `just_in_time`.
///
/// # Safety
/// `handle` must be null or live, `bytes` and `packets` null (not wanted) or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_buffer_status(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    now_us: u64,
    bytes: *mut u64,
    packets: *mut u32,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let waiting = function.buffer_status(bearer, now_us)?;
            if let Some(bytes) = bytes.as_mut() {
                *bytes = waiting.bytes;
            }
            if let Some(packets) = packets.as_mut() {
                *packets = waiting.packets;
            }
            Ok(())
        })
    }
}

/// Forwards, through `forward`, the next packet for the transport block that the MAC builds; `pulled`
/// is whether there was one. To be called, after `tc_rf_buffer_status` for the slot, until the RLC holds what the
/// block carries or there is none.
///
/// # Safety
/// `handle` must be null or live, `room` null or valid to read, `pulled` null or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_pull(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    room: *const TcRfBlockRoom,
    now_us: u64,
    pulled: *mut bool,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let room = room.as_ref().ok_or_else(|| null("room"))?;
            let pulled = pulled.as_mut().ok_or_else(|| null("pulled"))?;
            let next = NextBlock { at_us: room.next_block_at_us, bytes: room.next_block_bytes };
            let next_block = room.has_next_block.then_some(next);
            *pulled =
                function.pull(bearer, &BlockRoom { bytes: room.bytes, next_block }, now_us)?;
            Ok(())
        })
    }
}

/// The next time at which `tc_rf_egress` may forward something without further input, µs; `UINT64_MAX` for never.
///
/// # Safety
/// `handle` must be null or live, `out` null or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_next_deadline(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    now_us: u64,
    out: *mut u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let out = out.as_mut().ok_or_else(|| null("out"))?;
            let deadline_us =
                function.with(bearer, |control, _| control.next_deadline_us(now_us))?;
            *out = deadline_us.unwrap_or(u64::MAX);
            Ok(())
        })
    }
}

/// Bytes and packets queued in a bearer's pipeline.
///
/// # Safety
/// `handle` must be null or live, `bytes` and `packets` null (not wanted) or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_backlog(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    bytes: *mut u64,
    packets: *mut u32,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            let (held_bytes, held_packets) = function
                .with(bearer, |control, _| (control.backlog_bytes(), control.backlog_packets()))?;
            if let Some(bytes) = bytes.as_mut() {
                *bytes = held_bytes;
            }
            if let Some(packets) = packets.as_mut() {
                *packets = held_packets;
            }
            Ok(())
        })
    }
}

/// Installs a template ("fq_codel", "bdp_only", …) without a RIC and without a lease.
///
/// # Safety
/// `handle` must be null or live, `template_name` null or a text that ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_apply_template(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    template_name: *const c_char,
    now_us: u64,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call(handle, |function| {
            if template_name.is_null() {
                return Err(null("template_name"));
            }
            let name = CStr::from_ptr(template_name).to_string_lossy();
            function.apply_template(bearer, &name, now_us)
        })
    }
}

/// Executes a RIC control of E2SM-TC v1. A refusal is `TC_RF_RESULT_OK` too: `outcome` carries it,
/// with cause and element, and is what the E2 agent sends back.
///
/// # Safety
/// `handle` must be null or live, `header` and `message` valid for their lengths, `outcome` null
/// or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_control(
    handle: *mut TcRf,
    header: TcRfBytes,
    message: TcRfBytes,
    now_us: u64,
    outcome: *mut TcRfBytes,
) -> TcRfResult {
    // SAFETY: as documented under Safety, here and below.
    unsafe {
        call_for_bytes(handle, outcome, |function| {
            Ok(function.control(bytes_of(&header)?, bytes_of(&message)?, now_us))
        })
    }
}

/// The state of a bearer's pipeline: an indication message of E2SM-TC v1, report style 1.
///
/// # Safety
/// `handle` must be null or live, `out` null or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_status_report(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    now_us: u64,
    out: *mut TcRfBytes,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe { call_for_bytes(handle, out, |function| function.status(bearer, now_us)) }
}

/// The `top` largest flows of a bearer: an indication message of E2SM-TC v1, report style 2.
///
/// # Safety
/// `handle` must be null or live, `out` null or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_flow_report(
    handle: *mut TcRf,
    bearer: TcRfBearer,
    top: u16,
    now_us: u64,
    out: *mut TcRfBytes,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe { call_for_bytes(handle, out, |function| function.flows(bearer, top, now_us)) }
}

/// The RAN function definition for E2 setup.
///
/// # Safety
/// `handle` must be null or live, `out` null or valid to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tc_rf_ran_function_definition(
    handle: *mut TcRf,
    out: *mut TcRfBytes,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe { call_for_bytes(handle, out, |_| Function::definition()) }
}

/// # Safety
/// `handle` must be null or live.
unsafe fn call(
    handle: *mut TcRf,
    call: impl FnOnce(&Function) -> Result<(), Failure>,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe { handle.as_ref() }.map_or(TcRfResult::NullPointer, |handle| handle.call(call))
}

/// # Safety
/// `handle` must be null or live, `out` null or valid to write.
unsafe fn call_for_bytes(
    handle: *mut TcRf,
    out: *mut TcRfBytes,
    call: impl FnOnce(&Function) -> Result<Vec<u8>, Failure>,
) -> TcRfResult {
    // SAFETY: as documented under Safety.
    unsafe {
        handle.as_ref().map_or(TcRfResult::NullPointer, |handle| handle.call_for_bytes(out, call))
    }
}

/// # Safety
/// `qos.five_qis` must be valid for `qos.five_qi_count`, or that 0.
unsafe fn qos_of(qos: &TcRfBearerQos) -> Result<BearerQos, Failure> {
    const MOST_FIVE_QIS: usize = 64;
    const MAX_SD: u32 = 0xff_ffff;
    if qos.five_qi_count > MOST_FIVE_QIS {
        let detail = format!("qos.five_qi_count: {}; expected at most 64", qos.five_qi_count);
        return Err((TcRfResult::OutOfRange, detail));
    }
    if qos.has_sd && qos.sd > MAX_SD {
        let detail = format!("qos.sd: {}; expected at most {MAX_SD}", qos.sd);
        return Err((TcRfResult::OutOfRange, detail));
    }
    let five_qis = TcRfBytes { data: qos.five_qis, length: qos.five_qi_count };
    // SAFETY: as documented under Safety.
    let five_qis = unsafe { bytes_of(&five_qis) }?.to_vec();
    let sd = qos.has_sd.then_some(qos.sd);
    let s_nssai = qos.has_s_nssai.then_some(SNssai { sst: qos.sst, sd });
    Ok(BearerQos { five_qis, s_nssai })
}

/// # Safety
/// `bytes.data` must be valid for `bytes.length`, or the length 0.
unsafe fn bytes_of(bytes: &TcRfBytes) -> Result<&[u8], Failure> {
    if bytes.length == 0 {
        return Ok(&[]);
    }
    if bytes.data.is_null() {
        return Err(null("data"));
    }
    // SAFETY: not null, and the caller vouches for the length.
    Ok(unsafe { std::slice::from_raw_parts(bytes.data, bytes.length) })
}

fn null(what: &str) -> Failure {
    (TcRfResult::NullPointer, format!("{what} is null"))
}
