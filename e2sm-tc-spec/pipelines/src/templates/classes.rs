//! Classes of traffic with guaranteed and maximum rates and shares.

use e2sm_tc::v1::{
    Ecn, FlowMatch, Guarantee, Overflow, Pacer, Pipeline, QueueDiscipline, QueueShare, QueueTarget,
    QueueWeight, Scheduler, Shaper,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ParameterError;
use super::l4s::{marking_by_step, threshold};
use super::low_latency::{BULK_BOUND_US, LowLatency};
use super::parameters::{
    Buffer, CodelParameters, DELAY_US, QUANTUM_BYTES, QUEUES, check_matches, pacer, pacer_schema,
    within,
};
use super::parts::{FIFO, codel, osi, queues, run};
use crate::limits::MTU_BYTES;

/// Each class and the rest are two of the service model's 256 queue sets.
const MAX_CLASSES: usize = 127;
/// Most filters of an OSI classifier.
const MAX_FILTERS: usize = 256;
const RATE_KBPS: std::ops::RangeInclusive<u32> = 1..=100_000_000;
/// What a class below its guaranteed rate may catch up on with priority. Longer than the radio
/// pauses for HARQ and TDD, far shorter than the 2 s over which guaranteed rates are averaged
/// (3GPP TS 23.501 table 5.7.4-1), so that a pause of one class is no pause of the others.
const GUARANTEE_BURST_MS: u32 = 100;
/// A maximum rate is kept over this.
const MAXIMUM_BURST_MS: u32 = 10;

/// One class of `classes`: its flows and what they get. Each flow has a queue of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficClass {
    /// Packets that match any of these belong to the class, E2SM-TC `FlowMatch`es.
    #[schemars(with = "Vec<Value>")]
    pub matches: Vec<FlowMatch>,
    /// Share relative to those of the others. Small weights keep turns short.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 255))]
    pub weight: u8,
    /// Rate up to which the class goes before the others, kbit/s.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub guaranteed_kbps: Option<u32>,
    /// Rate that the class does not exceed, kbit/s.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000_000))]
    pub maximum_kbps: Option<u32>,
    /// Longest wait of a packet before it is dropped (BoDe, abbasloo2019 §V-C), µs; as in the rest
    /// when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bound_us: Option<u32>,
    /// CoDel in the queues of the class; as in the rest when absent.
    #[serde(default)]
    pub codel: Option<CodelParameters>,
    /// No queue of the class drops before the buffer is full.
    #[serde(default)]
    pub fifo: bool,
}

fn one() -> u8 {
    1
}

/// Classes of traffic, each with a queue per flow as in `low_latency`: below its guaranteed rate a class
/// goes first, above its maximum it waits, and else classes have turns by weight.
///
/// What no class matches is the rest, a class without a guarantee. Of the queues, the first run is the
/// rest's and the next ones are the classes', in their order; the shares of the scheduler are listed in
/// the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Classes {
    /// The classes; a packet belongs to the first that matches.
    pub classes: Vec<TrafficClass>,
    /// Share of the rest, relative to those of the classes.
    #[schemars(range(min = 1, max = 255))]
    pub rest_weight: u8,
    /// Rate that all flows together do not exceed, kbit/s; unlimited when absent. Classes then have no
    /// maximum of their own.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub maximum_kbps: Option<u32>,
    /// CoDel in queues without L4S; the discipline of `low_latency` when absent.
    pub codel: Option<CodelParameters>,
    /// Longest wait of senders without L4S that do not react to signals, as in `low_latency`, µs. Unlimited
    /// when null.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bulk_bound_us: Option<u32>,
    /// Queues of the stochastic hash, of all classes and the rest together, as many again for L4S;
    /// 1024 (RFC 8290 §4.1.2).
    #[schemars(range(min = 1, max = 2048))]
    pub queues: u16,
    /// Deficit per turn of a flow, and of a class per unit of weight, bytes; as in `low_latency`.
    #[schemars(range(min = 256, max = 1_048_576))]
    pub quantum_bytes: u32,
    /// Sojourn above which L4S queues mark, µs. If absent, the node measures it, as in `fq_l4s`.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub threshold_us: Option<u32>,
    /// Stage 6.
    #[serde(deserialize_with = "pacer")]
    #[schemars(schema_with = "pacer_schema")]
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: Buffer,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            rest_weight: 1,
            maximum_kbps: None,
            codel: None,
            bulk_bound_us: Some(BULK_BOUND_US),
            queues: 1024,
            quantum_bytes: 300,
            threshold_us: None,
            pacer: Pacer::JustInTime,
            buffer: Buffer::default(),
        }
    }
}

