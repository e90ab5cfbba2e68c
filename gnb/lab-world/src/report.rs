//! Reports of the RAN functions on the world as it is now.

use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, BearerId, Event, EventKind, IndicationHeader, IndicationMessage, Quantity, ReportStyle,
    UeId,
};

use super::api::{KpmReport, KpmUe, Payload, RanFunction};
use super::drql_limit::DrqlLimit;
use super::e2::{Subscription, Watch};
use super::trigger::{What, When, concerns};
use super::{Bearer, World};
use crate::reports::kpm::{self, UeCounters};
use crate::reports::{self, PLAIN_HEADER};

/// Most events of one message (`maxReportedEvents`).
const MAX_EVENTS: usize = 4096;
/// Most bearers of one message (`maxReportedBearers`).
const MAX_BEARERS: usize = 4096;

type Report = (Vec<u8>, Payload);

impl World {
    pub(super) fn bearer_id(&self, index: u32) -> BearerId {
        let bearer = &self.bearers[index as usize];
        BearerId { ue: UeId::Rnti(bearer.rnti), drb: bearer.drb }
    }

    /// Bearers of the UEs that are here.
    pub(super) fn active_bearers(&self) -> impl Iterator<Item = u32> + use<> {
        let active: Vec<u32> = (0..)
            .zip(&self.bearers)
            .filter(|(_, bearer)| bearer.cell.is_some())
            .map(|(index, _)| index)
            .collect();
        active.into_iter()
    }

    /// Wall clock of the present virtual time, µs since the Unix epoch.
    pub fn wall_us(&self) -> u64 {
        self.epoch_us + self.now_us
    }

    /// Header and message of a report as of now; none of KPM and TC v1, which count from one report
    /// of a subscription to the next, and of TC v0 none where it would be silent.
    pub fn report_now(&mut self, function: RanFunction) -> Option<(Vec<u8>, Payload)> {
        match function {
            RanFunction::Rlc => Some(self.rlc_report()),
            RanFunction::Mac => Some(self.mac_report()),
            RanFunction::TcV0 => self.tc_v0_report(),
            RanFunction::Kpm | RanFunction::TcV1 => None,
        }
    }

    pub(super) fn rlc_report(&mut self) -> Report {
        let mut records = Vec::with_capacity(self.bearers.len());
        for bearer in &mut self.bearers {
            let report = bearer.cell.and_then(|at| self.cell.rlc_report(at, self.now_us));
            let Some(mut report) = report else { continue };
            if let Some(queue) = &mut bearer.rlc_queue {
                queue.complete(&mut report, self.now_us);
            }
            records.push(report);
        }
        let message = reports::rlc::encode(&records, self.wall_us());
        (PLAIN_HEADER.to_vec(), Payload::Message(message))
    }

    pub(super) fn mac_report(&self) -> Report {
        let records: Vec<_> =
            self.cell.rntis().filter_map(|rnti| self.cell.mac_report(rnti, self.now_us)).collect();
        let message = reports::mac::encode(&records, self.wall_us());
        (PLAIN_HEADER.to_vec(), Payload::Message(message))
    }

