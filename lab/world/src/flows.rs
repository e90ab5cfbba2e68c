//! Traffic of all flows: what servers and UEs send and receive.

use ran::UplinkArrival;
use traffic::{Endpoint as _, Rng};

use super::cells::Place;
use super::cu::GnbParts;
use super::flow::BoundFlow;
use super::links::{FromUe, Links};
use super::packet::GnbPacket;
use super::timers::{Timer, Timers};

/// The flows, in the order of the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    all: Vec<BoundFlow>,
    /// Index of the flow of each connection.
    of_connection: Vec<u32>,
    core_jitter: Rng,
    core_jitter_us: u32,
    /// Reused from packet to packet.
    sent: Vec<traffic::Packet>,
}

impl Flows {
    pub(crate) fn new(all: Vec<BoundFlow>, core_jitter: Rng, core_jitter_us: u32) -> Self {
        let indexes = (0..).zip(&all);
        let of_connection =
            indexes.flat_map(|(index, flow)| (0..flow.connections).map(move |_| index)).collect();
        Self { all, of_connection, core_jitter, core_jitter_us, sent: Vec::new() }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, BoundFlow> {
        self.all.iter()
    }

    /// The flow of an index.
    pub(crate) fn get(&self, index: u32) -> Option<&BoundFlow> {
        self.all.get(index as usize)
    }

    /// The flow of an index.
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut BoundFlow> {
        self.all.get_mut(index as usize)
    }

    /// Packets of each flow among those of connections.
    pub(crate) fn by_flow(&self, of_connections: impl Iterator<Item = (u32, u64)>) -> Vec<u64> {
        let mut of_flows = vec![0; self.all.len()];
        for (connection, packets) in of_connections {
            of_flows[self.of_connection[connection as usize] as usize] += packets;
        }
        of_flows
    }

    /// Sets the first deadlines of both ends of every flow.
    pub(crate) fn set_timers(&self, timers: &mut Timers) {
        for (index, flow) in (0..).zip(&self.all) {
            timers.set(Timer::Server(index), flow.ends.server.next_deadline_us());
            timers.set(Timer::Ue(index), flow.ends.ue.next_deadline_us());
        }
    }

    /// Records the sojourn in SDAP and RLC of a packet; the index of its flow.
    pub(crate) fn record_sojourn(&mut self, connection: u32, now_us: u64, sojourn_us: u64) -> u32 {
        let index = self.of_connection[connection as usize];
        self.all[index as usize].queuing.record(now_us, sojourn_us);
        index
    }

    /// A downlink packet was decoded at its UE.
    pub(crate) fn arrive_at_ue(&mut self, packet: &GnbPacket, gnb: &mut GnbParts<'_>) {
        let bearer = &mut gnb.bearers[packet.bearer as usize];
        if bearer.cell.is_none() {
            bearer.measured.late_packets += 1;
            return;
        }
        bearer.measured.arrived_packets += 1;
        let flow = self.of_connection[packet.inner.flow as usize];
        let ue = &mut self.all[flow as usize].ends.ue;
        ue.on_packet(&packet.inner, gnb.now_us, &mut self.sent);
        self.ue_sends(flow, gnb);
    }

    /// An uplink packet reaches its server.
    pub(crate) fn arrive_at_server(&mut self, packet: &traffic::Packet, gnb: &mut GnbParts<'_>) {
        let flow = self.of_connection[packet.flow as usize];
        let bound = &mut self.all[flow as usize];
        gnb.bearers[bound.bearer as usize].measured.uplink_arrived_packets += 1;
        let server = &mut bound.ends.server;
        server.on_packet(packet, gnb.now_us, &mut self.sent);
        self.server_sends(flow, gnb);
    }

    /// The timer of a server expired.
    pub(crate) fn poll_server(&mut self, flow: u32, gnb: &mut GnbParts<'_>) {
        self.all[flow as usize].ends.server.poll(gnb.now_us, &mut self.sent);
        self.server_sends(flow, gnb);
    }

    /// The timer of a UE expired.
    pub(crate) fn poll_ue(&mut self, flow: u32, gnb: &mut GnbParts<'_>) {
        self.all[flow as usize].ends.ue.poll(gnb.now_us, &mut self.sent);
        self.ue_sends(flow, gnb);
    }

    fn server_sends(&mut self, flow: u32, gnb: &mut GnbParts<'_>) {
        let bound = &mut self.all[flow as usize];
        gnb.timers.set(Timer::Server(flow), bound.ends.server.next_deadline_us());
        gnb.bearers[bound.bearer as usize].measured.sent_packets += self.sent.len() as u64;
        for packet in self.sent.drain(..) {
            let jitter_us = self.core_jitter.below(u64::from(self.core_jitter_us) + 1);
            let at_us = gnb.now_us + bound.core_delay_us + jitter_us;
            bound.core_last_us = at_us.max(bound.core_last_us);
            gnb.links.core_down.push(bound.core_last_us, bound.packet(packet));
        }
    }

    fn ue_sends(&mut self, flow: u32, gnb: &mut GnbParts<'_>) {
        let bound = &self.all[flow as usize];
        gnb.timers.set(Timer::Ue(flow), bound.ends.ue.next_deadline_us());
        let index = gnb.sdap.up(bound.qos_flow).unwrap_or(bound.bearer);
        let bearer = &mut gnb.bearers[index as usize];
        bearer.measured.uplink_packets += self.sent.len() as u64;
        let Some(place) = bearer.cell else {
            bearer.measured.unattached_uplink_packets += self.sent.len() as u64;
            self.sent.clear();
            return;
        };
        for packet in self.sent.drain(..) {
            let len_bytes = bound.datagram_bytes(&packet);
            let tag = gnb.links.at_ues.insert(FromUe::Packet(packet));
            let cell = &mut gnb.cells[place.cell];
            if cell.send_uplink(place.bearer, tag, len_bytes, gnb.now_us) {
                bearer.measured.uplink_bytes += u64::from(len_bytes);
            } else {
                bearer.measured.uplink_dropped_packets += 1;
                gnb.links.at_ues.take(tag);
            }
        }
        self.leave_gnb(gnb);
    }

    /// Passes on the packets of UEs that leave the gNB, and counts those that the radio has lost.
    pub(crate) fn leave_gnb(&mut self, gnb: &mut GnbParts<'_>) {
        let GnbParts { bearers, cells, links, sdap, now_us, .. } = gnb;
        if !cells.iter().any(|cell| cell.has_uplink_arrivals()) {
            return;
        }
        let arrivals = cells.iter_mut().enumerate().flat_map(|(cell, served)| {
            let at =
                move |arrival: UplinkArrival| (Place { cell, bearer: arrival.bearer }, arrival);
            served.take_uplink_arrivals().map(at)
        });
        for (place, arrival) in arrivals {
            let item = links.at_ues.take(arrival.tag);
            let own = match &item {
                Some(FromUe::Packet(packet)) => Some(self.bound(packet).bearer),
                _ => None,
            };
            // A UE that has left the cell is at no place there, nor is another in its place.
            let is_own = |at: &u32| {
                own.is_none_or(|own| bearers[own as usize].rnti == bearers[*at as usize].rnti)
            };
            let Some(index) = bearers.at(place).filter(is_own).or(own) else { continue };
            let bearer = &mut bearers[index as usize];
            let at_cu = match (arrival.leaves_us, &item) {
                (None, Some(FromUe::Packet(_))) => {
                    bearer.measured.uplink_lost_packets += 1;
                    continue;
                }
                (None, _) => continue,
                (Some(at_us), _) => bearer.f1.as_mut().map_or(Some(at_us), |f1| f1.send_up(at_us)),
            };
            match (item, at_cu) {
                (Some(FromUe::Packet(packet)), Some(at_us)) => {
                    let bound = self.bound(&packet);
                    let passed = sdap.receive_up(bound.qos_flow, index, at_us, packet);
                    if let Some((at_us, packet)) = passed {
                        links.uplink.push(at_us + bound.core_delay_us, packet);
                    }
                }
                (Some(FromUe::EndMarker(flow)), Some(at_us)) => {
                    self.leave_sdap(sdap.end_marker(flow, at_us, *now_us), links);
                }
                (Some(FromUe::EndMarker(_)), None) => sdap.marker_lost(),
                _ => {}
            }
        }
    }

    /// Sends packets that the CU's SDAP releases on to their servers.
    pub(crate) fn leave_sdap(&self, packets: Vec<(u64, traffic::Packet)>, links: &mut Links) {
        for (at_us, packet) in packets {
            links.uplink.push(at_us + self.bound(&packet).core_delay_us, packet);
        }
    }

    fn bound(&self, packet: &traffic::Packet) -> &BoundFlow {
        &self.all[self.of_connection[packet.flow as usize] as usize]
    }

    /// A QoS flow is on another bearer from now on.
    pub(crate) fn moved(&mut self, qos_flow: u32, bearer: u32, drb: u8) {
        for bound in self.all.iter_mut().filter(|bound| bound.qos_flow == qos_flow) {
            (bound.bearer, bound.drb) = (bearer, drb);
        }
    }
}
