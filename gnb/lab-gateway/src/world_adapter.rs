//! The lab's world as the gateway's node side.

use bytes::Bytes;
use e2sm_tc::v1::{self, BearerForecast, Cause, ControlOutcome};

use super::{
    ForecastOutcome,
    e2_world::{
        Admitted, BearerMeasurement, CellMeasurement, ControlAnswer, ControlRefusal,
        ControlRequest, ControlTicket, E2World, FlowMeasurement, Measurements, NodeState,
        PacingChange, Report, ReportPayload, RouteError, SubscribeError, SubscriptionId,
        SubscriptionRequest, WorldSink,
    },
    proto,
};
use lab_world::reports::kpm::MEASUREMENTS;
use lab_world::{Output, RanFunction, World};

impl E2World for World {
    fn now_us(&self) -> u64 {
        World::now_us(self)
    }

    fn set_epoch_us(&mut self, unix_us: u64) {
        World::set_epoch_us(self, unix_us);
    }

    fn next_output_us(&self) -> Option<u64> {
        World::next_output_us(self)
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn WorldSink) {
        World::step_until(self, t_us, &mut |output| match output {
            Output::Indication(indication) => {
                sink.indication(SubscriptionId(indication.subscription.0), report(indication));
            }
            Output::ControlDone { ticket, reply } => {
                sink.control_answered(ControlTicket(ticket.0), Some(answer(reply)));
            }
        });
    }

    fn nodes(&self) -> Vec<NodeState> {
        // The lab's gNB stays connected for as long as the world lives.
        let connected = |info| NodeState { node: node(info), generation: 0 };
        World::nodes(self).into_iter().map(connected).collect()
    }

    fn subscribe(&mut self, request: &SubscriptionRequest) -> Result<Admitted, SubscribeError> {
        let function = route(self, &request.node_id, &request.ran_function_oid)?;
        let inner = lab_world::SubscriptionRequest {
            ran_function_oid: request.ran_function_oid.clone(),
            event_trigger: request.event_trigger.to_vec(),
            action_definitions: request
                .action_definitions
                .iter()
                .map(|bytes| bytes.to_vec())
                .collect(),
            kpm_measurements: request.kpm_measurements.clone(),
        };
        let id = World::subscribe(self, &inner)
            .map_err(|error| SubscribeError::Refused(error.to_string()))?;
        Ok(Admitted { id: SubscriptionId(id.0), ran_function_id: function.id() })
    }

    fn unsubscribe(&mut self, subscription: SubscriptionId) {
        // One that is gone already stays gone.
        let _ = World::unsubscribe(self, lab_world::SubscriptionId(subscription.0));
    }

    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        let function = route(self, node_id, oid)?;
        let collected_at_us = self.wall_us();
        let (header, made) = World::report_now(self, function).ok_or_else(|| {
            SubscribeError::Refused(format!(
                "ran_function_oid: {oid} has no report of now; expected RLC, MAC, or E2SM-TC v0 of\
                 a node with one bearer"
            ))
        })?;
        Ok(Report { header: Bytes::from(header), payload: payload(made), collected_at_us })
    }

    fn control(&mut self, request: &ControlRequest) -> Result<ControlTicket, ControlRefusal> {
        route(self, &request.node_id, &request.ran_function_oid)?;
        let oid = &request.ran_function_oid;
        World::submit_control(self, oid, &request.header, &request.message)
            .map(|ticket| ControlTicket(ticket.0))
            .map_err(|error| ControlRefusal::NotControllable(error.to_string()))
    }

    fn forecast(&mut self, node_id: &str, forecast: &BearerForecast) -> ForecastOutcome {
        if node_id != self.node_id() {
            return ForecastOutcome::UnknownNode;
        }
        World::record_pacing_changes(self, true);
        match World::feed_forecast(self, forecast) {
            Ok(()) => ForecastOutcome::Taken,
            Err(Cause::UnknownBearer) => ForecastOutcome::UnknownBearer,
            Err(_) => ForecastOutcome::Refused,
        }
    }

    fn pacing_changes(&mut self) -> Vec<PacingChange> {
        let changes = World::take_pacing_changes(self).into_iter();
        changes.map(|(rnti, drb, by_forecast)| PacingChange { rnti, drb, by_forecast }).collect()
    }

    fn measurements(&mut self) -> Measurements {
        let node_id = node_id(self);
        let bearers = self
            .bearer_samples()
            .into_iter()
            .map(|sample| BearerMeasurement {
                node_id: node_id.clone(),
                rnti: sample.rnti,
                drb: sample.drb,
                rlc_hol_us: sample.hol_us,
                rlc_occupancy_bytes: u64::from(sample.rlc_occupancy_bytes),
                tc_backlog_bytes: sample.tc_backlog_bytes,
                by_forecast: sample.by_forecast,
            })
            .collect();
        let flows = self
            .flow_samples()
            .into_iter()
            .map(|sample| FlowMeasurement {
                flow: sample.name,
                goodput_bytes: sample.goodput_bytes,
                rtt_us: sample.rtt_us,
            })
            .collect();
        Measurements { bearers, flows }
    }

    fn cells(&mut self) -> Vec<CellMeasurement> {
        let sample = self.cell_sample();
        vec![CellMeasurement {
            node_id: node_id(self),
            used_prb: sample.used_prb,
            available_prb: sample.available_prb,
        }]
    }

    fn summary(&mut self) -> serde_json::Value {
        serde_json::to_value(World::summary(self)).unwrap_or_else(|error| {
            tracing::error!(%error, "the summary has no JSON form");
            serde_json::Value::Null
        })
    }
}

