//! One bearer: its TC pipeline in the CU, its RLC in the DU, and what is measured of both.

use e2sm_tc::v1::EventKind;
use ran::BearerIndex;
use tc_rf::{DropReason, EventSink, SduDelays, TrafficControl};

use super::delays::Delays;
use super::drql_limit::DrqlLimit;
use super::f1::F1Bearer;
use super::packet::GnbPacket;
use super::rlc_query::RlcQuery;
use super::rlc_queue::RlcQueue;
use super::snapshot::Removals;

/// A bearer of the world. It keeps its place when its UE leaves.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    pub(crate) rnti: u16,
    pub(crate) drb: u8,
    pub(crate) tc: TrafficControl<GnbPacket>,
    /// Its place in the cell; none before the UE joins and after it leaves.
    pub(crate) cell: Option<BearerIndex>,
    /// Whether its RLC is in acknowledged mode.
    pub(crate) is_am: bool,
    /// F1-U; none where CU and DU are one.
    pub(crate) f1: Option<Box<F1Bearer>>,
    /// Where the CU queries the RLC status before each packet.
    pub(crate) rlc_query: Option<RlcQuery>,
    /// Queue management in place of the RLC's FIFO.
    pub(crate) rlc_queue: Option<RlcQueue>,
    /// DRQL's limit as the DU keeps it, while somebody wants to know.
    pub(crate) drql_limit: Option<DrqlLimit>,
    pub(crate) tally: Tally,
    pub(crate) measured: Measured,
}

/// What the pipeline says about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) dropped_packets: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) marked_packets: u64,
    /// Pipeline events not yet passed on.
    pub(crate) events: Vec<EventKind>,
}

impl EventSink<GnbPacket> for Tally {
    fn dropped(&mut self, packet: GnbPacket, _: DropReason, _: u64) {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(packet.len_bytes());
    }

    fn marked(&mut self, _: &GnbPacket, _: u64) {
        self.marked_packets += 1;
    }

    fn pipeline(&mut self, kind: EventKind) {
        self.events.push(kind);
    }
}

/// Cumulative counts and delays of a bearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Packets that entered SDAP.
    pub(crate) ingress_packets: u64,
    pub(crate) ingress_bytes: u64,
    /// Bytes the CU handed to the RLC.
    pub(crate) forwarded_bytes: u64,
    /// Bytes that reached the DU, those its RLC had no room for included.
    pub(crate) received_bytes: u64,
    /// SDUs that left the RLC since the CU was last told.
    pub(crate) removed: SduDelays,
    /// Those and all before.
    pub(crate) removals: Removals,
    /// Bytes of IP packets the UE sent.
    pub(crate) uplink_bytes: u64,
    /// Packets the RLC had no room for.
    pub(crate) rlc_dropped_packets: u64,
    /// Times that RLC-AM gave up, until the UE left.
    pub(crate) radio_link_failures: u64,
    /// Packets that were queued when the UE left.
    pub(crate) released_packets: u64,
    /// SDUs whose last byte went to the MAC.
    pub(crate) drained_packets: u64,
    pub(crate) drained_bytes: u64,
    /// From RLC enqueue to the last byte forwarded to the MAC.
    pub(crate) rlc_sojourn: Delays,
    /// Age of the head of the RLC buffer, each ms; 0 when empty.
    pub(crate) rlc_hol: Delays,
    /// SDAP and RLC together: from SDAP ingress to the last byte forwarded to the MAC
    /// (irazabal2021 §V-G).
    pub(crate) sojourn: Delays,
}

impl Measured {
    /// A packet goes down to the RLC; one that was taken back since is not counted again.
    pub(crate) fn take_down(&mut self, packet: &mut GnbPacket) {
        if !packet.is_counted {
            packet.is_counted = true;
            self.forwarded_bytes += u64::from(packet.len_bytes());
        }
    }
}
