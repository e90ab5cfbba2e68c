//! The floor of a scenario: what was run is not below it, and what is optimal meets it.

use std::path::Path;

use lab_scenario::LoadedScenario;
use lab_world::World;
use lab_world::clairvoyant::{Arrival, Queueing, Rules, floor};

fn load(channel: &str, bulk: &str) -> LoadedScenario {
    let text = format!(
        "
seed: 3
duration_s: 5
cell: {{ rat: lte, n_prb: 25 }}
split: {{ core_delay_us: 1000, core_jitter_us: 1000 }}
ues: [{{ rnti: 1, channel: {{ {channel} }}, drbs: [{{ id: 1 }}] }}]
flows:
  - {{ name: call, kind: voip }}
{bulk}"
    );
    LoadedScenario::from_yaml(&text, "scenario.yaml", Path::new(""), &[]).unwrap()
}

const CHANNELS: [&str; 3] = [
    "fixed_mcs: 28",
    "mobility: { pattern: train, period_ms: 200 }",
    "gauss_markov: { mean_snr_db: 6, std_dev_db: 6, coherence_ms: 300 }",
];

/// Arrivals of the call at SDAP and their sojourn in SDAP and RLC, as run.
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
fn a_call_alone_is_at_the_floor() {
    for channel in CHANNELS {
        let loaded = load(channel, "");
        let (arrivals, delays) = run(&loaded);
        assert!(arrivals.len() > 200, "{channel}: {}", arrivals.len());
        let slots = World::capacity_series(&loaded, 1, 5_000_000).unwrap();
        let floor = floor(&arrivals, &slots, &Rules::default()).unwrap();
        let ideal: Vec<u64> = floor.delays_us.iter().map(|delay| delay.unwrap()).collect();
        assert!(ideal.iter().zip(&delays).all(|(ideal, delay)| ideal <= delay), "{channel}");
        // In parts of a few bytes the headers of the real RLC are a byte longer now and then.
        let apart = ideal.iter().zip(&delays).filter(|(ideal, delay)| ideal != delay).count();
        assert!(apart * 100 <= delays.len(), "{channel}: {apart} of {}", delays.len());
    }
}

#[test]
fn nothing_that_was_run_is_below_the_floor() {
    let bulk = "  - { name: bulk, kind: udp_cbr, rate_kbps: 12000, packet_bytes: 1500 }\n";
    for channel in CHANNELS {
        let loaded = load(channel, bulk);
        let (arrivals, delays) = run(&loaded);
        let slots = World::capacity_series(&loaded, 1, 5_000_000).unwrap();
        let own = floor(&arrivals, &slots, &Rules::default()).unwrap();
        for (delay, least) in delays.iter().zip(&own.delays_us) {
            assert!(*delay >= least.unwrap(), "{channel}: {delay} {least:?}");
        }
        // One queue with the bulk costs something, if anything.
        let rules =
            Rules { queueing: Queueing::Shared { bulk_packet_bytes: 1500 }, ..Rules::default() };
        let shared = floor(&arrivals, &slots, &rules).unwrap();
        assert!(shared.mean_us().unwrap() >= own.mean_us().unwrap());
        assert!(shared.used_pct() > 99.0 && own.used_pct() > 99.9);
    }
}

#[test]
fn the_static_cell_of_irazabal2021_has_a_floor_of_half_a_tti() {
    let loaded = load(CHANNELS[0], "");
    let (arrivals, _) = run(&loaded);
    let slots = World::capacity_series(&loaded, 1, 5_000_000).unwrap();
    assert_eq!((slots[0].capacity_bytes, slots[1].capacity_bytes), (1572, 2292));
    let floor = floor(&arrivals, &slots, &Rules::default()).unwrap();
    assert_eq!(floor.below_pct(1000), 100.0);
    let mean = floor.mean_us().unwrap();
    assert!((400.0..600.0).contains(&mean), "{mean}");
}

#[test]
fn a_ue_that_is_not_there_is_named() {
    let error = World::capacity_series(&load(CHANNELS[0], ""), 9, 1).unwrap_err().to_string();
    assert_eq!(error, "scenario.yaml: ues: 9 is no UE of this scenario");
}
