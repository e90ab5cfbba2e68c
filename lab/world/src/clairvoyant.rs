//! Lower bound of delay: a clairvoyant scheduler knows each slot's capacity and each arrival, and
//! serves one flow first in every slot while bulk traffic uses the rest.
//!
//! A packet that arrived before a slot can leave in it; it has left with its last byte. Its delay is
//! from arrival to the start of that slot, as the lab measures the sojourn in SDAP and RLC. Bulk
//! traffic is always available, so delay and used RBs belong to the same schedule.

use std::collections::VecDeque;

use lab_scenario::{LoadedScenario, ScenarioError};
use ran::Delivery;

use crate::packet::GnbPacket;
use crate::{World, build};

/// A packet of the delay-sensitive flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Arrival time, µs.
    pub time_us: u64,
    /// Length, 1 byte or more.
    pub bytes: u32,
}

/// A slot of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Start, µs.
    pub time_us: u64,
    /// Size of its transport block if one UE has all of it; 0 if none.
    pub capacity_bytes: u32,
}

/// The queue of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// A separate bearer, served before all others.
    Own,
    /// The RLC FIFO of the bulk traffic: a bulk packet that has started is completed first, and there
    /// always is one.
    Shared {
        /// Length of a bulk packet, 1 byte or more.
        bulk_packet_bytes: u32,
    },
}

/// Segmentation and headers of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The queue of the flow.
    pub queueing: Queueing,
    /// Whether packets may be segmented; if not, a packet waits for a slot that fits it.
    pub segmentation: bool,
    /// Header bytes of a packet or of its first segment.
    pub header_bytes: u32,
    /// Header bytes of each further segment.
    pub segment_header_bytes: u32,
}

impl Default for Rules {
    /// A separate bearer and RLC-UM with 12-bit sequence numbers: PDCP 2 bytes, RLC 1 byte for a whole
    /// SDU and MAC subheader 2 bytes; further segments have 4 bytes of RLC and 2 of MAC.
    fn default() -> Self {
        Self {
            queueing: Queueing::Own,
            segmentation: true,
            header_bytes: 5,
            segment_header_bytes: 6,
        }
    }
}

/// An invalid input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element}: {value}; expected {expected}")]
pub struct ClairvoyantError {
    /// Its place, such as `arrivals[3].time_us`.
    pub element: String,
    /// Its value.
    pub value: u64,
    /// Accepted values.
    pub expected: String,
}

impl ClairvoyantError {
    fn new(element: String, value: impl Into<u64>, expected: impl Into<String>) -> Self {
        Self { element, value: value.into(), expected: expected.into() }
    }
}

/// The lower bound of a flow's delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Delay of each arrival, µs; `None` if it has not left by the last slot.
    pub delays_us: Vec<Option<u64>>,
    /// Capacity of all slots.
    pub capacity_bytes: u64,
    /// Bytes of the flow, with headers.
    pub flow_bytes: u64,
    /// Bytes of bulk traffic, with headers. With those of the flow less than the capacity only where the
    /// rest of a slot is too small for a header, or for a packet without segmentation.
    pub bulk_bytes: u64,
}

impl World {
    /// Capacity of every slot before `until_us` if UE `rnti` had all of it, with the channel, seed and
    /// reserved PRBs of the scenario; 0 bytes for slots without downlink or without the UE. Input of
    /// [`floor`].
    ///
    /// # Errors
    /// [`ScenarioError`] as [`World::new`], and when the scenario has no such UE or several cells.
    pub fn capacity_series(
        loaded: &LoadedScenario,
        rnti: u16,
        until_us: u64,
    ) -> Result<Vec<Slot>, ScenarioError> {
        let mut parts = build::parts(loaded)?;
        if parts.cells.len() > 1 {
            let message = "capacity is known of a scenario with one cell alone";
            return Err(ScenarioError::new(&loaded.file, "cells", message));
        }
        let Some(plan) = parts.ues.iter().find(|plan| plan.config.rnti == rnti) else {
            let message = format!("{rnti} is not a UE of this scenario");
            return Err(ScenarioError::new(&loaded.file, "ues", message));
        };
        let mut cell = parts.cells.swap_remove(0);
        let mut nothing: Vec<Delivery<GnbPacket>> = Vec::new();
        let mut slots = Vec::new();
        let mut joined = false;
        while cell.next_slot_us() < until_us {
            let time_us = cell.next_slot_us();
            if !joined && plan.join_us <= time_us {
                joined = true;
                cell.add_ue(plan.config.clone())
                    .map_err(|error| ScenarioError::new(&loaded.file, "ues", error.to_string()))?;
            }
            if plan.leave_us.is_some_and(|leave_us| leave_us <= time_us) {
                cell.remove_ue(rnti);
            }
            cell.slot(time_us, &mut nothing);
            let capacity_bytes = cell.last_slot_bytes(rnti).unwrap_or(0);
            slots.push(Slot { time_us, capacity_bytes });
        }
        Ok(slots)
    }
}

