use super::super::RateSample;
use super::*;

const MSS: u64 = 1448;
const RTT_US: u64 = 40_000;
const RATE_BPS: u64 = 20_000_000;
/// 20 Mbit/s × 40 ms.
const BDP: u64 = 100_000;

/// A path that delivers one BDP each round.
struct Drive {
    bbr: Bbr3,
    now_us: u64,
    delivered: u64,
    states: Vec<State>,
}

impl Drive {
    fn new(config: &TcpConfig) -> Self {
        let bbr = Bbr3::new(config, 11);
        Self { bbr, now_us: 0, delivered: 0, states: Vec::new() }
    }

    /// One round as one acknowledgement: what of it was lost and marked, and what is in flight.
    fn round(&mut self, lost: u64, ce: u64, in_flight: u64) {
        self.now_us += RTT_US;
        let prior = self.delivered;
        self.delivered += BDP - lost;
        self.bbr.on_delivery(&DeliveryEvent {
            now_us: self.now_us,
            newly_delivered_bytes: BDP - lost,
            newly_lost_bytes: lost,
            newly_ce_bytes: ce,
            total_delivered_bytes: self.delivered,
            prior_in_flight_bytes: in_flight,
            in_flight_bytes: in_flight,
            rtt_us: Some(RTT_US),
            srtt_us: RTT_US,
            rate: Some(RateSample {
                delivery_rate_bps: Some(RATE_BPS),
                delivered_bytes: BDP - lost,
                prior_delivered_bytes: prior,
                in_flight_at_send_bytes: in_flight,
                lost_bytes: lost,
                ce_bytes: ce,
                is_app_limited: false,
            }),
            is_window_limited: true,
            phase: if lost > 0 { SenderPhase::Recovery } else { SenderPhase::Open },
            una: 0,
            next: 0,
        });
        if self.states.last() != Some(&self.bbr.state) {
            self.states.push(self.bbr.state);
        }
    }

    fn lose(&mut self, lost_since_send: u64, in_flight_at_send: u64) {
        self.bbr.on_loss(&LossEvent {
            now_us: self.now_us,
            seq: 7 * MSS,
            len_bytes: MSS,
            in_flight_at_send_bytes: in_flight_at_send,
            lost_since_send_bytes: lost_since_send,
            is_app_limited: false,
            total_delivered_bytes: self.delivered,
        });
    }

    fn until(&mut self, state: State) {
        for _ in 0..400 {
            if self.bbr.state == state {
                return;
            }
            self.round(0, 0, BDP);
        }
        panic!("never in {state:?}: {:?}", self.states);
    }
}

#[test]
fn the_cycle_goes_down_cruise_refill_up() {
    let mut drive = Drive::new(&TcpConfig::default());
    drive.until(State::ProbeBwUp);
    drive.until(State::ProbeBwDown);
    use State::{Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, Startup};
    // Nothing is queued here, so DOWN is left with the acknowledgement that enters it from Drain.
    assert_eq!(drive.states.first(), Some(&Startup));
    let cycle: Vec<State> =
        drive.states.iter().copied().skip_while(|&it| it == Startup || it == Drain).collect();
    assert_eq!(cycle, [ProbeBwCruise, ProbeBwRefill, ProbeBwUp, ProbeBwDown]);
}

#[test]
fn the_wait_between_probes_is_bounded_by_renos_rounds() {
    let mut drive = Drive::new(&TcpConfig::default());
    drive.until(State::ProbeBwCruise);
    let start_us = drive.now_us;
    drive.until(State::ProbeBwRefill);
    // 2 to 3 s, or as many rounds as the BDP has segments (69, bounded by 63), less the lot drawn.
    let waited_us = drive.now_us - start_us;
    assert!((1_900_000..=3_000_000).contains(&waited_us), "{waited_us}");
}

