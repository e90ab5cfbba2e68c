//! RIC control header, message and outcome.

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation, ViolationKind};
use crate::v1::per::*;

use super::addressing::each_once;
use super::scheduler::LEVEL_MILLI;
use super::{
    BearerId, BearerQos, BufferLimit, Classifier, Filter, FilterId, Owner, Pacer, Pipeline,
    PipelineName, QueueSet, QueueTarget, SNssai, Scheduler,
};

sequence! {
    /// RIC control header: style 1 pipeline, 2 lease, 3 forecast feed, 4 node lease, 5 node
    /// default, 6 QoS flow mapping.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ControlHeader { ...
        /// Control style.
        style: u8 as Int<1, 255>,
        /// Opaque to the RAN function, echoed in events and logs.
        correlation_id: u32,
    }
}

choice! {
    /// RIC control message.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum ControlMessage { ...
        /// Style 1: an atomic change.
        0 transaction => Transaction(Transaction),
        /// Style 2: extends the lease of the current pipeline.
        1 lease_renewal => LeaseRenewal(LeaseRenewal),
        /// Style 3: forecasts of the RLC.
        2 forecast_feed => ForecastFeed(ForecastFeed),
        /// Style 4: exclusive control of the node.
        3 node_lease => NodeLease(NodeLease),
        ...
        /// Style 5: pipelines of bearers to come.
        0 node_default => NodeDefault(NodeDefault),
        /// Style 6: the DRB of a QoS flow.
        1 qos_flow_mapping => QosFlowMapping(QosFlowMapping),
    }
}

impl ControlMessage {
    /// The control style of the message, which its header must name.
    #[must_use]
    pub fn style(&self) -> u8 {
        match self {
            Self::Transaction(_) => 1,
            Self::LeaseRenewal(_) => 2,
            Self::ForecastFeed(_) => 3,
            Self::NodeLease(_) => 4,
            Self::NodeDefault(_) => 5,
            Self::QosFlowMapping(_) => 6,
        }
    }
}

sequence! {
    /// An atomic change of one bearer's pipeline.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Transaction { ...
        /// The bearer.
        bearer: BearerId,
        /// Refused with `stale_revision` unless it is the current one; unchecked if absent.
        expected_revision: Option<u32>,
        /// The safe pipeline returns after this time without renewal; never if absent.
        lease_ms: Option<u32> as Option<Int<1, 0xffff_ffff>>,
        /// Who sends it; refused with `not_owner` while another holds the node's lease.
        owner: Option<String> as Option<Owner>,
        /// Check and answer without a change.
        dry_run: bool,
        /// The result becomes the safe pipeline: it has no owner and no lease, and is what returns
        /// when a later lease ends.
        #[serde(default)]
        as_safe: bool,
        /// The change.
        change: PipelineChange,
    }
}

choice! {
    /// Change made by a transaction.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum PipelineChange { ...
        /// Install this pipeline.
        0 replace => Replace(Pipeline),
        /// Edit the current one; edits apply in order, all or none.
        1 delta => Delta(Vec<PipelineEdit> as ListOf<PipelineEdit, 1, 256>),
        /// Return to the safe pipeline now.
        2 safe => Safe,
        /// Return to the pipeline that the bearer had before any control, which becomes the safe
        /// one again.
        3 initial => Initial,
    }
}

choice! {
    /// One edit of a delta.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum PipelineEdit { ...
        /// Replace stage 1.
        0 set_classifier => SetClassifier(Classifier),
        /// Insert a filter before the one at this position of the OSI classifier (0 is first).
        1 add_filter => AddFilter {
            /// Position.
            position: u16 as Int<0, 255>,
            /// Filter.
            filter: Filter,
        },
        /// Remove a filter of the OSI classifier.
        2 remove_filter => RemoveFilter(FilterId),
        /// Add queues; their ids must be free.
        3 add_queues => AddQueues(QueueSet),
        /// Change discipline, limits, policer and shaper of existing queues; packets stay.
        4 modify_queues => ModifyQueues(QueueSet),
        /// Remove queues; their packets are classified again, in order.
        5 remove_queues => RemoveQueues(QueueTarget),
        /// Replace stage 4.
        6 set_scheduler => SetScheduler(Scheduler),
        /// Replace stage 6.
        7 set_pacer => SetPacer(Pacer),
        /// Replace the buffer limit.
        8 set_buffer => SetBuffer(BufferLimit),
        /// Rename the composition.
        9 set_name => SetName(String as PipelineName),
    }
}

