//! Reports of the RAN functions from the present state of the gNB.

use bytes::Bytes;
use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, BearerId, Event, IndicationHeader, IndicationMessage, Quantity, ReportStyle, UeId,
};

use super::subscription::{Sample, Subscription, What, When, concerns};
use super::types::{KpmReport, KpmUe, Payload, RanFunction, Report};
use crate::bearer::Bearer;
use crate::cells::Cells;
use crate::drql_limit::DrqlLimit;
use crate::reports::kpm::{self, UeCounters};
use crate::reports::{self, PLAIN_HEADER};
use crate::sdap::Sdap;

/// `maxReportedEvents` of E2SM-TC.
const MAX_EVENTS: usize = 4096;
/// `maxReportedBearers` of E2SM-TC.
const MAX_BEARERS: usize = 4096;

/// State of the gNB that the E2 agent reports.
#[derive(Debug)]
pub(crate) struct Gnb<'a> {
    pub(crate) cells: &'a mut Cells,
    pub(crate) bearers: &'a mut [Bearer],
    pub(crate) sdap: &'a Sdap,
    pub(crate) now_us: u64,
    pub(crate) epoch_us: u64,
}

/// Name of a bearer in E2SM-TC.
pub(crate) fn bearer_id(bearer: &Bearer) -> BearerId {
    BearerId { ue: UeId::Rnti(bearer.rnti), drb: bearer.drb }
}

/// Indices of the bearers of attached UEs.
pub(crate) fn active(bearers: &[Bearer]) -> Vec<u32> {
    (0..).zip(bearers).filter(|(_, bearer)| bearer.cell.is_some()).map(|(index, _)| index).collect()
}

