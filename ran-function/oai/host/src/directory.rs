//! Which bearer is meant: by PDCP's names (UE, DRB) and by the MAC's (RNTI, logical channel).
//!
//! The gNB's control plane changes the [`Registry`], under a lock of its own; each change makes a new
//! [`Directory`], which real-time threads read without a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bearer::Bearer;

/// An immutable view for real-time threads.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// Sorted by UE and DRB.
    by_drb: Vec<((u64, u8), Arc<Bearer>)>,
    /// Sorted by RNTI and logical channel.
    by_channel: Vec<((u16, u8), Arc<Bearer>)>,
}

impl Directory {
    pub(crate) fn of_drb(&self, ue: u64, drb: u8) -> Option<&Arc<Bearer>> {
        find(&self.by_drb, &(ue, drb))
    }

    pub(crate) fn of_channel(&self, rnti: u16, lcid: u8) -> Option<&Arc<Bearer>> {
        find(&self.by_channel, &(rnti, lcid))
    }

    /// The bearer that the service model names.
    pub(crate) fn of_rnti(&self, rnti: u16, drb: u8) -> Option<&Arc<Bearer>> {
        self.bearers().find(|bearer| bearer.rnti() == Some(rnti) && bearer.drb == drb)
    }

    pub(crate) fn bearers(&self) -> impl Iterator<Item = &Arc<Bearer>> {
        self.by_drb.iter().map(|(_, bearer)| bearer)
    }

    /// Bearers whose UE is connected: those that E2 can name.
    pub(crate) fn connected(&self) -> impl Iterator<Item = &Arc<Bearer>> {
        self.bearers().filter(|bearer| bearer.rnti().is_some())
    }
}

fn find<'a, K: Ord>(sorted: &'a [(K, Arc<Bearer>)], key: &K) -> Option<&'a Arc<Bearer>> {
    let index = sorted.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
    Some(&sorted[index].1)
}

/// What the control plane has said so far.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    bearers: BTreeMap<(u64, u8), Arc<Bearer>>,
    rntis: BTreeMap<u64, u16>,
    /// DRB of a logical channel.
    channels: BTreeMap<(u16, u8), u8>,
    /// Bearers that are gone and whose packets are still to be returned.
    pub(crate) retired: Vec<Arc<Bearer>>,
}

impl Registry {
    pub(crate) fn bearer_up(&mut self, bearer: Arc<Bearer>) {
        let key = (bearer.ue, bearer.drb);
        bearer.set_rnti(self.rntis.get(&bearer.ue).copied());
        if let Some(before) = self.bearers.insert(key, bearer) {
            self.retire(before);
        }
    }

    pub(crate) fn bearer_down(&mut self, ue: u64, drb: u8) -> Option<Arc<Bearer>> {
        let bearer = self.bearers.remove(&(ue, drb))?;
        self.retire(Arc::clone(&bearer));
        Some(bearer)
    }

    pub(crate) fn ue_gone(&mut self, ue: u64) -> Vec<Arc<Bearer>> {
        self.rntis.remove(&ue);
        let keys: Vec<_> =
            self.bearers.range((ue, 0)..=(ue, u8::MAX)).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|(ue, drb)| self.bearer_down(ue, drb)).collect()
    }

    /// Whether that is new.
    pub(crate) fn ue_is(&mut self, ue: u64, rnti: u16) -> bool {
        if self.rntis.insert(ue, rnti) == Some(rnti) {
            return false;
        }
        for bearer in self.bearers.range((ue, 0)..=(ue, u8::MAX)).map(|(_, bearer)| bearer) {
            bearer.set_rnti(Some(rnti));
        }
        true
    }

    pub(crate) fn of_ue(&self, ue: u64) -> impl Iterator<Item = &Arc<Bearer>> {
        self.bearers.range((ue, 0)..=(ue, u8::MAX)).map(|(_, bearer)| bearer)
    }

    pub(crate) fn channel_up(&mut self, rnti: u16, lcid: u8, drb: u8) {
        self.channels.insert((rnti, lcid), drb);
    }

    pub(crate) fn channel_down(&mut self, rnti: u16, lcid: u8) {
        self.channels.remove(&(rnti, lcid));
    }

    pub(crate) fn rnti_gone(&mut self, rnti: u16) {
        self.channels.retain(|(other, _), _| *other != rnti);
    }

    /// RLC keeps the channels of a re-established UE and calls them by the new RNTI.
    pub(crate) fn rnti_changed(&mut self, from: u16, to: u16) {
        let moved: Vec<_> = self
            .channels
            .range((from, 0)..=(from, u8::MAX))
            .map(|((_, lcid), drb)| (*lcid, *drb))
            .collect();
        self.rnti_gone(from);
        self.channels.extend(moved.into_iter().map(|(lcid, drb)| ((to, lcid), drb)));
    }

    fn retire(&mut self, bearer: Arc<Bearer>) {
        bearer.retire();
        self.retired.push(bearer);
    }

    /// The view for real-time threads.
    pub(crate) fn directory(&self) -> Directory {
        let by_drb = self.bearers.iter().map(|(key, bearer)| (*key, Arc::clone(bearer))).collect();
        let ues: BTreeMap<u16, u64> = self.rntis.iter().map(|(ue, rnti)| (*rnti, *ue)).collect();
        let bearer_of = |(&(rnti, lcid), drb): (&(u16, u8), &u8)| {
            let bearer = self.bearers.get(&(*ues.get(&rnti)?, *drb))?;
            Some(((rnti, lcid), Arc::clone(bearer)))
        };
        let by_channel = self.channels.iter().filter_map(bearer_of).collect();
        Directory { by_drb, by_channel }
    }
}