impl Classes {
    /// The composition.
    pub fn pipeline(&self) -> Pipeline {
        let rest = TrafficClass {
            matches: Vec::new(),
            weight: self.rest_weight,
            guaranteed_kbps: None,
            maximum_kbps: None,
            bound_us: None,
            codel: None,
            fifo: false,
        };
        let all: Vec<&TrafficClass> = std::iter::once(&rest).chain(&self.classes).collect();
        let flows = self.flows();
        let classic = |class: u16| run(class * 2 * flows, flows);
        let l4s = |class: u16| run((class * 2 + 1) * flows, flows);
        let of = |class: u16, rule: &FlowMatch| by_ecn(rule, l4s(class), classic(class));
        let rules = (1..).zip(&self.classes).flat_map(|(class, each)| {
            each.matches.iter().flat_map(move |rule| of(class, rule)).collect::<Vec<_>>()
        });
        let [ect1, ce] = scalable(&FlowMatch::default(), l4s(0));
        let step = marking_by_step(CodelParameters::default(), self.threshold_us);
        let sets = (0..).zip(&all).flat_map(|(class, each)| {
            let shaper = self.shaper(class, each);
            [(classic(class), self.discipline(each)), (l4s(class), step.clone())]
                .map(|(target, kind)| e2sm_tc::v1::QueueSet { shaper, ..queues(target, kind) })
        });
        Pipeline {
            name: "classes".to_owned(),
            classifier: osi(rules.chain([ect1, ce]), classic(0)),
            queues: sets.collect(),
            scheduler: self.scheduler(&all),
            pacer: self.pacer,
            buffer: self.buffer.dropping(Overflow::FattestHead),
        }
    }

    /// Queues of one class and kind.
    fn flows(&self) -> u16 {
        (self.queues / (self.classes.len() as u16 + 1)).max(1)
    }

    fn scheduler(&self, all: &[&TrafficClass]) -> Scheduler {
        let (quantum_bytes, flows) = (self.quantum_bytes, self.flows());
        let shares = (0..).zip(all).map(|(class, each): (u16, _)| QueueShare {
            target: run(class * 2 * flows, 2 * flows),
            weight: each.weight,
            guarantee: each.guaranteed_kbps.map(|rate_kbps| Guarantee {
                rate_kbps,
                burst_bytes: burst_bytes(rate_kbps, GUARANTEE_BURST_MS),
            }),
        });
        let shares: Vec<_> = shares.collect();
        if shares.iter().any(|share| share.guarantee.is_some()) {
            return Scheduler::Guaranteed { quantum_bytes, shares };
        }
        // Which more nodes have.
        let weight =
            |QueueShare { target, weight, .. }| QueueWeight { target, weight, shared: true };
        Scheduler::Weighted { quantum_bytes, weights: shares.into_iter().map(weight).collect() }
    }

    fn discipline(&self, class: &TrafficClass) -> QueueDiscipline {
        match (class.bound_us, class.codel.or(self.codel)) {
            _ if class.fifo => FIFO,
            (Some(bound_us), _) => QueueDiscipline::Bode { bound_us, spare_bytes: None },
            (None, Some(parameters)) => QueueDiscipline::Codel(codel(parameters)),
            (None, None) => {
                LowLatency { bulk_bound_us: self.bulk_bound_us, ..LowLatency::default() }.bulk()
            }
        }
    }

