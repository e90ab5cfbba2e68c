//! Delays of a bearer's packets by kind: those of sparse and of greedy flows, and those that waited when
//! the pipeline in force took effect. A mean over all packets is that of the greedy flows, which have
//! most of them.
//!
//! Which flows were greedy in a second is known at its end; its packets are counted then, inherited ones
//! at once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use e2sm_tc::v1::FiveTuple;
use tc_pipelines::{FlowLoad, GreedyFlows};

use super::counters::DelayDistribution;
use super::delays::Delays;
use super::packet_kind::{ByKind, PacketKind};
use super::summary::DelayMs;

const SECOND_US: u64 = 1_000_000;

/// Packets of one flow in the present second.
#[derive(Clone, Debug, Default)]
struct OpenFlow {
    bytes: u64,
    /// Bytes times their time in the pipeline: over a second the mean backlog (Little 1961).
    byte_us: u64,
    sojourns_us: Vec<u64>,
}

impl OpenFlow {
    fn load(&self) -> FlowLoad {
        FlowLoad {
            rate_kbps: self.bytes.saturating_mul(8) / 1_000,
            backlog_bytes: self.byte_us / SECOND_US,
        }
    }
}

/// A packet that left the gNB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) flow: FiveTuple,
    pub(crate) len_bytes: u32,
    pub(crate) ingress_us: u64,
    /// The part of `sojourn_us` in the pipeline.
    pub(crate) pipeline_us: u64,
    pub(crate) sojourn_us: u64,
}

/// Flows of one bearer in the present second.
#[derive(Clone, Debug, Default)]
struct OpenFlows {
    open: Vec<OpenFlow>,
    /// Where each flow is among them.
    at: BTreeMap<FiveTuple, usize>,
    /// The flow of the last packet; that of the next is mostly the same.
    last: Option<(FiveTuple, usize)>,
}

impl OpenFlows {
    fn of(&mut self, flow: FiveTuple) -> &mut OpenFlow {
        let at = match self.last {
            Some((last, at)) if last == flow => at,
            _ => {
                let next = self.open.len();
                let at = *self.at.entry(flow).or_insert(next);
                if at == next {
                    self.open.push(OpenFlow::default());
                }
                self.last = Some((flow, at));
                at
            }
        };
        &mut self.open[at]
    }

    /// Yields them in the order of their 5-tuples.
    fn iter(&self) -> impl Iterator<Item = &OpenFlow> {
        self.at.values().map(|at| &self.open[*at])
    }
}

/// Delays of one bearer by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelaysByKind {
    second: u64,
    flows: OpenFlows,
    /// Time at which the pipeline in force took effect; 0 for the initial one.
    since_us: u64,
    counted: Counted,
}

#[derive(Clone, Debug, Default)]
struct Counted {
    /// Percentiles for the summary; most of a thousand bearers have no packet of a kind.
    delays: ByKind<Option<Box<Delays>>>,
    /// Histograms for metrics.
    distributions: ByKind<DelayDistribution>,
}

impl Counted {
    fn record(&mut self, kind: PacketKind, sojourn_us: u64) {
        self.delays.of_mut(kind).get_or_insert_default().record(sojourn_us);
        self.distributions.of_mut(kind).record(sojourn_us);
    }

    fn end_second(&mut self, flows: &OpenFlows) {
        let loads: Vec<FlowLoad> = flows.iter().map(OpenFlow::load).collect();
        for (flow, is_greedy) in flows.iter().zip(GreedyFlows::default().among(&loads)) {
            let kind = if is_greedy { PacketKind::Bulk } else { PacketKind::Sparse };
            flow.sojourns_us.iter().for_each(|sojourn_us| self.record(kind, *sojourn_us));
        }
    }
}

impl DelaysByKind {
    /// Another pipeline took effect: what waits now is inherited.
    pub(crate) fn pipeline_changed(&mut self, now_us: u64) {
        self.since_us = now_us;
    }