#[test]
fn loss_while_probing_bounds_the_volume_where_it_began_to_hurt() {
    let mut drive = Drive::new(&TcpConfig::default());
    drive.until(State::ProbeBwUp);
    // One per cent is tolerated.
    drive.lose(MSS, 150_000);
    assert_eq!(drive.bbr.congestion.inflight_longterm, None);
    drive.lose(6 * MSS, 150_000);
    assert_eq!(drive.bbr.state, State::ProbeBwDown);
    let bound = drive.bbr.congestion.inflight_longterm.unwrap();
    assert!((140_000..150_000).contains(&bound), "{bound}");
    // Only once per probe.
    drive.lose(9 * MSS, 120_000);
    assert_eq!(drive.bbr.congestion.inflight_longterm, Some(bound));
}

#[test]
fn loss_while_cruising_cuts_rate_and_volume_to_what_was_delivered_and_by_no_more_than_cubic() {
    let mut drive = Drive::new(&TcpConfig::default());
    drive.until(State::ProbeBwCruise);
    assert_eq!(drive.bbr.congestion.bw_shortterm_bps, None);
    let window = drive.bbr.cwnd_bytes;
    drive.lose(MSS, BDP);
    drive.round(MSS, 0, BDP);
    drive.round(0, 0, BDP);
    // The rate of delivery has not changed.
    assert_eq!(drive.bbr.congestion.bw_shortterm_bps, Some(RATE_BPS));
    assert_eq!(drive.bbr.bw_bps, RATE_BPS);
    let volume = drive.bbr.congestion.inflight_shortterm.unwrap();
    assert_eq!(volume, (window as f64 * 0.7) as u64);
    assert!(volume > BDP);
    drive.until(State::ProbeBwRefill);
    assert_eq!(drive.bbr.congestion.inflight_shortterm, None, "forgotten for the probe");
}

#[test]
fn marks_cut_the_volume_by_a_third_of_their_average() {
    let config = TcpConfig { ecn: Some(true), ..TcpConfig::default() };
    let mut drive = Drive::new(&config);
    drive.until(State::ProbeBwCruise);
    let (window, alpha) = (drive.bbr.cwnd_bytes, drive.bbr.congestion.ecn_alpha());
    drive.round(0, BDP / 10, BDP);
    drive.round(0, 0, BDP);
    let volume = drive.bbr.congestion.inflight_shortterm.unwrap() as f64;
    let expected = window as f64 * (1.0 - alpha / 3.0);
    assert!((volume / expected - 1.0).abs() < 0.05, "{volume} {expected}");
    assert_eq!(drive.bbr.congestion.bw_shortterm_bps, None, "the rate stays");
}

#[test]
fn two_rounds_of_marks_end_startup() {
    let config = TcpConfig { ecn: Some(true), ..TcpConfig::default() };
    let mut drive = Drive::new(&config);
    drive.round(0, BDP * 6 / 10, 2 * BDP);
    assert_eq!(drive.bbr.state, State::Startup);
    drive.round(0, BDP * 6 / 10, 2 * BDP);
    assert_eq!(drive.bbr.state, State::Drain);
    assert!(drive.bbr.congestion.inflight_longterm.is_some());
}

#[test]
fn probe_rtt_halves_the_volume_for_200_ms_each_five_seconds() {
    let mut drive = Drive::new(&TcpConfig::default());
    drive.until(State::ProbeBwCruise);
    drive.bbr.probe_rtt_min_us = Some(RTT_US - 1_000);
    drive.until(State::ProbeRtt);
    let start_us = drive.now_us;
    assert!(drive.bbr.cwnd_bytes <= BDP / 2, "{}", drive.bbr.cwnd_bytes);
    while drive.bbr.state == State::ProbeRtt {
        drive.round(0, 0, BDP / 3);
    }
    let lasted_us = drive.now_us - start_us;
    assert!((200_000..=280_000).contains(&lasted_us), "{lasted_us}");
    assert_eq!(drive.bbr.state, State::ProbeBwCruise);
}
