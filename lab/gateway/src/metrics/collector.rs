//! The world's state in Prometheus' terms. Metrics whose quantity 3GPP TS 28.552 measures name it in
//! their help.

use std::{collections::BTreeMap, fmt};

use lab_world::{
    BearerSample, CellSample, DELAY_EDGES_US, DelayDistribution, GnbCounters, PacketKind,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet},
    metrics::MetricType,
};

use crate::{command::Scrape, slot_lateness::SlotLateness};

/// Encodes one scrape's measurements.
#[derive(Debug)]
pub(super) struct WorldCollector {
    pub(super) scrape: Scrape,
    pub(super) has_distributions: bool,
    pub(super) has_flows: bool,
    /// Bearers with series of their own, by RNTI and DRB, with their mean sojourn in seconds.
    pub(super) worst: BTreeMap<(u16, u8), f64>,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct BearerLabels {
    node: String,
    ue: u16,
    drb: u8,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct NodeLabels {
    node: String,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct PartLabels {
    node: String,
    part: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct CauseLabels {
    node: String,
    cause: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct KindLabels {
    node: String,
    kind: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct PacingLabels {
    node: String,
    by: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet)]
struct FlowLabels {
    flow: String,
}

impl WorldCollector {
    fn node(&self) -> String {
        self.scrape.node_id.clone()
    }

    /// A gauge per bearer of `worst` with a value.
    fn bearers(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: impl Fn(&BearerSample, f64) -> Option<f64>,
    ) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for bearer in &self.scrape.bearers {
            let Some(mean_s) = self.worst.get(&(bearer.rnti, bearer.drb)) else { continue };
            let Some(value) = value(bearer, *mean_s) else { continue };
            let labels = BearerLabels { node: self.node(), ue: bearer.rnti, drb: bearer.drb };
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// Gauges of the bearers whose packets wait longest.
    fn worst_bearers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        self.bearers(
            encoder,
            "rlc_hol_seconds",
            "Age of the head of the RLC transmission buffer; 0 when empty.",
            |bearer, _| Some(float(bearer.hol_us) / 1e6),
        )?;
        self.bearers(
            encoder,
            "gnb_bearer_sojourn_seconds",
            "Mean time from SDAP to the MAC, exponential mean over 15 minutes.",
            |_, mean_s| Some(mean_s),
        )?;
        self.bearers(encoder, "rlc_occupancy_bytes", "RLC transmission buffer.", |bearer, _| {
            Some(f64::from(bearer.rlc_occupancy_bytes))
        })?;
        self.bearers(
            encoder,
            "tc_backlog_bytes",
            "Bytes queued in the TC pipeline above the RLC.",
            |bearer, _| Some(float(bearer.tc_backlog_bytes)),
        )?;
        self.bearers(
            encoder,
            "cu_paced_by_forecast",
            "Whether the pacer uses a forecast (1) or its own measurements (0); absent for pacers \
             without forecasts.",
            |bearer, _| bearer.by_forecast.map(f64::from),
        )
    }

    /// The oldest head of all bearers, also of one that is not among the worst yet.
    fn oldest_head(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let oldest_us = self.scrape.bearers.iter().map(|bearer| bearer.hol_us).max();
        encoder
            .encode_descriptor(
                "gnb_rlc_hol_max_seconds",
                "Age of the oldest head of the RLC transmission buffers; 0 when all are empty.",
                None,
                MetricType::Gauge,
            )?
            .encode_family(&NodeLabels { node: self.node() })?
            .encode_gauge(&(float(oldest_us.unwrap_or(0)) / 1e6))
    }

    fn paced_bearers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "cu_paced_bearers",
            "Bearers whose pacer can use forecasts, by what it uses now (forecast, measurements).",
            None,
            MetricType::Gauge,
        )?;
        for (by, by_forecast) in [("forecast", true), ("measurements", false)] {
            let is_so = |bearer: &&BearerSample| bearer.by_forecast == Some(by_forecast);
            let count = self.scrape.bearers.iter().filter(is_so).count();
            let labels = PacingLabels { node: self.node(), by };
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            metric.encode_family(&labels)?.encode_gauge(&count)?;
        }
        Ok(())
    }

    fn prb_ratio(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "prb_used_ratio",
            "Share of the downlink PRBs that carried data in the last second.",
            None,
            MetricType::Gauge,
        )?;
        if let Some(cell) = &self.scrape.prb_last_second {
            let labels = NodeLabels { node: self.node() };
            metric.encode_family(&labels)?.encode_gauge(&used_ratio(cell))?;
        }
        Ok(())
    }

    fn node_counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: u64,
    ) -> fmt::Result {
        encoder
            .encode_descriptor(name, help, None, MetricType::Counter)?
            .encode_family(&NodeLabels { node: self.node() })?
            .encode_counter::<NoLabelSet, u64, u64>(&value, None)
    }

    fn delay_parts(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let delays = &self.scrape.counters.delays;
        let mut metric = encoder.encode_descriptor(
            "gnb_delay_seconds",
            "Delay of the delivered packets, summed, by part: pdcp (CU-UP with the TC queue, \
             DRB.PdcpSduDelayDl), f1 (F1-U, DRB.GtpF1DelayDl), rlc (gNB-DU, DRB.RlcSduDelayDl).",
            None,
            MetricType::Counter,
        )?;
        for (part, delay) in [("pdcp", &delays.pdcp), ("f1", &delays.f1), ("rlc", &delays.rlc)] {
            let labels = PartLabels { node: self.node(), part };
            metric
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, f64, u64>(&(float(delay.sum_us) / 1e6), None)?;
        }
        Ok(())
    }

    fn drops(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let GnbCounters {
            aqm_dropped,
            overflow_dropped,
            rlc_dropped,
            policer_dropped,
            unattached_dropped,
            released_dropped,
            ..
        } = self.scrape.counters;
        let mut metric = encoder.encode_descriptor(
            "gnb_dropped_packets",
            "Downlink packets dropped, by cause: aqm (queue discipline), overflow (limit of a TC \
             queue or buffer), rlc (full RLC buffer), policer, unattached (for a UE that is not \
             attached), released (in the gNB or on the air when their UE left).",
            None,
            MetricType::Counter,
        )?;
        for (cause, count) in [
            ("aqm", aqm_dropped),
            ("overflow", overflow_dropped),
            ("rlc", rlc_dropped),
            ("policer", policer_dropped),
            ("unattached", unattached_dropped),
            ("released", released_dropped),
        ] {
            // Few nodes have policers.
            if count > 0 || cause != "policer" {
                let labels = CauseLabels { node: self.node(), cause };
                metric
                    .encode_family(&labels)?
                    .encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
            }
        }
        Ok(())
    }

    /// Slots of a node between real network stacks, which has to keep up with the wall clock.
    fn live_slots(&self, encoder: &mut DescriptorEncoder<'_>, slots: &SlotLateness) -> fmt::Result {
        self.node_counter(
            encoder,
            "live_slots",
            "Slots that ran while the gNB carried packets of real hosts.",
            slots.slots,
        )?;
        self.node_counter(
            encoder,
            "live_late_slots",
            "Slots that ran more than a slot late while the gNB carried packets of real hosts.",
            slots.late_slots,
        )?;
        encoder
            .encode_descriptor(
                "live_slot_lateness_max_seconds",
                "How late the latest of these slots ran, since the start.",
                None,
                MetricType::Gauge,
            )?
            .encode_family(&NodeLabels { node: self.node() })?
            .encode_gauge(&(float(slots.worst_us) / 1e6))
    }

    fn distributions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let delays = &self.scrape.counters.delays;
        for (name, help, delay) in [
            (
                "gnb_pdcp_sdu_delay_seconds",
                "Delay of downlink packets in the CU-UP with the TC queue (DRB.PdcpSduDelayDlDist).",
                &delays.pdcp,
            ),
            (
                "gnb_f1_delay_seconds",
                "Delay of downlink packets on F1-U (DRB.GtpF1DelayDlDist).",
                &delays.f1,
            ),
            (
                "gnb_rlc_sdu_delay_seconds",
                "Delay of downlink packets in the gNB-DU, to the MAC (DRB.RlcSduDelayDlDist).",
                &delays.rlc,
            ),
            (
                "gnb_sojourn_seconds",
                "Delay of downlink packets from SDAP to the MAC: the sum of CU-UP, F1-U and gNB-DU.",
                &delays.sojourn,
            ),
        ] {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
            histogram(metric.encode_family(&NodeLabels { node: self.node() })?, delay)?;
        }
        let mut metric = encoder.encode_descriptor(
            "gnb_kind_sojourn_seconds",
            "Delay of downlink packets from SDAP to the MAC, by kind: sparse (of flows below their \
             fair share), bulk (of others), inherited (in the gNB when the pipeline in force took \
             effect).",
            None,
            MetricType::Histogram,
        )?;
        for kind in PacketKind::ALL {
            let labels = KindLabels { node: self.node(), kind: kind.name() };
            let delay = self.scrape.counters.by_kind.of(kind);
            histogram(metric.encode_family(&labels)?, delay)?;
        }
        Ok(())
    }

