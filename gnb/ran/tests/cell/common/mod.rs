//! A cell under a saturating source, for the tests of its behaviour.

use ran::{BearerConfig, BearerIndex, Cell, CellConfig, Channel, Delivery, Sdu, UeConfig};

/// A packet of `len` bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) id: u64,
    pub(crate) len: u32,
}

impl Sdu for Packet {
    fn len_bytes(&self) -> u32 {
        self.len
    }
}

pub(crate) fn ue(rnti: u16, channel: Channel) -> UeConfig {
    UeConfig { rnti, channel, slice: 1, errors: None, uplink: None }
}

/// A cell with one UE per channel, RNTI from 1, each with DRB 1.
pub(crate) fn cell_with(
    config: CellConfig,
    channels: &[Channel],
) -> (Cell<Packet>, Vec<BearerIndex>) {
    let ues: Vec<(u8, Channel)> = channels.iter().map(|channel| (1, channel.clone())).collect();
    cell_of_slices(config, &ues)
}

/// The same with the slice of each UE.
pub(crate) fn cell_of_slices(
    config: CellConfig,
    ues: &[(u8, Channel)],
) -> (Cell<Packet>, Vec<BearerIndex>) {
    let mut cell = Cell::new(config).unwrap();
    let mut bearers = Vec::new();
    for (rnti, (slice, channel)) in (1..).zip(ues) {
        cell.add_ue(UeConfig { slice: *slice, ..ue(rnti, channel.clone()) }).unwrap();
        bearers.push(cell.add_bearer(rnti, BearerConfig::um(1)).unwrap());
    }
    (cell, bearers)
}

/// Keeps each of `bearers` filled with packets of 1500 bytes until `until_us`.
pub(crate) fn saturate(
    cell: &mut Cell<Packet>,
    bearers: &[BearerIndex],
    until_us: u64,
) -> Vec<Delivery<Packet>> {
    let mut out = Vec::new();
    let mut id = 0;
    while cell.next_slot_us() < until_us {
        let now_us = cell.next_slot_us();
        for bearer in bearers {
            while cell.bearer_status(*bearer).unwrap().occupancy_bytes < 60_000 {
                id += 1;
                cell.enqueue(*bearer, Packet { id, len: 1500 }, now_us).unwrap();
            }
        }
        cell.slot(now_us, &mut out);
    }
    out
}

/// Packet bytes delivered to one bearer.
pub(crate) fn bytes_of(out: &[Delivery<Packet>], bearer: BearerIndex) -> u64 {
    out.iter().filter(|d| d.bearer == bearer).map(|d| u64::from(d.sdu.len)).sum()
}
