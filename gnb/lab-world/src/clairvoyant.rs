//! What no scheduler can beat: the delay of a flow that is served first in every slot, by someone
//! who knows each slot's capacity and each arrival ahead, while bulk traffic keeps the link full.
//!
//! Time is slotted: a packet that is there when a slot begins can leave in it, and has left when its
//! last byte has. The delay is from arrival to the beginning of that slot, as the lab measures the
//! sojourn in SDAP and RLC. There is always bulk to send, so every slot with capacity is used:
//! delay and used RBs are those of one and the same schedule.

use std::collections::VecDeque;

/// A packet of the delay-sensitive flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it comes, in µs.
    pub time_us: u64,
    /// Its length in bytes, 1 or more.
    pub bytes: u32,
}

/// A slot of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// When it begins, in µs.
    pub time_us: u64,
    /// Bytes of its transport block if one UE has all of it; 0 for none.
    pub capacity_bytes: u32,
}

/// Which queue the flow shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// None: a bearer of its own, served before all others.
    Own,
    /// The RLC queue of the bulk traffic, a FIFO: a packet of bulk that has begun to leave is
    /// finished first. With the link kept full there is always one.
    Shared {
        /// Length of a bulk packet, 1 byte or more.
        bulk_packet_bytes: u32,
    },
}

/// What the link does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which queue the flow shares.
    pub queueing: Queueing,
    /// Whether a packet may leave in parts; without, it waits for a slot that holds it whole.
    pub segmentation: bool,
    /// Bytes of headers on a packet, or on its first part.
    pub header_bytes: u32,
    /// Bytes of headers on each further part.
    pub segment_header_bytes: u32,
}

impl Default for Rules {
    /// A bearer of its own and RLC-UM with 12-bit sequence numbers: 2 bytes of PDCP, 1 of RLC on a
    /// whole SDU and 2 of MAC subheader; a further part has 4 of RLC and 2 of MAC.
    fn default() -> Self {
        Self {
            queueing: Queueing::Own,
            segmentation: true,
            header_bytes: 5,
            segment_header_bytes: 6,
        }
    }
}

/// An input that cannot be used: where, what is there, what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{element}: {value}; expected {expected}")]
pub struct ClairvoyantError {
    /// Such as `arrivals[3].time_us`.
    pub element: String,
    /// What is there.
    pub value: u64,
    /// What would have been accepted.
    pub expected: String,
}

impl ClairvoyantError {
    fn new(element: String, value: impl Into<u64>, expected: impl Into<String>) -> Self {
        Self { element, value: value.into(), expected: expected.into() }
    }
}

/// The floor of a flow on a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floor {
    /// Delay of each arrival in µs; `None` where the slots end before it has left.
    pub delays_us: Vec<Option<u64>>,
    /// Bytes that the slots could carry.
    pub capacity_bytes: u64,
    /// Bytes that the flow took, headers included.
    pub flow_bytes: u64,
    /// Bytes that bulk took, headers included.
    pub bulk_bytes: u64,
    /// Delays of what has left, shortest first.
    sorted_us: Vec<u64>,
}

impl Floor {
    /// The delay that `percent` of the packets that left do not exceed (nearest rank); `None` when
    /// none left or `percent` is not within 0 to 100.
    pub fn percentile_us(&self, percent: f64) -> Option<u64> {
        if !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let rank = (percent / 100.0 * self.sorted_us.len() as f64).ceil() as usize;
        self.sorted_us.get(rank.saturating_sub(1)).copied()
    }

