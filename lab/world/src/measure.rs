//! Measurements: samples each ms, recorded rows, snapshots and the summary of a run.

use e2sm_tc::v1::Pacer;

use super::World;
use super::bearer::Bearer;
use super::counters::DelayDistribution;
use super::drops::Drops;
use super::flow::BoundFlow;
use super::hosts::AirPacket;
use super::snapshot::{BearerDelay, BearerSample, CellSample, FlowSample, PacketSample, Removals};
use super::summary::{
    BearerSummary, Bound, CellSummary, DeadlineSummary, DelayMs, FlowSummary, QueuedBytesSummary,
    Summary, Ts28552, Worst, percent,
};

/// Time between two samples of the bearers; also the finest period of reports.
pub(crate) const SAMPLE_PERIOD_US: u64 = 1_000;

/// Unit of the delays of TS 28.552, µs.
const TENTH_MS_US: f64 = 100.0;

/// Rows recorded since they were last taken; `None` if not recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// Time of the next sample.
    pub(crate) next_sample_us: u64,
    /// A row per bearer and ms.
    pub(crate) series: Option<Vec<BearerSample>>,
    /// A row per packet that left the RLC.
    pub(crate) packets: Option<Vec<PacketSample>>,
    /// Datagrams of real hosts, as they were sent over the air.
    pub(crate) air: Option<Vec<AirPacket>>,
    /// RNTI and DRB of bearers whose pacer switched to forecasts (`true`) or back.
    pub(crate) pacing_changes: Option<Vec<(u16, u8, bool)>>,
}

fn enable<T>(rows: &mut Option<Vec<T>>, enabled: bool) {
    *rows = enabled.then(|| rows.take().unwrap_or_default());
}

fn take<T>(rows: &mut Option<Vec<T>>) -> Vec<T> {
    rows.as_mut().map(std::mem::take).unwrap_or_default()
}

impl World {
    /// Starts or stops recording a row per bearer and ms; see [`take_series`](Self::take_series).
    pub fn record_series(&mut self, enabled: bool) {
        enable(&mut self.recording.series, enabled);
    }

    /// The rows recorded since the last call.
    pub fn take_series(&mut self) -> Vec<BearerSample> {
        take(&mut self.recording.series)
    }

    /// Starts or stops recording a row per packet; see [`take_packets`](Self::take_packets).
    pub fn record_packets(&mut self, enabled: bool) {
        enable(&mut self.recording.packets, enabled);
    }

    /// The rows recorded since the last call.
    pub fn take_packets(&mut self) -> Vec<PacketSample> {
        take(&mut self.recording.packets)
    }

    /// Starts or stops recording the datagrams of real hosts that the UEs' PDCP delivers; see
    /// [`take_air`](Self::take_air).
    pub fn record_air(&mut self, enabled: bool) {
        enable(&mut self.recording.air, enabled);
    }

    /// The datagrams recorded since the last call, in the order of delivery.
    pub fn take_air(&mut self) -> Vec<AirPacket> {
        take(&mut self.recording.air)
    }

    /// Starts or stops recording changes of pacing; see
    /// [`take_pacing_changes`](Self::take_pacing_changes).
    pub fn record_pacing_changes(&mut self, enabled: bool) {
        enable(&mut self.recording.pacing_changes, enabled);
    }

