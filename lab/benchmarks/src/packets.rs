//! Packets through every queue discipline over up to 1024 queues, and through the six stages.

use std::hint::black_box;

use e2sm_tc::v1::{
    AdaptiveCodel, BearerId, Classifier, Codel, FifoDrop, Pacer, Pipeline, QueueDiscipline,
    QueueSet, QueueTarget, UeId,
};
use tc_rf::queueing::Queues;
use tc_rf::templates::FqCodel;
use tc_rf::{PipelineError, TrafficControl};

use crate::Load;
use crate::packet::{BenchPacket, packets, spread};

const QUEUES: u16 = 1024;
/// Packets that are queued all the time.
const STANDING: u64 = 2048;
/// Different packets of a load.
const PACKETS: u64 = 4096;
/// Packets that arrive together at the six stages.
const BURST: usize = 16;

/// Loads of one queue discipline each, FQ-CoDel first.
pub const DISCIPLINES: [&str; 9] = [
    "fq_codel",
    "fifo",
    "pie",
    "red",
    "cobalt",
    "bode",
    "l4s_marking",
    "adaptive_codel",
    "dual_pi2",
];
/// Loads of the whole pipeline, and the flows of each.
const PIPELINES: [(&str, u64); 2] = [("six_stages", 16), ("six_stages_1024_flows", PACKETS)];

/// The loads that [`load`] knows.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    DISCIPLINES.into_iter().chain(PIPELINES.map(|(name, _)| name))
}

/// The load of a name; `None` for a name that is not among [`names`].
pub(crate) fn load(name: &str) -> Result<Option<Box<dyn Load>>, PipelineError> {
    if let Some((_, flows)) = PIPELINES.into_iter().find(|(pipeline, _)| *pipeline == name) {
        return Ok(Some(Box::new(BearersLoad::new(1, QUEUES, flows)?)));
    }
    let Some(discipline) = discipline(name) else { return Ok(None) };
    Ok(Some(Box::new(QueuesLoad::new(&discipline)?)))
}

/// The discipline of that name with the parameters of its template or RFC.
fn discipline(name: &str) -> Option<QueueDiscipline> {
    let codel = Codel {
        target_us: 5_000,
        interval_us: 100_000,
        ecn: true,
        ce_threshold_us: None,
        l4s: false,
    };
    Some(match name {
        "fq_codel" => QueueDiscipline::Codel(codel),
        "fifo" => QueueDiscipline::Fifo { drop: FifoDrop::Tail },
        "pie" => QueueDiscipline::Pie {
            target_us: 15_000,
            update_us: 15_000,
            alpha_milli: 125,
            beta_milli: 1_250,
            ecn: true,
        },
        "red" => QueueDiscipline::Red {
            min_bytes: 15_000,
            max_bytes: 45_000,
            max_probability_milli: 100,
            ecn: true,
        },
        "cobalt" => QueueDiscipline::Cobalt(codel),
        "bode" => QueueDiscipline::Bode { bound_us: 20_000, spare_bytes: None },
        "l4s_marking" => QueueDiscipline::L4sMarking { threshold_us: 800, ramp_us: 1_200 },
        "adaptive_codel" => QueueDiscipline::AdaptiveCodel(AdaptiveCodel {
            target_us: 15_000,
            max_target_us: 100_000,
            interval_us: 150_000,
            ecn: true,
            bound_us: Some(300_000),
        }),
        "dual_pi2" => {
            QueueDiscipline::DualPi2 { target_us: 15_000, update_us: 16_000, coupling_milli: 2_000 }
        }
        _ => return None,
    })
}

/// FQ-CoDel's pipeline with another discipline in its queues.
fn with(discipline: &QueueDiscipline) -> Pipeline {
    let pipeline = FqCodel { pacer: Pacer::None, ..FqCodel::default() }.pipeline();
    // DualPI2 couples two queues a set, of which a pipeline has at most 256; all others are one.
    let (count, sets) = match discipline {
        QueueDiscipline::DualPi2 { .. } => (2, 256),
        _ => (QUEUES, 1),
    };
    let set = |first| QueueSet {
        first,
        count,
        discipline: discipline.clone(),
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    };
    let queues: Vec<QueueSet> = (0..sets).map(|n| set(n * count)).collect();
    let one = QueueTarget { first: 0, count: 1 };
    Pipeline { queues, classifier: Classifier::RoundRobin(one), ..pipeline }
}

/// Queues under deficit round robin, in which 2048 packets stand.
struct QueuesLoad {
    queues: Queues<BenchPacket>,
    packets: Vec<BenchPacket>,
    queue_of: Vec<usize>,
    next: usize,
    now_us: u64,
}

impl QueuesLoad {
    fn new(discipline: &QueueDiscipline) -> Result<Self, PipelineError> {
        let mut queues = Queues::from_model(&with(discipline), 1)?;
        let packets = packets(PACKETS, PACKETS);
        let queue_of = (0..PACKETS).map(|n| spread(n) as usize % queues.len()).collect::<Vec<_>>();
        for (packet, queue) in packets.iter().zip(&queue_of).take(STANDING as usize) {
            let _ = queues.enqueue(*queue, packet.clone(), 0, &mut ());
        }
        Ok(Self { queues, packets, queue_of, next: 0, now_us: 0 })
    }
}

impl Load for QueuesLoad {
    /// One packet in, one packet out, 1 µs apart.
    fn pass(&mut self, packets: u64) {
        for _ in 0..packets {
            self.now_us += 1;
            let (packet, queue) = (self.packets[self.next].clone(), self.queue_of[self.next]);
            self.next = (self.next + 1) % PACKETS as usize;
            let _ = self.queues.enqueue(queue, packet, self.now_us, &mut ());
            black_box(&self.queues.dequeue(self.now_us, &mut ()));
        }
    }
}

/// FQ-CoDel from ingress to egress: 5-tuple hash, flow inventory and pacer included.
pub struct BearersLoad {
    bearers: Vec<TrafficControl<BenchPacket>>,
    packets: Vec<BenchPacket>,
    next_bearer: usize,
    next: usize,
    now_us: u64,
}

impl BearersLoad {
    /// Bearers of so many queues, over `flows` flows that each has for itself.
    ///
    /// # Errors
    /// A number of queues that the TC function refuses.
    pub fn new(bearers: u16, queues: u16, flows: u64) -> Result<Self, PipelineError> {
        let params = FqCodel { pacer: Pacer::None, queues, ..FqCodel::default() };
        let bearer = |n| {
            let bearer = BearerId { ue: UeId::Rnti(n), drb: 1 };
            TrafficControl::new(bearer, params.pipeline(), n.into())
        };
        let bearers = (0..bearers).map(bearer).collect::<Result<Vec<_>, _>>()?;
        let packets = packets(flows.next_multiple_of(BURST as u64), flows);
        Ok(Self { bearers, packets, next_bearer: 0, next: 0, now_us: 0 })
    }
}

impl Load for BearersLoad {
    /// Bursts of 16 packets to one bearer after the other, each of which then sends all it has.
    fn pass(&mut self, packets: u64) {
        for _ in 0..packets / BURST as u64 {
            self.now_us += BURST as u64;
            let count = self.bearers.len();
            let tc = &mut self.bearers[self.next_bearer];
            self.next_bearer = (self.next_bearer + 1) % count;
            for packet in &self.packets[self.next..self.next + BURST] {
                tc.ingress(packet.clone(), self.now_us, &mut ());
            }
            self.next = (self.next + BURST) % self.packets.len();
            tc.egress(self.now_us, &mut (), &mut |packet| {
                black_box(&packet);
            });
        }
    }
}