impl Gnb<'_> {
    fn wall_us(&self) -> u64 {
        self.epoch_us + self.now_us
    }

    fn report(&self, header: impl Into<Bytes>, payload: Payload) -> Report {
        Report { header: header.into(), payload, collected_at_us: self.wall_us() }
    }

    fn plain_report(&self, message: Vec<u8>) -> Report {
        self.report(&PLAIN_HEADER[..], Payload::Message(message.into()))
    }

    /// The reports that are due to a subscription. TC v0 has none if there is not exactly one bearer.
    pub(super) fn reports(&mut self, subscription: &mut Subscription) -> Vec<Report> {
        match &subscription.what {
            What::Kpm { .. } => vec![self.kpm_report(subscription)],
            What::TcV1(_) => self.tc_v1_reports(subscription),
            What::Rlc | What::Mac | What::TcV0 => {
                self.report_now(subscription.function).into_iter().collect()
            }
        }
    }

    /// A report without a subscription. `None` for KPM and TC v1, whose reports count from the
    /// previous one of a subscription, and for TC v0 if there is not exactly one bearer.
    pub(super) fn report_now(&mut self, function: RanFunction) -> Option<Report> {
        match function {
            RanFunction::Rlc => Some(self.rlc_report()),
            RanFunction::Mac => Some(self.mac_report()),
            RanFunction::TcV0 => self.tc_v0_report(),
            RanFunction::Kpm | RanFunction::TcV1 => None,
        }
    }

    fn rlc_report(&mut self) -> Report {
        let mut records = Vec::with_capacity(self.bearers.len());
        for bearer in &mut *self.bearers {
            let report = bearer.cell.and_then(|at| self.cells.rlc_report(at, self.now_us));
            let Some(mut report) = report else { continue };
            if let Some(queue) = &mut bearer.rlc_queue {
                queue.add_to(&mut report, self.now_us);
            }
            records.push(report);
        }
        let message = reports::rlc::encode(&records, self.wall_us());
        self.plain_report(message)
    }

    fn mac_report(&self) -> Report {
        let records: Vec<_> = self
            .cells
            .rntis()
            .filter_map(|rnti| self.cells.mac_report(rnti, self.now_us))
            .collect();
        let message = reports::mac::encode(&records, self.wall_us());
        self.plain_report(message)
    }

    /// Cumulative counters of each attached UE.
    pub(super) fn ue_counters(&self) -> Vec<(u16, UeCounters)> {
        let mut counters: Vec<(u16, UeCounters)> = Vec::new();
        for bearer in self.bearers.iter().filter(|bearer| bearer.cell.is_some()) {
            let measured = &bearer.measured;
            let own = match counters.last_mut() {
                Some((rnti, own)) if *rnti == bearer.rnti => own,
                _ => {
                    let prb_dl = self.cells.used_prb(bearer.rnti).unwrap_or(0);
                    let own = UeCounters { prb_dl, ..UeCounters::default() };
                    counters.push((bearer.rnti, own));
                    let Some((_, own)) = counters.last_mut() else { continue };
                    own
                }
            };
            own.pdcp_dl_bytes += measured.forwarded_bytes;
            own.pdcp_ul_bytes += measured.uplink_bytes;
            own.drained_bytes += measured.drained_bytes;
        }
        counters
    }

    fn kpm_report(&mut self, subscription: &mut Subscription) -> Report {
        let (What::Kpm { wanted, unsupported }, When::Every { period_us }) =
            (&subscription.what, subscription.when)
        else {
            return self.report(Bytes::new(), Payload::Kpm(KpmReport::default()));
        };
        let period_ms = (period_us / 1000) as u32;
        let now = self.ue_counters();
        let ues = now
            .iter()
            .map(|(rnti, counters)| {
                let before = subscription.kpm_before.get(rnti).copied().unwrap_or_default();
                let delay_us = self.rlc_sdu_delay_us(*rnti);
                let values = kpm::measure(wanted, &before, counters, delay_us, period_ms);
                KpmUe { rnti: *rnti, values }
            })
            .collect();
        let unsupported = unsupported.clone();
        subscription.kpm_before = now.into_iter().collect();
        self.report(Bytes::new(), Payload::Kpm(KpmReport { period_ms, ues, unsupported }))
    }

    /// Mean RLC sojourn over the last 100 ms, of the UE's slowest bearer.
    fn rlc_sdu_delay_us(&mut self, rnti: u16) -> f64 {
        let mut slowest = 0.0_f64;
        for bearer in self.bearers.iter_mut().filter(|bearer| bearer.rnti == rnti) {
            let report = bearer.cell.and_then(|at| self.cells.rlc_report(at, self.now_us));
            if let Some(mut report) = report {
                if let Some(queue) = &mut bearer.rlc_queue {
                    queue.add_to(&mut report, self.now_us);
                }
                slowest = slowest.max(report.txsdu_avg_time_to_tx);
            }
        }
        slowest
    }

    /// v0 has no bearer ids: it reports only if there is exactly one bearer.
    ///
    /// Each report has the totals of every queue, idle ones too: a total of 0 in between would read
    /// as a restart of the queue.
    fn tc_v0_report(&self) -> Option<Report> {
        let [index] = active(self.bearers)[..] else { return None };
        let tstamp_us = self.wall_us();
        let tc = &self.bearers[index as usize].tc;
        let status = tc.status(self.now_us);
        let message = tc_pipelines::v0::indication(tc.pipeline(), &status, tstamp_us);
        // Fails only for lists beyond 32-bit counts.
        v0::encode_indication(&message).ok().map(|message| self.plain_report(message))
    }

    fn tc_v1_reports(&mut self, subscription: &mut Subscription) -> Vec<Report> {
        let What::TcV1(actions) = &subscription.what else { return Vec::new() };
        let actions = actions.clone();
        let mut events = std::mem::take(&mut subscription.events);
        let causes = &subscription.causes;
        let mut messages = Vec::new();
        for (position, action) in actions.iter().enumerate() {
            let mut bearers = active(self.bearers);
            bearers.retain(|index| {
                let id = bearer_id(&self.bearers[*index as usize]);
                concerns(action, &id) && (causes.is_empty() || causes.contains(&id))
            });
            match action.style {
                ReportStyle::PipelineStatus => {
                    for chunk in chunks(&bearers) {
                        let states = chunk.iter().map(|index| {
                            let Bearer { rnti, tc, drql_limit, .. } =
                                &self.bearers[*index as usize];
                            let cursor =
                                subscription.cursors.entry((position, *index)).or_default();
                            let mut status = tc.status_since(cursor, self.now_us);
                            // The limit of an RLC that drops by its own limit is the one in force.
                            let at_du = drql_limit.as_ref().and_then(DrqlLimit::in_force_bytes);
                            status.pacer.limit_bytes = at_du.or(status.pacer.limit_bytes);
                            status.qos_flows = self.sdap.qos_flows(*rnti, *index);
                            status
                        });
                        messages.push(IndicationMessage::PipelineStatus(states.collect()));
                    }
                }
                ReportStyle::FlowInventory => {
                    for chunk in chunks(&bearers) {
                        let flows = chunk.iter().map(|index| {
                            let tc = &mut self.bearers[*index as usize].tc;
                            tc.flow_inventory(action.top_flows, self.now_us)
                        });
                        messages.push(IndicationMessage::FlowInventory(flows.collect()));
                    }
                }
                ReportStyle::Events => {
                    let mut own: Vec<Event> = events
                        .iter()
                        .filter(|event| concerns(action, &event.bearer))
                        .cloned()
                        .collect();
                    while own.len() > MAX_EVENTS {
                        let rest = own.split_off(MAX_EVENTS);
                        messages.push(IndicationMessage::Events(std::mem::replace(&mut own, rest)));
                    }
                    messages.push(IndicationMessage::Events(own));
                }
            }
        }
        events.clear();
        subscription.events = events;
        let header = IndicationHeader { collected_at_us: self.wall_us() };
        // Lists are within their bounds, and names are checked when they are set.
        let Ok(header) = v1::encode(&header).map(Bytes::from) else { return Vec::new() };
        messages
            .iter()
            .filter_map(|message| v1::encode(message).ok())
            .map(|bytes| self.report(header.clone(), Payload::Message(bytes.into())))
            .collect()
    }

    /// Packets of a bearer dropped before the subscription do not count towards its threshold.
    pub(super) fn start_watching(&self, subscription: &mut Subscription) {
        if let When::Above { .. } = subscription.when {
            for index in active(self.bearers) {
                let dropped = self.bearers[index as usize].tally.dropped.packets;
                subscription.start_watching(index, dropped);
            }
        }
    }

    /// Compares every bearer with the threshold of a subscription that has one.
    pub(super) fn check_threshold(&self, subscription: &mut Subscription) {
        if !matches!(subscription.when, When::Above { .. }) {
            return;
        }
        for index in active(self.bearers) {
            let bearer = &self.bearers[index as usize];
            let dropped_packets = bearer.tally.dropped.packets;
            let sample = Sample { index, bearer: bearer_id(bearer), dropped_packets };
            let value_of = |quantity, drops| {
                let value = match quantity {
                    Quantity::BacklogBytes => bearer.tc.backlog_bytes(),
                    Quantity::Drops => drops,
                    Quantity::HeadOfLineAgeUs => bearer.tc.head_of_line_age_us(self.now_us),
                    Quantity::MeanSojournUs => bearer.tc.mean_sojourn_us(self.now_us),
                };
                u32::try_from(value).unwrap_or(u32::MAX)
            };
            subscription.check_threshold(&sample, self.now_us, self.epoch_us, value_of);
        }
    }
}

/// Bearers split to the bound of a message; one empty message if there are none.
fn chunks(bearers: &[u32]) -> Vec<&[u32]> {
    if bearers.is_empty() { vec![bearers] } else { bearers.chunks(MAX_BEARERS).collect() }
}
