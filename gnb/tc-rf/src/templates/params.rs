//! What a template leaves open.

use e2sm_tc::v1::{BufferLimit, FiveTuple, FlowMatch, Overflow, Pacer, Shaper};

/// What a template leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateParams {
    /// Pacer of every template but `transparent`, `drql_forecast` and `sojourn`; 5G-BDP, as in all pipelines
    /// of irazabal2024. It keeps at most some 15 kB in the RLC buffer of a slow bearer, which
    /// e5G-BDP and DRQL undercut, and loses least on channels whose capacity comes in bursts.
    pub pacer: Pacer,
    /// CoDel target; 5 ms (RFC 8289 §4.4).
    pub target_us: u32,
    /// CoDel interval; 100 ms (RFC 8289 §4.4).
    pub interval_us: u32,
    /// Mark ECN-capable packets instead of dropping them (RFC 8290 §5.1.3 recommends it).
    pub ecn: bool,
    /// Queues of the stochastic hash; 1024 (RFC 8290 §4.1.2). `cake_diffserv` divides them among
    /// its classes.
    pub flow_queues: u16,
    /// DRR quantum; one Ethernet frame of 1514 bytes (RFC 8290 §4.2).
    pub quantum_bytes: u32,
    /// Marking threshold of the `fq_l4s` template. Higher than the 1 ms of RFC 9332: a TDD cell
    /// drains nothing for up to 1.5 ms and everything comes in slots.
    pub l4s_threshold_us: u32,
    /// Delay target of the classic queue of `l4s`; 15 ms (RFC 9332 appendix A.1).
    pub classic_target_us: u32,
    /// Update period of the controller of `l4s`: the lesser of the target and a third of the
    /// longest round trip, 15 ms (RFC 9332 appendix A.1).
    pub classic_update_us: u32,
    /// Coupling factor of `l4s` in thousandths; 2 (RFC 9332 appendix A.1).
    pub coupling_milli: u32,
    /// By how much a classic packet has to be older than an L4S packet to go first, in `l4s`. RFC
    /// 9332 §4.2.2 leaves it open; twice the classic target, so that L has priority while the
    /// controller holds the classic queue and loses it when L is overloaded.
    pub time_shift_us: u32,
    /// Greedy flows, for `segregate_greedy`.
    pub greedy: Vec<FiveTuple>,
    /// Slices, for `flow_slicing`.
    pub slices: Vec<Slice>,
    /// Classes of `bode_diffserv`, from highest to lowest; what none names comes last, without a
    /// bound.
    pub bounded: Vec<BoundedClass>,
    /// Without a forecast for this long, `drql_forecast` paces by the last report. Half a second:
    /// a forecaster like that of stolidis2024 answers each 400 ms.
    pub forecast_stale_us: u32,
    /// How long a packet of a flow that does not understand L4S marks may wait, in `sojourn`; as long as
    /// its sender lets it when absent.
    pub bulk_bound_us: Option<u32>,
    /// Bound on all queues together; 10240 packets (RFC 8290 §5.2.3) and 32 MiB.
    pub buffer: BufferLimit,
}

/// One slice of `flow_slicing`: the flows of a queue and the rate it is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Packets that match any of these belong to the slice.
    pub matches: Vec<FlowMatch>,
    /// Rate limit; none when absent.
    pub shaper: Option<Shaper>,
}

/// One class of `bode_diffserv`: what is marked for it and how long it may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedClass {
    /// DSCPs, 0..=63.
    pub dscps: Vec<u8>,
    /// BoDe's bound.
    pub bound_us: u32,
}

impl Default for TemplateParams {
    fn default() -> Self {
        Self {
            pacer: Pacer::Bdp5g,
            target_us: 5_000,
            interval_us: 100_000,
            ecn: true,
            flow_queues: 1024,
            quantum_bytes: 1514,
            l4s_threshold_us: 2_000,
            classic_target_us: 15_000,
            classic_update_us: 15_000,
            coupling_milli: 2_000,
            time_shift_us: 30_000,
            greedy: Vec::new(),
            slices: Vec::new(),
            bounded: abbasloo2019_classes(),
            forecast_stale_us: 500_000,
            bulk_bound_us: None,
            buffer: BufferLimit {
                packets: 10_240,
                bytes: 32 << 20,
                overflow: Overflow::FattestHead,
            },
        }
    }
}

impl TemplateParams {
    /// The same for a CU that is `delay_us` away from its DU, one way.
    ///
    /// Every round trip goes over F1 there and back. CoDel's interval is to be the longest round trip
    /// of those who share the queue (RFC 8289 §4.3), so it grows by as much, and the target stays
    /// the part of it that it was (§4.4): with the target of a CU beside its DU the queue runs empty
    /// after each drop.
    #[must_use]
    pub fn across_f1(self, delay_us: u32) -> Self {
        let interval_us = self.interval_us.saturating_add(delay_us.saturating_mul(2));
        let part = u64::from(self.target_us) * u64::from(interval_us);
        let target_us = part.checked_div(u64::from(self.interval_us)).unwrap_or_default();
        Self { interval_us, target_us: u32::try_from(target_us).unwrap_or(u32::MAX), ..self }
    }
}

/// Classes 1 and 2 of abbasloo2019 §VII-C: applications that need less than 50 ms and less than
/// 100 ms. The paper leaves the DSCPs to the servers; these are the service classes of RFC 4594
/// §2.3 that are so sensitive: telephony, real-time interactive and signalling (EF, VOICE-ADMIT,
/// CS4, CS5), then multimedia conferencing and streaming and broadcast video (AF4x, AF3x, CS3).
fn abbasloo2019_classes() -> Vec<BoundedClass> {
    vec![
        BoundedClass { dscps: vec![46, 44, 32, 40], bound_us: 50_000 },
        BoundedClass { dscps: vec![34, 36, 38, 26, 28, 30, 24], bound_us: 100_000 },
    ]
}

#[cfg(test)]
mod tests {
    use super::TemplateParams;

    #[test]
    fn interval_grows_by_the_round_trip_over_f1_and_the_target_with_it() {
        let codel = |delay_us| {
            let params = TemplateParams::default().across_f1(delay_us);
            (params.interval_us, params.target_us)
        };
        assert_eq!(codel(0), (100_000, 5_000));
        assert_eq!(codel(10_000), (120_000, 6_000));
        assert_eq!(codel(40_000), (180_000, 9_000));
        let (interval_us, target_us) = codel(u32::MAX);
        assert_eq!(interval_us, u32::MAX);
        assert_eq!(target_us, u32::MAX / 20);
    }

    #[test]
    fn no_interval_is_no_panic() {
        let params = TemplateParams { interval_us: 0, ..TemplateParams::default() };
        assert_eq!(params.across_f1(10).interval_us, 20);
    }
}