    /// Mean delay of the packets that left; `None` when none did.
    pub fn mean_us(&self) -> Option<f64> {
        let sum: u128 = self.sorted_us.iter().map(|us| u128::from(*us)).sum();
        let count = self.sorted_us.len();
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// Packets that left within less than `us`, percent of all arrivals; 100 when there were none.
    pub fn below_pct(&self, us: u64) -> f64 {
        if self.delays_us.is_empty() {
            return 100.0;
        }
        let below = self.sorted_us.partition_point(|delay| *delay < us);
        100.0 * below as f64 / self.delays_us.len() as f64
    }

    /// The part of the link that the flow needs at least, percent of its bytes: what RBs would be
    /// used without bulk. With bulk all of them are.
    pub fn flow_pct(&self) -> f64 {
        self.percent_of_capacity(self.flow_bytes)
    }

    /// The part of the link that carries something, percent of its bytes: less than 100 only by
    /// what is too small for a header, or without segmentation for a packet.
    pub fn used_pct(&self) -> f64 {
        self.percent_of_capacity(self.flow_bytes + self.bulk_bytes)
    }

    fn percent_of_capacity(&self, bytes: u64) -> f64 {
        if self.capacity_bytes == 0 {
            return 0.0;
        }
        100.0 * bytes as f64 / self.capacity_bytes as f64
    }
}

/// Serves `arrivals` first in each of `slots`.
///
/// # Errors
/// [`ClairvoyantError`] when arrivals or slots are not in the order of time, two slots begin at
/// once, or a length is 0.
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
            let delay_us = slot.time_us - arrivals[index].time_us;
            floor.delays_us[index] = Some(delay_us);
            floor.sorted_us.push(delay_us);
        }
        // Bulk in a bearer of its own is cut wherever the slot ends, and never in the way.
        match rules.queueing {
            Queueing::Own => floor.bulk_bytes += u64::from(std::mem::take(&mut left)),
            // Behind a packet that is still being sent nothing begins.
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
    floor.sorted_us.sort_unstable();
    Ok(floor)
}

