//! The tables of a run, independent of the file format: columns by name, series of flows.

use std::borrow::Cow;

use super::World;
use super::snapshot::{BearerSample, PacketSample};

/// A column of whole numbers over rows of `R`.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    /// Name, with the unit.
    pub name: &'static str,
    /// Whether the value may be missing.
    pub optional: bool,
    /// The value of a row.
    pub value: fn(&R) -> Option<u64>,
}

const fn always<R>(name: &'static str, value: fn(&R) -> Option<u64>) -> Column<R> {
    Column { name, optional: false, value }
}

/// Columns of the table of bearers, a row per bearer and ms.
pub const BEARER_COLUMNS: &[Column<BearerSample>] = &[
    always("time_us", |r| Some(r.time_us)),
    always("rnti", |r| Some(r.rnti.into())),
    always("drb", |r| Some(r.drb.into())),
    always("rlc_occupancy_bytes", |r| Some(r.rlc_occupancy_bytes.into())),
    always("rlc_occupancy_packets", |r| Some(r.rlc_occupancy_packets.into())),
    always("rlc_hol_us", |r| Some(r.hol_us)),
    always("rlc_mean_sojourn_us", |r| Some(r.mean_sojourn_us.into())),
    always("tc_backlog_bytes", |r| Some(r.tc_backlog_bytes)),
    always("tc_backlog_packets", |r| Some(r.tc_backlog_packets.into())),
    Column {
        name: "pacer_limit_bytes",
        optional: true,
        value: |r| r.pacer_limit_bytes.map(u64::from),
    },
    always("ingress_bytes", |r| Some(r.ingress_bytes)),
    always("drained_bytes", |r| Some(r.drained_bytes)),
    always("mcs", |r| Some(r.mcs.into())),
    always("used_prb", |r| Some(r.used_prb)),
    always("cell_used_prb", |r| Some(r.cell.used_prb)),
    always("cell_available_prb", |r| Some(r.cell.available_prb)),
    always("tc_revision", |r| Some(r.tc_revision.into())),
    always("rlc_pdu_bytes", |r| Some(r.rlc_pdu_bytes.into())),
    always("tbs_bytes", |r| Some(r.tbs_bytes)),
];

/// Columns of the table of packets, a row per downlink packet that left the RLC.
pub const PACKET_COLUMNS: &[Column<PacketSample>] = &[
    always("flow_index", |r| Some(r.flow.into())),
    always("rnti", |r| Some(r.rnti.into())),
    always("drb", |r| Some(r.drb.into())),
    always("len_bytes", |r| Some(r.len_bytes.into())),
    always("sent_us", |r| Some(r.sent_us)),
    always("sdap_us", |r| Some(r.sdap_us)),
    always("rlc_us", |r| Some(r.rlc_us)),
    always("mac_us", |r| Some(r.mac_us)),
    always("ue_us", |r| Some(r.ue_us)),
    always("ce", |r| Some(r.ce.into())),
];

/// The columns of the table of flows: name, kind, quantity, and the time and value of a sample.
pub const FLOW_COLUMNS: [&str; 5] = ["flow", "kind", "quantity", "time_us", "value"];

/// Samples of one quantity of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSeries<'a> {
    /// Name of the flow in the scenario.
    pub flow: &'a str,
    /// Its kind in the scenario.
    pub kind: &'static str,
    /// `rtt`, `one_way`, `app_delay` (µs, at the time of measurement; `app_delay` is frame delay, action
    /// to screen, page load or chunk download) or `goodput_bytes` (cumulative).
    pub quantity: &'static str,
    /// Virtual time, µs, and value.
    pub samples: Vec<(u64, u64)>,
}

/// Distribution of the time that the packets of a flow spent in SDAP and RLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSojourn<'a> {
    /// Name of the flow in the scenario.
    pub flow: &'a str,
    /// C-RNTI of its UE.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// Each sojourn time that occurred, to 0.1 %, in µs, with its number of packets, in order of time.
    pub steps: Vec<(u64, u64)>,
}

/// A field of a CSV record, quoted if it has to be (RFC 4180 §2).
pub fn csv_field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

impl World {
    /// Distribution of the sojourn times of each flow, in the order of the scenario.
    pub fn flow_sojourns(&self) -> Vec<FlowSojourn<'_>> {
        self.flows
            .iter()
            .map(|flow| FlowSojourn {
                flow: &flow.name,
                rnti: flow.rnti,
                drb: flow.drb,
                steps: flow.queuing.delay.steps(),
            })
            .collect()
    }

    /// Each quantity of each flow that has samples, in the order of the scenario.
    pub fn flow_series(&self) -> Vec<FlowSeries<'_>> {
        let mut all = Vec::new();
        for (name, kind, flow) in self.flows() {
            let rtt = flow.rtt().map(|rtt| rtt.samples().to_vec()).unwrap_or_default();
            let one_way = flow.one_way_delay().samples().to_vec();
            let app =
                flow.app_delay().map(|(_, delay)| delay.samples().to_vec()).unwrap_or_default();
            let goodput = cumulative_goodput(flow, self.now_us());
            for (quantity, samples) in
                [("rtt", rtt), ("one_way", one_way), ("app_delay", app), ("goodput_bytes", goodput)]
            {
                if !samples.is_empty() {
                    all.push(FlowSeries { flow: name, kind, quantity, samples });
                }
            }
        }
        all
    }
}

/// Bytes handed to the application by the end of each bin; 0 at time 0.
fn cumulative_goodput(flow: &traffic::Flow, now_us: u64) -> Vec<(u64, u64)> {
    let goodput = flow.arrivals().goodput();
    let mut total = 0;
    let mut samples = vec![(0, 0)];
    for (index, bytes) in (1..).zip(goodput.bins()) {
        total += bytes;
        samples.push(((index * goodput.bin_us()).min(now_us), total));
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_or_quotes_stay_one_field() {
        for (text, field) in [("bulk", "bulk"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\"")] {
            assert_eq!(csv_field(text), field);
        }
    }
}