    /// One bucket per class, or one for all.
    fn shaper(&self, class: u16, each: &TrafficClass) -> Option<Shaper> {
        let (rate_kbps, group) = match self.maximum_kbps {
            Some(rate_kbps) => (rate_kbps, 0),
            None => (each.maximum_kbps?, class),
        };
        let burst_bytes = burst_bytes(rate_kbps, MAXIMUM_BURST_MS);
        Some(Shaper { rate_kbps, burst_bytes, group: Some(group) })
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        within("classes", self.classes.len(), 0..=MAX_CLASSES)?;
        within("rest_weight", self.rest_weight, 1..=u8::MAX)?;
        check_rate("maximum_kbps", self.maximum_kbps)?;
        if let Some(codel) = &self.codel {
            codel.check()?;
        }
        if let Some(bound_us) = self.bulk_bound_us {
            within("bulk_bound_us", bound_us, DELAY_US)?;
        }
        within("queues", self.queues, *QUEUES.start()..=QUEUES.end() / 2)?;
        within("quantum_bytes", self.quantum_bytes, QUANTUM_BYTES)?;
        threshold(self.threshold_us)?;
        for (i, class) in self.classes.iter().enumerate() {
            self.check_class(&format!("classes[{i}]"), class)?;
        }
        let matches = self.classes.iter().flat_map(|class| &class.matches);
        let filters: usize = matches.map(|rule| if rule.ecn.is_some() { 1 } else { 3 }).sum();
        within("classes: filters", filters + 2, 0..=MAX_FILTERS)?;
        self.buffer.check()
    }

    fn check_class(&self, path: &str, class: &TrafficClass) -> Result<(), ParameterError> {
        let wrong = |parameter: &str, detail: String| {
            Err(ParameterError { parameter: format!("{path}.{parameter}"), detail })
        };
        within(&format!("{path}.weight"), class.weight, 1..=u8::MAX)?;
        check_rate(&format!("{path}.guaranteed_kbps"), class.guaranteed_kbps)?;
        check_rate(&format!("{path}.maximum_kbps"), class.maximum_kbps)?;
        if class.matches.is_empty() {
            return wrong("matches", "[]; expected at least one match".to_owned());
        }
        check_matches(path, &class.matches)?;
        if let (Some(maximum), Some(all)) = (class.maximum_kbps, self.maximum_kbps) {
            let detail = format!("{maximum}; expected none beside maximum_kbps of all, {all}");
            return wrong("maximum_kbps", detail);
        }
        let maximum = class.maximum_kbps.or(self.maximum_kbps);
        if let (Some(guaranteed), Some(maximum)) = (class.guaranteed_kbps, maximum)
            && guaranteed > maximum
        {
            let detail = format!("{guaranteed}; expected at most the maximum, {maximum}");
            return wrong("guaranteed_kbps", detail);
        }
        if let Some(bound_us) = class.bound_us {
            within(&format!("{path}.bound_us"), bound_us, DELAY_US)?;
        }
        let named = [class.bound_us.is_some(), class.codel.is_some(), class.fifo];
        if named.into_iter().filter(|named| *named).count() > 1 {
            let detail = "expected one of bound_us, codel and fifo at most".to_owned();
            return Err(ParameterError { parameter: path.to_owned(), detail });
        }
        match class.codel {
            Some(codel) => codel.check(),
            None => Ok(()),
        }
    }
}

fn check_rate(parameter: &str, rate_kbps: Option<u32>) -> Result<(), ParameterError> {
    rate_kbps.map_or(Ok(()), |rate_kbps| within(parameter, rate_kbps, RATE_KBPS))
}

/// Bytes of this rate in this time, but at least two packets, so that a long one does not wait for
/// a bucket it never fits.
fn burst_bytes(rate_kbps: u32, span_ms: u32) -> u32 {
    let bytes = u64::from(rate_kbps) * u64::from(span_ms) / 8;
    u32::try_from(bytes).unwrap_or(u32::MAX).max(2 * MTU_BYTES)
}

/// The filters of a match: by ECN as RFC 9331 §5.1 classifies, unless it names a codepoint itself.
fn by_ecn(
    rule: &FlowMatch,
    l4s: QueueTarget,
    classic: QueueTarget,
) -> Vec<(FlowMatch, QueueTarget)> {
    match rule.ecn {
        Some(Ecn::Ect1 | Ecn::Ce) => vec![(rule.clone(), l4s)],
        Some(_) => vec![(rule.clone(), classic)],
        None => {
            let [ect1, ce] = scalable(rule, l4s);
            vec![ect1, ce, (rule.clone(), classic)]
        }
    }
}

fn scalable(rule: &FlowMatch, l4s: QueueTarget) -> [(FlowMatch, QueueTarget); 2] {
    [Ecn::Ect1, Ecn::Ce].map(|ecn| (FlowMatch { ecn: Some(ecn), ..rule.clone() }, l4s))
}