    fn flows(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "flow_goodput_bytes",
            "Application bytes of a flow that arrived in order.",
            None,
            MetricType::Counter,
        )?;
        for flow in &self.scrape.flows {
            let labels = FlowLabels { flow: flow.name.clone() };
            metric
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, u64, u64>(&flow.goodput_bytes, None)?;
        }
        let mut metric = encoder.encode_descriptor(
            "flow_rtt_seconds",
            "Last round trip of a ping.",
            None,
            MetricType::Gauge,
        )?;
        for flow in &self.scrape.flows {
            let Some(rtt_us) = flow.rtt_us else { continue };
            let labels = FlowLabels { flow: flow.name.clone() };
            metric.encode_family(&labels)?.encode_gauge(&(float(rtt_us) / 1e6))?;
        }
        Ok(())
    }
}

fn histogram(mut metric: MetricEncoder<'_>, delay: &DelayDistribution) -> fmt::Result {
    let edges = DELAY_EDGES_US.iter().map(|edge_us| float(*edge_us) / 1e6);
    let edges = edges.chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = edges.zip(delay.bins).collect();
    let (sum_s, packets) = (float(delay.sum_us) / 1e6, delay.packets());
    metric.encode_histogram::<NoLabelSet>(sum_s, packets, &buckets, None)
}

