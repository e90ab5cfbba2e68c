//! Devices one behind the other, and the account of what passed them.

use serde::Serialize;

use super::counts::FaultCounts;
use super::packet_in_flight::PacketInFlight;
use super::stackable::Device;

/// The devices of a capture point.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    devices: Vec<Box<dyn Device>>,
    offered_packets: u64,
    passed_packets: u64,
}

/// What became of the packets of a capture point. `offered` and `duplicated` are the sum of `passed`, the drops and
/// `held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PointCounts {
    /// Came to the capture point.
    pub(crate) offered_packets: u64,
    /// Left it.
    pub(crate) passed_packets: u64,
    /// What its faults did.
    #[serde(flatten)]
    pub(crate) faults: FaultCounts,
}

impl PointCounts {
    /// Packets that are nowhere, or in two places; 0 if the account closes.
    pub(crate) fn unaccounted(&self) -> u64 {
        let FaultCounts { duplicated_packets, held_packets, .. } = self.faults;
        (self.offered_packets + duplicated_packets)
            .abs_diff(self.passed_packets + self.faults.dropped_packets() + held_packets)
    }
}

impl Stack {
    /// Puts a device behind the others.
    pub(crate) fn add(&mut self, device: Box<dyn Device>) {
        self.devices.push(device);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// A packet comes; `out` gets those that leave now.
    pub(crate) fn push(&mut self, packet: PacketInFlight, out: &mut dyn FnMut(PacketInFlight)) {
        self.offered_packets += 1;
        push_through(&mut self.devices, packet, &mut leave(&mut self.passed_packets, out));
    }

    /// `out` gets what leaves by `now_ns`, in order of time as far as one device holds it.
    pub(crate) fn poll(&mut self, now_ns: u64, out: &mut dyn FnMut(PacketInFlight)) {
        let out = &mut leave(&mut self.passed_packets, out);
        for at in 0..self.devices.len() {
            if let [device, behind @ ..] = &mut self.devices[at..] {
                device.poll(now_ns, &mut |packet| push_through(behind, packet, out));
            }
        }
    }

    /// Time at which something leaves that is held now.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.devices.iter().filter_map(|device| device.next_ns()).min()
    }

    pub(crate) fn counts(&self) -> PointCounts {
        let mut faults = FaultCounts::default();
        self.devices.iter().for_each(|device| faults.add(&device.faults()));
        let Self { offered_packets, passed_packets, .. } = *self;
        PointCounts { offered_packets, passed_packets, faults }
    }
}

fn push_through(
    devices: &mut [Box<dyn Device>],
    packet: PacketInFlight,
    out: &mut dyn FnMut(PacketInFlight),
) {
    match devices {
        [] => out(packet),
        [device, behind @ ..] => {
            device.push(packet, &mut |packet| push_through(behind, packet, out));
        }
    }
}

/// Counts packets that leave; those that were dropped end here.
fn leave<'a>(
    passed_packets: &'a mut u64,
    out: &'a mut dyn FnMut(PacketInFlight),
) -> impl FnMut(PacketInFlight) + 'a {
    move |packet| {
        if packet.dropped.is_none() {
            *passed_packets += 1;
            out(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::faults::testing::injector;
    use super::super::packet_in_flight::testing::packet_in_flight;
    use super::*;

    /// Drives a stack with a packet each 100 µs; the times and payloads that leave.
    fn passed(stack: &mut Stack, packets: u64) -> Vec<(u64, u8)> {
        let mut left = Vec::new();
        let mut out = |packet: PacketInFlight| left.push((packet.at_ns, packet.bytes()[28]));
        for number in 0..packets {
            let at_ns = number * 100_000;
            stack.poll(at_ns, &mut out);
            stack.push(packet_in_flight(at_ns, &[number as u8, 1, 2, 3]), &mut out);
        }
        left
    }

    #[test]
    fn without_devices_everything_passes_at_once() {
        let mut stack = Stack::default();
        let left = passed(&mut stack, 3);
        assert_eq!(left, [(0, 0), (100_000, 1), (200_000, 2)]);
        assert_eq!(stack.counts().unaccounted(), 0);
        assert_eq!(stack.next_ns(), None);
    }

    /// Two fault injectors and whatever they do: packets in are packets out, dropped or held.
    #[test]
    fn the_account_closes_at_every_moment_of_two_injectors() {
        let specs = [
            "server-in:loss=0.1,burst_start=0.05,burst_end=0.3,duplicate=0.2,reorder=0.1,reorder_ms=3",
            "server-in:corrupt=0.3,delay_ms=20,duplicate=0.3,outage_at_s=0.2,outage_s=0.1,outage_every_s=0.5",
        ];
        let mut stack = Stack::default();
        for (number, spec) in (0..).zip(specs) {
            stack.add(Box::new(injector(spec, 7, number)));
        }
        let (mut left, mut held_once) = (0_u64, false);
        for number in 0..20_000_u64 {
            let at_ns = number * 100_000;
            let mut out = |_: PacketInFlight| left += 1;
            stack.poll(at_ns, &mut out);
            stack.push(packet_in_flight(at_ns, &[1, 2, 3]), &mut out);
            let counts = stack.counts();
            assert_eq!(counts.unaccounted(), 0, "after packet {number}: {counts:?}");
            held_once |= counts.faults.held_packets > 0;
        }
        assert!(held_once);
        stack.poll(u64::MAX, &mut |_| left += 1);
        let counts = stack.counts();
        assert_eq!((counts.unaccounted(), counts.faults.held_packets), (0, 0));
        assert_eq!((counts.offered_packets, counts.passed_packets), (20_000, left));
        let FaultCounts {
            lost_packets,
            burst_lost_packets,
            outage_packets,
            duplicated_packets,
            corrupted_packets,
            reordered_packets,
            delayed_packets,
            ..
        } = counts.faults;
        let all = [
            lost_packets,
            burst_lost_packets,
            outage_packets,
            duplicated_packets,
            corrupted_packets,
            reordered_packets,
            delayed_packets,
        ];
        assert!(all.iter().all(|count| *count > 0), "{counts:?}");
    }

    #[test]
    fn a_second_delay_begins_where_the_first_ends() {
        let mut stack = Stack::default();
        for (number, spec) in (0..).zip(["ue-in:delay_ms=2", "ue-in:delay_ms=3"]) {
            stack.add(Box::new(injector(spec, 1, number)));
        }
        let mut left = Vec::new();
        stack.push(packet_in_flight(1_000_000, &[9]), &mut |packet| left.push(packet.at_ns));
        assert_eq!(stack.next_ns(), Some(3_000_000));
        stack.poll(3_500_000, &mut |packet| left.push(packet.at_ns));
        assert_eq!(stack.next_ns(), Some(6_000_000));
        stack.poll(6_000_000, &mut |packet| left.push(packet.at_ns));
        assert_eq!(left, [6_000_000]);
    }
}
