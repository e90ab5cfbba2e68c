//! An invalid scenario gives an error with file, path in the file and expectation.

// clippy.toml allows these in test functions only; shared functions of tests need the attribute.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use lab_scenario::{LoadedScenario, Override, PipelineSpec};
use tc_rf::templates::Template;

const GOOD: &str = "
duration_s: 1
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
ues:
  - rnti: 17921
    channel: { fixed_mcs: 10 }
    drbs: [{ id: 1 }]
flows:
  - { name: bulk, kind: tcp }
  - { name: ping, kind: ping }
";

fn load(text: &str, overrides: &[&str]) -> Result<LoadedScenario, String> {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    LoadedScenario::from_yaml(text, "scenario.yaml", Path::new(""), &overrides)
        .map_err(|error| error.to_string())
}

#[test]
fn the_scenario_that_the_cases_change_is_valid() {
    let loaded = load(GOOD, &[]).unwrap();
    assert_eq!(loaded.scenario.flows.len(), 2);
}

/// `change -> start of the error`, each change applied to [`GOOD`]; a case may take two lines.
const CASES: &str = r#"
flows[0].congestion_control=fast
  -> flows[0].congestion_control: unknown value 'fast'; expected one of 'cubic'
flows[0]={name: bulk, kind: tcp, congestion_control: prague, ecn: false}
  -> flows[0].ecn: false; expected true or unset with prague
flows[0].c2tcp_setpoint_ms=80
  -> flows[0].c2tcp_setpoint_ms: 80; expected unset unless congestion_control is c2tcp
flows[0]={name: bulk, kind: tcp, congestion_control: bbr3, form: linux}
  -> flows[0].form: linux; expected unset; vegas, bbr2, bbr3 and prague have one form
flows[0].form=kernel -> flows[0].form: unknown value 'kernel'; expected 'linux' or 'rfc'
flows[0]={name: bulk, kind: tcp, congestion_control: c2tcp, c2tcp_target_ms: 0}
  -> flows[0].c2tcp_target_ms: 0; expected 1 to 60000 ms
flows[0]={name: bulk, kind: quic, congestion_control: bbr2, form: rfc}
  -> flows[0].form: rfc; expected unset; vegas, bbr2, bbr3 and prague have one form
flows[0]={name: bulk, kind: quic, congestion_control: prague, ecn: false}
  -> flows[0].ecn: false; expected true or unset with prague
flows[0]={name: bulk, kind: quic, ecn_field: ect0}
  -> flows[0].ecn_field: ect0; expected not_ect; ect0 and ect1 are for kinds over UDP other than quic
flows[0]={name: bulk, kind: quic, gso_segments: 65}
  -> flows[0].gso_segments: 65; expected 1 to 64 datagrams
flows[0]={name: bulk, kind: quic, max_udp_payload_bytes: 1199}
  -> flows[0].max_udp_payload_bytes: 1199; expected 1200 to 1472 bytes
flows[0]={name: bulk, kind: quic, ip_version: 6, max_udp_payload_bytes: 1472}
  -> flows[0].max_udp_payload_bytes: 1472; expected at most 1452 over IPv6
flows[0]={name: bulk, kind: quic, ack_frequency: {packets: 0}}
  -> flows[0].ack_frequency.packets: 0; expected 1 to 1000 packets
flows[0]={name: bulk, kind: quic, ack_frequency: {every: 2}}
  -> flows[0].ack_frequency.every: unknown key 'every'; expected one of 'packets'
flows[0]={name: bulk, kind: quic, pacing: true}
  -> flows[0].pacing: unknown key 'pacing' for kind quic; expected one of
     'ack_frequency', 'c2tcp_interval_ms'
flows[1].pacing=true
  -> flows[1].pacing: unknown key 'pacing' for kind ping; expected one of
     'interval_ms', 'packet_bytes', 'core_delay_us', 'count'
cells=[{}, {}]
  -> ues[0].neighbour_channels: 0 channels; expected 1, one to each cell but the first, or route_m
cells=[{n_prb: 0}] -> cells[0].n_prb: 0 is outside 1..=275
cells=[{position_m: [0, 200000]}]
  -> cells[0].position_m[1]: 200000 is outside -100000..=100000
cells=[{place: 3}] -> cells[0].place: unknown key 'place'; expected 'position_m' or 'n_prb'
handover={} -> handover: is for a scenario with several cells
ues[0].neighbour_channels=[{fixed_mcs: 3}] -> ues[0].neighbour_channels: 1 channels; expected 0
ues[0].route_m=[[0, 0], [9, 9]]
  -> ues[0].channel: expected fading with path, for a UE with route_m
ues[0].channel={fading: {speed_kmh: 3, path: {model: umi}}}
  -> ues[0].channel.fading.path.distance_m: missing; expected a distance, or route_m of the UE
cell.tdd.pattern=DDDD -> cell.tdd.pattern: needs at least one D and one U
cell.tdd.mixed_ul_symbols=9 -> cell.tdd.mixed_ul_symbols: 9 is outside 0..=8
cell.n_prb=276 -> cell.n_prb: 276 is outside 1..=275
cell.n_prb=many -> cell.n_prb: invalid type: string "many"; expected a whole number, 0 to 65535
cell.n_prb=-1 -> cell.n_prb: invalid value: integer '-1'; expected a whole number, 0 to 65535
cell=7 -> cell: invalid type: integer '7'; expected an object with its fields by name
flows[0].count=999999999
  -> flows[0].count: invalid value: integer '999999999'; expected a whole number, 0 to 255