fn check(arrivals: &[Arrival], slots: &[Slot], rules: &Rules) -> Result<(), ClairvoyantError> {
    for (at, arrival) in arrivals.iter().enumerate() {
        if arrival.bytes == 0 {
            return Err(ClairvoyantError::new(format!("arrivals[{at}].bytes"), 0u32, "1 or more"));
        }
        let before = at.checked_sub(1).map_or(0, |before| arrivals[before].time_us);
        if arrival.time_us < before {
            let expected = format!("{before} or later, after the one before");
            let element = format!("arrivals[{at}].time_us");
            return Err(ClairvoyantError::new(element, arrival.time_us, expected));
        }
    }
    for (at, pair) in slots.windows(2).enumerate() {
        if pair[1].time_us <= pair[0].time_us {
            let expected = format!("later than {}, when the one before begins", pair[0].time_us);
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

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
struct Packet {
    rest_bytes: u32,
    /// Whether a part has left.
    begun: bool,
}

impl Packet {
    fn new(bytes: u32) -> Self {
        Self { rest_bytes: bytes, begun: false }
    }
}

/// Sends what it can of `packet` in the `left` bytes of a slot, and takes it out when it has left;
/// returns the bytes used.
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
    fn a_packet_waits_for_the_next_slot_and_no_longer() {
        let floor = floor(
            &arrivals(&[(0, 100), (1, 100), (999, 100), (1000, 100)]),
            &slots(&[500, 500]),
            &bare(OWN),
        )
        .unwrap();
        assert_eq!(floor.delays_us, [Some(0), Some(999), Some(1), Some(0)]);
        assert_eq!((floor.flow_bytes, floor.bulk_bytes, floor.capacity_bytes), (400, 600, 1000));
        assert_eq!((floor.flow_pct(), floor.used_pct()), (40.0, 100.0));
    }

    #[test]
    fn a_long_packet_takes_as_many_slots_as_it_needs_with_a_header_each() {
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
    fn without_segmentation_it_waits_for_a_slot_that_holds_it() {
        let rules = Rules { segmentation: false, ..bare(OWN) };
        let list = arrivals(&[(0, 200), (0, 50)]);
        let floor = floor(&list, &slots(&[100, 199, 200, 100]), &rules).unwrap();
        assert_eq!(floor.delays_us, [Some(2000), Some(3000)], "in order");
        assert_eq!(floor.used_pct(), 100.0, "bulk takes what is left");
    }

    #[test]
    fn in_a_shared_queue_a_bulk_packet_that_has_begun_goes_first() {
        let rules = bare(Queueing::Shared { bulk_packet_bytes: 1500 });
        // 2289 a slot: 1500 and 789 of the next, whose 711 go before the call's packet.
        let list = arrivals(&[(500, 200), (1500, 200)]);
        let got = floor(&list, &slots(&[2289, 2289, 2289]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(500), Some(500)]);
        assert_eq!(got.used_pct(), 100.0);
        // 500 a slot: a bulk packet takes three slots, and the packet comes right after the first.
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[500; 6]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(2500)]);
        // In a bearer of its own it would not wait.
        let got = floor(&arrivals(&[(500, 200)]), &slots(&[500; 6]), &bare(OWN)).unwrap();
        assert_eq!(got.delays_us, [Some(500)]);
    }

    #[test]
    fn in_a_shared_queue_no_bulk_begins_behind_a_packet_in_parts() {
        let rules = bare(Queueing::Shared { bulk_packet_bytes: 100 });
        // 100 of bulk, 100 of 250, 100, 50 and 50 of bulk, whose other 50 go before the second.
        let list = arrivals(&[(1, 250), (3001, 50)]);
        let got = floor(&list, &slots(&[100; 6]), &rules).unwrap();
        assert_eq!(got.delays_us, [Some(2999), Some(999)]);
        assert_eq!((got.flow_bytes, got.bulk_bytes), (300, 300));
    }

    #[test]
    fn a_link_that_is_down_for_seconds_delays_and_comes_back() {
        let mut capacities = vec![1000; 10];
        capacities.extend([0; 3000]);
        capacities.extend([1000; 10]);
        let list: Vec<(u64, u32)> = (0..150).map(|i| (i * 20_000, 200)).collect();
        let got = floor(&arrivals(&list), &slots(&capacities), &bare(OWN)).unwrap();
        // 149 packets wait, five leave a slot from 3.01 s on: 50 of them in the ten slots.
        assert_eq!(got.delays_us.iter().flatten().count(), 51);
        assert_eq!(got.delays_us[1], Some(3_010_000 - 20_000));
        assert_eq!(got.percentile_us(100.0), Some(2_990_000));
        assert_eq!(got.used_pct(), 100.0);
        assert_eq!(floor(&arrivals(&list), &[], &bare(OWN)).unwrap().mean_us(), None);
    }

    #[test]
    fn percentiles_are_of_nearest_rank() {
        let list: Vec<(u64, u32)> = (1..=100).map(|i| (1000 - i, 1)).rev().collect();
        let got = floor(&arrivals(&list), &slots(&[0, 100]), &bare(OWN)).unwrap();
        assert_eq!(got.percentile_us(0.0), Some(1));
        assert_eq!(got.percentile_us(50.0), Some(50));
        assert_eq!(got.percentile_us(95.0), Some(95));
        assert_eq!(got.percentile_us(99.5), Some(100));
        assert_eq!((got.percentile_us(-1.0), got.percentile_us(f64::NAN)), (None, None));
        assert_eq!(got.mean_us(), Some(50.5));
        assert_eq!(got.below_pct(51), 50.0);
    }

    #[test]
    fn what_is_out_of_order_is_named() {
        let rules = bare(OWN);
        let said = |result: Result<Floor, ClairvoyantError>| result.unwrap_err().to_string();
        assert_eq!(
            said(floor(&arrivals(&[(5, 1), (4, 1)]), &[], &rules)),
            "arrivals[1].time_us: 4; expected 5 or later, after the one before"
        );
        assert_eq!(
            said(floor(&arrivals(&[(5, 0)]), &[], &rules)),
            "arrivals[0].bytes: 0; expected 1 or more"
        );
        let twice = [Slot { time_us: 7, capacity_bytes: 1 }; 2];
        assert_eq!(
            said(floor(&[], &twice, &rules)),
            "slots[1].time_us: 7; expected later than 7, when the one before begins"
        );
        let shared = bare(Queueing::Shared { bulk_packet_bytes: 0 });
        assert_eq!(
            said(floor(&[], &[], &shared)),
            "rules.queueing.bulk_packet_bytes: 0; expected 1 or more"
        );
    }
}
