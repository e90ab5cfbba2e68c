//! Calls of the C interface in any order, with packets, RLC status and controls of the input. No call
//! ends with a defect, every report and outcome can be read, and every packet that was taken comes back
//! exactly once.
#![allow(unsafe_code, reason = "a C interface; each use states why it is sound")]

use std::cell::RefCell;
use std::ffi::{CString, c_void};

use e2sm_tc::v1;
use tc_rf_c::{
    TC_RF_NO_QFI, TcRf, TcRfBearer, TcRfBlockRoom, TcRfBytes, TcRfCallbacks, TcRfDrop, TcRfPacket,
    TcRfResult, TcRfReturned, TcRfRlcStatus, tc_rf_add_bearer, tc_rf_apply_template, tc_rf_backlog,
    tc_rf_buffer_status, tc_rf_control, tc_rf_create, tc_rf_destroy, tc_rf_egress,
    tc_rf_flow_report, tc_rf_ingress, tc_rf_next_deadline, tc_rf_pull, tc_rf_recall_unsent,
    tc_rf_remove_bearer, tc_rf_rlc_status, tc_rf_status_report,
};

use crate::Cursor;

/// Calls of one input.
const MOST: usize = 512;

/// Place of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Offered,
    Held,
    Forwarded(TcRfBearer),
    Dropped,
}

struct Packet {
    bytes: Box<[u8]>,
    place: Place,
}

/// The packets of the gNB; the number of one is its `sdu`.
type Packets = RefCell<Vec<Packet>>;

extern "C" fn forward(context: *mut c_void, bearer: TcRfBearer, sdu: *mut c_void) {
    returned(context, sdu, Place::Forwarded(bearer));
}

extern "C" fn dropped(
    context: *mut c_void,
    _: TcRfBearer,
    sdu: *mut c_void,
    _: TcRfDrop,
    _now_us: u64,
) {
    returned(context, sdu, Place::Dropped);
}

fn returned(context: *mut c_void, sdu: *mut c_void, place: Place) {
    // SAFETY: `Gnb::new` gave the address of its packets, which outlive the handle.
    let packets = unsafe { &*context.cast::<Packets>() };
    let mut packets = packets.borrow_mut();
    let packet = &mut packets[sdu.addr()];
    let is_here = matches!(packet.place, Place::Offered | Place::Held);
    assert!(is_here, "packet {} came back twice: {:?}", sdu.addr(), packet.place);
    packet.place = place;
}

struct Gnb {
    handle: *mut TcRf,
    packets: Box<Packets>,
    now_us: u64,
}

