//! The lower bound of delays compared with runs of the same scenario.

use crate::setup::load;
use lab_scenario::LoadedScenario;
use lab_world::World;
use lab_world::clairvoyant::{Arrival, Floor, Queueing, Rules, floor};

fn loaded(channel: &str, bulk: &str) -> LoadedScenario {
    load(&format!(
        "
seed: 3
duration_s: 5
cell: {{ rat: lte, n_prb: 25 }}
split: {{ core_delay_us: 1000, core_jitter_us: 1000 }}
ues: [{{ rnti: 1, channel: {{ {channel} }}, drbs: [{{ id: 1 }}] }}]
flows:
  - {{ name: call, kind: voip }}
{bulk}"
    ))
}

const CHANNELS: [&str; 3] = [
    "fixed_mcs: 28",
    "mobility: { pattern: train, period_ms: 200 }",
    "ideal: { gauss_markov: { mean_snr_db: 6, std_dev_db: 6, coherence_ms: 300 } }",
];

/// Runs the scenario; arrivals of the call at SDAP and their sojourn in SDAP and RLC.
fn run(loaded: &LoadedScenario) -> (Vec<Arrival>, Vec<u64>) {
    let mut world = World::new(loaded).unwrap();
    world.record_packets(true);
    world.step_until(5_000_000, &mut |_| {});
    let mut call: Vec<_> =
        world.take_packets().into_iter().filter(|packet| packet.flow == 0).collect();
    call.sort_by_key(|packet| packet.sdap_us);
    let arrival = |packet: &lab_world::PacketSample| Arrival {
        time_us: packet.sdap_us,
        bytes: packet.len_bytes,
    };
    (call.iter().map(arrival).collect(), call.iter().map(|p| p.mac_us - p.sdap_us).collect())
}

#[test]
fn a_call_alone_meets_the_lower_bound() {
    for channel in CHANNELS {
        let loaded = loaded(channel, "");
        let (arrivals, delays) = run(&loaded);
        assert!(arrivals.len() > 200, "{channel}: {}", arrivals.len());
        let slots = World::capacity_series(&loaded, 1, 5_000_000).unwrap();
        let floor = floor(&arrivals, &slots, &Rules::default()).unwrap();
        let ideal: Vec<u64> = floor.delays_us.iter().map(|delay| delay.unwrap()).collect();
        assert!(ideal.iter().zip(&delays).all(|(ideal, delay)| ideal <= delay), "{channel}");
        // For segments of a few bytes the RLC's headers are sometimes a byte longer.
        let differing = ideal.iter().zip(&delays).filter(|(ideal, delay)| ideal != delay).count();
        assert!(differing * 100 <= delays.len(), "{channel}: {differing} of {}", delays.len());
    }
}

/// Mean delay of packets that all left.
fn mean_us(floor: &Floor) -> f64 {
    floor.delays_us.iter().map(|delay| delay.unwrap() as f64).sum::<f64>()
        / floor.delays_us.len() as f64
}

#[test]
fn no_delay_of_a_run_is_below_the_lower_bound() {
    let bulk = "  - { name: bulk, kind: udp_cbr, rate_kbps: 12000, packet_bytes: 1500 }\n";
    for channel in CHANNELS {
        let loaded = loaded(channel, bulk);
        let (arrivals, delays) = run(&loaded);
        let slots = World::capacity_series(&loaded, 1, 5_000_000).unwrap();
        let own = floor(&arrivals, &slots, &Rules::default()).unwrap();
        for (delay, least) in delays.iter().zip(&own.delays_us) {
            assert!(*delay >= least.unwrap(), "{channel}: {delay} {least:?}");
        }
        // A queue shared with bulk traffic is not faster.
        let rules =
            Rules { queueing: Queueing::Shared { bulk_packet_bytes: 1500 }, ..Rules::default() };
        let shared = floor(&arrivals, &slots, &rules).unwrap();
        assert!(mean_us(&shared) >= mean_us(&own));
        let used = |floor: &Floor| {
            (floor.flow_bytes + floor.bulk_bytes) as f64 / floor.capacity_bytes as f64
        };
        assert!(used(&shared) > 0.99 && used(&own) > 0.999);
    }
}

#[test]
fn the_lower_bound_in_the_static_cell_of_irazabal2021_is_half_a_tti() {
    let loaded = loaded(CHANNELS[0], "");
    let (arrivals, _) = run(&loaded);
    let slots = World::capacity_series(&loaded, 1, 5_000_000).unwrap();
    assert_eq!((slots[0].capacity_bytes, slots[1].capacity_bytes), (1572, 2292));
    let floor = floor(&arrivals, &slots, &Rules::default()).unwrap();
    assert!(floor.delays_us.iter().all(|delay| delay.is_some_and(|us| us < 1_000)));
    let mean = mean_us(&floor);
    assert!((400.0..600.0).contains(&mean), "{mean}");
}

#[test]
fn an_unknown_ue_is_named() {
    let error = World::capacity_series(&loaded(CHANNELS[0], ""), 9, 1).unwrap_err().to_string();
    assert_eq!(error, "scenario.yaml: ues: 9 is not a UE of this scenario");
}
