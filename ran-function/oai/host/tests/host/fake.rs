//! A gNB that is a fake: PDCP that numbers, an RLC queue per UE and DRB, a MAC that asks and pulls.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use e2sm_tc::v1::{
    self, BearerId, ControlHeader, ControlMessage, ControlOutcome, Pipeline, PipelineChange,
    Transaction, UeId,
};
use sojourn_gnb::{Address, Gnb, Host, Settings};

/// PDCP header with 18 bits of sequence number.
pub(crate) const PDCP_HEADER: usize = 3;
/// What RLC and MAC add to an SDU that leaves whole.
pub(crate) const BELOW: usize = 1 + 3;
pub(crate) const UE: u64 = 1;
pub(crate) const RNTI: u16 = 0x4601;
pub(crate) const LCID: u8 = 4;
pub(crate) const SLOT_US: u32 = 500;
pub(crate) const DRB: u8 = 1;

/// An SDU in the RLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InRlc {
    pub(crate) bearer: Address,
    pub(crate) sdu: Vec<u8>,
    /// Given by PDCP.
    pub(crate) sequence: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Below {
    /// Next PDCP sequence number per UE and DRB.
    sequence: BTreeMap<(u64, u8), u32>,
    pub(crate) rlc: BTreeMap<(u64, u8), VecDeque<InRlc>>,
    /// Bytes of the head SDU that were sent.
    sent_of_head: BTreeMap<(u64, u8), usize>,
    /// SDUs that left for the UE.
    pub(crate) air: Vec<InRlc>,
    pub(crate) refuse: bool,
}

impl Below {
    pub(crate) fn rlc_bytes(&self, ue: u64, drb: u8) -> u32 {
        let sent = self.sent_of_head.get(&(ue, drb)).copied().unwrap_or(0);
        let queue = self.rlc.get(&(ue, drb));
        let held =
            queue.map_or(0, |queue| queue.iter().map(|one| one.sdu.len() + PDCP_HEADER).sum());
        (held - sent) as u32
    }

    /// A transport block; returns how many bytes of it carry data.
    pub(crate) fn transmit(&mut self, ue: u64, drb: u8, block_bytes: usize) -> usize {
        let mut room = block_bytes;
        let sent = self.sent_of_head.entry((ue, drb)).or_default();
        let Some(queue) = self.rlc.get_mut(&(ue, drb)) else { return 0 };
        while room > BELOW
            && let Some(head) = queue.front()
        {
            let left = head.sdu.len() + PDCP_HEADER - *sent;
            let now = left.min(room - BELOW);
            room -= now + BELOW;
            *sent += now;
            if now == left {
                *sent = 0;
                self.air.extend(queue.pop_front());
            }
        }
        block_bytes - room
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(pub(crate) Arc<Mutex<Below>>);

impl Gnb for Fake {
    fn forward(&self, bearer: Address, sdu: &[u8]) -> Option<u32> {
        let mut below = self.0.lock().expect("unpoisoned");
        if below.refuse {
            return None;
        }
        let key = (bearer.ue, bearer.drb);
        let next = below.sequence.entry(key).or_default();
        let sequence = *next;
        *next += 1;
        let one = InRlc { bearer, sdu: sdu.to_vec(), sequence };
        below.rlc.entry(key).or_default().push_back(one);
        Some((sdu.len() + PDCP_HEADER) as u32)
    }
}

/// A host with one connected bearer, and what is below it.
pub(crate) fn host(pipeline: &str) -> (Host, Fake) {
    let fake = Fake::default();
    let settings = Settings {
        pipeline: pipeline.to_owned(),
        buffers: 4_096,
        epoch_us: 1_700_000_000_000_000,
        ..Settings::default()
    };
    let host = Host::new(Box::new(fake.clone()), settings).expect("usable settings");
    attach(&host, UE, RNTI);
    (host, fake)
}

/// Attaches a UE as OAI's control plane does.
pub(crate) fn attach(host: &Host, ue: u64, rnti: u16) {
    host.ue_is(ue, rnti, 0);
    host.bearer_up(ue, DRB, false, 0).expect("a DRB identity");
    host.channel_up(rnti, LCID, DRB);
}

/// A UDP packet of a flow with a number in its payload.
pub(crate) fn packet(flow: u16, number: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 51, 100, 1, 10, 0, 1, 2];
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    bytes.extend(flow.to_be_bytes());
    bytes.extend([0x14, 0x51, 0, 0, 0, 0]);
    bytes.extend(number.to_be_bytes());
    bytes.resize(length, 0);
    bytes
}

/// Flow and number of such a packet.
pub(crate) fn read(sdu: &[u8]) -> (u16, u32) {
    let flow = u16::from_be_bytes([sdu[20], sdu[21]]);
    (flow, u32::from_be_bytes([sdu[28], sdu[29], sdu[30], sdu[31]]))
}

/// One slot of the MAC: question, and the block if there is something to send. Bytes that the block
/// carried.
pub(crate) fn slot(host: &Host, fake: &Fake, block_bytes: u32, now_us: u64) -> Option<usize> {
    let rlc_bytes = fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB);
    let added = host.status_asked(RNTI, LCID, SLOT_US, rlc_bytes, now_us);
    let rlc_bytes = fake.0.lock().expect("unpoisoned").rlc_bytes(UE, DRB);
    if rlc_bytes + added == 0 {
        return None;
    }
    host.block_pulled(RNTI, LCID, SLOT_US, block_bytes, rlc_bytes, now_us);
    Some(fake.0.lock().expect("unpoisoned").transmit(UE, DRB, block_bytes as usize))
}

pub(crate) fn id(rnti: u16) -> BearerId {
    BearerId { ue: UeId::Rnti(rnti), drb: DRB }
}

/// A RIC control that installs a pipeline.
pub(crate) fn install(host: &Host, rnti: u16, pipeline: Pipeline, now_us: u64) -> ControlOutcome {
    let transaction = Transaction {
        bearer: id(rnti),
        expected_revision: None,
        lease_ms: Some(60_000),
        owner: None,
        as_safe: false,
        dry_run: false,
        change: PipelineChange::Replace(pipeline),
    };
    control(host, &ControlMessage::Transaction(transaction), now_us)
}

pub(crate) fn control(host: &Host, message: &ControlMessage, now_us: u64) -> ControlOutcome {
    let header = ControlHeader { style: message.style(), correlation_id: 7 };
    let header = v1::encode(&header).expect("a header");
    let outcome = host.control_v1(&header, &v1::encode(message).expect("a message"), now_us);
    v1::decode(&outcome).expect("an outcome")
}