/// Serves `arrivals` first in each of `slots`.
///
/// # Errors
/// [`ClairvoyantError`] if arrivals or slots are not in order of time, two slots start at the same time,
/// or a length is 0.
pub fn floor(
    arrivals: &[Arrival],
    slots: &[Slot],
    rules: &Rules,
) -> Result<Floor, ClairvoyantError> {
    check(arrivals, slots, rules)?;
    let mut floor = Floor { delays_us: vec![None; arrivals.len()], ..Floor::default() };
    let mut waiting: VecDeque<(usize, Packet)> = VecDeque::new();
    let mut next = 0;
    let mut bulk = None;
    for slot in slots {
        while let Some(arrival) = arrivals.get(next).filter(|a| a.time_us <= slot.time_us) {
            waiting.push_back((next, Packet::new(arrival.bytes)));
            next += 1;
        }
        let mut left = slot.capacity_bytes;
        floor.capacity_bytes += u64::from(left);
        if let Queueing::Shared { .. } = rules.queueing {
            floor.bulk_bytes += send(&mut bulk, &mut left, rules);
        }
        while let Some((index, packet)) = waiting.pop_front() {
            let mut sending = Some(packet);
            floor.flow_bytes += send(&mut sending, &mut left, rules);
            if let Some(rest) = sending {
                waiting.push_front((index, rest));
                break;
            }
            floor.delays_us[index] = Some(slot.time_us - arrivals[index].time_us);
        }
        // Bulk traffic of another bearer is segmented at the end of the slot and delays nothing.
        match rules.queueing {
            Queueing::Own => floor.bulk_bytes += u64::from(std::mem::take(&mut left)),
            // A FIFO starts nothing behind a packet that is still being sent.
            Queueing::Shared { .. } if bulk.is_some() => {}
            Queueing::Shared { .. } if waiting.front().is_some_and(|(_, p)| p.begun) => {}
            Queueing::Shared { bulk_packet_bytes } => {
                while bulk.is_none() {
                    let before = left;
                    bulk = Some(Packet::new(bulk_packet_bytes));
                    floor.bulk_bytes += send(&mut bulk, &mut left, rules);
                    if left == before {
                        bulk = None;
                        break;
                    }
                }
            }
        }
    }
    Ok(floor)
}

fn check(arrivals: &[Arrival], slots: &[Slot], rules: &Rules) -> Result<(), ClairvoyantError> {
    for (at, arrival) in arrivals.iter().enumerate() {
        if arrival.bytes == 0 {
            return Err(ClairvoyantError::new(format!("arrivals[{at}].bytes"), 0u32, "1 or more"));
        }
        let before = at.checked_sub(1).map_or(0, |before| arrivals[before].time_us);
        if arrival.time_us < before {
            let expected = format!("{before} or later, the time of the previous arrival");
            let element = format!("arrivals[{at}].time_us");
            return Err(ClairvoyantError::new(element, arrival.time_us, expected));
        }
    }
    for (at, pair) in slots.windows(2).enumerate() {
        if pair[1].time_us <= pair[0].time_us {
            let expected =
                format!("later than {}, the start of the previous slot", pair[0].time_us);
            let element = format!("slots[{}].time_us", at + 1);
            return Err(ClairvoyantError::new(element, pair[1].time_us, expected));
        }
    }
    if rules.queueing == (Queueing::Shared { bulk_packet_bytes: 0 }) {
        let element = "rules.queueing.bulk_packet_bytes".to_owned();
        return Err(ClairvoyantError::new(element, 0u32, "1 or more"));
    }
    Ok(())
}

/// A packet being sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    rest_bytes: u32,
    /// Whether a segment has left.
    begun: bool,
}

impl Packet {
    fn new(bytes: u32) -> Self {
        Self { rest_bytes: bytes, begun: false }
    }
}