sequence! {
    /// Extends the lease of a pipeline.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct LeaseRenewal { ...
        /// The bearer.
        bearer: BearerId,
        /// Must be the current revision.
        revision: u32,
        /// New lease, from now.
        lease_ms: u32 as Int<1, 0xffff_ffff>,
        /// Who sends it; as in a transaction.
        owner: Option<String> as Option<Owner>,
    }
}

sequence! {
    /// Takes, renews or gives up exclusive control of the node: while a lease of the node runs,
    /// transactions and renewals of others are refused.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct NodeLease { ...
        /// Who holds the node from now on.
        owner: String as Owner,
        /// New lease, from now; gives the node up if absent.
        lease_ms: Option<u32> as Option<Int<1, 0xffff_ffff>>,
    }
}

/// Most rules of a node default; `maxDefaultRules` of the ASN.1.
pub const MAX_DEFAULT_RULES: usize = 16;

sequence! {
    /// Pipelines with which bearers of the node are set up from now on. Bearers that exist keep
    /// theirs.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct NodeDefault { ...
        /// Who sends it; as in a transaction.
        owner: Option<String> as Option<Owner>,
        /// Lease of the node default, from now: bearers that are set up later start with their
        /// initial pipeline again. Without limit if absent.
        lease_ms: Option<u32> as Option<Int<1, 0xffff_ffff>>,
        /// Check and answer without a change.
        dry_run: bool,
        /// The change.
        change: NodeDefaultChange,
    }
}

choice! {
    /// Change of the node default.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum NodeDefaultChange { ...
        /// These rules instead of those before; the first that matches a bearer applies.
        0 set => Set(Vec<DefaultRule> as ListOf<DefaultRule, 1, MAX_DEFAULT_RULES>),
        /// Another lease for the rules of this revision.
        1 renew => Renew(u32),
        /// No rules.
        2 withdraw => Withdraw,
    }
}

sequence! {
    /// One rule of a node default.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DefaultRule { ...
        /// Which bearers; `match` on the wire and in JSON.
        #[serde(rename = "match")]
        rule: BearerMatch,
        /// What they start with; their initial pipeline if absent.
        pipeline: Option<Pipeline>,
        /// Lease of that pipeline, from the set-up of the bearer; never ends if absent.
        lease_ms: Option<u32> as Option<Int<1, 0xffff_ffff>>,
        /// It is the safe pipeline of the bearer, without owner and lease, as in a transaction.
        as_safe: bool,
    }
}

sequence! {
    /// Which bearers a rule of a node default is for. All lists have to match; an empty list
    /// matches every bearer.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BearerMatch { ...
        /// Bearers with a QoS flow of one of these 5QIs (23.501 §5.7.4).
        five_qis: Vec<u8> as ListOf<u8, 0, 64>,
        /// Bearers of a PDU session of one of these slices.
        s_nssais: Vec<SNssai> as ListOf<SNssai, 0, 64>,
        /// Bearers of one of these DRB identities.
        drbs: Vec<u8> as ListOf<Int<1, 32>, 0, 32>,
    }
}

impl BearerMatch {
    /// Whether a bearer of this identity and quality of service is meant. What the node does not
    /// know of it matches no list.
    #[must_use]
    pub fn selects(&self, drb: u8, qos: &BearerQos) -> bool {
        let of_slice = |slice: &SNssai| qos.s_nssai == Some(*slice);
        (self.five_qis.is_empty() || qos.five_qis.iter().any(|qi| self.five_qis.contains(qi)))
            && (self.s_nssais.is_empty() || self.s_nssais.iter().any(of_slice))
            && (self.drbs.is_empty() || self.drbs.contains(&drb))
    }

    /// Names of the lists that are given, as [`NodeDefaultSupport`](super::NodeDefaultSupport)'s `matches` has them.
    #[must_use]
    pub fn kinds(&self) -> Vec<&'static str> {
        let given = [
            (!self.five_qis.is_empty()).then_some("five_qi"),
            (!self.s_nssais.is_empty()).then_some("s_nssai"),
            (!self.drbs.is_empty()).then_some("drb"),
        ];
        given.into_iter().flatten().collect()
    }
}

