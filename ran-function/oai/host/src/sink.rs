//! What becomes of the pipeline's decisions: packets to PDCP, drops to the counts, events to the
//! log.

use e2sm_tc::v1::EventKind;
use tc_rf::{DropReason, EventSink};

use crate::counts::Counts;
use crate::events::{Event, Happening};
use crate::gnb::Address;
use crate::sdu::Sdu;
use crate::surroundings::Surroundings;

pub(crate) struct Sink<'a> {
    around: &'a Surroundings,
    counts: &'a Counts,
    bearer: Address,
    /// Bytes that the RLC got through this sink.
    pub(crate) forwarded_bytes: u64,
    now_us: u64,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(
        around: &'a Surroundings,
        counts: &'a Counts,
        bearer: Address,
        now_us: u64,
    ) -> Self {
        Self { around, counts, bearer, forwarded_bytes: 0, now_us }
    }

    /// Hands an SDU down; bytes that the RLC got.
    pub(crate) fn forward(&mut self, sdu: &[u8]) -> Option<u32> {
        self.counts.forwarded.add(1);
        self.counts.forwarded_bytes.add(sdu.len() as u64);
        let in_rlc = self.around.gnb.forward(self.bearer, sdu);
        match in_rlc {
            Some(bytes) => self.forwarded_bytes += u64::from(bytes),
            None => self.counts.refused_by_pdcp.add(1),
        }
        in_rlc
    }
}

impl EventSink<Sdu> for Sink<'_> {
    fn dropped(&mut self, _sdu: Sdu, _reason: DropReason, _now_us: u64) {
        self.counts.dropped_by_pipeline.add(1);
    }

    fn marked(&mut self, _sdu: &Sdu, _now_us: u64) {
        self.counts.marked.add(1);
    }

    fn pipeline(&mut self, kind: EventKind) {
        self.around.events.push(Event {
            at_us: self.now_us,
            bearer: self.bearer,
            what: Happening::Pipeline(kind),
        });
    }
}
