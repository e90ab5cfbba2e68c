//! FlexRIC's agent: the boundary to `c/`.
#![allow(unsafe_code)]

use std::{
    ffi::{CString, NulError, c_char, c_int, c_void},
    net::Ipv4Addr,
    slice,
};

use crate::node::{Node, PlainReport};

/// `node_t` of `c/node.h`.
#[repr(C)]
struct NodeIo {
    context: *const c_void,
    latest: extern "C" fn(*const c_void, u32, *mut u8, usize) -> usize,
    control: extern "C" fn(*const c_void, *const u8, usize, *const u8, usize),
    kpm_begin: extern "C" fn(*const c_void, usize) -> usize,
    kpm_rnti: extern "C" fn(*const c_void, usize) -> u32,
    kpm_value: extern "C" fn(*const c_void, usize, *const u8, usize, *mut f64) -> bool,
    tc_definition: extern "C" fn(*const c_void, *mut u8, usize) -> usize,
    tc_subscribe: TcSubscribe,
    tc_unsubscribe: extern "C" fn(*const c_void, u32),
    tc_report: TcReport,
    tc_control: TcControl,
}

type TcSubscribe = extern "C" fn(
    *const c_void,
    u32,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
    usize,
    *mut usize,
) -> u32;
type TcReport = extern "C" fn(
    *const c_void,
    u32,
    *mut u8,
    usize,
    *mut usize,
    *mut u8,
    usize,
    *mut usize,
) -> bool;
type TcControl =
    extern "C" fn(*const c_void, *const u8, usize, *const u8, usize, *mut u8, usize) -> usize;

unsafe extern "C" {
    fn node_start(
        ric_address: *const c_char,
        libraries: *const c_char,
        mcc: c_int,
        mnc: c_int,
        mnc_digits: c_int,
        nb_id: c_int,
        io: NodeIo,
    );
    fn node_stop();
}

/// The global node id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Mobile country code.
    pub mcc: u16,
    /// Mobile network code.
    pub mnc: u16,
    /// Digits of the mobile network code.
    pub mnc_digits: u8,
    /// gNB id; two nodes of one id make the near-RT RIC abort.
    pub nb_id: u32,
}

/// A running agent; dropping it ends its association.
///
/// FlexRIC supports one agent per process, also after the first has ended.
#[derive(Debug)]
pub struct Agent {
    // The agent's thread reads it until `node_stop` returns.
    _node: Box<Node>,
    // It keeps the pointer.
    _ric: CString,
}

impl Agent {
    /// Connects to the near-RT RIC. On failure FlexRIC prints the cause and aborts.
    ///
    /// # Errors
    /// When the folder of service models has a NUL in its name.
    pub fn start(
        node: Node,
        identity: Identity,
        ric: Ipv4Addr,
        libraries: &str,
    ) -> Result<Self, NulError> {
        let ric = CString::new(ric.to_string())?;
        let libraries = CString::new(libraries)?;
        let node = Box::new(node);
        let io = NodeIo {
            context: (&raw const *node).cast(),
            latest,
            control,
            kpm_begin,
            kpm_rnti,
            kpm_value,
            tc_definition,
            tc_subscribe,
            tc_unsubscribe,
            tc_report,
            tc_control,
        };
        // SAFETY: both strings end with NUL; `ric` and `node` are on the heap and outlive the agent's
        // thread, which `drop` ends; `node_start` copies `libraries`. `NodeIo` is laid out as `node_t`.
        unsafe {
            node_start(
                ric.as_ptr(),
                libraries.as_ptr(),
                c_int::from(identity.mcc),
                c_int::from(identity.mnc),
                c_int::from(identity.mnc_digits),
                // At most 2^31, as `--nb-id` checks.
                identity.nb_id as c_int,
                io,
            );
        }
        Ok(Self { _node: node, _ric: ric })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // SAFETY: `node_start` was called, once; its thread is joined here and touches `node` no more.
        unsafe { node_stop() }
    }
}