sequence! {
    /// Maps a QoS flow of a UE to one of its DRBs (37.324 §5.3.1), in both directions and in order.
    /// The revision is that of the UE's mapping, not of a pipeline.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QosFlowMapping { ...
        /// The UE, and the DRB that carries the flow from now on.
        bearer: BearerId,
        /// The QoS flow.
        qfi: u8 as Int<0, 63>,
        /// Refused with `stale_revision` unless it is that of the UE's mapping; unchecked if absent.
        expected_revision: Option<u32>,
        /// Who sends it; as in a transaction.
        owner: Option<String> as Option<Owner>,
        /// Check and answer without a change.
        dry_run: bool,
    }
}

sequence! {
    /// Forecasts of RLC state for the pacers of a CU.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ForecastFeed { ...
        /// Forecasts of bearers, 256 at most.
        bearers: Vec<BearerForecast> as ReportOf<BearerForecast, 1, 256>,
    }
    check forecasts_once
}

fn forecasts_once(feed: &ForecastFeed) -> Result<(), Violation> {
    each_once(feed.bearers.iter().map(|forecast| forecast.bearer))
        .map_err(|(index, violation)| violation.within("bearer").at_index(index).within("bearers"))
}

sequence! {
    /// Forecast of one bearer: values at `origin + horizon_start + k · step`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BearerForecast { ...
        /// The bearer.
        bearer: BearerId,
        /// Time of the newest sample used, µs since the Unix epoch.
        origin_us: u64,
        /// Time from the origin to the first point.
        horizon_start_us: u32,
        /// Time between points.
        step_us: u32 where POSITIVE,
        /// RLC occupancy in bytes, 1..=64 points.
        occupancy_bytes: Vec<u32> as ListOf<u32, 1, 64>,
        /// Queue limit in bytes; as many points, or empty.
        limit_bytes: Vec<u32> as ListOf<u32, 0, 64>,
        /// Bytes drained per step; as many points, or empty.
        drain_bytes: Vec<u32> as ListOf<u32, 0, 64>,
        ...
        /// Quantiles of the drain summed from the origin on; for pacers of kind `base_stock`.
        cumulated_drain: Option<CumulatedDrain>,
    }
    check as_many_points
}

sequence! {
    /// Quantiles of the bytes that the MAC takes from the origin of a forecast to each point while the
    /// RLC is not empty. Quantiles of single steps do not add up to these.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CumulatedDrain { ...
        /// Times after the origin, 1..=64; increasing.
        points_us: Vec<u32> as ListOf<u32, 1, 64>,
        /// Levels of the quantiles in thousandths, 1..=16; increasing within 1..=999.
        levels_milli: Vec<u16> as ListOf<Int<0, 1_000>, 1, 16>,
        /// `points_us` × `levels_milli`, row by row: no sum is below that of an earlier point, nor a
        /// quantile below one of a lower level.
        bytes: Vec<u32> as ListOf<u32, 1, 1_024>,
    }
    check sums_in_order
}

fn sums_in_order(drain: &CumulatedDrain) -> Result<(), Violation> {
    increasing("points_us", &drain.points_us)?;
    increasing("levels_milli", &drain.levels_milli)?;
    for (index, level) in drain.levels_milli.iter().enumerate() {
        within(level, &LEVEL_MILLI).map_err(|it| it.at_index(index).within("levels_milli"))?;
    }
    let levels = drain.levels_milli.len();
    let (count, rows) = (drain.bytes.len(), drain.points_us.len());
    if count != rows * levels {
        let expected = format!("{}, {rows} points of {levels} levels", rows * levels);
        return Err(ViolationKind::Inconsistent.at("bytes", expected, count));
    }
    for (index, bytes) in drain.bytes.iter().enumerate() {
        let before = index.checked_sub(levels).map_or(0, |earlier| drain.bytes[earlier]);
        let below = if index % levels == 0 { 0 } else { drain.bytes[index - 1] };
        let least = before.max(below);
        if *bytes < least {
            let violation = ViolationKind::Inconsistent.at("", format!("{least} or more"), bytes);
            return Err(violation.at_index(index).within("bytes"));
        }
    }
    Ok(())
}