cell.tdd.pattern=DDXU -> cell.tdd.pattern: 'DDXU' has 'X' at 3; expected D, M or U
duration_s=1e300 -> duration_s: 1e300 is outside 0.001..=86400
cell.rat=5g -> cell.rat: unknown value '5g'; expected 'nr' or 'lte'
cell.scs_khz=20 -> cell.scs_khz: 20; expected 15, 30, 60 or 120
cell.antennas=4 -> cell.antennas: unknown key 'antennas'; expected one of
cell.reserved={period_slots: 10, slots: [2, 10], n_prb: 1} -> cell.reserved.slots[1]: 10
duration_s=0 -> duration_s: 0 is outside 0.001..=86400
split.f1_delay_us=2000000 -> split.f1_delay_us: 2000000 is outside 0..=1000000
ues=[] -> ues: empty; expected at least one UE
ues[0].rnti=0 -> ues[0].rnti: 0 is outside 1..=65519
ues[0].count=60000 -> ues[0].count: 60000 is outside 1..=4096
ues[0].channel.fixed_mcs=28 -> ues[0].channel.fixed_mcs: 28 is outside 0..=27
ues[0].channel={lucky: 1} -> ues[0].channel: unknown value 'lucky'; expected one of 'fixed_mcs'
ues[0].channel={mcs_series: {period_ms: 1000, values: [3, 99]}}
  -> ues[0].channel.mcs_series.values[1]: 99 is outside 0..=27
ues[0].channel={rate_series: {period_ms: 10, values_kbps: [1, 100000001]}}
  -> ues[0].channel.rate_series.values_kbps[1]: 100000001 is outside 0..=100000000
ues[0].channel={rate_series: {period_ms: 10, values_kbps: []}}
  -> ues[0].channel.rate_series.values_kbps: empty; expected at least one rate
ues[0].channel={mahimahi: {path: x, opportunity_bytes: 10}}
  -> ues[0].channel.mahimahi.opportunity_bytes: 10 is outside 100..=65535
ues[0].drx={long_cycle_ms: 160, on_duration_ms: 8}
  -> ues[0].drx: missing key 'inactivity_ms'
ues[0].drx={long_cycle_ms: 0, on_duration_ms: 8, inactivity_ms: 20}
  -> ues[0].drx.long_cycle_ms: 0 is outside 1..=10240
ues[0].drx={long_cycle_ms: 160, on_duration_ms: 8, inactivity_ms: 20, short_cycle_ms: 60}
  -> ues[0].drx.short_cycle_ms: 60 is no divisor of long_cycle_ms (160)
ues[0].drx={long_cycle_ms: 160, on_duration_ms: 30, inactivity_ms: 20, short_cycle_ms: 20}
  -> ues[0].drx.on_duration_ms: 30 is outside 1..=20
ues[0].drx={long_cycle_ms: 160, on_duration_ms: 8, inactivity_ms: 20, short_cycles: 2}
  -> ues[0].drx.short_cycles: is for a DRX with short_cycle_ms
ues[0].drx={long_cycle_ms: 160, on_duration_ms: 8, inactivity_ms: 20, offset_ms: 160}
  -> ues[0].drx.offset_ms: 160 is outside 0..=159
ues[0].uplink={mahimahi: {path: ""}} -> ues[0].uplink.mahimahi.path: empty; expected a file
ues[0].uplink={mahimahi: {path: x}, limit_packets: 0}
  -> ues[0].uplink.limit_packets: 0 is outside 1..=1000000
ues[0].uplink={mahimahi: {path: x}, limit_bytes: 10}
  -> ues[0].uplink.limit_bytes: 10 is outside 1500..=4294967295
ues[0].drbs=[{id: 1, priority: 17}] -> ues[0].drbs[0].priority: 17 is outside 1..=16
ues[0].drbs=[{id: 1, prioritised_kbytes_per_s: 65537}]
  -> ues[0].drbs[0].prioritised_kbytes_per_s: 65537 is outside 0..=65536
ues[0].drbs=[{id: 1, bucket_ms: 4}] -> ues[0].drbs[0].bucket_ms: 4 is outside 5..=1000
ues[0].drbs=[{id: 1, qfis: [64]}] -> ues[0].drbs[0].qfis[0]: 64 is outside 0..=63
ues[0].drbs=[{id: 1, qfis: [7]}, {id: 2, qfis: [8, 7]}]
  -> ues[0].drbs[1].qfis[1]: 7 is on DRB 1 already; expected one DRB a QFI
ues[0].qos_flow_moves=[{at_s: 1, qfi: 64, drb: 1}]
  -> ues[0].qos_flow_moves[0].qfi: 64 is outside 0..=63
ues[0].qos_flow_moves=[{at_s: 1, qfi: 7, drb: 2}]
  -> ues[0].qos_flow_moves[0].drb: 2 is no DRB of this UE
ues[0].qos_flow_moves=[{at_s: -1, qfi: 7, drb: 1}]
  -> ues[0].qos_flow_moves[0].at_s: -1 is outside 0..=86400
split.qos_flow_hold_ms=10001 -> split.qos_flow_hold_ms: 10001 is outside 0..=10000
ues[0].leave_at_s=0 -> ues[0].leave_at_s: 0 is not after join_at_s (0)
ues[0].drbs=[{id: 1}, {id: 1}] -> ues[0].drbs[1].id: 1 is taken by an earlier DRB
ues[0].drbs[0].rlc.limit_bytes=10 -> ues[0].drbs[0].rlc.limit_bytes: 10 is outside
ues[0].drbs[0].rlc.sn_bits=10 -> ues[0].drbs[0].rlc.sn_bits: 10; expected 6 or 12
ues[0].drbs[0].rlc={mode: am, sn_bits: 6}
  -> ues[0].drbs[0].rlc.sn_bits: 6; expected 12 or 18 in mode am
ues[0].drbs[0].rlc.t_status_prohibit_us=25000
  -> ues[0].drbs[0].rlc.t_status_prohibit_us: is for mode am alone, this is um
