//! The client of a responsiveness test, at the UE.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::probe::{ProbeClient, Setup};
use super::score::{Half, Score, Scorer};
use super::{PROBE_CONNECTIONS, REQUEST_BYTES, ResponsivenessConfig, exchanges};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{FlowId, Packet};
use crate::rng::Rng;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::stream::StreamEnd;
use crate::tcp::TcpConfig;

/// Traffic of a pair of probes: 5000 bytes of a foreign one and 1000 of a self probe (draft,
/// "Measuring Responsiveness").
const PAIR_BITS: u64 = 8 * 6_000;
/// Largest share of the capacity that probes take (PTC), as a divisor.
const PROBE_SHARE: u64 = 20;
/// Pairs per second as long as the capacity is not known.
const FIRST_PAIRS_PER_S: u64 = 10;
/// Self probes of one connection without answer.
const MAX_OPEN: usize = 1_000;
/// Number of the random stream of the flow's seed from which connections are chosen.
const STREAM_CHOICE: u64 = 0;

/// Parameters of the connections, the same at both ends.
pub(super) fn setup(context: FlowContext, config: &ResponsivenessConfig, tcp: &TcpConfig) -> Setup {
    let exchanges = exchanges(config.tls);
    Setup { dscp: context.stamp.dscp, tcp: tcp.clone(), seed: context.seed, exchanges }
}

/// A loading connection.
#[derive(Debug, Clone)]
struct Load {
    end: StreamEnd,
    /// Self probes answered.
    answered: u64,
    /// Times at which those without answer were sent, oldest first.
    open_us: VecDeque<u64>,
}

/// The probe that goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Foreign,
    Own,
}

/// Loads the path and probes it.
#[derive(Debug, Clone)]
pub struct ResponsivenessClient {
    first_flow: FlowId,
    setup: Setup,
    random: Rng,
    stop_us: Option<u64>,
    interval_us: u64,
    most_pairs_per_s: u64,

    loads: Vec<Load>,
    /// Loading connections that are open.
    open: usize,
    probes: Vec<Option<ProbeClient>>,
    /// Probes that are not complete or have a timer.
    live: Vec<usize>,
    next_slot: usize,
    generation: NonZeroU32,
    turn: Turn,
    next_probe_us: u64,
    interval_end_us: u64,
    interval_bytes: u64,
    pairs_per_s: u64,

    arrivals: Arrivals,
    scorer: Scorer,
    foreign_probes: u64,
    own_probe: DelayRecorder,
}

impl ResponsivenessClient {
    pub(crate) fn new(
        context: FlowContext,
        config: &ResponsivenessConfig,
        tcp: &TcpConfig,
    ) -> Self {
        let FlowContext { stamp, seed, start_us, stop_us, .. } = context;
        let setup = setup(context, config, tcp);
        let interval_us = u64::from(config.interval_ms) * 1_000;
        let most_pairs_per_s = u64::from(config.probes_per_s);
        let load = |index| Load {
            end: setup.open(stamp.flow + FlowId::from(index)),
            answered: 0,
            open_us: VecDeque::new(),
        };
        Self {
            first_flow: stamp.flow,
            random: Rng::stream(seed, STREAM_CHOICE),
            stop_us,
            interval_us,
            most_pairs_per_s,
            loads: (0..config.connections).map(load).collect(),
            open: 0,
            probes: vec![None; PROBE_CONNECTIONS.into()],
            live: Vec::new(),
            next_slot: 0,
            generation: NonZeroU32::MIN,
            turn: Turn::Foreign,
            next_probe_us: start_us,
            interval_end_us: start_us + interval_us,
            interval_bytes: 0,
            pairs_per_s: FIRST_PAIRS_PER_S.min(most_pairs_per_s),
            arrivals: Arrivals::default(),
            scorer: Scorer::new(interval_us, setup.exchanges.len()),
            foreign_probes: 0,
            own_probe: DelayRecorder::new(),
            setup,
        }
    }

    /// The score at the end of the last interval; `None` before the first.
    pub fn score(&self) -> Option<Score> {
        self.scorer.score().map(|(score, _)| score)
    }

    /// Time of self probes.
    pub fn own_probe(&self) -> &DelayRecorder {
        &self.own_probe
    }

    /// Loading connections that are open.
    pub fn loading_connections(&self) -> usize {
        self.open
    }

    /// Opens one more loading connection.
    fn load(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if let Some(load) = self.loads.get_mut(self.open) {
            request(&mut load.end, now_us, out);
            self.open += 1;
        }
    }

    fn on_load(&mut self, index: usize, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let load = &mut self.loads[index];
        let before = load.end.received_bytes();
        load.end.on_packet(packet, now_us, out);
        let received = load.end.received_bytes() - before;
        self.arrivals.on_delivered(received, now_us);
        self.interval_bytes += received;
        while let Some(number) = load.end.read() {
            let number = u64::from(number.get());
            while load.answered < number
                && let Some(sent_us) = load.open_us.pop_front()
            {
                load.answered += 1;
                self.scorer.own(now_us, now_us - sent_us);
                self.own_probe.record(now_us, now_us - sent_us);
            }
        }
    }

    fn on_probe(&mut self, slot: usize, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Some(Some(probe)) = self.probes.get_mut(slot) else { return };
        if let Some((stage, took_us)) = probe.on_packet(packet, &self.setup, now_us, out) {
            self.scorer.foreign(stage, now_us, took_us);
            self.foreign_probes += u64::from(probe.stage(&self.setup).is_none());
        }
        if probe.next_deadline_us().is_some() && !self.live.contains(&slot) {
            self.live.push(slot);
        }
    }

