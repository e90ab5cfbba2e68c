//! Both ends of a flow, connected by virtual links, after quinn-proto's `Pair`.

use std::collections::{BTreeMap, VecDeque};

use traffic::tcp::TcpStats;
use traffic::tcp::congestion::Form;
use traffic::{
    AppConfig, CongestionControl, CongestionKeys, Ecn, Endpoint, Flow, FlowConfig, Packet, Rng,
    ServerSide, TcpConfig, UeSide,
};

/// Action of a link on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    Deliver,
    Drop,
    Mark,
    /// Delivers this much later; other packets overtake it.
    Late(u64),
    /// Delivers, and this much later once more.
    Twice(u64),
}

impl LinkAction {
    /// This action if `condition` holds, else delivery.
    pub(crate) fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::Deliver }
    }
}

/// Action by packet, its number on this link (from 0) and time.
pub(crate) type Judge = fn(&Packet, u64, u64) -> LinkAction;

/// A serialising link with a drop-tail buffer and a propagation delay.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) rate_bps: u64,
    pub(crate) delay_us: u64,
    pub(crate) buffer_packets: usize,
    pub(crate) judge: Judge,
    /// Actions by packet number; `judge` decides on later packets.
    pub(crate) script: Vec<LinkAction>,
    /// Nothing leaves within `[from, to)`.
    pub(crate) stall_us: (u64, u64),
    /// Marks ECN-capable packets that wait longer than this.
    pub(crate) mark_above_us: Option<u64>,
    pub(crate) tail_drops: u64,
    /// Packets marked and delivered.
    pub(crate) marked: u64,
    busy_until_ns: u64,
    departures_ns: VecDeque<u64>,
    offered: u64,
}

impl Link {
    pub(crate) fn new(rate_bps: u64, delay_us: u64, buffer_packets: usize) -> Self {
        Self {
            rate_bps,
            delay_us,
            buffer_packets,
            judge: |_, _, _| LinkAction::Deliver,
            script: Vec::new(),
            stall_us: (0, 0),
            mark_above_us: None,
            tail_drops: 0,
            marked: 0,
            busy_until_ns: 0,
            departures_ns: VecDeque::new(),
            offered: 0,
        }
    }

    /// Queueing delay of a packet that arrives now.
    pub(crate) fn wait_us(&self, now_us: u64) -> u64 {
        self.busy_until_ns.saturating_sub(now_us * 1_000) / 1_000
    }

    /// Arrival time of the packet and of its duplicate; `None` if dropped.
    pub(crate) fn carry(&mut self, packet: &mut Packet, now_us: u64) -> Option<(u64, Option<u64>)> {
        let number = self.offered;
        self.offered += 1;
        let scripted = self.script.get(number as usize).copied();
        let action = scripted.unwrap_or_else(|| (self.judge)(packet, number, now_us));
        let (mut extra_us, mut again_us) = (0, None);
        match action {
            LinkAction::Drop => return None,
            LinkAction::Mark if packet.ecn == Ecn::NotEct => return None,
            LinkAction::Mark => packet.ecn = Ecn::Ce,
            LinkAction::Late(us) => extra_us = us,
            LinkAction::Twice(us) => again_us = Some(us),
            LinkAction::Deliver => {}
        }
        let now_ns = now_us * 1_000;
        while self.departures_ns.front().is_some_and(|&at| at <= now_ns) {
            self.departures_ns.pop_front();
        }
        if self.departures_ns.len() >= self.buffer_packets {
            self.tail_drops += 1;
            return None;
        }
        let mut start_ns = self.busy_until_ns.max(now_ns);
        if (self.stall_us.0 * 1_000..self.stall_us.1 * 1_000).contains(&start_ns) {
            start_ns = self.stall_us.1 * 1_000;
        }
        if self.mark_above_us.is_some_and(|limit_us| start_ns - now_ns > limit_us * 1_000)
            && packet.ecn != Ecn::NotEct
        {
            packet.ecn = Ecn::Ce;
        }
        self.marked += u64::from(packet.ecn == Ecn::Ce);
        self.busy_until_ns = start_ns + u64::from(packet.len_bytes) * 8_000_000_000 / self.rate_bps;
        self.departures_ns.push_back(self.busy_until_ns);
        let at_us = self.busy_until_ns.div_ceil(1_000) + self.delay_us + extra_us;
        Some((at_us, again_us.map(|us| at_us + us)))
    }
}

/// A flow over a downlink and an uplink.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) flow: Flow,
    pub(crate) now_us: u64,
    pub(crate) down: Link,
    pub(crate) up: Link,
    /// Packets by arrival time and order of sending, and whether to the UE.
    in_transit: BTreeMap<(u64, u64), (bool, Packet)>,
    order: u64,
    outbox: Vec<Packet>,
    /// FNV-1a over time, direction and length of every packet sent.
    pub(crate) fingerprint: u64,
    /// Time and number of the downlink packets sent at the latest instant.
    burst: (u64, u64),
    /// Largest number of downlink packets sent at one instant since last set to 0.
    pub(crate) largest_burst: u64,
}

impl Pair {
    /// A flow of `app` that starts at time 0.
    pub(crate) fn new(app: AppConfig, down: Link, up: Link) -> Self {
        Self::with_config(&FlowConfig::new(app), down, up)
    }

    pub(crate) fn with_config(config: &FlowConfig, down: Link, up: Link) -> Self {
        Self {
            flow: Flow::new(1, config, 0).unwrap(),
            now_us: 0,
            down,
            up,
            in_transit: BTreeMap::new(),
            order: 0,
            outbox: Vec::new(),
            fingerprint: 0xcbf2_9ce4_8422_2325,
            burst: (0, 0),
            largest_burst: 0,
        }
    }

