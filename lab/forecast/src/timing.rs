//! Sampling period, delays and horizon of a RIC.

use serde::Serialize;

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

    /// Length of a forecast, M · T_w.
    pub fn length_us(&self) -> u64 {
        u64::from(self.points) * u64::from(self.step_us)
    }
}