fn increasing<T: PartialOrd + std::fmt::Display>(
    component: &str,
    values: &[T],
) -> Result<(), Violation> {
    match values.windows(2).position(|pair| pair[0] >= pair[1]) {
        None => Ok(()),
        Some(index) => {
            let expected = format!("more than {}", values[index]);
            let violation = ViolationKind::Inconsistent.at("", expected, &values[index + 1]);
            Err(violation.at_index(index + 1).within(component))
        }
    }
}

fn as_many_points(forecast: &BearerForecast) -> Result<(), Violation> {
    let count = forecast.occupancy_bytes.len();
    let lists = [("limit_bytes", &forecast.limit_bytes), ("drain_bytes", &forecast.drain_bytes)];
    for (component, values) in lists {
        if !values.is_empty() && values.len() != count {
            let expected = format!("no points, or {count} as of the occupancy");
            return Err(ViolationKind::Inconsistent.at(component, expected, values.len()));
        }
    }
    Ok(())
}

choice! {
    /// RIC control outcome.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum ControlOutcome { ...
        /// Applied; in a dry run: would be applied.
        0 accepted => Accepted {
            /// Revision now in force.
            revision: u32,
            /// Remaining lease, ms; without limit if absent.
            lease_ms: Option<u32> as Option<Int<1, 0xffff_ffff>>,
        },
        /// Refused; nothing changed.
        1 refused => Refused {
            /// Cause.
            cause: Cause,
            /// The offending element, as a path such as `queues[2].shaper.rate_kbps`.
            element: String as Utf8<255>,
            /// Description for operators.
            detail: String as Utf8<1023>,
            /// Revision in force; absent if the bearer is unknown.
            revision: Option<u32>,
            /// Who holds the node, if the cause is `not_owner`.
            holder: Option<Holder>,
        },
    }
}

impl ControlOutcome {
    /// A refusal with texts clipped to the encodable length: 255 characters of element, 1023 of
    /// detail.
    #[must_use]
    pub fn refused(
        cause: Cause,
        element: impl AsRef<str>,
        detail: impl AsRef<str>,
        revision: Option<u32>,
    ) -> Self {
        let clip = |text: &str, most: usize| text.chars().take(most).collect();
        Self::Refused {
            cause,
            element: clip(element.as_ref(), 255),
            detail: clip(detail.as_ref(), 1023),
            revision,
            holder: None,
        }
    }
}

sequence! {
    /// Who holds a node, and for how long.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Holder { ...
        /// Identity given in its node lease.
        owner: String as Owner,
        /// Remaining lease of the node, ms.
        lease_left_ms: u32,
    }
}

enumerated! {
    /// Why a control was refused.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Cause { ...
        /// No such UE or DRB.
        0 "unknown_bearer" => UnknownBearer,
        /// `expected_revision` is not the current revision.
        1 "stale_revision" => StaleRevision,
        /// No such queue.
        2 "unknown_queue" => UnknownQueue,
        /// No such filter.
        3 "unknown_filter" => UnknownFilter,
        /// The id is taken.
        4 "duplicate_id" => DuplicateId,
        /// A value outside its range.
        5 "out_of_range" => OutOfRange,
        /// Inconsistent elements, e.g. a target without queue.
        6 "inconsistent" => Inconsistent,
        /// A kind that the RAN function does not support.
        7 "unsupported" => Unsupported,
        /// More queues, filters or bearers than the RAN function supports.
        8 "capacity" => Capacity,
        /// The message could not be decoded.
        9 "malformed" => Malformed,
        /// Another holds the node's lease.
        10 "not_owner" => NotOwner,
        ...
        /// The UE has no QoS flow of this QFI.
        0 "unknown_qos_flow" => UnknownQosFlow,
    } else {
        /// A cause of a later version.
        "other" => Other
    }
}

impl DecodeError {
    /// The cause with which a RAN function refuses the message: `unsupported` for an element that a
    /// later version added, else `malformed`.
    #[must_use]
    pub fn cause(&self) -> Cause {
        if self.is_of_later_version() { Cause::Unsupported } else { Cause::Malformed }
    }
}
