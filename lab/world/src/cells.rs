//! The cells of the gNB, each with its DU's RLC and MAC.
//!
//! They have one numerology and duplexing, so their slots begin together. C-RNTIs are unique in the gNB, for
//! E2 reports of a node name no cell.

use std::ops::{Index, IndexMut};

use ran::{BearerIndex, BearerStatus, Cell, CellTotals, MacReport, RlcReport};

use super::packet::GnbPacket;

/// Where a bearer is: its cell, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cell: usize,
    pub(crate) bearer: BearerIndex,
}

/// One cell or several.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    all: Vec<Cell<GnbPacket>>,
}

impl Index<usize> for Cells {
    type Output = Cell<GnbPacket>;

    fn index(&self, index: usize) -> &Self::Output {
        &self.all[index]
    }
}

impl IndexMut<usize> for Cells {
    fn index_mut(&mut self, index: usize) -> &mut Self::Output {
        &mut self.all[index]
    }
}

impl Cells {
    /// The cells, at least one.
    pub(crate) fn new(all: Vec<Cell<GnbPacket>>) -> Self {
        Self { all }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Cell<GnbPacket>> {
        self.all.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cell<GnbPacket>> {
        self.all.iter_mut()
    }

    /// Start of the next slot.
    pub(crate) fn next_slot_us(&self) -> u64 {
        self.all[0].next_slot_us()
    }

    /// Length of a slot.
    pub(crate) fn tti_us(&self) -> u32 {
        self.all[0].tti_us()
    }

    /// Totals of all cells.
    pub(crate) fn totals(&self) -> CellTotals {
        let mut sum = self.all[0].totals();
        for cell in &self.all[1..] {
            sum.add(&cell.totals());
        }
        sum
    }

    pub(crate) fn buffered(&self, place: Place) -> Option<(Option<u64>, u64)> {
        self.all[place.cell].buffered(place.bearer)
    }

    pub(crate) fn bearer_status(&self, place: Place) -> Option<BearerStatus> {
        self.all[place.cell].bearer_status(place.bearer)
    }

    pub(crate) fn sdus_undelivered(&self, place: Place) -> Option<usize> {
        self.all[place.cell].sdus_undelivered(place.bearer)
    }

    pub(crate) fn sdus_in_air(&self, place: Place) -> Option<usize> {
        self.all[place.cell].sdus_in_air(place.bearer)
    }

    pub(crate) fn radio_link_failures(&self, place: Place) -> Option<u64> {
        self.all[place.cell].radio_link_failures(place.bearer)
    }

    pub(crate) fn rlc_report(&mut self, place: Place, now_us: u64) -> Option<RlcReport> {
        self.all[place.cell].rlc_report(place.bearer, now_us)
    }

    /// C-RNTIs of the UEs of all cells.
    pub(crate) fn rntis(&self) -> impl Iterator<Item = u16> + '_ {
        self.all.iter().flat_map(Cell::rntis)
    }

    pub(crate) fn mac_report(&self, rnti: u16, now_us: u64) -> Option<MacReport> {
        self.all.iter().find_map(|cell| cell.mac_report(rnti, now_us))
    }

    /// Downlink PRBs of a UE in its cell.
    pub(crate) fn used_prb(&self, rnti: u16) -> Option<u64> {
        self.all.iter().find_map(|cell| cell.used_prb(rnti))
    }
}