/// Sends what fits of `packet` into the `left` bytes of a slot; clears `packet` when it has left.
/// Returns the bytes used.
fn send(packet: &mut Option<Packet>, left: &mut u32, rules: &Rules) -> u64 {
    let Some(sending) = packet else { return 0 };
    let header = if sending.begun { rules.segment_header_bytes } else { rules.header_bytes };
    let Some(room) = left.checked_sub(header).filter(|room| *room > 0) else { return 0 };
    let used = if sending.rest_bytes <= room {
        let used = header + sending.rest_bytes;
        *packet = None;
        used
    } else if rules.segmentation {
        sending.rest_bytes -= room;
        sending.begun = true;
        *left
    } else {
        0
    };
    *left -= used;
    u64::from(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(list: &[(u64, u32)]) -> Vec<Arrival> {
        list.iter().map(|(time_us, bytes)| Arrival { time_us: *time_us, bytes: *bytes }).collect()
    }

    /// Slots of a millisecond with these capacities.
    fn slots(capacities: &[u32]) -> Vec<Slot> {
        let slot = |(at, capacity_bytes): (u64, &u32)| Slot {
            time_us: at * 1000,
            capacity_bytes: *capacity_bytes,
        };
        (0..).zip(capacities).map(slot).collect()
    }

    fn bare(queueing: Queueing) -> Rules {
        Rules { queueing, segmentation: true, header_bytes: 0, segment_header_bytes: 0 }
    }

    const OWN: Queueing = Queueing::Own;

    #[test]
    fn a_packet_waits_for_the_next_slot_only() {
        let floor = floor(
            &arrivals(&[(0, 100), (1, 100), (999, 100), (1000, 100)]),
            &slots(&[500, 500]),
            &bare(OWN),
        )
        .unwrap();
        assert_eq!(floor.delays_us, [Some(0), Some(999), Some(1), Some(0)]);
        assert_eq!((floor.flow_bytes, floor.bulk_bytes, floor.capacity_bytes), (400, 600, 1000));
    }

    #[test]
    fn a_long_packet_is_segmented_with_a_header_per_segment() {
        let rules = Rules { header_bytes: 5, segment_header_bytes: 6, ..bare(OWN) };
        // 95 + 94 + 11 bytes of 200.
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[100, 100, 0, 100, 17]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(3500)]);
        assert_eq!(got.flow_bytes, 100 + 100 + 17);
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[100, 100, 0, 100, 16]), &rules).unwrap();
        assert_eq!(got.delays_us, [None], "a byte short");
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[100, 5, 6, 100, 100, 17]), &rules);
        assert_eq!(got.unwrap().delays_us, [Some(4500)], "no room for a byte after the header");
    }

    #[test]
    fn without_segmentation_a_packet_waits_for_a_slot_that_fits_it() {
        let rules = Rules { segmentation: false, ..bare(OWN) };
        let list = arrivals(&[(0, 200), (0, 50)]);
        let floor = floor(&list, &slots(&[100, 199, 200, 100]), &rules).unwrap();
        assert_eq!(floor.delays_us, [Some(2000), Some(3000)], "in order");
        assert_eq!(floor.flow_bytes + floor.bulk_bytes, floor.capacity_bytes, "bulk uses the rest");
    }

    #[test]
    fn in_a_shared_queue_a_started_bulk_packet_is_completed_first() {
        let rules = bare(Queueing::Shared { bulk_packet_bytes: 1500 });
        // 2289 a slot: 1500 and 789 of the next, whose 711 go before the call's packet.
        let list = arrivals(&[(500, 200), (1500, 200)]);
        let got = floor(&list, &slots(&[2289, 2289, 2289]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(500), Some(500)]);
        assert_eq!(got.flow_bytes + got.bulk_bytes, got.capacity_bytes);
        // 500 a slot: a bulk packet takes three slots, and the packet comes right after the first.
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[500; 6]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(2500)]);
        // In a separate bearer it does not wait.
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[500; 6]), &bare(OWN)).unwrap();
        assert_eq!(got.delays_us, [Some(500)]);
    }

    #[test]
    fn in_a_shared_queue_no_bulk_starts_behind_a_segmented_packet() {
        let rules = bare(Queueing::Shared { bulk_packet_bytes: 100 });
        // 100 of bulk, 100 of 250, 100, 50 and 50 of bulk, whose other 50 go before the second.
        let list = arrivals(&[(1, 250), (3001, 50)]);
        let got = floor(&list, &slots(&[100; 6]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(2999), Some(999)]);
        assert_eq!((got.flow_bytes, got.bulk_bytes), (300, 300));
    }

    #[test]
    fn a_link_outage_of_seconds_delays_packets() {
        let mut capacities = vec![1000; 10];
        capacities.extend([0; 3000]);
        capacities.extend([1000; 10]);
        let list: Vec<(u64, u32)> = (0..150).map(|i| (i * 20_000, 200)).collect();
        let got = floor(&arrivals(&list), &slots(&capacities), &bare(OWN)).unwrap();
        // 149 packets wait, five leave a slot from 3.01 s on: 50 of them in the ten slots.
        assert_eq!(got.delays_us.iter().flatten().count(), 51);
        assert_eq!(got.delays_us[1], Some(3_010_000 - 20_000));
        assert_eq!(got.flow_bytes + got.bulk_bytes, got.capacity_bytes);
    }

    #[test]
    fn an_invalid_input_is_named() {
        let rules = bare(OWN);
        let message = |result: Result<Floor, ClairvoyantError>| result.unwrap_err().to_string();
        assert_eq!(
            message(floor(&arrivals(&[(5, 1), (4, 1)]), &[], &rules)),
            "arrivals[1].time_us: 4; expected 5 or later, the time of the previous arrival"
        );
        assert_eq!(
            message(floor(&arrivals(&[(5, 0)]), &[], &rules)),
            "arrivals[0].bytes: 0; expected 1 or more"
        );
        let twice = [Slot { time_us: 7, capacity_bytes: 1 }; 2];
        assert_eq!(
            message(floor(&[], &twice, &rules)),
            "slots[1].time_us: 7; expected later than 7, the start of the previous slot"
        );
        let shared = bare(Queueing::Shared { bulk_packet_bytes: 0 });
        assert_eq!(
            message(floor(&[], &[], &shared)),
            "rules.queueing.bulk_packet_bytes: 0; expected 1 or more"
        );
    }
}