    /// A TCP download; the uplink is not limited.
    pub(crate) fn tcp(
        config: TcpConfig,
        rate_bps: u64,
        rtt_us: u64,
        buffer_packets: usize,
    ) -> Self {
        Self::new(
            AppConfig::Tcp(config),
            Link::new(rate_bps, rtt_us / 2, buffer_packets),
            Link::new(1_000_000_000_000, rtt_us - rtt_us / 2, usize::MAX),
        )
    }

    pub(crate) fn tcp_stats(&self) -> TcpStats {
        self.flow.stats().tcp.unwrap()
    }

    pub(crate) fn acks_sent(&self) -> u64 {
        match &self.flow.ue {
            UeSide::Tcp(receiver) => receiver.acks_sent(),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match &self.flow.server {
            ServerSide::Tcp(sender) => sender.is_finished(self.now_us),
            other => panic!("{other:?}"),
        }
    }

    /// Runs to `end_us`, by which the sender must be finished; returns its statistics.
    pub(crate) fn finish(&mut self, end_us: u64) -> TcpStats {
        self.run_until(end_us);
        assert!(self.is_finished(), "{:?}", self.tcp_stats());
        self.tcp_stats()
    }

    /// Goodput over `[from, to)` relative to full segments at the downlink rate.
    pub(crate) fn utilisation(&self, from_us: u64, to_us: u64) -> f64 {
        self.goodput_bps(from_us, to_us) / (self.down.rate_bps as f64 * 1448.0 / 1500.0)
    }

    /// Goodput over `[from, to)`, bit/s.
    pub(crate) fn goodput_bps(&self, from_us: u64, to_us: u64) -> f64 {
        self.flow.arrivals().goodput().mean_bps(from_us, to_us)
    }

    fn next_us(&self) -> Option<u64> {
        [
            self.in_transit.keys().next().map(|&(at_us, _)| at_us),
            self.flow.server.next_deadline_us(),
            self.flow.ue.next_deadline_us(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Runs the next event; `false` without one.
    pub(crate) fn step(&mut self) -> bool {
        let Some(next_us) = self.next_us() else { return false };
        self.now_us = self.now_us.max(next_us);
        let now_us = self.now_us;
        while let Some(arrival) = self.in_transit.first_entry()
            && arrival.key().0 <= now_us
        {
            let (to_ue, packet) = arrival.remove();
            let end: &mut dyn Endpoint =
                if to_ue { &mut self.flow.ue } else { &mut self.flow.server };
            end.on_packet(&packet, now_us, &mut self.outbox);
            self.send(!to_ue);
        }
        for to_ue in [true, false] {
            let end: &mut dyn Endpoint =
                if to_ue { &mut self.flow.server } else { &mut self.flow.ue };
            if end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                end.poll(now_us, &mut self.outbox);
                assert!(
                    end.next_deadline_us().is_none_or(|at_us| at_us > now_us),
                    "poll did not clear the deadline at {now_us}"
                );
            }
            self.send(to_ue);
        }
        true
    }

    fn send(&mut self, to_ue: bool) {
        let mut outbox = std::mem::take(&mut self.outbox);
        for mut packet in outbox.drain(..) {
            for word in [self.now_us, u64::from(packet.len_bytes), u64::from(to_ue)] {
                self.fingerprint = (self.fingerprint ^ word).wrapping_mul(0x0100_0000_01b3);
            }
            let link = if to_ue { &mut self.down } else { &mut self.up };
            if to_ue {
                let before = if self.burst.0 == self.now_us { self.burst.1 } else { 0 };
                self.burst = (self.now_us, before + 1);
                self.largest_burst = self.largest_burst.max(self.burst.1);
            }
            if let Some((at_us, again_us)) = link.carry(&mut packet, self.now_us) {
                for at_us in [Some(at_us), again_us].into_iter().flatten() {
                    self.order += 1;
                    self.in_transit.insert((at_us, self.order), (to_ue, packet.clone()));
                }
            }
        }
        self.outbox = outbox;
    }

    /// Runs until `end_us` or the last event.
    pub(crate) fn run_until(&mut self, end_us: u64) {
        while self.next_us().is_some_and(|at_us| at_us <= end_us) && self.step() {}
        self.now_us = self.now_us.max(end_us);
    }
}

/// All congestion controls.
pub(crate) const ALL: [CongestionControl; 9] = [
    CongestionControl::Cubic,
    CongestionControl::Reno,
    CongestionControl::Westwood,
    CongestionControl::Vegas,
    CongestionControl::Bbr,
    CongestionControl::Bbr2,
    CongestionControl::Bbr3,
    CongestionControl::Prague,
    CongestionControl::C2tcp,
];

/// A download of this many segments.
pub(crate) fn download(segments: u64) -> TcpConfig {
    TcpConfig { total_bytes: Some(segments * 1448), ..TcpConfig::default() }
}

/// A download with this congestion control, as in Linux where it has several forms.
pub(crate) fn with(congestion: CongestionControl) -> TcpConfig {
    let keys = CongestionKeys { congestion_control: congestion, ..CongestionKeys::default() };
    in_form(keys, Form::Linux)
}

/// A download with this congestion control as RFC or draft have it.
pub(crate) fn as_in_rfc(congestion: CongestionControl) -> TcpConfig {
    let keys = CongestionKeys { congestion_control: congestion, ..CongestionKeys::default() };
    in_form(keys, Form::Rfc)
}

fn in_form(keys: CongestionKeys, form: Form) -> TcpConfig {
    TcpConfig { congestion: keys.config(form).unwrap(), ..TcpConfig::default() }
}

/// True with probability `per_million`, deterministic by packet number.
pub(crate) fn coin(number: u64, per_million: u64) -> bool {
    Rng::stream(0, number).below(1_000_000) < per_million
}
