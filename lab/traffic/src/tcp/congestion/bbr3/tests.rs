use super::super::{RateSample, SenderPhase};
use super::*;

const MSS: u64 = 1448;
const RTT_US: u64 = 40_000;
const RATE_BPS: u64 = 20_000_000;
/// 20 Mbit/s × 40 ms.
const BDP: u64 = 100_000;

/// A connection over a path that delivers one BDP per round.
struct Connection {
    bbr: Bbr3,
    now_us: u64,
    delivered: u64,
    states: Vec<State>,
}

impl Connection {
    fn new(connection: &ConnectionConfig) -> Self {
        Self::of(BbrVersion::Three, connection)
    }

    fn of(version: BbrVersion, connection: &ConnectionConfig) -> Self {
        let bbr = Bbr3::new(version, connection, 11);
        Self { bbr, now_us: 0, delivered: 0, states: Vec::new() }
    }

    /// One round as one acknowledgement.
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
                ..RateSample::default()
            }),
            is_window_limited: true,
            phase: if lost > 0 { SenderPhase::Recovery } else { SenderPhase::Open },
            ..DeliveryEvent::default()
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
            total_delivered_bytes: self.delivered,
            ..LossEvent::default()
        });
    }

    fn run_until(&mut self, state: State) {
        for _ in 0..400 {
            if self.bbr.state == state {
                return;
            }
            self.round(0, 0, BDP);
        }
        panic!("{state:?} not reached: {:?}", self.states);
    }
}

#[test]
fn the_cycle_goes_down_cruise_refill_up() {
    let mut connection = Connection::new(&ConnectionConfig::default());
    connection.run_until(State::ProbeBwUp);
    connection.run_until(State::ProbeBwDown);
    use State::{Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, Startup};
    // Without a queue the acknowledgement that enters DOWN from Drain also leaves it.
    assert_eq!(connection.states.first(), Some(&Startup));
    let cycle: Vec<State> =
        connection.states.iter().copied().skip_while(|&it| it == Startup || it == Drain).collect();
    assert_eq!(cycle, [ProbeBwCruise, ProbeBwRefill, ProbeBwUp, ProbeBwDown]);
}

#[test]
fn the_wait_between_probes_is_at_most_the_rounds_of_reno() {
    let mut connection = Connection::new(&ConnectionConfig::default());
    connection.run_until(State::ProbeBwCruise);
    let start_us = connection.now_us;
    connection.run_until(State::ProbeBwRefill);
    // 2 to 3 s, or one round per segment of the BDP (69, at most 63), less the random offset.
    let waited_us = connection.now_us - start_us;
    assert!((1_900_000..=3_000_000).contains(&waited_us), "{waited_us}");
}

#[test]
fn loss_while_probing_bounds_the_volume_in_flight() {
    let mut connection = Connection::new(&ConnectionConfig::default());
    connection.run_until(State::ProbeBwUp);
    // 1 % is tolerated.
    connection.lose(MSS, 150_000);
    assert_eq!(connection.bbr.congestion.inflight_longterm, None);
    connection.lose(6 * MSS, 150_000);
    assert_eq!(connection.bbr.state, State::ProbeBwDown);
    let bound = connection.bbr.congestion.inflight_longterm.unwrap();
    assert!((140_000..150_000).contains(&bound), "{bound}");
    // Only once per probe.
    connection.lose(9 * MSS, 120_000);
    assert_eq!(connection.bbr.congestion.inflight_longterm, Some(bound));
}

#[test]
fn loss_while_cruising_cuts_rate_and_volume_to_the_delivered_but_at_most_as_cubic() {
    let mut connection = Connection::new(&ConnectionConfig::default());
    connection.run_until(State::ProbeBwCruise);
    assert_eq!(connection.bbr.congestion.bw_shortterm_bps, None);
    let window = connection.bbr.cwnd.bytes;
    connection.lose(MSS, BDP);
    connection.round(MSS, 0, BDP);
    connection.round(0, 0, BDP);
    // The delivery rate is unchanged.
    assert_eq!(connection.bbr.congestion.bw_shortterm_bps, Some(RATE_BPS));
    assert_eq!(connection.bbr.bw_bps, RATE_BPS);
    let volume = connection.bbr.congestion.inflight_shortterm.unwrap();
    assert_eq!(volume, (window as f64 * 0.7) as u64);
    assert!(volume > BDP);
    connection.run_until(State::ProbeBwRefill);
    assert_eq!(connection.bbr.congestion.inflight_shortterm, None, "reset for the probe");
}

#[test]
fn marks_cut_the_volume_by_a_third_of_their_average() {
    let config = ConnectionConfig { ecn: true, ..ConnectionConfig::default() };
    let mut connection = Connection::new(&config);
    connection.run_until(State::ProbeBwCruise);
    let (window, alpha) = (connection.bbr.cwnd.bytes, connection.bbr.congestion.ecn_alpha);
    connection.round(0, BDP / 10, BDP);
    connection.round(0, 0, BDP);
    let volume = connection.bbr.congestion.inflight_shortterm.unwrap() as f64;
    let expected = window as f64 * (1.0 - alpha / 3.0);
    assert!((volume / expected - 1.0).abs() < 0.05, "{volume} {expected}");
    assert_eq!(connection.bbr.congestion.bw_shortterm_bps, None, "unchanged rate");
}

#[test]
fn two_rounds_of_marks_end_startup() {
    let config = ConnectionConfig { ecn: true, ..ConnectionConfig::default() };
    let mut connection = Connection::new(&config);
    connection.round(0, BDP * 6 / 10, 2 * BDP);
    assert_eq!(connection.bbr.state, State::Startup);
    connection.round(0, BDP * 6 / 10, 2 * BDP);
    assert_eq!(connection.bbr.state, State::Drain);
    assert!(connection.bbr.congestion.inflight_longterm.is_some());
}

