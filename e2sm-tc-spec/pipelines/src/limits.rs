//! Whether a pipeline can be installed on a node, before any of it takes effect.
//!
//! What holds for every pipeline is [`e2sm_tc::v1::Validate`]. Here is what depends on the node: the
//! kinds it declares and how much it holds.

use std::fmt::Display;
use std::ops::RangeInclusive;

use e2sm_tc::v1::{
    BearerForecast, Capabilities, Cause, Classifier, FEATURES, HOST_ISOLATION, INNER_HEADERS,
    Invalid, Isolation, MAX_DEFAULT_RULES, NodeDefaultSupport, Pacer, Pipeline, PipelineEdit,
    QueueDiscipline, QueueSet, Scheduler, Validate,
};

use crate::PipelineError;

/// What is checked, or why it is refused.
pub type Result<T = ()> = std::result::Result<T, PipelineError>;

/// A limit below one packet of the MTU would never pass a packet of that length.
const LIMIT_BYTES: RangeInclusive<u32> = MTU_BYTES..=u32::MAX;
/// Longest IP packet of Ethernet (RFC 894).
pub(crate) const MTU_BYTES: u32 = 1500;
/// Queued packets are counted in 32 bits, with one more on its way in.
const BUFFER_PACKETS: RangeInclusive<u32> = 1..=u32::MAX / 2;

/// The capabilities of a node that has every kind of the service model and the largest capacities.
pub fn everything() -> Capabilities {
    let names = |kinds: &[&str]| kinds.iter().map(|&kind| kind.to_owned()).collect();
    Capabilities {
        classifiers: names(Classifier::KINDS),
        queues: names(QueueDiscipline::KINDS),
        schedulers: names(Scheduler::KINDS),
        pacers: names(Pacer::KINDS),
        policer: true,
        shaper: true,
        node_lease: true,
        as_safe: true,
        max_queues: u16::MAX,
        max_filters: u16::MAX,
        max_bearers: u32::MAX,
        min_period_ms: 1,
        features: Some(names(&FEATURES)),
        node_default: Some(NodeDefaultSupport {
            max_rules: MAX_DEFAULT_RULES as u8,
            matches: names(&["five_qi", "s_nssai", "drb"]),
        }),
    }
}

/// Checks a whole pipeline.
///
/// # Errors
/// With the first element that the node does not take.
pub fn check(pipeline: &Pipeline, capabilities: &Capabilities) -> Result {
    check_kinds(pipeline, capabilities)?;
    check_capacity(&pipeline.classifier, capabilities)?;
    pipeline.validate().map_err(|invalid| refused("", invalid))?;
    check_room(pipeline, capabilities)?;
    for (i, set) in pipeline.queues.iter().enumerate() {
        check_set(&format!("queues[{i}]"), set)?;
    }
    within("buffer.packets", pipeline.buffer.packets, BUFFER_PACKETS)?;
    within("buffer.bytes", pipeline.buffer.bytes, LIMIT_BYTES)
}

/// Checks an edit without the pipeline it is applied to; `path` is where it
/// stands in the transaction.
pub(crate) fn check_edit(path: &str, edit: &PipelineEdit, capabilities: &Capabilities) -> Result {
    if let PipelineEdit::AddQueues(set) | PipelineEdit::ModifyQueues(set) = edit {
        check_set_kind(&format!("{path}.{}", edit.kind()), set, capabilities)?;
    }
    edit.validate().map_err(|invalid| refused(path, invalid))
}

/// Checks a forecast; elements are named from the forecast on.
///
/// # Errors
/// With the first element that makes no sense.
pub fn check_forecast(forecast: &BearerForecast) -> Result {
    forecast.validate().map_err(|invalid| refused("", invalid))
}

/// The service model's error about an element, with its place in the transaction.
fn refused(path: &str, invalid: Invalid) -> PipelineError {
    let Invalid { element, cause, expected, found } = invalid;
    let element = match (path, element.as_str()) {
        ("", _) => element,
        (_, "") => path.to_owned(),
        _ => format!("{path}.{element}"),
    };
    PipelineError::new(cause, element, format!("{found}, expected {expected}"))
}

fn check_kinds(pipeline: &Pipeline, capabilities: &Capabilities) -> Result {
    for (i, set) in pipeline.queues.iter().enumerate() {
        check_set_kind(&format!("queues[{i}]"), set, capabilities)?;
    }
    available("classifier", pipeline.classifier.kind(), &capabilities.classifiers)?;
    check_matches(&pipeline.classifier, capabilities)?;
    check_isolation(pipeline, capabilities)?;
    available("scheduler", pipeline.scheduler.kind(), &capabilities.schedulers)?;
    available("pacer", pipeline.pacer.kind(), &capabilities.pacers)
}