ues[0].drbs[0].rlc={mode: am, max_retx_threshold: 33}
  -> ues[0].drbs[0].rlc.max_retx_threshold: 33 is outside 1..=32
ues[0].drbs[0].rlc={mode: am, t_poll_retransmit_us: 0}
  -> ues[0].drbs[0].rlc.t_poll_retransmit_us: 0 is outside 1..=10000000
ues[0].drbs[0].rlc.mode=tm -> ues[0].drbs[0].rlc.mode: unknown value 'tm'; expected 'um' or 'am'
split.f1={loss: 1} -> split.f1.loss: 1 is outside 0..=0.9
split.f1={jitter_us: 2000000} -> split.f1.jitter_us: 2000000 is outside 0..=1000000
split.f1={delivery_status_us: 1} -> split.f1.delivery_status_us: 1 is outside 500..=1000000
split.f1={rlc_status: often}
  -> split.f1.rlc_status: unknown value 'often'; expected one of 'each_slot'
split.f1={rlc_status: on_request, jitter_us: 5}
  -> split.f1.rlc_status: on_request needs split.f1_delay_us of 100 or more
split.f1={rlc_status: never, delivery_status_us: 1000}
  -> split.f1.rlc_status: is for a CU without delivery_status_us
split.f1={delay_us: 1} -> split.f1.delay_us: unknown key 'delay_us'; expected one of
cell.harq={bler: 1.5} -> cell.harq.bler: 1.5 is outside 0..=1
cell.harq={bler: 0.1, combining_gain: -1} -> cell.harq.combining_gain: -1 is outside 0..=1
cell.harq={processes: 17} -> cell.harq.processes: 17 is outside 1..=16
cell.harq={rtt_slots: 0} -> cell.harq.rtt_slots: 0 is outside 1..=160
cell.harq={max_transmissions: 5} -> cell.harq.max_transmissions: 5 is outside 1..=4
ues[0].harq={bler: 2} -> ues[0].harq.bler: 2 is outside 0..=1
cell.uplink={sr_period_us: 0} -> cell.uplink.sr_period_us: 0 is outside 1..=1000000
cell.uplink={sr_grant_prb: 0} -> cell.uplink.sr_grant_prb: 0 is outside 1..=275
cell.uplink={mcs: 28} -> cell.uplink.mcs: 28 is outside 0..=27
cell.uplink={limit_bytes: 10} -> cell.uplink.limit_bytes: 10 is outside 1500..=4294967295
cell.uplink={scheduler: eqp} -> cell.uplink.scheduler: unknown value 'eqp'; expected
cell.uplink={sr_period_us: 5000, sr_offset_us: 5000}
  -> cell.uplink.sr_offset_us: 5000 is not below sr_period_us (5000)
ues[0].drbs[0].pipeline=7 -> ues[0].drbs[0].pipeline: expected the name of a template
ues[0].drbs[0].pipeline={template: codel} -> ues[0].drbs[0].pipeline: template: 'codel'; expected one of
ues[0].drbs[0].pipeline={template: [1]} -> ues[0].drbs[0].pipeline: template: expected a name, found a list
ues[0].drbs[0].pipeline={template: fq_codel, queues: 0} -> ues[0].drbs[0].pipeline: queues: 0
ues[0].drbs[0].pipeline={template: fq_codel, queue: 8} -> ues[0].drbs[0].pipeline: queue: unknown key 'queue'; expected one of 'queues'
ues[0].drbs[0].pipeline={name: x} -> ues[0].drbs[0].pipeline: .: missing key 'classifier'
ues[0].prb_share_percent=50 -> ues[0].prb_share_percent: is for cell.scheduler
cell.scheduler=fixed_partition -> ues[0].prb_share_percent: missing
cell.scheduler={kind: eqp} -> ues[0].prb_share_percent: missing; cell.scheduler eqp
cell.scheduler=fair -> cell.scheduler: unknown value 'fair'; expected one of 'round_robin'
cell.scheduler=7 -> cell.scheduler: invalid type: integer '7'; expected rr, pf, fp
cell.scheduler={slices: []} -> cell.scheduler: missing key 'kind'
cell.scheduler={kind: pf, quantum: 1} -> cell.scheduler.quantum: unknown key 'quantum'
cell.scheduler={kind: pf, quantum_limit_prb: 1}
  -> cell.scheduler.quantum_limit_prb: is for kind eqp alone, this is pf
cell.scheduler={kind: rr, slices: [{id: 1, percent: 1}]}
  -> cell.scheduler.slices: is for kind fp and eqp alone, this is rr
cell.scheduler={kind: rr, time_constant_ms: 10}
  -> cell.scheduler.time_constant_ms: is for kind pf alone, this is rr
cell.scheduler={kind: pf, time_constant_ms: 0}
  -> cell.scheduler.time_constant_ms: 0 is outside 1..=100000
cell.scheduler={kind: eqp, quantum_limit_prb: 0}
  -> cell.scheduler.quantum_limit_prb: 0 is outside 1..=10000
cell.scheduler={kind: eqp, slices: [{id: 1, percent: 60}, {id: 1, percent: 9}]}
  -> cell.scheduler.slices[1].id: 1 is taken by an earlier slice
cell.scheduler={kind: eqp, slices: [{id: 1, percent: 60}, {id: 2, percent: 41}]}
  -> cell.scheduler.slices[1].percent: the shares sum to 101 %
cell.scheduler={kind: fp, slices: [{id: 1, percent: 0}]}
  -> cell.scheduler.slices[0].percent: 0 is outside 1..=100
cell.scheduler={kind: fp, slices: [{id: 1, percent: 60, scheduler: pf}]}
  -> cell.scheduler.slices[0].scheduler: unknown key 'scheduler'
cell.scheduler={kind: fp, slices: [{id: 1, percent: 60}]}
  -> ues[0].slice: missing; there are cell.scheduler.slices
