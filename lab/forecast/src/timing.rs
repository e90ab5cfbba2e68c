//! Sampling period, delays and horizon of a RIC.

use serde::Serialize;

/// Points of a bearer in one feed (E2SM-TC v1 §8).
pub(super) const FEED_POINTS: u32 = 64;

/// The times of stolidis2024 §III-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// T_r: sampling period, µs; 1 or more.
    pub sample_us: u32,
    /// T_RD: from the DU to the RIC, µs.
    pub report_delay_us: u32,
    /// T_m: duration of an inference, µs. The next one starts when it ends; 0 is one per sample.
    pub inference_us: u32,
    /// T_RC: from the RIC to the CU, µs.
    pub control_delay_us: u32,
    /// Time from the newest sample to the first point, µs: T_RD + T_m + T_RC for a model trained
    /// for the delays of its network, else that of the model. Outside the forecast the nearest
    /// point is used.
    pub first_point_us: u32,
    /// T_w: between points, µs; 1 or more.
    pub step_us: u32,
    /// M: points of a forecast; 1 or more.
    pub points: u32,
}

impl Timing {
    /// The paper's own setting (§IV-D): T_r = T_w = 1 ms, M 400, T_m 400 ms, T_RC 0; T_RD is T_c,
    /// since "the Near-RT RIC is collocated with the CU".
    pub fn stolidis2024(t_c_us: u32) -> Self {
        Self {
            sample_us: 1_000,
            report_delay_us: t_c_us,
            inference_us: 400_000,
            control_delay_us: 0,
            first_point_us: t_c_us.saturating_add(400_000),
            step_us: 1_000,
            points: 400,
        }
    }

    /// The timing of [`stolidis2024`](Self::stolidis2024), with an inference without duration and
    /// 64 points.
    pub fn at_once(t_c_us: u32) -> Self {
        Self { inference_us: 0, first_point_us: t_c_us, points: 64, ..Self::stolidis2024(t_c_us) }
    }

    /// Time from a sample to its forecast at the CU, T_RD + T_m + T_RC.
    pub fn latency_us(&self) -> u64 {
        u64::from(self.report_delay_us)
            + u64::from(self.inference_us)
            + u64::from(self.control_delay_us)
    }

    /// Points of the cumulated drain of a forecast that knows it at any, µs after the newest sample, at most
    /// 64: the steps of a sample next to it, as the newest status may be a few later, and those
    /// around the arrival of what the CU sends by it, 2·T_RD later.
    pub fn sums_us(&self) -> Vec<u32> {
        const NEAR: u32 = 8;
        const BEFORE: u32 = 4;
        let step_us = self.sample_us.max(1);
        let arrival = 2 * self.report_delay_us.div_ceil(step_us);
        let far = arrival.saturating_sub(BEFORE).max(NEAR + 1);
        let steps = (1..=NEAR).chain(far..far.saturating_add(FEED_POINTS - NEAR));
        steps.map(|step| step.saturating_mul(step_us)).collect()
    }

    /// Length of a forecast, M · T_w.
    pub fn length_us(&self) -> u64 {
        u64::from(self.points) * u64::from(self.step_us)
    }
}