    /// Sends the probe whose turn it is. None is sent if that would need too many without answer.
    fn probe(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.turn == Turn::Foreign {
            self.turn = Turn::Own;
            self.launch_foreign(now_us, out);
        } else {
            self.turn = Turn::Foreign;
            let chosen = self.random.below(self.open as u64) as usize;
            if let Some(load) = self.loads.get_mut(chosen)
                && load.open_us.len() < MAX_OPEN
            {
                load.open_us.push_back(now_us);
                request(&mut load.end, now_us, out);
            }
        }
    }

    fn launch_foreign(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let slot = self.next_slot;
        let is_free = |probe: &ProbeClient| probe.stage(&self.setup).is_none();
        if !self.probes[slot].as_ref().is_none_or(is_free) {
            return;
        }
        let flow = self.first_flow + (self.loads.len() + slot) as FlowId;
        let probe = ProbeClient::launch(flow, self.generation, &self.setup, now_us, out);
        self.probes[slot] = Some(probe);
        self.generation = self.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
        if !self.live.contains(&slot) {
            self.live.push(slot);
        }
        self.next_slot = (slot + 1) % self.probes.len();
    }

    fn end_interval(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let mut open_us = vec![Vec::new(); self.setup.exchanges.len()];
        for probe in self.live.iter().filter_map(|slot| self.probes[*slot].as_ref()) {
            if let Some(stage) = probe.stage(&self.setup) {
                open_us[stage].push(now_us - probe.since_us);
            }
        }
        let own = self.loads.iter().flat_map(|load| &load.open_us).map(|sent_us| now_us - sent_us);
        open_us.push(own.collect());
        self.scorer.end_interval(now_us, self.interval_bytes, &open_us);
        let capacity_bps = self.interval_bytes * 8_000_000 / self.interval_us;
        self.pairs_per_s = (capacity_bps / PROBE_SHARE / PAIR_BITS).clamp(1, self.most_pairs_per_s);
        self.interval_bytes = 0;
        self.interval_end_us += self.interval_us;
        self.load(now_us, out);
    }

    /// The next probe or end of an interval, as long as the test runs.
    fn next_act_us(&self) -> Option<u64> {
        let at_us = self.next_probe_us.min(self.interval_end_us);
        // The interval that ends with the test is scored.
        let is_last = |stop_us: u64| at_us == stop_us && self.interval_end_us == stop_us;
        let goes_on = self.stop_us.is_none_or(|stop_us| at_us < stop_us || is_last(stop_us));
        goes_on.then_some(at_us)
    }
}

/// Sends a request, of the large object or of a small one.
fn request(end: &mut StreamEnd, now_us: u64, out: &mut Vec<Packet>) {
    let bytes = const { NonZeroU32::new(REQUEST_BYTES).unwrap() };
    end.write(bytes, None, now_us, out);
}

impl Endpoint for ResponsivenessClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Some(index) = packet.flow.checked_sub(self.first_flow) else { return };
        if packet.is_data_segment() {
            self.arrivals.on_packet(packet, now_us);
        }
        let index = index as usize;
        match index.checked_sub(self.loads.len()) {
            None => self.on_load(index, packet, now_us, out),
            Some(slot) => self.on_probe(slot, packet, now_us, out),
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        for load in &mut self.loads[..self.open] {
            if load.end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                load.end.poll(now_us, out);
            }
        }
        let (probes, setup) = (&mut self.probes, &self.setup);
        self.live.retain(|slot| {
            let Some(probe) = &mut probes[*slot] else { return false };
            if probe.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                probe.poll(now_us, out);
            }
            probe.next_deadline_us().is_some() || probe.stage(setup).is_some()
        });
        while let Some(at_us) = self.next_act_us().filter(|at_us| *at_us <= now_us) {
            if self.open == 0 {
                self.load(now_us, out);
            }
            if at_us == self.interval_end_us {
                self.end_interval(now_us, out);
            } else {
                self.probe(now_us, out);
                // Two kinds in turn.
                self.next_probe_us += 1_000_000 / (2 * self.pairs_per_s);
            }
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let loads = self.loads[..self.open].iter().filter_map(|load| load.end.next_deadline_us());
        let probes = self.live.iter().filter_map(|slot| self.probes[*slot].as_ref());
        let probes = probes.filter_map(ProbeClient::next_deadline_us);
        loads.chain(probes).chain(self.next_act_us()).min()
    }
}

impl Measured for ResponsivenessClient {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("self probe", &self.own_probe))
    }

    fn figures(&self, figures: &mut Figures) {
        let Some((score, means_ms)) = self.scorer.score() else { return };
        figures.push("rpm", score.rpm());
        let Score { foreign, loaded } = score;
        for (name, Half { rpm, confidence }) in [("foreign", foreign), ("loaded", loaded)] {
            figures.push(&format!("{name}_rpm"), rpm);
            figures.push(&format!("{name}_confidence_level"), f64::from(confidence as u8));
        }
        let names: &[&str] = match means_ms.len() {
            4 => &["tcp_ms", "tls_ms", "http_ms", "loaded_http_ms"],
            _ => &["tcp_ms", "http_ms", "loaded_http_ms"],
        };
        names.iter().zip(means_ms).for_each(|(name, ms)| figures.push(name, *ms));
        figures.push("foreign_probes_count", self.foreign_probes as f64);
        figures.push("self_probes_count", self.own_probe.count() as f64);
        figures.push_delay_ms("self_probe", &self.own_probe);
    }
}