ues[0].slice=1 -> ues[0].slice: is for a scheduler with cell.scheduler.slices
cell.max_ues_per_slot=0 -> cell.max_ues_per_slot: 0 is outside 1..=256
cell.overhead={pdcch_symbols: 4} -> cell.overhead.pdcch_symbols: 4 is outside 0..=3
cell.overhead={dmrs_re: 8} -> cell.overhead.dmrs_re: 8; expected 6 or 12
cell.overhead={x_overhead: 5} -> cell.overhead.x_overhead: 5; expected 0, 6, 12 or 18
cell={rat: lte, n_prb: 50}
  -> cell.n_prb: 50; expected 6, 15 or 25 with rat lte, whose transport block sizes (36.213 table
     7.1.7.2.1-1) are known here up to 25 PRBs; rat nr has 1 to 275
cell={rat: lte, n_prb: 25, mcs_table: qam256} -> cell.mcs_table: expected qam64 with rat lte
cell={rat: lte, n_prb: 25, layers: 2} -> cell.layers: 2; expected 1 with rat lte
cell={rat: lte, n_prb: 25, overhead: {x_overhead: 6}} -> cell.overhead: is for rat nr alone
cell={rat: lte, n_prb: 25, resource_allocation: type0_config2}
  -> cell.resource_allocation: is for rat nr alone
ues[0].channel={cqi_series: {period_ms: 1000, values: [3, 16]}}
  -> ues[0].channel.cqi_series.values[1]: 16 is outside 0..=15
ues[0].channel={cqi_series: {period_ms: 1000, values: []}}
  -> ues[0].channel.cqi_series.values: empty; expected at least one CQI
ues[0].channel={cqi_series: {period_ms: 1, values: [3], cqi_to_mcs: [1, 2]}}
  -> ues[0].channel.cqi_series.cqi_to_mcs
ues[0].channel={cqi_series: {period_ms: 1, values: [3], cqi_to_mcs: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 28]}}
  -> ues[0].channel.cqi_series.cqi_to_mcs[14]: 28 is outside 0..=27
ues[0].channel={ucc_csv: {path: ''}} -> ues[0].channel.ucc_csv.path: empty
ues[0].channel={ucc_csv: {path: x, column: rssi}}
  -> ues[0].channel.ucc_csv.column: unknown value 'rssi'; expected one of 'cqi'
ues[0].channel={gauss_markov: {mean_snr_db: 99, std_dev_db: 1, coherence_ms: 1}}
  -> ues[0].channel.gauss_markov.mean_snr_db: 99 is outside -50..=80
ues[0].channel={gauss_markov: {mean_snr_db: 9, std_dev_db: -1, coherence_ms: 1}}
  -> ues[0].channel.gauss_markov.std_dev_db: -1 is outside 0..=40
ues[0].channel={snr_series: {period_ms: 1, values_db: []}}
  -> ues[0].channel.snr_series.values_db: empty; expected at least one SNR
ues[0].channel={snr_series: {period_ms: 1, values_db: [3, 81]}}
  -> ues[0].channel.snr_series.values_db[1]: 81 is outside -50..=80
ues[0].channel={measured_csv: {path: x, column: '', period_ms: 1}}
  -> ues[0].channel.measured_csv.column: empty; expected the name of a column
ues[0].channel={measured_csv: {path: x, column: sinr, period_ms: 1, noise_dbm: -120}}
  -> ues[0].channel.measured_csv.noise_dbm: is for quantity rsrp_dbm alone
ues[0].channel={fading: {speed_kmh: 3}}
  -> ues[0].channel.fading: expected either mean_snr_db or path
ues[0].channel={fading: {speed_kmh: -1, mean_snr_db: 10}}
  -> ues[0].channel.fading.speed_kmh: -1 is outside 0..=1000
ues[0].channel={fading: {speed_kmh: 3, path: {model: inh, distance_m: 500}}}
  -> ues[0].channel.fading.path.distance_m: 500 is outside 1..=150
ues[0].channel={fading: {speed_kmh: 3, mean_snr_db: 10, interference: {rise_db: 6, load: 2}}}
  -> ues[0].channel.fading.interference.load: 2 is outside 0..=1
ues[0].channel={ideal: {fixed_mcs: 3}}
  -> ues[0].channel.ideal: expected a channel of SNR or CQI; the gNB knows the others as they are
ues[0].channel={ideal: {snr_series: {period_ms: 0, values_db: [3]}}}
  -> ues[0].channel.ideal.snr_series.period_ms: 0 is outside 1..=3600000
ues[0]={rnti: 1, channel: {fading: {speed_kmh: 3, mean_snr_db: 9}}, harq: {bler: 0.1}, drbs: [{id: 1}]}
  -> ues[0].harq: is for channels without an SNR and ideal ones
cell.adaptation={cqi_delay_slots: 0}
  -> cell.adaptation.cqi_delay_slots: 0 is outside 1..=1600
cell.adaptation={target_bler: 0} -> cell.adaptation.target_bler: 0 is outside
cell.adaptation={outer_loop: oai, step_up_db: 1}
  -> cell.adaptation.step_up_db: is for outer_loop steps alone
cell.adaptation={bler_window: [0.1, 0.2]}
  -> cell.adaptation.bler_window: is for outer_loop oai alone
cell.adaptation={outer_loop: oai, bler_window: [0.2, 0.1]}
  -> cell.adaptation.bler_window[1]: 0.1 is not above 0.2
cell.adaptation={outer_loop: oai, subband_size: value1}
  -> cell.adaptation.subband_size: is for outer_loop steps and cqi_only alone
cell.adaptation={subband_size: value3}
  -> cell.adaptation.subband_size: unknown value 'value3'; expected 'value1' or 'value2'
