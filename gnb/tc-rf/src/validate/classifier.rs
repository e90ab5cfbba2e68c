//! Classifiers: targets, filters and what they match.

use e2sm_tc::v1::{Cause, Classifier, FlowMatch, OsiClassifier, PortRange, Prefix, StochasticHash};

use super::{QueueIds, Result, check_target, supported, within};
use crate::PipelineError;
use crate::capabilities::MAX_FILTERS;

pub(super) fn check(classifier: &Classifier, ids: &QueueIds) -> Result {
    supported("classifier", classifier)?;
    match classifier {
        Classifier::RoundRobin(target) => check_target("classifier.round_robin", target, ids),
        Classifier::StochasticHash(hash) => check_hash(hash, ids),
        Classifier::Osi(osi) => check_osi(osi, ids),
        Classifier::L4sEcn(_) | Classifier::HostThenFlow(_) => Ok(()),
    }
}

fn check_hash(hash: &StochasticHash, ids: &QueueIds) -> Result {
    let path = "classifier.stochastic_hash";
    check_target(&format!("{path}.target"), &hash.target, ids)?;
    within(&format!("{path}.ways"), hash.ways, 1..=u8::MAX)?;
    if hash.ways > 1 {
        return Err(PipelineError::new(
            Cause::Unsupported,
            format!("{path}.ways"),
            format!("{}, expected 1: the hash is not set-associative", hash.ways),
        ));
    }
    Ok(())
}

fn check_osi(osi: &OsiClassifier, ids: &QueueIds) -> Result {
    if osi.filters.len() > usize::from(MAX_FILTERS) {
        return Err(PipelineError::new(
            Cause::Capacity,
            "classifier.osi.filters",
            format!("{} filters, expected at most {MAX_FILTERS}", osi.filters.len()),
        ));
    }
    for (i, filter) in osi.filters.iter().enumerate() {
        let path = format!("classifier.osi.filters[{i}]");
        if osi.filters[..i].iter().any(|other| other.id == filter.id) {
            return Err(PipelineError::new(
                Cause::DuplicateId,
                format!("{path}.id"),
                format!("filter {} is there already; expected distinct ids", filter.id),
            ));
        }
        check_match(&format!("{path}.match"), &filter.rule)?;
        check_target(&format!("{path}.target"), &filter.target, ids)?;
    }
    check_target("classifier.osi.default", &osi.default, ids)
}

fn check_match(path: &str, rule: &FlowMatch) -> Result {
    check_prefix(&format!("{path}.source"), rule.source)?;
    check_prefix(&format!("{path}.destination"), rule.destination)?;
    if let (Some(source), Some(destination)) = (rule.source, rule.destination)
        && matches!(source, Prefix::V4 { .. }) != matches!(destination, Prefix::V4 { .. })
    {
        return Err(PipelineError::new(
            Cause::Inconsistent,
            format!("{path}.destination"),
            "expected the IP version of the source",
        ));
    }
    check_ports(&format!("{path}.source_port"), rule.source_port)?;
    check_ports(&format!("{path}.destination_port"), rule.destination_port)?;
    if let Some(dscp) = rule.dscp {
        within(&format!("{path}.dscp"), dscp, 0..=63)?;
    }
    if let Some(qfi) = rule.qfi {
        within(&format!("{path}.qfi"), qfi, 0..=63)?;
    }
    Ok(())
}

fn check_prefix(path: &str, prefix: Option<Prefix>) -> Result {
    match prefix {
        Some(Prefix::V4 { length, .. }) => within(&format!("{path}.v4.length"), length, 0..=32),
        Some(Prefix::V6 { length, .. }) => within(&format!("{path}.v6.length"), length, 0..=128),
        None => Ok(()),
    }
}

fn check_ports(path: &str, range: Option<PortRange>) -> Result {
    match range {
        Some(range) => within(&format!("{path}.high"), range.high, range.low..=u16::MAX),
        None => Ok(()),
    }
}
