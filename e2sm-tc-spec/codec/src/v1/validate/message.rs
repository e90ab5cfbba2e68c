//! Control messages, triggers and action definitions.

use std::collections::HashSet;

use super::runs::QueueIds;
use super::{Invalid, Validate, at_least, at_least_one, stage, within_constraints};
use crate::v1::model::{
    ActionDefinition, BearerForecast, BearerId, Cause, ControlMessage, EventTrigger, ForecastFeed,
    LeaseRenewal, PipelineChange, PipelineEdit, Transaction,
};

impl Validate for ControlMessage {
    fn validate(&self) -> Result<(), Invalid> {
        match self {
            Self::Transaction(transaction) => transaction.validate(),
            Self::LeaseRenewal(renewal) => renewal.validate(),
            Self::ForecastFeed(feed) => feed.validate(),
        }
    }
}

/// Element paths of a whole pipeline start at the pipeline, those of a delta at the edit's
/// position, such as `delta[3].add_queues.count`.
impl Validate for Transaction {
    fn validate(&self) -> Result<(), Invalid> {
        match &self.change {
            // First, for the shorter path.
            PipelineChange::Replace(pipeline) => pipeline.validate()?,
            PipelineChange::Delta(edits) => {
                for (index, edit) in edits.iter().enumerate() {
                    edit.validate().map_err(|invalid| invalid.at_index(index).within("delta"))?;
                }
            }
            PipelineChange::Safe => {}
        }
        within_constraints(self)
    }
}

/// What can be said of an edit without the pipeline it is applied to.
impl Validate for PipelineEdit {
    fn validate(&self) -> Result<(), Invalid> {
        match self {
            Self::SetClassifier(classifier) => stage::classifier(classifier),
            Self::AddFilter { filter, .. } => {
                stage::filter(filter).map_err(|invalid| invalid.within("filter"))
            }
            Self::AddQueues(set) | Self::ModifyQueues(set) => {
                QueueIds::default().add(set.first, set.count).and_then(|()| stage::queue_set(set))
            }
            Self::SetScheduler(scheduler) => stage::scheduler(scheduler),
            Self::SetPacer(pacer) => stage::pacer(pacer),
            Self::SetBuffer(buffer) => stage::buffer(buffer),
            Self::RemoveFilter(_) | Self::RemoveQueues(_) | Self::SetName(_) => Ok(()),
        }
        .map_err(|invalid| invalid.within(self.kind()))?;
        within_constraints(self)
    }
}

impl Validate for LeaseRenewal {
    fn validate(&self) -> Result<(), Invalid> {
        within_constraints(self)
    }
}

impl Validate for ForecastFeed {
    fn validate(&self) -> Result<(), Invalid> {
        within_constraints(self)?;
        named_once(self.bearers.iter().map(|forecast| forecast.bearer)).map_err(
            |(index, invalid)| invalid.within("bearer").at_index(index).within("bearers"),
        )?;
        self.bearers.iter().enumerate().try_for_each(|(index, forecast)| {
            points(forecast).map_err(|invalid| invalid.at_index(index).within("bearers"))
        })
    }
}

impl Validate for BearerForecast {
    fn validate(&self) -> Result<(), Invalid> {
        within_constraints(self)?;
        points(self)
    }
}

fn points(forecast: &BearerForecast) -> Result<(), Invalid> {
    at_least_one("step_us", forecast.step_us)?;
    let count = forecast.occupancy_bytes.len();
    for (component, values) in
        [("limit_bytes", &forecast.limit_bytes), ("drain_bytes", &forecast.drain_bytes)]
    {
        if !values.is_empty() && values.len() != count {
            let expected = format!("no points, or {count} as of the occupancy");
            let invalid = Invalid::new(Cause::Inconsistent, expected, values.len());
            return Err(invalid.within(component));
        }
    }
    Ok(())
}

impl Validate for EventTrigger {
    fn validate(&self) -> Result<(), Invalid> {
        within_constraints(self)?;
        match *self {
            Self::Threshold { above, hysteresis, .. } => {
                at_least("above", above, hysteresis).map_err(|invalid| invalid.within("threshold"))
            }
            Self::Periodic { .. } | Self::OnChange => Ok(()),
        }
    }
}

impl Validate for ActionDefinition {
    fn validate(&self) -> Result<(), Invalid> {
        within_constraints(self)?;
        named_once(self.bearers.iter().copied())
            .map_err(|(index, invalid)| invalid.at_index(index).within("bearers"))
    }
}

/// Answers the position of the first bearer that was named before.
fn named_once(bearers: impl Iterator<Item = BearerId>) -> Result<(), (usize, Invalid)> {
    let mut seen = HashSet::new();
    for (index, bearer) in bearers.enumerate() {
        if !seen.insert(bearer) {
            let expected = "each bearer once";
            let found = format!("{bearer:?} again");
            return Err((index, Invalid::new(Cause::DuplicateId, expected, found)));
        }
    }
    Ok(())
}