cell.adaptation={subband_size: value1}
  -> cell.adaptation.subband_size: needs cell.scheduler { kind: pf, granularity: per_rbg }
cell={rat: nr, n_prb: 106, scs_khz: 30, scheduler: {kind: pf, granularity: per_rbg}, adaptation: {subband_size: value1}}
  -> cell.adaptation.subband_size: needs cell.resource_allocation type0_config1 or type0_config2
cell={rat: nr, n_prb: 23, scs_khz: 30, resource_allocation: type0_config1, scheduler: {kind: pf, granularity: per_rbg}, adaptation: {subband_size: value1}}
  -> cell.adaptation.subband_size: a carrier of 23 PRBs has no sub-bands; they begin at 24 PRBs
cell={rat: lte, n_prb: 25, scs_khz: 15, mcs_table: qam64, scheduler: {kind: pf, granularity: per_rbg}, adaptation: {subband_size: value1}}
  -> cell.adaptation.subband_size: is for rat nr alone
ues[0].channel={mobility: {pattern: ferry}}
  -> ues[0].channel.mobility.pattern: unknown value 'ferry'; expected one of 'static'
ues[0].channel={mobility: {pattern: train, period_ms: 0}}
  -> ues[0].channel.mobility.period_ms: 0 is outside 1..=3600000
flows[1].kind=tpc -> flows[1].kind: unknown value 'tpc'; expected one of 'tcp'
flows[1].name=bulk -> flows[1].name: 'bulk' is taken by an earlier flow
flows[0].rnti=5 -> flows[0].rnti: 5 is no UE of this scenario
flows[0].rnti=all -> flows[0].rnti: invalid value: string "all"; expected an RNTI
flows[0].drb=2 -> flows[0].drb: 2 is no DRB of UE 17921
flows[0].dscp=64 -> flows[0].dscp: 64 is outside 0..=63
flows[0].core_delay_us=1000001 -> flows[0].core_delay_us: 1000001 is outside 0..=1000000
flows[1].echoed=true -> flows[1].echoed: unknown key 'echoed' for kind ping
flows[1].game={} -> flows[1].game: unknown key 'game' for kind ping
flows[1]={name: g, kind: game, ecn: true}
  -> flows[1].ecn: unknown key 'ecn' for kind game; expected one of 'game', 'core_delay_us'
flows[1]={name: w, kind: web, connections: 3}
  -> flows[1].connections: unknown key 'connections' for kind web; expected one of 'web', 'accecn'
flows[0].kind=udp_cbr -> flows[0]: missing key 'rate_kbps'
flows[0]={name: bulk} -> flows[0]: missing key 'kind'; expected one of 'tcp'
flows[0]={kind: tcp} -> flows[0]: missing key 'name'
flows[0].kind=6 -> flows[0].kind: unknown value 6; expected one of 'tcp'
flows[0]=tcp -> flows[0]: expected a mapping with keys such as name and kind
flows[0].pacing=fast -> flows[0].pacing: invalid type: string "fast"; expected a boolean
flows[0]={name: v, kind: video, video: {ladder_kbps: [300, fast]}}
  -> flows[0].video.ladder_kbps[1]: invalid type: string "fast"; expected a whole number, 0 to 4294967295
flows[0]={name: v, kind: video, video: 3} -> flows[0].video: invalid type: integer
flows[0]={name: p, kind: ping, ip_version: 6, packet_bytes: 40}
  -> flows[0].packet_bytes: 40; expected 28 to 9000 bytes, from 48 with IPv6
flows[0].ecn_field=ect1
  -> flows[0].ecn_field: ect1; expected not_ect; ect0 and ect1 are for kinds over UDP
flows[0].ecn_field=ce -> flows[0].ecn_field: unknown value 'ce'; expected one of
flows[0].ip_version=5 -> flows[0].ip_version: 5; expected 4 or 6
flows[0].count=0 -> flows[0].count: 0 is outside 1..=64
flows[0].start_jitter_ms=60001 -> flows[0].start_jitter_ms: 60001 is outside 0..=60000
flows[0].server=0 -> flows[0].server: 0 is outside 1..=254
flows[0].ue_host=201 -> flows[0].ue_host: 201 is outside 1..=200
flows[0]={name: v, kind: video, video: {chunk_us: 5}}
  -> flows[0].video.chunk_us: 5; expected 100 ms to 30 s in µs
flows[0]={name: v, kind: video, video: {controller: best}}
  -> flows[0].video.controller: unknown value 'best'; expected one of 'bb', 'festive'
flows[0]={name: w, kind: web, web: {connections: 99}}
  -> flows[0].web.connections: 99; expected 1 to 16
flows[0]={name: w, kind: web, web: {http: {version: 4}}}
  -> flows[0].web.http.version: 4; expected 1, 2 or 3
flows[0]={name: w, kind: web, web: {connections: 6, http: {version: 2}}}
  -> flows[0].web.connections: 6; expected unset with HTTP/2 and 3, which have one
flows[0]={name: w, kind: web, web: {download_bytes: 1000}}
  -> flows[0].web.download_bytes: 1000; expected unset with HTTP/1.1, where it is a flow of kind tcp
flows[0]={name: w, kind: web, web: {http: {version: 2, loss_isolation: true}}}
  -> flows[0].web.http.loss_isolation: true; expected unset unless the version is 3
flows[0]={name: w, kind: video, video: {http: {version: 3, unsent_bytes: 1}}}
  -> flows[0].video.http.unsent_bytes: 1; expected unset unless the version is 2
flows[0]={name: w, kind: web, mss_bytes: 1360, tunnel: vpn, web: {http: {version: 3}}}
  -> flows[0].mss_bytes: 1360; expected at most 1356 in a tunnel
flows[0]={name: w, kind: video, video: {audio_kbps: 0}}
  -> flows[0].video.audio_kbps: 0; expected 1 to 10000 kbit/s