/// A node that does not know `inner` would match the outer header instead.
fn check_matches(classifier: &Classifier, capabilities: &Capabilities) -> Result {
    let Classifier::Osi(osi) = classifier else { return Ok(()) };
    let inner = osi.filters.iter().position(|filter| filter.rule.inner == Some(true));
    let Some(position) = inner else { return Ok(()) };
    let element = format!("classifier.osi.filters[{position}].match.inner");
    feature(INNER_HEADERS, &element, capabilities)
}

/// Turns of hosts are those of deficit round robin. Host-then-flow has its own shares of hosts.
fn check_isolation(pipeline: &Pipeline, capabilities: &Capabilities) -> Result {
    let isolation = pipeline.classifier.isolation();
    if isolation == Isolation::Flows {
        return Ok(());
    }
    let kind = pipeline.classifier.kind();
    let element = format!("classifier.{kind}.isolation");
    feature(HOST_ISOLATION, &element, capabilities)?;
    if matches!(pipeline.classifier, Classifier::HostThenFlow(_)) {
        let detail = format!("{}; expected none for {kind}", isolation.kind());
        return Err(PipelineError::new(Cause::Inconsistent, element, detail));
    }
    let by_turns = matches!(
        pipeline.scheduler,
        Scheduler::DeficitRoundRobin { .. } | Scheduler::InelasticFirst(_)
    );
    if isolation.has_turns_of_hosts() && !by_turns {
        let found = pipeline.scheduler.kind();
        let detail = format!(
            "{} under {found}; expected deficit_round_robin or inelastic_first",
            isolation.kind()
        );
        return Err(PipelineError::new(Cause::Inconsistent, element, detail));
    }
    Ok(())
}

fn feature(name: &str, element: &str, capabilities: &Capabilities) -> Result {
    if capabilities.features.iter().flatten().any(|known| known == name) {
        return Ok(());
    }
    let detail = format!("needs a node that declares the feature {name}; expected absent");
    Err(PipelineError::new(Cause::Unsupported, element, detail))
}

fn check_set_kind(path: &str, set: &QueueSet, capabilities: &Capabilities) -> Result {
    available(&format!("{path}.discipline"), set.discipline.kind(), &capabilities.queues)
}

fn available(stage: &str, kind: &str, kinds: &[String]) -> Result {
    if kinds.iter().any(|known| known == kind) {
        return Ok(());
    }
    let detail = format!("{kind} is not available; expected one of {}", kinds.join(", "));
    Err(PipelineError::new(Cause::Unsupported, format!("{stage}.{kind}"), detail))
}

fn check_capacity(classifier: &Classifier, capabilities: &Capabilities) -> Result {
    let most = capabilities.max_filters;
    match classifier {
        Classifier::Osi(osi) if osi.filters.len() > usize::from(most) => Err(PipelineError::new(
            Cause::Capacity,
            "classifier.osi.filters",
            format!("{} filters, expected at most {most}", osi.filters.len()),
        )),
        _ => Ok(()),
    }
}

fn check_room(pipeline: &Pipeline, capabilities: &Capabilities) -> Result {
    let queues: u32 = pipeline.queues.iter().map(|set| u32::from(set.count)).sum();
    let most = u32::from(capabilities.max_queues);
    if queues > most {
        let detail = format!("{queues} queues, expected at most {most}");
        return Err(PipelineError::new(Cause::Capacity, "queues", detail));
    }
    for (i, set) in pipeline.queues.iter().enumerate() {
        let lacks = [
            ("policer", set.policer.is_some() && !capabilities.policer),
            ("shaper", set.shaper.is_some() && !capabilities.shaper),
        ];
        if let Some((stage, _)) = lacks.iter().find(|(_, lacks)| *lacks) {
            return Err(PipelineError::new(
                Cause::Unsupported,
                format!("queues[{i}].{stage}"),
                format!("this node has no {stage}; expected none"),
            ));
        }
    }
    Ok(())
}

fn check_set(path: &str, set: &QueueSet) -> Result {
    if let Some(limit) = set.limit_bytes {
        within(&format!("{path}.limit_bytes"), limit, LIMIT_BYTES)?;
    }
    Ok(())
}

fn within<T: PartialOrd + Display>(path: &str, value: T, range: RangeInclusive<T>) -> Result {
    if range.contains(&value) {
        return Ok(());
    }
    Err(PipelineError::new(
        Cause::OutOfRange,
        path,
        format!("{value}, expected {}..={}", range.start(), range.end()),
    ))
}