    /// Cumulative counters of each UE that is here.
    pub(super) fn ue_counters(&self) -> Vec<(u16, UeCounters)> {
        let mut counters: Vec<(u16, UeCounters)> = Vec::new();
        for bearer in self.bearers.iter().filter(|bearer| bearer.cell.is_some()) {
            let measured = &bearer.measured;
            let own = match counters.last_mut() {
                Some((rnti, own)) if *rnti == bearer.rnti => own,
                _ => {
                    let prb_dl = self.cell.used_prb(bearer.rnti).unwrap_or(0);
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

    pub(super) fn kpm_report(&mut self, subscription: &mut Subscription) -> Report {
        let (What::Kpm { wanted, unsupported }, When::Every { period_us }) =
            (&subscription.what, subscription.when)
        else {
            return (Vec::new(), Payload::Kpm(KpmReport::default()));
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
        (Vec::new(), Payload::Kpm(KpmReport { period_ms, ues, unsupported }))
    }

    /// Mean RLC sojourn over the last 100 ms, of the UE's slowest bearer.
    fn rlc_sdu_delay_us(&mut self, rnti: u16) -> f64 {
        let mut slowest = 0.0_f64;
        for bearer in self.bearers.iter_mut().filter(|bearer| bearer.rnti == rnti) {
            let report = bearer.cell.and_then(|at| self.cell.rlc_report(at, self.now_us));
            if let Some(mut report) = report {
                if let Some(queue) = &mut bearer.rlc_queue {
                    queue.complete(&mut report, self.now_us);
                }
                slowest = slowest.max(report.txsdu_avg_time_to_tx);
            }
        }
        slowest
    }

    /// v0 has no addresses: it reports when there is exactly one bearer, and else keeps silent.
    ///
    /// Each report tells the totals of every queue, idle ones too: v0 leaves no queue out, and a
    /// total of 0 in between would read as a restart of the queue.
    pub(super) fn tc_v0_report(&self) -> Option<Report> {
        let mut active = self.active_bearers();
        let (Some(index), None) = (active.next(), active.next()) else { return None };
        let tstamp_us = self.wall_us();
        let tc = &self.bearers[index as usize].tc;
        let status = tc.status(self.now_us);
        let message = tc_pipelines::v0::indication(tc.pipeline(), &status, tstamp_us);
        // Its lists are far below the 32-bit counts that alone could be exceeded.
        let bytes = v0::encode_indication(&message).ok()?;
        Some((PLAIN_HEADER.to_vec(), Payload::Message(bytes)))
    }

    pub(super) fn tc_v1_reports(&mut self, subscription: &mut Subscription) -> Vec<Report> {
        let What::TcV1(actions) = &subscription.what else { return Vec::new() };
        let actions = actions.clone();
        let mut events = std::mem::take(&mut subscription.events);
        let causes = &subscription.causes;
        let mut messages = Vec::new();
        for (position, action) in actions.iter().enumerate() {
            let bearers: Vec<u32> = self
                .active_bearers()
                .filter(|index| {
                    let id = self.bearer_id(*index);
                    concerns(action, &id) && (causes.is_empty() || causes.contains(&id))
                })
                .collect();
            match action.style {
                ReportStyle::PipelineStatus => {
                    for chunk in chunks(&bearers) {
                        let states = chunk.iter().map(|index| {
                            let Bearer { tc, drql_limit, .. } = &self.bearers[*index as usize];
                            let told = subscription.tc_told.entry((position, *index)).or_default();
                            let mut status = tc.status_since(told, self.now_us);
                            // An RLC that drops by a limit of its own has the last word.
                            let at_du = drql_limit.as_ref().and_then(DrqlLimit::in_force_bytes);
                            status.pacer.limit_bytes = at_du.or(status.pacer.limit_bytes);
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
        // Every list was kept within its bound above, and names are checked when they come in.
        let Ok(header) = v1::encode(&header) else { return Vec::new() };
        messages
            .iter()
            .filter_map(|message| v1::encode(message).ok())
            .map(|bytes| (header.clone(), Payload::Message(bytes)))
            .collect()
    }

    /// Passes on what the pipeline of a bearer said about itself.
    pub(super) fn note_pipeline_events(&mut self, index: u32) {
        let kinds = std::mem::take(&mut self.bearers[index as usize].tally.events);
        for kind in kinds {
            if let (EventKind::PacingChanged { by_forecast }, Some(changes)) =
                (&kind, &mut self.pacing_changes)
            {
                let bearer = &self.bearers[index as usize];
                changes.push((bearer.rnti, bearer.drb, *by_forecast));
            }
            self.note_event(index, kind);
        }
    }

    /// Tells the subscriptions to TC v1 of an event.
    pub(super) fn note_event(&mut self, index: u32, kind: EventKind) {
        let bearer = self.bearer_id(index);
        let event = Event { bearer, at_us: self.wall_us(), kind };
        for subscription in self.e2.subscriptions.values_mut() {
            let What::TcV1(actions) = &subscription.what else { continue };
            if !actions.iter().any(|action| concerns(action, &bearer)) {
                continue;
            }
            if matches!(subscription.when, When::Above { .. }) {
                continue;
            }
            if actions.iter().any(|action| action.style == ReportStyle::Events) {
                subscription.events.push(event.clone());
            }
            if matches!(subscription.when, When::OnChange) {
                subscription.causes.push(bearer);
                subscription.next_us = self.now_us;
            }
        }
        self.e2.reschedule();
    }

    /// What has been dropped before a threshold trigger does not count.
    pub(super) fn begin_watch(&mut self, subscription: &mut Subscription) {
        if let When::Above { .. } = subscription.when {
            for index in self.active_bearers() {
                let drops_before = self.bearers[index as usize].tally.dropped_packets;
                let watch = Watch { drops_before, ..Watch::default() };
                subscription.watch.insert(index, watch);
            }
        }
    }

    /// Looks whether a watched quantity crossed its threshold.
    pub(super) fn check_thresholds(&mut self) {
        let watching: Vec<_> = self
            .e2
            .subscriptions
            .iter()
            .filter(|(_, subscription)| matches!(subscription.when, When::Above { .. }))
            .map(|(id, _)| *id)
            .collect();
        for id in watching {
            let Some(mut subscription) = self.e2.subscriptions.remove(&id) else { continue };
            for index in self.active_bearers() {
                self.check_threshold(&mut subscription, index);
            }
            self.e2.subscriptions.insert(id, subscription);
        }
        self.e2.reschedule();
    }

    fn check_threshold(&mut self, subscription: &mut Subscription, index: u32) {
        let (When::Above { quantity, above, hysteresis, min_interval_us }, What::TcV1(actions)) =
            (subscription.when, &subscription.what)
        else {
            return;
        };
        let bearer = self.bearer_id(index);
        if !actions.iter().any(|action| concerns(action, &bearer)) {
            return;
        }
        let drops = self.bearers[index as usize].tally.dropped_packets;
        let watch = subscription.watch.entry(index).or_default();
        let value = self.quantity(quantity, index, drops - watch.drops_before);
        if watch.is_above {
            watch.is_above = value >= above - hysteresis;
            return;
        }
        let waits = watch.reported_us.is_some_and(|at_us| self.now_us < at_us + min_interval_us);
        if value <= above || waits {
            return;
        }
        *watch = Watch { is_above: true, reported_us: Some(self.now_us), drops_before: drops };
        let kind = EventKind::ThresholdCrossed { quantity, value };
        subscription.events.push(Event { bearer, at_us: self.epoch_us + self.now_us, kind });
        subscription.causes.push(bearer);
        subscription.next_us = self.now_us;
    }

    fn quantity(&self, quantity: Quantity, index: u32, drops: u64) -> u32 {
        let now_us = self.now_us;
        let tc = &self.bearers[index as usize].tc;
        let value = match quantity {
            Quantity::BacklogBytes => tc.backlog_bytes(),
            Quantity::Drops => drops,
            Quantity::HeadOfLineAgeUs => tc.head_of_line_age_us(now_us),
            Quantity::MeanSojournUs => tc.mean_sojourn_us(now_us),
        };
        u32::try_from(value).unwrap_or(u32::MAX)
    }
}

/// Bearers in as many as one message may hold; one empty message when there are none.
fn chunks(bearers: &[u32]) -> Vec<&[u32]> {
    if bearers.is_empty() { vec![bearers] } else { bearers.chunks(MAX_BEARERS).collect() }
}
