//! Reports over a transport that bounds the size of a message: as many items as fit.

use super::{Event, FlowInventory, IndicationMessage, PipelineStatus, encode};
use crate::error::EncodeError;

/// One item of an [`IndicationMessage`].
pub trait ReportItem: Clone {
    /// The message of these items.
    fn message(items: Vec<Self>) -> IndicationMessage;

    /// Drops the lesser half of the list within the item: queues with the smallest backlog, flows
    /// with the fewest bytes. False if nothing is left to drop.
    fn shorten(&mut self) -> bool;
}

impl ReportItem for PipelineStatus {
    fn message(items: Vec<Self>) -> IndicationMessage {
        IndicationMessage::PipelineStatus(items)
    }

    fn shorten(&mut self) -> bool {
        halve(&mut self.queues)
    }
}

impl ReportItem for FlowInventory {
    fn message(items: Vec<Self>) -> IndicationMessage {
        IndicationMessage::FlowInventory(items)
    }

    fn shorten(&mut self) -> bool {
        halve(&mut self.flows)
    }
}

impl ReportItem for Event {
    fn message(items: Vec<Self>) -> IndicationMessage {
        IndicationMessage::Events(items)
    }

    fn shorten(&mut self) -> bool {
        false
    }
}

fn halve<T>(list: &mut Vec<T>) -> bool {
    let before = list.len();
    list.truncate(before / 2);
    list.len() < before
}

/// The message of as many of the first `items` as `capacity` bytes hold, and their number. If not
/// even the first one fits, its own list is shortened; `None` if it does not fit without.
///
/// # Errors
/// As [`encode`].
pub fn encode_first<T: ReportItem>(
    items: &[T],
    capacity: usize,
) -> Result<Option<(Vec<u8>, usize)>, EncodeError> {
    let of = |items: &[T]| encode(&T::message(items.to_vec()));
    let whole = of(items)?;
    if whole.len() <= capacity {
        return Ok(Some((whole, items.len())));
    }
    let (mut fits, mut too_many) = (None, items.len());
    // Items are about as long as one another, so the first guess is near.
    let mut guess = items.len() * capacity / whole.len();
    loop {
        let known = fits.as_ref().map_or(0, |(_, number)| *number);
        if too_many - known <= 1 {
            break;
        }
        let number = guess.clamp(known + 1, too_many - 1);
        let bytes = of(&items[..number])?;
        if bytes.len() <= capacity {
            fits = Some((bytes, number));
            guess = number + (too_many - number) / 2;
        } else {
            too_many = number;
            guess = known + (number - known) / 2;
        }
    }
    if fits.is_some() {
        return Ok(fits);
    }
    let Some(mut first) = items.first().cloned() else { return Ok(None) };
    while first.shorten() {
        let bytes = of(std::slice::from_ref(&first))?;
        if bytes.len() <= capacity {
            return Ok(Some((bytes, 1)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{BearerId, Ecn, EventKind, FiveTuple, FlowRecord, UeId, decode};

    fn event(rnti: u16) -> Event {
        let bearer = BearerId { ue: UeId::Rnti(rnti), drb: 1 };
        Event { bearer, at_us: 1 << 40, kind: EventKind::BearerAdded }
    }

    #[test]
    fn the_message_holds_as_many_of_the_first_items_as_fit_and_not_one_less() {
        let events: Vec<Event> = (0..500).map(event).collect();
        let whole = encode(&Event::message(events.clone())).expect("encodes").len();
        for capacity in [0, 1, 20, 21, 999, 1000, 1001, whole - 1, whole, whole + 1] {
            let fitting = (1..=events.len()).rev().find_map(|number| {
                let bytes = encode(&Event::message(events[..number].to_vec())).expect("encodes");
                (bytes.len() <= capacity).then_some((bytes, number))
            });
            assert_eq!(encode_first(&events, capacity).expect("encodes"), fitting, "{capacity}");
        }
    }

    #[test]
    fn an_item_that_does_not_fit_alone_loses_the_lesser_half_of_its_list() {
        let address = std::net::IpAddr::from([10, 0, 0, 1]);
        let five_tuple = FiveTuple {
            source: address,
            destination: address,
            source_port: 1,
            destination_port: 2,
            protocol: 17,
        };
        let flow = FlowRecord {
            flow: five_tuple,
            qfi: None,
            dscp: 0,
            ecn: Ecn::NotEct,
            rate_kbps: 1,
            mean_packet_bytes: 100,
            backlog_bytes: 0,
            queue: 0,
            inelastic: None,
        };
        let flows = FlowInventory {
            bearer: event(1).bearer,
            active_flows: 256,
            window_ms: 1000,
            flows: vec![flow; 256],
        };
        let (bytes, number) = encode_first(std::slice::from_ref(&flows), 1000)
            .expect("encodes")
            .expect("a part fits");
        let IndicationMessage::FlowInventory(read) = decode(&bytes).expect("decodes") else {
            panic!("another style");
        };
        assert_eq!((number, read[0].active_flows), (1, 256));
        assert_eq!(read[0].flows, flows.flows[..read[0].flows.len()]);
        assert!(bytes.len() <= 1000 && !read[0].flows.is_empty());
    }
}