flows[0]={name: g, kind: cloud_game, cloud_game: {frames_per_s: 0}}
  -> flows[0].cloud_game.frames_per_s: 0; expected 1 to 240
flows[0]={name: g, kind: cloud_game, deadline_ms: 0}
  -> flows[0].deadline_ms: 0; expected 1 to 1000 ms
flows[0]={name: g, kind: cloud_game, cloud_game: {size_deviation: 1.5}}
  -> flows[0].cloud_game.size_deviation: 1.5; expected 0 to 1
flows[0]={name: g, kind: cloud_game, pacing: true}
  -> flows[0].pacing: unknown key 'pacing' for kind cloud_game; expected one of 'cloud_game'
flows[0]={name: d, kind: download, download: {connections: 65}}
  -> flows[0].download.connections: 65; expected 1 to 64
flows[0]={name: d, kind: download, connections: 3}
  -> flows[0].connections: unknown key 'connections' for kind download; expected one of 'download'
flows[0]={name: s, kind: screen, screen: {change_bytes: 1}}
  -> flows[0].screen.change_bytes: 1; expected 1 kB to 100 MB in bytes
flows[0]={name: c, kind: call, call: {audio_kbps: 5}}
  -> flows[0].call.audio_kbps: 5; expected 6 to 510 kbit/s
flows[0]={name: c, kind: call, call: {fps: 30}}
  -> flows[0].call.fps: unknown key 'fps'; expected one of 'frames_per_s'
flows[0]={name: w, kind: web, direction: up}
  -> flows[0].direction: up; expected down; up is for kinds tcp, quic, udp_cbr and voip
flows[0]={name: v, kind: voip, echoed: true, direction: up}
  -> flows[0].direction: up; expected down
flows[0].direction=sideways
  -> flows[0].direction: unknown value 'sideways'; expected 'down' or 'up'
flows[0].stop_s=0 -> flows[0].stop_s: 0 is not after start_s (0)
flows[0]={name: h, kind: host, start_s: 1} -> flows[0].start_s: is not for kind host
flows[0]={name: h, kind: host, count: 2} -> flows[0].count: is not for kind host
flows[0]={name: h, kind: host, ip_version: 6} -> flows[0].ip_version: is not for kind host
flows[0]={name: h, kind: host, server: 2} -> flows[0].server: is not for kind host
flows[0]={name: h, kind: host, ecn_field: ect1} -> flows[0].ecn_field: ect1; expected not_ect
flows[0]={name: h, kind: host, port: 80} -> flows[0].port: unknown key 'port' for kind host
flows=[{name: a, kind: host, dscp: 46}, {name: b, kind: host, rnti: each, dscp: 46}]
  -> flows[1].dscp: 46 is taken by an earlier flow of kind host of UE 17921
flows[0].tunnel="" -> flows[0].tunnel: '' has 0 bytes; expected 1..=64
flows[0].tunnel=7 -> flows[0].tunnel: invalid type: integer '7'; expected a string
tunnels={vpn: {kind: gre}}
  -> tunnels.vpn.kind: unknown value 'gre'; expected one of 'wireguard', 'ipsec', 'quic'
tunnels={vpn: {mtu: 1400}} -> tunnels.vpn.mtu: unknown key 'mtu'; expected one of 'kind'
flows[0]={name: h, kind: host, tunnel: vpn}
  -> flows[0].tunnel: for kind host; expected unset; real hosts run a tunnel of their own
flows[0]={name: q, kind: quic, max_udp_payload_bytes: 1400, tunnel: vpn}
  -> flows[0].max_udp_payload_bytes: 1400; expected at most 1392 in a tunnel
flows[0]={name: s, kind: sprout, tunnel: vpn}
  -> flows[0].tunnel: 1500; expected at most 1420 in a tunnel with an MTU of 1420 bytes
flows[0]={name: u, kind: udp_cbr, rate_kbps: 100, tunnel: vpn}
  -> flows[0].packet_bytes: 1500; expected at most 1420 in a tunnel with an MTU of 1420 bytes
flows[0]={name: b, kind: tcp, mss_bytes: 1369, tunnel: vpn}
  -> flows[0].mss_bytes: 1369; expected at most 1368 in a tunnel with an MTU of 1420 bytes
flows=[{name: a, kind: tcp, tunnel: vpn, qfi: 9}, {name: b, kind: ping, tunnel: vpn, qfi: 1}]
  -> flows[1].qfi: differs from an earlier flow of tunnel 'vpn'; the core sees one outer 5-tuple
"#;

#[test]
fn a_flow_names_a_tunnel_of_the_list_if_there_is_one() {
    let vpn = "flows[0].tunnel=vpn";
    load(GOOD, &[vpn]).unwrap();
    load(GOOD, &["tunnels={vpn: {kind: ipsec}}", vpn]).unwrap();
    let error = load(GOOD, &["tunnels={home: {}, work: {}}", vpn]).unwrap_err();
    let expected = "'vpn' is not in 'tunnels'; expected one of 'home', 'work'";
    assert_eq!(error, format!("scenario.yaml: flows[0].tunnel: {expected}"));
}

#[test]
fn flows_with_a_copied_dscp_may_take_different_bearers() {
    let flows = "flows=[{name: a, kind: tcp, tunnel: vpn, qfi: 9}, \
                 {name: b, kind: voip, tunnel: vpn, qfi: 1, dscp: 46}]";
    load(GOOD, &[flows]).unwrap_err();
    load(GOOD, &[flows, "tunnels={vpn: {copy_dscp: true}}"]).unwrap();
}