    pub(crate) fn record(&mut self, packet: &Departure, now_us: u64) {
        let second = now_us / SECOND_US;
        if second != self.second {
            self.second = second;
            self.counted.end_second(&std::mem::take(&mut self.flows));
        }
        let flow = self.flows.of(packet.flow);
        flow.bytes += u64::from(packet.len_bytes);
        flow.byte_us += u64::from(packet.len_bytes) * packet.pipeline_us;
        if packet.ingress_us < self.since_us {
            self.counted.record(PacketKind::Inherited, packet.sojourn_us);
        } else {
            flow.sojourns_us.push(packet.sojourn_us);
        }
    }

    /// Counts of all seconds that have ended.
    fn counted(&self, now_us: u64) -> Cow<'_, Counted> {
        let mut counted = Cow::Borrowed(&self.counted);
        if now_us / SECOND_US != self.second && !self.flows.open.is_empty() {
            counted.to_mut().end_second(&self.flows);
        }
        counted
    }

    /// Packets by delay, of the seconds that have ended.
    pub(crate) fn distributions(&self, now_us: u64) -> ByKind<DelayDistribution> {
        self.counted(now_us).distributions
    }

    /// Percentiles, of the seconds that have ended.
    pub(crate) fn summary(&self, now_us: u64) -> ByKind<DelayMs> {
        let counted = self.counted(now_us);
        let ByKind { sparse, bulk, inherited } = &counted.delays;
        let of =
            |delays: &Option<Box<Delays>>| delays.as_deref().map(DelayMs::from).unwrap_or_default();
        ByKind { sparse: of(sparse), bulk: of(bulk), inherited: of(inherited) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn departure(port: u16, len_bytes: u32, ingress_us: u64, now_us: u64) -> Departure {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let flow = FiveTuple {
            source: address,
            destination: address,
            source_port: port,
            destination_port: 1,
            protocol: 17,
        };
        let sojourn_us = now_us - ingress_us;
        Departure { flow, len_bytes, ingress_us, pipeline_us: sojourn_us, sojourn_us }
    }

    fn counts(delays: &DelaysByKind, now_us: u64) -> (u64, u64, u64) {
        let ByKind { sparse, bulk, inherited } = delays.distributions(now_us);
        (sparse.packets(), bulk.packets(), inherited.packets())
    }

    #[test]
    fn packets_of_a_second_are_of_the_kind_that_their_flow_was_in_it() {
        let mut delays = DelaysByKind::default();
        for ms in 1..=1_000 {
            let now_us = ms * 1_000;
            delays.record(&departure(1, 1_500, now_us - 900, now_us), now_us);
            if ms % 100 == 0 {
                delays.record(&departure(2, 100, now_us - 300, now_us), now_us);
            }
        }
        assert_eq!(counts(&delays, 1_000_999), (9, 999, 0), "those at 1 s are of the next second");
        let ByKind { sparse, bulk, .. } = delays.summary(1_000_999);
        assert_eq!((sparse.mean, bulk.mean), (0.3, 0.9));
        // It sends little in the next second, in which it is sparse.
        delays.record(&departure(1, 1_500, 2_400_000, 2_400_100), 2_400_100);
        assert_eq!(counts(&delays, 2_999_999), (11, 999, 0));
        assert_eq!(counts(&delays, 3_000_000), (12, 999, 0));
    }

    #[test]
    fn a_flow_that_sends_little_from_a_long_queue_is_bulk() {
        let mut delays = DelaysByKind::default();
        for ms in [100, 200, 300, 400] {
            let now_us = 5_000_000 + ms * 1_000;
            delays.record(&departure(1, 10_000, now_us - 1_000_000, now_us), now_us);
        }
        assert_eq!(counts(&delays, 6_000_000), (0, 4, 0), "40 kB on average");
    }

    #[test]
    fn what_waited_when_the_pipeline_changed_is_inherited_whatever_its_flow() {
        let mut delays = DelaysByKind::default();
        delays.record(&departure(1, 1_500, 0, 800_000), 800_000);
        delays.pipeline_changed(900_000);
        delays.record(&departure(1, 1_500, 100_000, 950_000), 950_000);
        delays.record(&departure(2, 100, 899_999, 951_000), 951_000);
        delays.record(&departure(2, 100, 900_000, 952_000), 952_000);
        assert_eq!(counts(&delays, 952_000), (0, 0, 2), "the second is not over");
        assert_eq!(counts(&delays, 1_000_000), (2, 0, 2));
    }
}