/// The node behind a context.
fn node<'a>(context: *const c_void) -> &'a Node {
    // SAFETY: `context` is the box of `Agent`, which is there and unmoved for as long as C calls; all
    // its methods take `&self` and `Node` is `Sync`.
    unsafe { &*context.cast::<Node>() }
}

/// Bytes of C, valid during the call.
fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: C hands over an array of `len` initialised bytes that it leaves alone during the call.
    unsafe { slice::from_raw_parts(start, len) }
}

extern "C" fn latest(context: *const c_void, report: u32, out: *mut u8, capacity: usize) -> usize {
    let report = match report {
        0 => PlainReport::Mac,
        1 => PlainReport::Rlc,
        2 => PlainReport::Tc,
        _ => return 0,
    };
    node(context).latest(report).map_or(0, |message| put(&message, out, capacity))
}

/// Copies bytes into an array of C, if they fit; returns how many.
fn put(bytes: &[u8], out: *mut u8, capacity: usize) -> usize {
    if bytes.len() > capacity {
        return 0;
    }
    // SAFETY: `out` is C's own array of `capacity` bytes, which `bytes` does not exceed.
    unsafe { out.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    bytes.len()
}

extern "C" fn tc_definition(context: *const c_void, out: *mut u8, capacity: usize) -> usize {
    put(node(context).tc_definition(), out, capacity)
}

extern "C" fn tc_subscribe(
    context: *const c_void,
    request: u32,
    trigger: *const u8,
    trigger_len: usize,
    action: *const u8,
    action_len: usize,
    reason: *mut u8,
    capacity: usize,
    reason_len: *mut usize,
) -> u32 {
    let (trigger, action) = (bytes(trigger, trigger_len), bytes(action, action_len));
    node(context).tc_subscribe(request, trigger, action).unwrap_or_else(|text| {
        let end = (0..=capacity.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        let written = put(&text.as_bytes()[..end.unwrap_or(0)], reason, capacity);
        // SAFETY: `reason_len` points to a number of the caller.
        unsafe { reason_len.write(written) }
        0
    })
}

extern "C" fn tc_unsubscribe(context: *const c_void, request: u32) {
    node(context).tc_unsubscribe(request);
}

extern "C" fn tc_report(
    context: *const c_void,
    request: u32,
    header: *mut u8,
    header_capacity: usize,
    header_len: *mut usize,
    message: *mut u8,
    message_capacity: usize,
    message_len: *mut usize,
) -> bool {
    let Some(report) = node(context).tc_report(request, message_capacity) else { return false };
    // SAFETY: both lengths point to numbers of the caller.
    unsafe {
        header_len.write(put(&report.header, header, header_capacity));
        message_len.write(put(&report.message, message, message_capacity));
    }
    true
}

extern "C" fn tc_control(
    context: *const c_void,
    header: *const u8,
    header_len: usize,
    message: *const u8,
    message_len: usize,
    outcome: *mut u8,
    capacity: usize,
) -> usize {
    let (header, message) = (bytes(header, header_len), bytes(message, message_len));
    node(context).tc_control(header, message).map_or(0, |written| put(&written, outcome, capacity))
}

extern "C" fn control(
    context: *const c_void,
    header: *const u8,
    header_len: usize,
    message: *const u8,
    message_len: usize,
) {
    node(context).control(bytes(header, header_len), bytes(message, message_len));
}

extern "C" fn kpm_begin(context: *const c_void, subscription: usize) -> usize {
    node(context).begin_kpm(subscription)
}

extern "C" fn kpm_rnti(context: *const c_void, ue: usize) -> u32 {
    node(context).kpm_ue(ue).map_or(0, |ue| ue.rnti.into())
}

extern "C" fn kpm_value(
    context: *const c_void,
    ue: usize,
    name: *const u8,
    name_len: usize,
    value: *mut f64,
) -> bool {
    let measured = std::str::from_utf8(bytes(name, name_len))
        .ok()
        .and_then(|name| node(context).kpm_ue(ue)?.value(name.trim_end_matches('\0')));
    if let Some(measured) = measured {
        // SAFETY: `value` points to a double of the caller.
        unsafe { value.write(measured) }
    }
    measured.is_some()
}
