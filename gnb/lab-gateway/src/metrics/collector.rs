//! The world's state in Prometheus' terms.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, NoLabelSet},
    metrics::MetricType,
};

use lab_world::{BearerSample, CellSample};

use crate::command::Scrape;

/// Encodes one scrape's measurements.
#[derive(Debug)]
pub(super) struct WorldCollector(pub(super) Scrape);

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
struct FlowLabels {
    flow: String,
}

impl WorldCollector {
    fn bearers(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: impl Fn(&BearerSample) -> Option<f64>,
    ) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for bearer in &self.0.bearers {
            let Some(value) = value(bearer) else { continue };
            let labels =
                BearerLabels { node: self.0.node_id.clone(), ue: bearer.rnti, drb: bearer.drb };
            metric.encode_family(&labels)?.encode_gauge(&value)?;
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
        if let Some(cell) = &self.0.prb_last_second {
            let labels = NodeLabels { node: self.0.node_id.clone() };
            metric.encode_family(&labels)?.encode_gauge(&used_ratio(cell))?;
        }
        Ok(())
    }

    fn goodput(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "flow_goodput_bytes",
            "Application bytes of a flow that arrived in order.",
            None,
            MetricType::Counter,
        )?;
        for flow in &self.0.flows {
            let labels = FlowLabels { flow: flow.name.clone() };
            metric
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, u64, u64>(&flow.goodput_bytes, None)?;
        }
        Ok(())
    }

    fn round_trips(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "flow_rtt_seconds",
            "Last round trip of a ping.",
            None,
            MetricType::Gauge,
        )?;
        for flow in &self.0.flows {
            let Some(rtt_us) = flow.rtt_us else { continue };
            let labels = FlowLabels { flow: flow.name.clone() };
            metric.encode_family(&labels)?.encode_gauge(&(float(rtt_us) / 1e6))?;
        }
        Ok(())
    }
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
        self.bearers(
            &mut encoder,
            "rlc_hol_seconds",
            "Age of the head of the RLC transmission buffer; 0 when empty.",
            |bearer| Some(float(bearer.hol_us) / 1e6),
        )?;
        self.bearers(&mut encoder, "rlc_occupancy_bytes", "RLC transmission buffer.", |bearer| {
            Some(f64::from(bearer.rlc_occupancy_bytes))
        })?;
        self.bearers(
            &mut encoder,
            "tc_backlog_bytes",
            "Bytes queued in the TC pipeline above the RLC.",
            |bearer| Some(float(bearer.tc_backlog_bytes)),
        )?;
        self.bearers(
            &mut encoder,
            "cu_paced_by_forecast",
            "Whether the pacer uses a forecast (1) or its own measurements (0); absent for pacers \
             without forecasts.",
            |bearer| bearer.by_forecast.map(f64::from),
        )?;
        self.prb_ratio(&mut encoder)?;
        self.goodput(&mut encoder)?;
        self.round_trips(&mut encoder)?;
        encoder
            .encode_descriptor(
                "node_time_seconds",
                "Virtual time of the node.",
                None,
                MetricType::Counter,
            )?
            .encode_counter::<NoLabelSet, f64, u64>(&(float(self.0.now_us) / 1e6), None)
    }
}
