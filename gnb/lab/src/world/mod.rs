//! The world: servers → core → CU (one TC pipeline per bearer) → F1-U → DU (RLC and MAC) → UE and
//! back, on virtual time in whole microseconds, with the gNB's E2 side attached.

mod api;

pub use api::{
    ControlError, ControlReply, ControlTicket, Indication, KpmReport, KpmUe, NodeInfo, Output,
    Payload, RanFunction, RanFunctionInfo, SubscribeError, SubscriptionId, SubscriptionRequest,
};

use crate::scenario::{LoadedScenario, ScenarioError};

/// Unix time of virtual time 0 unless the caller says otherwise: 2026-01-01T00:00:00Z, fixed so
/// that the same scenario and seed give the same bytes.
pub const DEFAULT_EPOCH_US: u64 = 1_767_225_600_000_000;

/// A gNB with its UEs and servers on virtual time.
///
/// Nothing here reads a clock: [`step_until`](Self::step_until) runs as fast as it goes, and a
/// gateway that wants real time calls it with the time that has passed. Timestamps in reports are
/// `epoch_us` + virtual time.
#[derive(Clone, Debug)]
pub struct World {
    now_us: u64,
    epoch_us: u64,
}

impl World {
    /// Builds the world of a scenario at virtual time 0.
    ///
    /// # Errors
    /// [`ScenarioError`] when a trace cannot be read or an element does not fit the parts it sets up.
    pub fn new(_scenario: &LoadedScenario) -> Result<Self, ScenarioError> {
        Ok(Self { now_us: 0, epoch_us: DEFAULT_EPOCH_US })
    }

    /// Sets the Unix time of virtual time 0, µs.
    pub fn set_epoch_us(&mut self, epoch_us: u64) {
        self.epoch_us = epoch_us;
    }

    /// Unix time of virtual time 0, µs.
    pub fn epoch_us(&self) -> u64 {
        self.epoch_us
    }

    /// Virtual time, µs.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// The E2 nodes: one gNB.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        Vec::new()
    }

    /// Starts a subscription; its indications come out of [`step_until`](Self::step_until).
    ///
    /// # Errors
    /// [`SubscribeError`] when there is no such RAN function or it refuses the trigger or an action.
    pub fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        Err(SubscribeError::UnknownRanFunction { oid: request.ran_function_oid.clone() })
    }

    /// Ends a subscription; `false` when there is none of that id.
    pub fn unsubscribe(&mut self, _id: SubscriptionId) -> bool {
        false
    }

    /// Sends a RIC control; it takes effect T_RC later, and the answer comes out of
    /// [`step_until`](Self::step_until) as [`Output::ControlDone`] (at once when T_RC is 0: at the
    /// next step, even one to the present time).
    ///
    /// # Errors
    /// [`ControlError`] when no RAN function takes it.
    pub fn submit_control(
        &mut self,
        oid: &str,
        _header: &[u8],
        _message: &[u8],
    ) -> Result<ControlTicket, ControlError> {
        Err(ControlError::UnknownRanFunction { oid: oid.to_owned() })
    }

    /// Applies a RIC control now, as if it had just arrived at the RAN function.
    ///
    /// # Errors
    /// [`ControlError`] when no RAN function takes it.
    pub fn control(
        &mut self,
        oid: &str,
        _header: &[u8],
        _message: &[u8],
    ) -> Result<ControlReply, ControlError> {
        Err(ControlError::UnknownRanFunction { oid: oid.to_owned() })
    }

    /// Runs until virtual time `t_us`, all of what happens at `t_us` included; a time in the past
    /// only hands over what is already due. Outputs come in order of time.
    pub fn step_until(&mut self, t_us: u64, _sink: &mut dyn FnMut(Output)) {
        self.now_us = self.now_us.max(t_us);
    }

    /// An independent copy that goes on from here.
    pub fn fork(&self) -> Self {
        self.clone()
    }
}
