//! What the gateway needs of a world: an E2 node side that lives on virtual time.
//!
//! One thread at a time calls. Times are virtual µs; the gateway maps them to the
//! wall clock and tells the world by [`E2World::set_epoch_us`] where virtual zero lies, so that
//! time stamps inside payloads are wall clock as well.

use bytes::Bytes;
use e2sm_tc::v1::BearerForecast;

use super::{ForecastOutcome, proto};

/// A node as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    /// What the node said at E2 setup.
    pub node: proto::Node,
    /// Grows each time the node connects, so that a watcher sees a quick reconnection.
    pub generation: u64,
}

/// One RIC subscription. Equal requests share one subscription in the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionRequest {
    /// Node.
    pub node_id: String,
    /// RAN function.
    pub ran_function_oid: String,
    /// RIC event trigger definition.
    pub event_trigger: Bytes,
    /// RIC action definitions.
    pub action_definitions: Vec<Bytes>,
    /// KPM measurement names.
    pub kpm_measurements: Vec<String>,
}

/// Names a subscription within a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u64);

/// An admitted subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Its name in [`WorldSink::indication`].
    pub id: SubscriptionId,
    /// RAN function id of the node.
    pub ran_function_id: u32,
}

/// Why a subscription or control found no RAN function to go to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No such node.
    #[error("node_id: no node {node_id:?} is connected; ListNodes tells which are")]
    UnknownNode {
        /// What was asked for.
        node_id: String,
    },
    /// The node lacks the RAN function.
    #[error("ran_function_oid: node {node_id:?} has no RAN function {oid:?}")]
    UnknownRanFunction {
        /// The node.
        node_id: String,
        /// What was asked for.
        oid: String,
    },
}

/// Why there is no subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// Node or RAN function is not there.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The RAN function refused; the text names the element, its value and what was expected.
    #[error("{0}")]
    Refused(String),
}

/// One RIC control procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// Node.
    pub node_id: String,
    /// RAN function.
    pub ran_function_oid: String,
    /// RIC control header.
    pub header: Bytes,
    /// RIC control message.
    pub message: Bytes,
}

/// Names a control in flight within a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlTicket(pub u64);

/// Why a control never reaches a RAN function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlRefusal {
    /// Node or RAN function is not there.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The RAN function takes no control, which is a RIC control failure.
    #[error("{0}")]
    NotControllable(String),
}

/// The RAN function's answer to a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlAnswer {
    /// Whether it took effect (or would, in a dry run).
    pub accepted: bool,
    /// RIC control outcome.
    pub outcome: Bytes,
    /// Cause of a refusal by its standard name, one of few: it becomes a metric label.
    pub cause: Option<&'static str>,
    /// For people.
    pub detail: String,
}

/// What a report carries.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportPayload {
    /// The service model's own bytes.
    Message(Bytes),
    /// KPM.
    Kpm(proto::KpmReport),
}

/// One RIC indication.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// RIC indication header.
    pub header: Bytes,
    /// RIC indication message.
    pub payload: ReportPayload,
    /// When the node took it, µs since the Unix epoch (the world's epoch plus virtual time).
    pub collected_at_us: u64,
}

/// Receives what comes out of a world as it is stepped.
pub trait WorldSink {
    /// A report arrived at the RIC.
    fn indication(&mut self, subscription: SubscriptionId, report: Report);
    /// The node of a subscription went away; no more of it will come.
    fn subscription_lost(&mut self, subscription: SubscriptionId);
    /// The answer to a control arrived, or `None`: its node went away on the way.
    fn control_answered(&mut self, ticket: ControlTicket, answer: Option<ControlAnswer>);
    /// Nodes came, went or changed; the gateway asks for [`E2World::nodes`].
    fn nodes_changed(&mut self);
}

/// One bearer at scrape time.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerMeasurement {
    /// Node id.
    pub node_id: String,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Age of the head of the RLC transmission buffer; 0 when empty.
    pub rlc_hol_us: u64,
    /// RLC transmission buffer.
    pub rlc_occupancy_bytes: u64,
    /// Bytes queued in the TC pipeline above the RLC.
    pub tc_backlog_bytes: u64,
    /// Whether its pacer goes by a forecast; absent where the pacer takes none.
    pub by_forecast: Option<bool>,
}

/// A pacer that goes by forecasts from now on, or no longer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacingChange {
    /// C-RNTI.
    pub rnti: u16,
    /// DRB identity.
    pub drb: u8,
    /// Whether by forecasts.
    pub by_forecast: bool,
}

/// Downlink PRBs of one cell, cumulative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellMeasurement {
    /// Node id.
    pub node_id: String,
    /// PRBs that carried data.
    pub used_prb: u64,
    /// PRBs there were.
    pub available_prb: u64,
}

/// One flow, cumulative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMeasurement {
    /// Name in the scenario.
    pub flow: String,
    /// Application bytes that arrived in order.
    pub goodput_bytes: u64,
    /// Its last round trip, of a ping or an echoed call.
    pub rtt_us: Option<u64>,
}

/// State read when metrics are scraped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Bearers.
    pub bearers: Vec<BearerMeasurement>,
    /// Flows.
    pub flows: Vec<FlowMeasurement>,
}

/// An E2 node side on virtual time.
pub trait E2World: Send + 'static {
    /// Virtual time reached.
    fn now_us(&self) -> u64;

    /// Tells where virtual time zero lies on the wall clock, µs since the Unix epoch.
    fn set_epoch_us(&mut self, unix_us: u64);

    /// Earliest virtual time at which something comes out of the world by itself (a report, the
    /// answer to a control); `None` when nothing is on its way.
    fn next_output_us(&self) -> Option<u64>;

    /// Runs all events up to and including `t_us`.
    fn step_until(&mut self, t_us: u64, sink: &mut dyn WorldSink);

    /// Nodes connected now.
    fn nodes(&self) -> Vec<NodeState>;

    /// Opens a subscription at the present virtual time.
    ///
    /// # Errors
    /// When the node or RAN function is not there, or refuses trigger, action or measurement.
    fn subscribe(&mut self, request: &SubscriptionRequest) -> Result<Admitted, SubscribeError>;

    /// Ends a subscription; an unknown one is ignored.
    fn unsubscribe(&mut self, subscription: SubscriptionId);

    /// A report of a RAN function as of the present virtual time, without a subscription.
    ///
    /// # Errors
    /// When the node or RAN function is not there, or its reports are those of a subscription.
    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError>;

    /// Sends a control on its way at the present virtual time; the answer comes to
    /// [`WorldSink::control_answered`] when the node has applied it.
    ///
    /// # Errors
    /// When nothing takes it. A refusal by the RAN function that does is an answer.
    fn control(&mut self, request: &ControlRequest) -> Result<ControlTicket, ControlRefusal>;

    /// Hands a forecast of one of the node's bearers to its pacer; its times are of the node's clock.
    fn forecast(&mut self, node_id: &str, forecast: &BearerForecast) -> ForecastOutcome;

    /// What pacers went over to since this was last asked.
    fn pacing_changes(&mut self) -> Vec<PacingChange>;

    /// Bearers and flows now.
    fn measurements(&mut self) -> Measurements;

    /// PRB totals now; cheap, asked for once a second.
    fn cells(&mut self) -> Vec<CellMeasurement>;

    /// Summary of the run so far.
    fn summary(&mut self) -> serde_json::Value;
}