#[test]
fn probe_rtt_halves_the_volume_for_200_ms_every_five_seconds() {
    let mut connection = Connection::new(&ConnectionConfig::default());
    connection.run_until(State::ProbeBwCruise);
    connection.bbr.probe_rtt_min_us = Some(RTT_US - 1_000);
    connection.run_until(State::ProbeRtt);
    let start_us = connection.now_us;
    assert!(connection.bbr.cwnd.bytes <= BDP / 2, "{}", connection.bbr.cwnd.bytes);
    while connection.bbr.state == State::ProbeRtt {
        connection.round(0, 0, BDP / 3);
    }
    let lasted_us = connection.now_us - start_us;
    assert!((200_000..=280_000).contains(&lasted_us), "{lasted_us}");
    assert_eq!(connection.bbr.state, State::ProbeBwCruise);
}

/// Version 2 with the bound that a probe with too much loss leaves behind, at the end of that probe.
fn v2_after_a_lossy_probe() -> (Connection, u64) {
    let mut connection = Connection::of(BbrVersion::Two, &ConnectionConfig::default());
    connection.run_until(State::ProbeBwUp);
    connection.lose(6 * MSS, 150_000);
    assert_eq!(connection.bbr.state, State::ProbeBwDown);
    let bound = connection.bbr.congestion.inflight_longterm.unwrap();
    (connection, bound)
}

#[test]
fn version_two_probes_up_until_a_quarter_is_queued_and_version_three_until_the_rate_stands_still() {
    let rounds_up = |version, in_flight| {
        let mut connection = Connection::of(version, &ConnectionConfig::default());
        connection.run_until(State::ProbeBwUp);
        let mut rounds = 0;
        while connection.bbr.state == State::ProbeBwUp && rounds < 20 {
            connection.round(0, 0, in_flight);
            rounds += 1;
        }
        rounds
    };
    let (below, above) = (BDP * 6 / 5, BDP * 4 / 3);
    assert_eq!(rounds_up(BbrVersion::Two, below), 20);
    // The first is within the minimum RTT.
    assert_eq!(rounds_up(BbrVersion::Two, above), 2);
    assert_eq!(rounds_up(BbrVersion::Three, below), 3);
}

#[test]
fn version_two_stops_at_the_bound_of_a_lossy_probe_and_repeats_a_probe_without_loss() {
    let (mut connection, bound) = v2_after_a_lossy_probe();
    connection.run_until(State::ProbeBwUp);
    connection.states.clear();
    connection.bbr.probe_rtt_min_stamp_us = connection.now_us;
    for _ in 0..4 {
        connection.round(0, 0, bound);
    }
    use State::{ProbeBwDown, ProbeBwRefill, ProbeBwUp};
    assert_eq!(connection.states, [ProbeBwDown, ProbeBwRefill, ProbeBwUp]);
}

#[test]
fn version_two_drains_deeper_and_starts_faster() {
    let gain = |version: BbrVersion, state| version.gains(state).pacing;
    let (two, three) = (BbrVersion::Two, BbrVersion::Three);
    assert!(gain(two, State::Startup) > gain(three, State::Startup));
    assert!(gain(two, State::ProbeBwDown) < gain(three, State::ProbeBwDown));
    let (mut connection, _) = v2_after_a_lossy_probe();
    connection.round(0, 0, 2 * BDP);
    assert_eq!(connection.bbr.state, State::ProbeBwDown);
    let share = connection.bbr.pacing.bps as f64 / RATE_BPS as f64;
    assert!((share - 0.75 * 0.99).abs() < 1e-6, "{share}");
}

/// `bbr_ecn_bw_lo`: marks cut the rate too.
#[test]
fn marks_cut_rate_and_volume_of_version_two() {
    let config = ConnectionConfig { ecn: true, ..ConnectionConfig::default() };
    let mut connection = Connection::of(BbrVersion::Two, &config);
    connection.run_until(State::ProbeBwCruise);
    let alpha = connection.bbr.congestion.ecn_alpha;
    connection.round(0, BDP / 10, BDP);
    connection.round(0, 0, BDP);
    let rate = connection.bbr.congestion.bw_shortterm_bps.unwrap() as f64;
    let expected = RATE_BPS as f64 * (1.0 - alpha / 3.0);
    assert!((rate / expected - 1.0).abs() < 0.05, "{rate} {expected}");
    assert_eq!(connection.bbr.bw_bps, rate as u64);
}

/// `bbr_full_loss_cnt`: eight acknowledgements with losses in a round of recovery, of more than 2 %.
#[test]
fn eight_losses_in_a_round_end_startup_of_version_two_at_one_bdp() {
    let ended = |losses: u64| {
        let mut connection = Connection::of(BbrVersion::Two, &ConnectionConfig::default());
        connection.round(0, 0, BDP);
        let bbr = &mut connection.bbr;
        let event = DeliveryEvent {
            now_us: 2 * RTT_US,
            newly_lost_bytes: MSS,
            rtt_us: Some(RTT_US),
            srtt_us: RTT_US,
            phase: SenderPhase::Recovery,
            ..DeliveryEvent::default()
        };
        (1..losses).for_each(|_| bbr.on_delivery(&event));
        connection.round(MSS * 3, 0, BDP);
        connection.bbr.congestion.inflight_longterm
    };
    assert_eq!(ended(7), None);
    assert_eq!(ended(8), Some(BDP));
}
