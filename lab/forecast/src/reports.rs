//! Subscriptions of a RIC for a forecaster of the whole node: those of `rlc-forecaster`.

use bytes::Bytes;
use e2sm_tc::v1::{self, ActionDefinition, ReportStyle};

use lab_world::{Indication, Payload, RanFunction, SubscriptionId, SubscriptionRequest, World};

/// Period of MAC reports (MCS, transport block) and pipeline status (queue limit); default of
/// `rlc-forecaster`.
const CONTEXT_MS: u32 = 20;

/// A report of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its RAN function: RLC, MAC or E2SM-TC v1.
    pub function: RanFunction,
    /// Time of collection, µs since the Unix epoch.
    pub collected_at_us: u64,
    /// RIC indication message.
    pub message: Bytes,
}

/// Subscriptions of a RIC.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscriptions(Vec<SubscriptionId>);

impl Subscriptions {
    /// Subscribes to RLC each T_r, and to MAC and pipeline status.
    ///
    /// # Errors
    /// The reason why the RAN function refuses one.
    pub(super) fn subscribe(world: &mut World, sample_us: u32) -> Result<Self, String> {
        let status =
            ActionDefinition { style: ReportStyle::PipelineStatus, bearers: vec![], top_flows: 1 };
        let status = v1::encode(&status).map_err(|error| error.to_string())?.into();
        let mut ids = Vec::new();
        for (function, period_ms, actions) in [
            (RanFunction::Rlc, sample_us.div_ceil(1_000), vec![]),
            (RanFunction::Mac, CONTEXT_MS, vec![]),
            (RanFunction::TcV1, CONTEXT_MS, vec![status]),
        ] {
            let request = SubscriptionRequest {
                action_definitions: actions,
                ..SubscriptionRequest::periodic(world.node_id(), function, period_ms)
            };
            ids.push(world.subscribe(&request).map_err(|error| error.to_string())?);
        }
        Ok(Self(ids))
    }

    /// The report of an indication and when it left the node's E2 interface, µs since the Unix epoch;
    /// `None` for other subscriptions.
    pub(super) fn report(&self, indication: Indication) -> Option<(u64, Report)> {
        let Indication { subscription, ran_function: function, report, received_at_us, .. } =
            indication;
        match report.payload {
            Payload::Message(message) if self.0.contains(&subscription) => {
                let collected_at_us = report.collected_at_us;
                Some((received_at_us, Report { function, collected_at_us, message }))
            }
            _ => None,
        }
    }
}