/// Name of the lab's only node.
fn node_id(world: &World) -> String {
    world.node_id().to_owned()
}

/// The lab's node offers every RAN function. Asked for each report and control, so nothing is made
/// for it: the definitions of [`World::nodes`] are encoded anew each time.
fn route(world: &World, node_id: &str, oid: &str) -> Result<RanFunction, RouteError> {
    if node_id != world.node_id() {
        return Err(RouteError::UnknownNode { node_id: node_id.to_owned() });
    }
    RanFunction::by_oid(oid).ok_or_else(|| RouteError::UnknownRanFunction {
        node_id: node_id.to_owned(),
        oid: oid.to_owned(),
    })
}

fn node(info: lab_world::NodeInfo) -> proto::Node {
    proto::Node {
        id: info.id,
        r#type: proto::node::Type::Gnb.into(),
        mcc: info.mcc,
        mnc: info.mnc,
        nb_id: info.nb_id,
        ran_functions: info
            .ran_functions
            .into_iter()
            .map(|offered| proto::RanFunction {
                id: offered.function.id(),
                oid: offered.function.oid().to_owned(),
                revision: offered.function.revision(),
                definition: Bytes::from(offered.definition),
            })
            .collect(),
    }
}

fn report(indication: lab_world::Indication) -> Report {
    Report {
        header: Bytes::from(indication.header),
        payload: payload(indication.payload),
        collected_at_us: indication.collected_at_us,
    }
}

fn payload(made: lab_world::Payload) -> ReportPayload {
    match made {
        lab_world::Payload::Message(bytes) => ReportPayload::Message(Bytes::from(bytes)),
        lab_world::Payload::Kpm(report) => ReportPayload::Kpm(kpm(report)),
    }
}

fn kpm(report: lab_world::KpmReport) -> proto::KpmReport {
    let ues = report
        .ues
        .into_iter()
        .map(|ue| proto::KpmUe {
            rnti: u32::from(ue.rnti),
            values: ue.values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        })
        .collect();
    let units = MEASUREMENTS.into_iter().map(|(name, unit)| (name.to_owned(), unit.to_owned()));
    proto::KpmReport {
        period_ms: report.period_ms,
        ues,
        unsupported: report.unsupported,
        units: units.collect(),
    }
}

fn answer(reply: lab_world::ControlReply) -> ControlAnswer {
    ControlAnswer {
        accepted: reply.acknowledged,
        cause: (!reply.acknowledged).then(|| cause(&reply.outcome)),
        outcome: Bytes::from(reply.outcome),
        detail: reply.detail,
    }
}

/// The cause that an E2SM-TC v1 outcome names; v0 has none.
fn cause(outcome: &[u8]) -> &'static str {
    let Ok(ControlOutcome::Refused { cause, .. }) = v1::decode(outcome) else {
        return "unnamed";
    };
    match cause {
        Cause::UnknownBearer => "unknown_bearer",
        Cause::StaleRevision => "stale_revision",
        Cause::UnknownQueue => "unknown_queue",
        Cause::UnknownFilter => "unknown_filter",
        Cause::DuplicateId => "duplicate_id",
        Cause::OutOfRange => "out_of_range",
        Cause::Inconsistent => "inconsistent",
        Cause::Unsupported => "unsupported",
        Cause::Capacity => "capacity",
        Cause::Malformed => "malformed",
    }
}