#[test]
fn each_invalid_element_is_reported_with_its_path() {
    let mut wrong = String::new();
    for case in CASES.trim().replace("\n     ", " ").replace("\n  ", " ").lines() {
        let (change, expected) = case.split_once(" -> ").unwrap();
        let error = load(GOOD, &[change]).expect_err(change);
        let expected = format!("scenario.yaml: {expected}");
        if !error.starts_with(&expected) {
            wrong.push_str(&format!("{change}\n  error    {error}\n  expected {expected}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_file_without_a_scenario_gives_a_one_line_error() {
    let table = [
        ("", "scenario.yaml: empty; expected a scenario"),
        ("  \n", "scenario.yaml: empty; expected a scenario"),
        ("[1, 2]", "scenario.yaml: expected a mapping"),
        ("hello", "scenario.yaml: expected a mapping"),
        ("a: [1", "scenario.yaml: not YAML: "),
        (
            "duration_s: 1\nduration_s: 2",
            "scenario.yaml: not YAML: line 2 column 1: the key 'duration_s' is there twice; expected",
        ),
        ("duration_s: .inf", "scenario.yaml: not YAML: "),
        ("duration_s: 1", "scenario.yaml: missing key 'cell'"),
    ];
    for (text, expected) in table {
        let error = load(text, &[]).expect_err(text);
        assert!(error.starts_with(expected), "{text:?}\n  error    {error}\n  expected {expected}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_scenario_above_the_size_limit_is_refused() {
    let text = format!("{GOOD}\ndescription: '{}'", "x".repeat(2 << 20));
    let error = load(&text, &[]).unwrap_err();
    assert!(error.contains("a scenario has at most 1048576"), "{error}");
}

#[test]
fn nested_aliases_cannot_expand_a_small_file_without_limit() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        let row = vec![previous; 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    let error = load(&text, &[]).unwrap_err();
    assert!(error.starts_with("scenario.yaml: not YAML: "), "{error}");
}

#[test]
fn an_unknown_key_within_a_pipeline_is_reported() {
    let pipeline = "{name: p, classifier: {round_robin: {first: 0, count: 1}}, queues: [{first: 0, \
                    count: 1, discipline: {codel: {target_us: 5000, interval_us: 100000, ecn: \
                    false, ce_threshold_us: null, l4s: false, ecnn: true}}}], scheduler: \
                    round_robin, pacer: none, buffer: {packets: 10, bytes: 100000, overflow: \
                    tail}}";
    let change = format!("ues[0].drbs[0].pipeline={pipeline}");
    let error = load(GOOD, &[&change]).unwrap_err();
    assert!(error.contains("ues[0].drbs[0].pipeline: "), "{error}");
    assert!(error.contains("ecnn") && error.contains("unknown key"), "{error}");
    load(GOOD, &[&change.replace(", ecnn: true", "")]).unwrap();
}

#[test]
fn a_template_takes_the_parameters_that_a_policy_gives_it() {
    let change = "ues[0].drbs[0].pipeline={template: fq_codel, queues: 64, pacer: none}";
    let loaded = load(GOOD, &[change]).unwrap();
    let parameters = serde_json::json!({ "queues": 64, "pacer": "none" });
    let expected = Template::parse("fq_codel", parameters).unwrap().pipeline().unwrap();
    let pipeline = &loaded.scenario.ues[0].drbs[0].pipeline;
    assert_eq!(*pipeline, PipelineSpec::Full(Box::new(expected)));
}

#[test]
fn a_missing_or_binary_file_is_refused() {
    let directory = std::env::temp_dir().join(format!("gnb-lab-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let missing = directory.join("missing.yaml");
    let error = LoadedScenario::from_file(&missing, &[]).unwrap_err();
    assert!(error.message.starts_with("cannot be opened"), "{error}");
    let binary = directory.join("binary.yaml");
    std::fs::write(&binary, [0x61, 0xff, 0xfe]).unwrap();
    let error = LoadedScenario::from_file(&binary, &[]).unwrap_err();
    assert_eq!(error.message, "not UTF-8 at byte 1; expected text");
    let error = LoadedScenario::from_file(&directory, &[]).unwrap_err();
    assert!(error.message.contains("is a directory"), "{error}");
    let error = LoadedScenario::from_file(Path::new("/dev/zero"), &[]).unwrap_err();
    assert_eq!(error.to_string(), "/dev/zero: is a device; expected a regular file");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_schema_describes_every_key_of_the_file() {
    let schema = lab_scenario::json_schema();
    for path in ["cell", "split", "ues", "flows", "seed", "duration_s"] {
        assert!(schema.pointer(&format!("/properties/{path}")).is_some(), "{path}");
    }
    assert_eq!(schema["additionalProperties"], false);
    let flows = schema.pointer("/$defs/Flow/oneOf").and_then(|kinds| kinds.as_array()).unwrap();
    let keys = |kind: &str| {
        let of_kind = |flow: &&serde_json::Value| flow["properties"]["kind"]["const"] == kind;
        let flow = flows.iter().find(of_kind).expect(kind);
        assert_eq!(flow["additionalProperties"], false, "{kind}");
        flow["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    for (kind, own, of_another) in [
        ("udp_cbr", "rate_kbps", "interval_ms"),
        ("ping", "interval_ms", "pacing"),
        ("web", "web", "rate_kbps"),
        ("web", "congestion_control", "connections"),
        ("game", "game", "ecn"),
        ("cloud_game", "cloud_game", "ecn"),
        ("download", "congestion_control", "connections"),
        ("screen", "screen", "rate_kbps"),
        ("ping", "tunnel", "screen"),
    ] {
        let keys = keys(kind);
        for (key, there) in [("name", true), (own, true), (of_another, false)] {
            assert_eq!(keys.iter().any(|it| it == key), there, "{key} of {kind}: {keys:?}");
        }
    }
    assert_eq!(schema.pointer("/$defs/Cell/properties/n_prb/maximum"), Some(&275.into()));
    for kind in ["cqi_series", "ucc_csv", "gauss_markov", "mobility", "fading", "ideal"] {
        let text = schema["$defs"]["Channel"].to_string();
        assert!(text.contains(kind), "{kind} is not in {text}");
    }
    let scheduler = schema["$defs"]["MacScheduler"].to_string() + &schema["$defs"].to_string();
    for word in ["quantum_limit_prb", "time_constant_ms", "fixed_partition", "eqp"] {
        assert!(scheduler.contains(word), "{word}");
    }
}

#[test]
fn what_is_no_text_is_said_by_its_kind() {
    for (content, kind) in [
        (&b"PK\x03\x04 and more"[..], "a ZIP archive"),
        (b"BZh9 and more", "packed by bzip2"),
        (b"\x28\xb5\x2f\xfd and more", "packed by zstd"),
        (b"PAR1 and more", "Parquet"),
        (b"\xff\xfe1\0", "UTF-16"),
    ] {
        let error = lab_scenario::decompress(content, 1000).unwrap_err().to_string();
        assert_eq!(error, format!("is {kind}; expected text, plain or packed by gzip or xz"));
    }
    assert_eq!(lab_scenario::decompress(&b"1\n2\n"[..], 1000).unwrap(), b"1\n2\n");
}

/// Two cells, and a UE with a radio to each.
const TWO_CELLS: &str = "
duration_s: 1
cell: { rat: nr, n_prb: 106, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }
cells: [{}, { position_m: [500, 0] }]
handover: {}
ues:
  - rnti: 17921
    channel: { snr_series: { period_ms: 10, values_db: [3] } }
    neighbour_channels: [{ snr_series: { period_ms: 10, values_db: [9] } }]
    drbs: [{ id: 1 }]
flows:
  - { name: bulk, kind: tcp }
";

/// `change -> start of the error`, each change applied to [`TWO_CELLS`].
const CELL_CASES: &str = r#"
handover.a3_offset_db=16 -> handover.a3_offset_db: 16 is outside -15..=15
handover.hysteresis_db=-1 -> handover.hysteresis_db: -1 is outside 0..=15
handover.time_to_trigger_ms=5121 -> handover.time_to_trigger_ms: 5121 is outside 0..=5120
handover.t304_ms=49 -> handover.t304_ms: 49 is outside 50..=10000
handover.t304_ms=60 -> handover.t304_ms: 60; expires before a random access that succeeds ends
handover.measurement_period_ms=0 -> handover.measurement_period_ms: 0 is outside 20..=10000
handover.measurement_period_ms=30
  -> handover.measurement_period_ms: 30; expected a multiple of 20, the period of the SSB
handover.filter_k=20 -> handover.filter_k: 20 is outside 0..=19
handover.interruption_ms=10001 -> handover.interruption_ms: 10001 is outside 0..=10000
handover.speed=3 -> handover.speed: unknown key 'speed'; expected one of 'a3_offset_db'
ues[0].channel={fixed_mcs: 3}
  -> ues[0].channel: expected a channel with an SNR: cells are compared by it
ues[0].neighbour_channels=[{rate_series: {period_ms: 1, values_kbps: [9]}}]
  -> ues[0].neighbour_channels[0]: expected a channel with an SNR
ues[0].neighbour_channels=[{snr_series: {period_ms: 10, values_db: [99]}}]
  -> ues[0].neighbour_channels[0].snr_series.values_db[0]: 99 is outside -50..=80
ues[0].uplink={mahimahi: {path: x}} -> ues[0].uplink: is for a scenario with one cell
ues[0].drbs[0].rlc={aqm: head_drop} -> ues[0].drbs[0].rlc.aqm: is for a scenario with one cell
ues[0].route_m=[[0, 0], [9, 9]] -> ues[0].neighbour_channels: is not for a UE with route_m
"#;

/// `change of the channel -> start of the error`, of a UE on a way.
const ROUTE_CASES: &str = r#"
{fading: {speed_kmh: 0, path: {model: uma, line_of_sight: true}}}
  -> ues[0].channel.fading.speed_kmh: 0; expected more for a UE with route_m
{fading: {speed_kmh: 3, path: {model: uma}}}
  -> ues[0].channel.fading.path.line_of_sight: missing; expected true or false
{fading: {speed_kmh: 3, path: {model: uma, line_of_sight: true, distance_m: 50}}}
  -> ues[0].channel.fading.path.distance_m: expected to be unset: route_m sets the distance
{fading: {speed_kmh: 3, path: {model: inh, line_of_sight: true}}}
  -> ues[0].route_m: 490 m from cell 1; the model holds up to 150 m
"#;

#[test]
fn errors_of_several_cells_name_their_place() {
    assert!(load(TWO_CELLS, &[]).is_ok());
    let cases = |text: &str| -> Vec<(String, String)> {
        let text = text.replace("\n  ->", " ->");
        let cases = text.lines().filter_map(|line| line.split_once(" -> "));
        cases.map(|(change, error)| (change.to_owned(), error.to_owned())).collect()
    };
    for (change, expected) in cases(CELL_CASES) {
        let error = load(TWO_CELLS, &[&change]).unwrap_err();
        assert!(error.contains(&format!(": {expected}")), "{change}: {error}");
    }
    let on_a_way = ["ues[0].neighbour_channels=[]", "ues[0].route_m=[[10, 0], [90, 0]]"];
    for (channel, expected) in cases(ROUTE_CASES) {
        let change = format!("ues[0].channel={channel}");
        let error = load(TWO_CELLS, &[&on_a_way[..], &[&change]].concat()).unwrap_err();
        assert!(error.contains(&format!(": {expected}")), "{change}: {error}");
    }
    let good = "ues[0].channel={fading: {speed_kmh: 3, path: {model: umi, line_of_sight: true}}}";
    assert!(load(TWO_CELLS, &[&on_a_way[..], &[good]].concat()).is_ok());
}
