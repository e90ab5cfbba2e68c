//! The option `--fault`: which faults, where, how often.

use std::str::FromStr;

use super::super::capture_point::CapturePoint;

/// Longest delay, ms: above the round trip over a geostationary satellite, far below a lease.
const MAX_DELAY_MS: f64 = 10_000.0;
/// Longest outage and period, s.
const MAX_OUTAGE_S: f64 = 86_400.0;
/// How long a packet that is reordered is held back, unless `reorder_ms` says.
const REORDER_NS: u64 = 10_000_000;

const KEYS: &str = "loss, burst_start, burst_end, burst_loss, duplicate, corrupt, reorder, reorder_ms, \
                    delay_ms, outage_at_s, outage_s, outage_every_s";

/// Faults of a capture point, as `POINT:KEY=VALUE,…`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FaultSpec {
    pub(crate) point: CapturePoint,
    /// Probability of losing a packet, whatever became of others.
    pub(super) loss: f64,
    /// Losses in bursts.
    pub(super) burst: Option<Burst>,
    /// Probability of delivering a packet twice.
    pub(super) duplicate: f64,
    /// Probability of changing one bit of the payload.
    pub(super) corrupt: f64,
    /// Probability of holding a packet back for `reorder_ns`.
    pub(super) reorder: f64,
    pub(super) reorder_ns: u64,
    /// Delay of every packet.
    pub(super) delay_ns: u64,
    pub(super) outage: Option<Outage>,
}

/// The model of Gilbert (1960) and Elliott (1963): a good and a bad state, changed from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Burst {
    /// Probability of going from the good to the bad state.
    pub(super) start: f64,
    /// Probability of going back: 1 over the mean length of a burst in packets.
    pub(super) end: f64,
    /// Probability of losing a packet in the bad state.
    pub(super) loss: f64,
}

/// A time in which every packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    /// Virtual time of the first.
    pub(super) at_ns: u64,
    pub(super) length_ns: u64,
    /// Time from the start of one to that of the next; once if `None`.
    pub(super) every_ns: Option<u64>,
}

impl Outage {
    /// Whether it holds at a time.
    pub(super) fn covers(&self, now_ns: u64) -> bool {
        let Some(since_ns) = now_ns.checked_sub(self.at_ns) else { return false };
        self.every_ns.map_or(since_ns, |every_ns| since_ns % every_ns) < self.length_ns
    }
}

/// The values as they are given.
#[derive(Default)]
struct Given {
    loss: Option<f64>,
    burst_start: Option<f64>,
    burst_end: Option<f64>,
    burst_loss: Option<f64>,
    duplicate: Option<f64>,
    corrupt: Option<f64>,
    reorder: Option<f64>,
    reorder_ms: Option<f64>,
    delay_ms: Option<f64>,
    outage_at_s: Option<f64>,
    outage_s: Option<f64>,
    outage_every_s: Option<f64>,
}

impl Given {
    fn set(&mut self, text: &str) -> Result<(), String> {
        let expected = || format!("{text:?}; expected KEY=VALUE with KEY one of {KEYS}");
        let (key, value) = text.split_once('=').ok_or_else(expected)?;
        let (place, most) = match key {
            "loss" => (&mut self.loss, 1.0),
            "burst_start" => (&mut self.burst_start, 1.0),
            "burst_end" => (&mut self.burst_end, 1.0),
            "burst_loss" => (&mut self.burst_loss, 1.0),
            "duplicate" => (&mut self.duplicate, 1.0),
            "corrupt" => (&mut self.corrupt, 1.0),
            "reorder" => (&mut self.reorder, 1.0),
            "reorder_ms" => (&mut self.reorder_ms, MAX_DELAY_MS),
            "delay_ms" => (&mut self.delay_ms, MAX_DELAY_MS),
            "outage_at_s" => (&mut self.outage_at_s, MAX_OUTAGE_S),
            "outage_s" => (&mut self.outage_s, MAX_OUTAGE_S),
            "outage_every_s" => (&mut self.outage_every_s, MAX_OUTAGE_S),
            _ => return Err(format!("key {key:?}; expected one of {KEYS}")),
        };
        let number = value.parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
        let number = number.ok_or_else(|| format!("{key} {value:?}; expected 0 to {most}"))?;
        match place.replace(number) {
            None => Ok(()),
            Some(_) => Err(format!("{key}: given twice; expected once")),
        }
    }

    fn burst(&self) -> Result<Option<Burst>, String> {
        match (self.burst_start, self.burst_end) {
            (Some(start), Some(end)) if end > 0.0 => {
                Ok(Some(Burst { start, end, loss: self.burst_loss.unwrap_or(1.0) }))
            }
            (None, None) if self.burst_loss.is_none() => Ok(None),
            _ => Err("bursts: expected burst_start and burst_end, which is above 0".to_owned()),
        }
    }

