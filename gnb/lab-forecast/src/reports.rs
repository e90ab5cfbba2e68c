//! What a RIC subscribes to for a forecaster of the whole node: what `rlc-forecaster` asks for.

use e2sm_tc::v1::{self, ActionDefinition, ReportStyle};

use lab_world::{
    Indication, Payload, RanFunction, SubscriptionId, SubscriptionRequest, World, periodic_trigger,
};

/// MAC reports (MCS, transport block) and pipeline status (queue limit) each so many ms, the default
/// of `rlc-forecaster`.
const CONTEXT_MS: u32 = 20;

/// An indication of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of which RAN function: RLC, MAC or E2SM-TC v1.
    pub function: RanFunction,
    /// When it was taken, µs since the Unix epoch.
    pub collected_at_us: u64,
    /// RIC indication message.
    pub message: Vec<u8>,
}

/// Subscriptions of a RIC.
#[derive(Clone, Debug, Default)]
pub(super) struct Subscriptions(Vec<SubscriptionId>);

impl Subscriptions {
    /// Subscribes to RLC each T_r, and to MAC and pipeline status.
    ///
    /// # Errors
    /// What the RAN function has against it.
    pub(super) fn begin(world: &mut World, sample_us: u32) -> Result<Self, String> {
        let status =
            ActionDefinition { style: ReportStyle::PipelineStatus, bearers: vec![], top_flows: 1 };
        let status = v1::encode(&status).map_err(|error| error.to_string())?;
        let mut begun = Vec::new();
        for (function, period_ms, actions) in [
            (RanFunction::Rlc, sample_us.div_ceil(1_000), vec![]),
            (RanFunction::Mac, CONTEXT_MS, vec![]),
            (RanFunction::TcV1, CONTEXT_MS, vec![status]),
        ] {
            let request = SubscriptionRequest {
                ran_function_oid: function.oid().to_owned(),
                event_trigger: periodic_trigger(function.oid(), period_ms),
                action_definitions: actions,
                kpm_measurements: Vec::new(),
            };
            begun.push(world.subscribe(&request).map_err(|error| error.to_string())?);
        }
        Ok(Self(begun))
    }

    /// The report of an indication and when it came out of the node's E2 interface, µs since the Unix
    /// epoch; none for that of another's subscription.
    pub(super) fn report(&self, indication: Indication) -> Option<(u64, Report)> {
        let Indication { subscription, ran_function, payload, collected_at_us, .. } = indication;
        match payload {
            Payload::Message(message) if self.0.contains(&subscription) => {
                let report = Report { function: ran_function, collected_at_us, message };
                Some((indication.received_at_us, report))
            }
            _ => None,
        }
    }
}