    /// RNTI and DRB of bearers whose pacer switched to forecasts (`true`) or back to its own
    /// measurements since the last call.
    pub fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)> {
        take(&mut self.recording.pacing_changes)
    }

    /// Whether the pacer of a bearer, in the cell or not, uses the cumulated drain of forecasts.
    pub fn uses_cumulated_drain(&self) -> bool {
        let is_base_stock = |pacer| matches!(pacer, Pacer::BaseStock { .. });
        self.bearers.iter().any(|bearer| is_base_stock(bearer.tc.pipeline().pacer))
    }

    /// Samples, each ms, head-of-line ages, recorded series and thresholds of subscriptions.
    pub(super) fn sample(&mut self) {
        for index in 0..self.bearers.len() {
            let (hol_us, queued_bytes) = self.head_age_us_and_bytes(index);
            let bearer = &mut self.bearers[index];
            if bearer.cell.is_some() {
                bearer.measured.rlc_hol.record(hol_us);
                bearer.measured.queued.record(queued_bytes);
            }
        }
        if let Some(mut series) = self.recording.series.take() {
            let cell = self.cell_sample();
            for index in self.active_bearers() {
                series.extend(self.bearer_sample(index as usize, cell));
            }
            self.recording.series = Some(series);
        }
        self.check_thresholds();
    }

    /// Age of the head of a bearer's RLC buffer, 0 when it is empty, and bytes in its pipeline and RLC,
    /// those that wait for acknowledgement included.
    fn head_age_us_and_bytes(&self, index: usize) -> (u64, u64) {
        let bearer = &self.bearers[index];
        let (head_us, in_rlc) =
            bearer.cell.and_then(|at| self.cells.buffered(at)).unwrap_or_default();
        let aqm = bearer.rlc_queue.as_ref();
        let since_us = [head_us, aqm.and_then(|queue| queue.head_arrived_us())];
        let age_us = since_us.into_iter().flatten().min().map_or(0, |at_us| self.now_us - at_us);
        let in_aqm = aqm.map_or(0, |queue| u64::from(queue.backlog().0));
        (age_us, bearer.tc.backlog_bytes() + in_rlc + in_aqm)
    }

    fn bearer_sample(&mut self, index: usize, cell: CellSample) -> Option<BearerSample> {
        let (hol_us, _) = self.head_age_us_and_bytes(index);
        let bearer = &mut self.bearers[index];
        let mut report = self.cells.rlc_report(bearer.cell?, self.now_us)?;
        if let Some(queue) = &mut bearer.rlc_queue {
            queue.add_to(&mut report, self.now_us);
        }
        let mac = self.cells.mac_report(bearer.rnti, self.now_us)?;
        Some(BearerSample {
            time_us: self.now_us,
            rnti: bearer.rnti,
            drb: bearer.drb,
            rlc_occupancy_bytes: report.txbuf_occ_bytes,
            rlc_occupancy_packets: report.txbuf_occ_pkts,
            hol_us,
            mean_sojourn_us: report.txsdu_avg_time_to_tx as u32,
            tc_backlog_bytes: bearer.tc.backlog_bytes(),
            tc_backlog_packets: bearer.tc.backlog_packets(),
            pacer_limit_bytes: bearer.tc.rlc_limit_bytes(),
            by_forecast: bearer.tc.paced_by_forecast(self.now_us),
            ingress_bytes: bearer.measured.ingress_bytes,
            drained_bytes: bearer.measured.drained_bytes,
            mcs: mac.dl_mcs1,
            used_prb: self.cells.used_prb(bearer.rnti).unwrap_or(0),
            tc_revision: bearer.tc.revision(),
            rlc_pdu_bytes: report.txpdu_bytes,
            tbs_bytes: mac.dl_curr_tbs,
            cell,
        })
    }

    /// Present state of the bearers of attached UEs.
    pub fn bearer_samples(&mut self) -> Vec<BearerSample> {
        let cell = self.cell_sample();
        self.active_bearers().filter_map(|index| self.bearer_sample(index as usize, cell)).collect()
    }

    /// Delays of the delivered packets of the bearers of attached UEs.
    pub fn bearer_delays(&self) -> Vec<BearerDelay> {
        let delay = |index: u32| {
            let bearer = &self.bearers[index as usize];
            let (packets, delay_us) = bearer.measured.sojourn.count_and_sum_us();
            BearerDelay { rnti: bearer.rnti, drb: bearer.drb, packets, delay_us }
        };
        self.active_bearers().map(delay).collect()
    }

    /// SDUs removed from each RLC buffer so far, in the order of the bearers.
    pub fn removals(&self) -> impl Iterator<Item = Removals> + '_ {
        self.bearers.iter().map(|bearer| bearer.measured.removals)
    }

    /// Present state of the flows.
    pub fn flow_samples(&self) -> Vec<FlowSample> {
        self.flows
            .iter()
            .map(|flow| FlowSample {
                name: flow.name.clone(),
                kind: flow.ends.kind(),
                direction: flow.ends.direction(),
                rnti: flow.rnti,
                drb: flow.drb,
                goodput_bytes: flow.ends.goodput_bytes(),
                rtt_us: flow.ends.rtt().and_then(|rtt| rtt.samples().last().map(|last| last.1)),
            })
            .collect()
    }

    /// Downlink PRBs so far.
    pub fn cell_sample(&self) -> CellSample {
        let totals = self.cells.totals();
        CellSample { used_prb: totals.used_prb, available_prb: totals.available_prb }
    }

    /// Name, kind and both ends of each flow, in the order of the scenario.
    pub fn flows(&self) -> impl Iterator<Item = (&str, &'static str, &traffic::Flow)> {
        self.flows.iter().map(|flow| (flow.name.as_str(), flow.ends.kind(), &flow.ends))
    }

    /// Both ends of the flow called `name`.
    pub fn flow(&self, name: &str) -> Option<&traffic::Flow> {
        self.flows.iter().find(|flow| flow.name == name).map(|flow| &flow.ends)
    }

    /// Metrics from virtual time 0 until now.
    pub fn summary(&self) -> Summary {
        let totals = self.cells.totals();
        let bearers: Vec<_> = self.bearers.iter().map(|one| self.bearer_summary(one)).collect();
        let mut flows: Vec<_> = self.flows.iter().map(|flow| self.flow_summary(flow)).collect();
        let tc_dropped = self.dropped_by_flow(|bearer| std::iter::once(&bearer.tally.dropped));
        let rlc_dropped = self.dropped_by_flow(Bearer::rlc_drops);
        for (flow, (by_tc, by_rlc)) in flows.iter_mut().zip(tc_dropped.into_iter().zip(rlc_dropped))
        {
            flow.tc_dropped_packets = by_tc;
            flow.rlc_dropped_packets = by_rlc;
        }
        Summary {
            scenario: self.name.clone(),
            seed: self.seed,
            epoch_us: self.epoch_us,
            duration_s: self.now_us as f64 / 1e6,
            cell: CellSummary {
                used_prb: totals.used_prb,
                available_prb: totals.available_prb,
                used_rb_pct: totals.used_prb_pct(),
                lost_sdus: totals.lost_sdus,
                downlink_first_errors_pct: totals.downlink_errors_pct(),
                uplink_first_errors_pct: totals.uplink_errors_pct(),
                bound: Bound::of(totals.used_prb_pct(), &bearers),
            },
            handover: self.handover_summary(),
            ts_28_552: self.kpis(&bearers),
            worst: Worst::of(&bearers, &flows),
            bearers,
            flows,
        }
    }

    fn kpis(&self, bearers: &[BearerSummary]) -> Ts28552 {
        let sum = |count: fn(&BearerSummary) -> u64| bearers.iter().map(count).sum::<u64>();
        let ppm = |part: u64, whole: u64| (whole > 0).then(|| part as f64 * 1e6 / whole as f64);
        let mean = |delays: &DelayDistribution| {
            let packets = delays.packets();
            (packets > 0).then(|| delays.sum_us as f64 / packets as f64 / TENTH_MS_US)
        };
        let in_pdcp = sum(|bearer| bearer.ingress_packets);
        let pdcp_dropped = sum(|bearer| bearer.tc_dropped_packets);
        let rlc_dropped = sum(|bearer| bearer.rlc_dropped_packets);
        let drained = sum(|bearer| bearer.drained_packets);
        Ts28552 {
            pdcp_sdu_delay_dl: mean(&self.delays.pdcp),
            pdcp_f1_delay_dl: mean(&self.delays.f1),
            rlc_sdu_delay_dl: mean(&self.delays.rlc),
            pdcp_packet_drop_rate_dl: ppm(pdcp_dropped, in_pdcp),
            rlc_packet_drop_rate_dl: ppm(rlc_dropped, rlc_dropped + drained),
        }
    }

    /// Packets of each flow that one place of its bearer dropped.
    fn dropped_by_flow<'a, I: Iterator<Item = &'a Drops>>(
        &'a self,
        drops: impl Fn(&'a Bearer) -> I,
    ) -> Vec<u64> {
        self.flows.by_flow(self.bearers.iter().flat_map(drops).flat_map(Drops::by_connection))
    }

    fn flow_summary(&self, flow: &BoundFlow) -> FlowSummary {
        let stats = flow.ends.stats();
        let end_us = flow.stop_us.unwrap_or(u64::MAX).min(self.now_us);
        let deadlines = flow.ends.deadlines(self.now_us);
        let active_us = end_us.saturating_sub(flow.start_us).max(1);
        FlowSummary {
            name: flow.name.clone(),
            kind: stats.kind,
            direction: stats.direction,
            rnti: flow.rnti,
            drb: flow.drb,
            goodput_mbps: stats.goodput_bytes as f64 * 8.0 / active_us as f64,
            goodput_bytes: stats.goodput_bytes,
            sent_packets: stats.sent_packets,
            received_packets: stats.received_packets,
            lost_packets: stats.lost_packets,
            tc_dropped_packets: 0,
            rlc_dropped_packets: 0,
            ce_packets: stats.ce_packets,
            one_way_delay_ms: DelayMs::from(stats.one_way_delay),
            queuing_ms: DelayMs::from(&flow.queuing.delay),
            queued_below_1ms_pct: percent(flow.queuing.below_1ms, flow.queuing.packets),
            queued_above_100ms_s: flow.queuing.slow_s(),
            rtt_ms: stats.rtt.map(DelayMs::from),
            uplink_delay_ms: stats.uplink_delay.map(DelayMs::from),
            deadline: deadlines.filter(|deadlines| deadlines.due > 0).map(DeadlineSummary::from),
            app: stats.app,
        }
    }

    fn bearer_summary(&self, bearer: &Bearer) -> BearerSummary {
        let measured = &bearer.measured;
        let (f1_lost_packets, f1_lost_uplink_packets) =
            bearer.f1.as_ref().map_or((0, 0), |f1| f1.lost_packets());
        let (mean_bytes, peak_bytes) = measured.queued.mean_and_peak();
        let failures = bearer.cell.and_then(|place| self.cells.radio_link_failures(place));
        BearerSummary {
            rnti: bearer.ue_rnti,
            drb: bearer.drb,
            pipeline: bearer.tc.pipeline().name.clone(),
            revision: bearer.tc.revision(),
            ingress_packets: measured.ingress_packets,
            ingress_bytes: measured.ingress_bytes,
            drained_packets: measured.drained_packets,
            drained_bytes: measured.drained_bytes,
            tc_dropped_packets: bearer.tally.dropped.packets,
            tc_marked_packets: bearer.tally.marked_packets,
            rlc_dropped_packets: bearer.rlc_dropped_packets(),
            unattached_packets: measured.unattached_packets,
            unattached_uplink_packets: measured.unattached_uplink_packets,
            released_packets: bearer.released_packets(),
            f1_lost_packets,
            f1_lost_uplink_packets,
            uplink_dropped_packets: measured.uplink_dropped_packets,
            uplink_lost_packets: measured.uplink_lost_packets,
            uplink_used_pct: bearer.cell.and_then(|place| {
                self.cells[place.cell].uplink_used_pct(place.bearer, self.now_us)
            }),
            uplink_full_pct: bearer.cell.and_then(|place| {
                let cell = &self.cells[place.cell];
                let pct = cell.uplink_full_pct(place.bearer, self.now_us);
                pct.filter(|pct| *pct >= Bound::FULL_UPLINK_PCT)
            }),
            active_pct: bearer
                .cell
                .and_then(|place| self.cells[place.cell].active_pct(place.bearer)),
            radio_link_failures: measured.radio_link_failures + failures.unwrap_or(0),
            queued_bytes: QueuedBytesSummary { mean: mean_bytes, peak: peak_bytes },
            rlc_hol_ms: DelayMs::from(&measured.rlc_hol),
            rlc_sojourn_ms: DelayMs::from(&measured.rlc_sojourn),
            sojourn_ms: DelayMs::from(&measured.sojourn),
            sojourn_by_kind_ms: measured.by_kind.summary(self.now_us),
        }
    }
}