#[allow(clippy::cast_precision_loss)] // PRBs of one second are far below 2^52
fn used_ratio(cell: &CellSample) -> f64 {
    if cell.available_prb == 0 { 0.0 } else { cell.used_prb as f64 / cell.available_prb as f64 }
}

#[allow(clippy::cast_precision_loss)] // exact up to 142 years in µs, 4 PB in bytes
fn float(value: u64) -> f64 {
    value as f64
}

impl Collector for WorldCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        encoder
            .encode_descriptor(
                "node_time_seconds",
                "Virtual time of the node.",
                None,
                MetricType::Counter,
            )?
            .encode_counter::<NoLabelSet, f64, u64>(&(float(self.scrape.now_us) / 1e6), None)?;
        self.prb_ratio(&mut encoder)?;
        self.node_counter(
            &mut encoder,
            "gnb_delivered_packets",
            "Downlink packets whose last byte went to the MAC.",
            self.scrape.counters.delays.sojourn.packets(),
        )?;
        self.delay_parts(&mut encoder)?;
        self.drops(&mut encoder)?;
        self.node_counter(
            &mut encoder,
            "gnb_marked_packets",
            "Downlink packets marked CE by TC pipelines.",
            self.scrape.counters.marked,
        )?;
        if let Some(slots) = &self.scrape.slot_lateness {
            self.live_slots(&mut encoder, slots)?;
        }
        self.paced_bearers(&mut encoder)?;
        self.oldest_head(&mut encoder)?;
        self.worst_bearers(&mut encoder)?;
        if self.has_distributions {
            self.distributions(&mut encoder)?;
        }
        if self.has_flows {
            self.flows(&mut encoder)?;
        }
        Ok(())
    }
}
