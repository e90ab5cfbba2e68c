//! Cells with a saturating source, and the air interface of the RLC tests.

use proptest::prelude::*;
use ran::{
    BearerConfig, BearerIndex, BlockErrors, Cell, CellConfig, Channel, Delivery, HarqConfig, Sdu,
    UeConfig,
};

pub(crate) const SECOND_US: u64 = 1_000_000;

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
    UeConfig {
        rnti,
        channel,
        slice: 1,
        errors: None,
        uplink: None,
        recorded_uplink: None,
        drx: None,
    }
}

/// The cell `base` with these errors and transmissions of blocks.
pub(crate) fn with_errors(base: CellConfig, errors: BlockErrors, most: u8) -> CellConfig {
    CellConfig { harq: HarqConfig { errors, max_transmissions: most, ..base.harq }, ..base }
}

/// A cell with UE 1 at MCS 28 and a bearer.
pub(crate) fn cell_of(config: CellConfig, bearer: BearerConfig) -> (Cell<Packet>, BearerIndex) {
    let mut cell = Cell::new(config).unwrap();
    cell.add_ue(ue(1, Channel::FixedMcs(28))).unwrap();
    let bearer = cell.add_bearer(1, bearer).unwrap();
    (cell, bearer)
}

/// A cell with one UE per channel, RNTI from 1, each with DRB 1.
pub(crate) fn cell_with(
    config: CellConfig,
    channels: &[Channel],
) -> (Cell<Packet>, Vec<BearerIndex>) {
    let ues: Vec<(u8, Channel)> = channels.iter().map(|channel| (1, channel.clone())).collect();
    cell_of_slices(config, &ues)
}

/// A cell with one UE per slice and channel.
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

/// A recorded trace in the shared folder; `None` where there is none.
pub(crate) fn recorded(path: &str) -> Option<std::fs::File> {
    let root = std::env::var("SOJOURN_SHARED").map_or_else(
        |_| std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    let file = root.join("traces").join(path);
    let open = std::fs::File::open(&file).ok();
    if open.is_none() {
        println!("skipped: no trace at {}", file.display());
    }
    open
}

/// One slot of the air interface.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    /// Lengths of SDUs that arrive before the slot.
    pub(crate) sdus: Vec<u32>,
    pub(crate) grant: u32,
    /// Whether the block is lost, and how many slots late it is.
    pub(crate) lost: bool,
    pub(crate) late_slots: u64,
    /// The same for a status report sent now.
    pub(crate) status_lost: bool,
    pub(crate) status_late_slots: u64,
}

pub(crate) fn steps(loss: f64, most_late: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = (
        prop::collection::vec(1u32..3000, 0..3),
        prop_oneof![0u32..40, 200u32..3000],
        prop::bool::weighted(loss),
        0..=most_late,
        prop::bool::weighted(loss),
        0..=most_late,
    );
    let step = step.prop_map(|(sdus, grant, lost, late_slots, status_lost, status_late_slots)| {
        Step { sdus, grant, lost, late_slots, status_lost, status_late_slots }
    });
    prop::collection::vec(step, 1..150)
}