    fn outage(&self) -> Result<Option<Outage>, String> {
        let Self { outage_at_s, outage_s, outage_every_s, .. } = *self;
        let Some(outage_s) = outage_s else {
            let is_without = outage_at_s.or(outage_every_s).is_none();
            return is_without.then_some(None).ok_or("outages: expected outage_s".to_owned());
        };
        if outage_every_s.is_some_and(|every_s| every_s <= outage_s) {
            return Err(format!("outage_every_s: expected more than outage_s, {outage_s}"));
        }
        Ok(Some(Outage {
            at_ns: nanoseconds(outage_at_s.unwrap_or(0.0), 1e9),
            length_ns: nanoseconds(outage_s, 1e9),
            every_ns: outage_every_s.map(|every_s| nanoseconds(every_s, 1e9)),
        }))
    }
}

/// Bounded above and not negative, as it was read.
fn nanoseconds(value: f64, unit_ns: f64) -> u64 {
    (value * unit_ns).round() as u64
}

impl FromStr for FaultSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected POINT:KEY=VALUE,…, e.g. server-in:loss=0.01,delay_ms=20";
        let (point, faults) = text.split_once(':').ok_or(expected)?;
        let point = point.parse()?;
        if point == CapturePoint::Air {
            return Err(
                "capture point air: has no faults; its losses are those of the channel".to_owned()
            );
        }
        let mut given = Given::default();
        for fault in faults.split(',') {
            given.set(fault)?;
        }
        if given.reorder_ms.is_some() && given.reorder.is_none() {
            return Err("reorder_ms: expected reorder, too".to_owned());
        }
        Ok(Self {
            point,
            loss: given.loss.unwrap_or(0.0),
            burst: given.burst()?,
            duplicate: given.duplicate.unwrap_or(0.0),
            corrupt: given.corrupt.unwrap_or(0.0),
            reorder: given.reorder.unwrap_or(0.0),
            reorder_ns: given.reorder_ms.map_or(REORDER_NS, |ms| nanoseconds(ms, 1e6)),
            delay_ns: nanoseconds(given.delay_ms.unwrap_or(0.0), 1e6),
            outage: given.outage()?,
        })
    }
}

impl FaultSpec {
    /// Whether packets may be changed so that their checksum is wrong.
    pub(crate) fn corrupts(&self) -> bool {
        self.corrupt > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_with_its_unit() {
        let spec: FaultSpec = "ue-out:loss=0.5,burst_start=0.01,burst_end=0.2,burst_loss=0.9,\
                               duplicate=0.1,corrupt=1,reorder=0.3,reorder_ms=2.5,delay_ms=20,\
                               outage_at_s=1,outage_s=0.25,outage_every_s=10"
            .parse()
            .unwrap();
        let outage =
            Outage { at_ns: 1_000_000_000, length_ns: 250_000_000, every_ns: Some(10_000_000_000) };
        let expected = FaultSpec {
            point: CapturePoint::UeOut,
            loss: 0.5,
            burst: Some(Burst { start: 0.01, end: 0.2, loss: 0.9 }),
            duplicate: 0.1,
            corrupt: 1.0,
            reorder: 0.3,
            reorder_ns: 2_500_000,
            delay_ns: 20_000_000,
            outage: Some(outage),
        };
        assert_eq!(spec, expected);
        assert!(spec.corrupts());
        let plain: FaultSpec = "server-in:reorder=0.1".parse().unwrap();
        assert_eq!((plain.reorder_ns, plain.burst, plain.outage), (REORDER_NS, None, None));
    }

    #[test]
    fn an_outage_comes_once_or_again() {
        let once = Outage { at_ns: 10, length_ns: 5, every_ns: None };
        let times = [9, 10, 14, 15, 110];
        assert_eq!(times.map(|ns| once.covers(ns)), [false, true, true, false, false]);
        let again = Outage { every_ns: Some(100), ..once };
        assert_eq!(times.map(|ns| again.covers(ns)), [false, true, true, false, true]);
    }

    #[test]
    fn mistakes_name_what_was_expected() {
        for (wrong, expected) in [
            ("loss=0.1", "expected POINT:KEY=VALUE"),
            ("core:loss=0.1", "capture point \"core\""),
            ("air:loss=0.1", "capture point air: has no faults"),
            ("ue-in:", "expected KEY=VALUE"),
            ("ue-in:los=0.1", "key \"los\"; expected one of loss, burst_start"),
            ("ue-in:loss=2", "loss \"2\"; expected 0 to 1"),
            ("ue-in:loss=NaN", "loss \"NaN\"; expected 0 to 1"),
            ("ue-in:loss=0.1,loss=0.2", "loss: given twice"),
            ("ue-in:delay_ms=1e9", "delay_ms \"1e9\"; expected 0 to 10000"),
            ("ue-in:burst_start=0.1", "bursts: expected burst_start and burst_end"),
            ("ue-in:burst_start=0.1,burst_end=0", "burst_end, which is above 0"),
            ("ue-in:burst_loss=0.1", "bursts: expected"),
            ("ue-in:outage_at_s=3", "outages: expected outage_s"),
            ("ue-in:outage_s=3,outage_every_s=3", "outage_every_s: expected more than outage_s, 3"),
            ("ue-in:reorder_ms=3", "reorder_ms: expected reorder"),
        ] {
            let error = wrong.parse::<FaultSpec>().unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