impl Gnb {
    fn new(seed: u64) -> Self {
        let packets = Box::new(Packets::default());
        let context = std::ptr::from_ref::<Packets>(&packets).cast_mut().cast();
        let callbacks = TcRfCallbacks {
            context,
            forward: Some(forward),
            dropped: Some(dropped),
            marked: None,
            event: None,
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: both point at values of this frame.
        let result = unsafe { tc_rf_create(&raw const callbacks, seed, &raw mut handle) };
        assert_eq!(result, TcRfResult::Ok);
        Self { handle, packets, now_us: 0 }
    }

    fn ingress(&mut self, bearer: TcRfBearer, input: &mut Cursor<'_>) {
        let qfi = input.u8();
        let qfi = if qfi > 127 { TC_RF_NO_QFI } else { qfi };
        let mut bytes = packet_bytes(input);
        let sdu = self.packets.borrow().len();
        let packet = TcRfPacket {
            sdu: std::ptr::without_provenance_mut(sdu),
            ip: bytes.as_mut_ptr(),
            length_bytes: bytes.len() as u32,
            qfi,
        };
        self.packets.borrow_mut().push(Packet { bytes, place: Place::Offered });
        // SAFETY: the handle is live; the bytes stay where they are until the handle's end.
        let result = unsafe { tc_rf_ingress(self.handle, bearer, &raw const packet, self.now_us) };
        let mut packets = self.packets.borrow_mut();
        let place = &mut packets[sdu].place;
        if result == TcRfResult::Ok {
            if *place == Place::Offered {
                *place = Place::Held;
            }
        } else {
            assert_eq!(*place, Place::Offered, "refused and handed on");
            // Still the gNB's.
            *place = Place::Dropped;
        }
        no_defect(result);
    }

    /// Gives back the newest packets that were forwarded for the bearer, oldest first.
    fn recall(&mut self, bearer: TcRfBearer, count: usize) {
        let mut packets = self.packets.borrow_mut();
        let forwarded = |packet: &Packet| packet.place == Place::Forwarded(bearer);
        let numbers: Vec<usize> =
            (0..packets.len()).filter(|number| forwarded(&packets[*number])).collect();
        let numbers = &numbers[numbers.len().saturating_sub(count)..];
        let items: Vec<TcRfReturned> = numbers
            .iter()
            .map(|number| TcRfReturned {
                packet: TcRfPacket {
                    sdu: std::ptr::without_provenance_mut(*number),
                    ip: packets[*number].bytes.as_mut_ptr(),
                    length_bytes: packets[*number].bytes.len() as u32,
                    qfi: TC_RF_NO_QFI,
                },
                arrived_us: self.now_us.saturating_sub(*number as u64),
            })
            .collect();
        numbers.iter().for_each(|number| packets[*number].place = Place::Offered);
        drop(packets);
        // SAFETY: the handle is live, the items are of this frame, their bytes stay.
        let result = unsafe {
            tc_rf_recall_unsent(self.handle, bearer, items.as_ptr(), items.len(), self.now_us)
        };
        let now = if result == TcRfResult::Ok { Place::Held } else { Place::Forwarded(bearer) };
        for number in numbers {
            let place = &mut self.packets.borrow_mut()[*number].place;
            if *place == Place::Offered {
                *place = now;
            }
        }
        no_defect(result);
    }

    fn status(&self, bearer: TcRfBearer, input: &mut Cursor<'_>) -> TcRfResult {
        let flags = input.u8();
        let status = TcRfRlcStatus {
            at_us: self.now_us.saturating_sub(input.u16().into()),
            occupancy_bytes: input.u32(),
            occupancy_packets: input.u16().into(),
            capacity_bytes_per_tti: input.u32(),
            tti_us: input.u16().into(),
            dl_opportunity: flags & 1 != 0,
            has_status_pdu: flags & 2 != 0,
            has_received_bytes: flags & 4 != 0,
            unacknowledged_packets: input.u16().into(),
            unacknowledged_bytes: input.u32(),
            removed_packets: input.u32(),
            removed_sum_us: input.u64(),
            removed_min_us: input.u32(),
            removed_max_us: input.u32(),
            status_pdu_at_us: input.u64(),
            received_bytes: input.u64(),
        };
        // SAFETY: the handle is live, the status of this frame; here and below.
        unsafe { tc_rf_rlc_status(self.handle, bearer, &raw const status, self.now_us) }
    }

    fn pull(&self, bearer: TcRfBearer, input: &mut Cursor<'_>) -> TcRfResult {
        let room = TcRfBlockRoom {
            bytes: input.u32(),
            has_next_block: input.u8() & 1 == 1,
            next_block_bytes: input.u32(),
            next_block_at_us: self.now_us.saturating_add(input.u16().into()),
        };
        let mut pulled = false;
        // SAFETY: as above.
        unsafe { tc_rf_pull(self.handle, bearer, &raw const room, self.now_us, &raw mut pulled) }
    }

    fn apply_template(&self, bearer: TcRfBearer, input: &mut Cursor<'_>) -> TcRfResult {
        let names = tc_pipelines::templates::NAMES;
        let choice = usize::from(input.u8());
        let name = names.get(choice % (names.len() + 1)).copied().unwrap_or("no template");
        let Ok(name) = CString::new(name) else { return TcRfResult::Ok };
        // SAFETY: as above.
        unsafe { tc_rf_apply_template(self.handle, bearer, name.as_ptr(), self.now_us) }
    }

    fn control(&self, input: &mut Cursor<'_>) -> TcRfResult {
        let (header, message) = (input.block(), input.block());
        let c = |bytes: &[u8]| TcRfBytes { data: bytes.as_ptr(), length: bytes.len() };
        let mut out = TcRfBytes { data: std::ptr::null(), length: 0 };
        // SAFETY: as above.
        let result =
            unsafe { tc_rf_control(self.handle, c(header), c(message), self.now_us, &raw mut out) };
        if result == TcRfResult::Ok {
            v1::decode::<v1::ControlOutcome>(read(&out)).expect("an outcome that can be read");
        }
        result
    }

    fn report(&self, bearer: TcRfBearer, top: Option<u16>) -> TcRfResult {
        let mut out = TcRfBytes { data: std::ptr::null(), length: 0 };
        // SAFETY: as above.
        let result = unsafe {
            match top {
                None => tc_rf_status_report(self.handle, bearer, self.now_us, &raw mut out),
                Some(top) => tc_rf_flow_report(self.handle, bearer, top, self.now_us, &raw mut out),
            }
        };
        if result == TcRfResult::Ok {
            v1::decode::<v1::IndicationMessage>(read(&out)).expect("a report that can be read");
        }
        result
    }

    /// A question: the backlog is that of the packets held.
    fn ask(&self, bearer: TcRfBearer) -> TcRfResult {
        let (mut bytes, mut packets, mut at_us) = (0, 0, 0);
        // SAFETY: as above.
        unsafe {
            no_defect(tc_rf_next_deadline(self.handle, bearer, self.now_us, &raw mut at_us));
            no_defect(tc_rf_buffer_status(
                self.handle,
                bearer,
                self.now_us,
                &raw mut bytes,
                &raw mut packets,
            ));
            tc_rf_backlog(self.handle, bearer, &raw mut bytes, &raw mut packets)
        }
    }

    fn end(self) {
        // SAFETY: the handle is live and not used again.
        no_defect(unsafe { tc_rf_destroy(self.handle) });
        for (number, packet) in self.packets.borrow().iter().enumerate() {
            let is_back = matches!(packet.place, Place::Forwarded(_) | Place::Dropped);
            assert!(is_back, "packet {number} did not come back: {:?}", packet.place);
        }
    }
}

fn read(bytes: &TcRfBytes) -> &[u8] {
    // SAFETY: bytes of the handle, valid until the next call with it; none comes before they are read.
    unsafe { std::slice::from_raw_parts(bytes.data, bytes.length) }
}

fn no_defect(result: TcRfResult) {
    assert_ne!(result, TcRfResult::Internal);
    assert_ne!(result, TcRfResult::Busy, "no call comes from a callback");
}

/// Protocols of tunnels: IP in IP, ESP, GRE, GTP-U, VXLAN, ESP in UDP.
const TUNNELS: [(u8, u16); 7] =
    [(4, 0), (41, 0), (50, 0), (47, 0), (17, 2152), (17, 4789), (17, 4500)];
/// Choices from here on are tunnels.
const FIRST_TUNNEL: u8 = 224;

/// An IPv4 packet with header fields of the input, one with a tunnel of the input in it, or bytes of the
/// input.
fn packet_bytes(input: &mut Cursor<'_>) -> Box<[u8]> {
    let (choice, length) = (input.u8(), input.u16());
    if choice < 32 {
        return input.bytes(length.into()).into();
    }
    let length = length.max(28);
    let mut bytes = vec![0; length.into()];
    bytes[..12].copy_from_slice(&[0x45, choice, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    // Few flows, so that they meet in queues.
    bytes[15] = input.u8() & 7;
    bytes[20..24].copy_from_slice(&[0, 80, 0, input.u8()]);
    if choice >= FIRST_TUNNEL {
        let (protocol, port) = TUNNELS[usize::from(choice - FIRST_TUNNEL) % TUNNELS.len()];
        bytes[9] = protocol;
        let mut at = 20;
        if protocol == 17 {
            bytes[22..24].copy_from_slice(&port.to_be_bytes());
            bytes[24..26].copy_from_slice(&(length - 20).to_be_bytes());
            at = 28;
        }
        let content = input.bytes(usize::from(length).saturating_sub(at).min(64));
        bytes[at..at + content.len()].copy_from_slice(content);
    }
    bytes.into()
}

pub(crate) fn check(input: &[u8]) {
    let mut input = Cursor::new(input);
    let mut gnb = Gnb::new(input.u8().into());
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        let choice = input.u8();
        let bearer = TcRfBearer { rnti: 17 + u16::from(choice >> 6 & 1), drb: 1 + (choice >> 7) };
        let (handle, now_us) = (gnb.handle, gnb.now_us);
        let result = match choice & 0x0f {
            0 => {
                // Up to 35 minutes.
                gnb.now_us += 1_u64 << input.below(32);
                TcRfResult::Ok
            }
            // SAFETY: the handle is live; here and below.
            1 => unsafe { tc_rf_add_bearer(handle, bearer, std::ptr::null(), now_us) },
            2 => unsafe { tc_rf_remove_bearer(handle, bearer, now_us) },
            3 => {
                gnb.recall(bearer, input.u8().into());
                TcRfResult::Ok
            }
            4 => gnb.status(bearer, &mut input),
            5 => unsafe { tc_rf_egress(handle, bearer, now_us) },
            6 => gnb.pull(bearer, &mut input),
            7 => gnb.apply_template(bearer, &mut input),
            8 => gnb.control(&mut input),
            9 => gnb.report(bearer, None),
            10 => gnb.report(bearer, Some(input.u16())),
            11 => gnb.ask(bearer),
            _ => {
                gnb.ingress(bearer, &mut input);
                TcRfResult::Ok
            }
        };
        no_defect(result);
    }
    gnb.end();
}
