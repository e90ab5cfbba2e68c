//! What the keys of a TCP flow's congestion control may say together.

use crate::error::Violation;
use crate::flow::{CongestionControl, Flow};
use crate::rules::{Check, within};

/// The keys that a congestion control needs, and those that only one of them knows.
pub(super) fn congestion_control(flow: &Flow, path: &str) -> Check {
    let control = flow.congestion_control.unwrap_or_default();
    for (key, value) in [("ecn", flow.ecn), ("accecn", flow.accecn)] {
        if control == CongestionControl::Prague && value == Some(false) {
            let message = "false; prague cannot do without, leave it out or say true";
            return Err(Violation::new(format!("{path}.{key}"), message));
        }
    }
    if flow.bbr_ack_aggregation.is_some() && control != CongestionControl::Bbr {
        let message = "is for congestion_control bbr alone";
        return Err(Violation::new(format!("{path}.bbr_ack_aggregation"), message));
    }
    let keys = [
        ("c2tcp_target_ms", flow.c2tcp_target_ms),
        ("c2tcp_setpoint_ms", flow.c2tcp_setpoint_ms),
        ("c2tcp_interval_ms", flow.c2tcp_interval_ms),
    ];
    for (key, value) in keys {
        let Some(value) = value else { continue };
        if control != CongestionControl::C2tcp {
            let message = "is for congestion_control c2tcp alone";
            return Err(Violation::new(format!("{path}.{key}"), message));
        }
        within(format_args!("{path}.{key}"), value, 1..=60_000)?;
    }
    if flow.c2tcp_target_ms.is_some() && flow.c2tcp_setpoint_ms.is_some() {
        let message = "is for a tuned setpoint, but c2tcp_setpoint_ms fixes it";
        return Err(Violation::new(format!("{path}.c2tcp_target_ms"), message));
    }
    Ok(())
}
