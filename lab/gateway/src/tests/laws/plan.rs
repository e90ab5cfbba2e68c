//! What happens in one run: a gNB, two clients, and a sequence of steps; all from one seed.

use e2sm_tc::v1::PipelineChange;
use lab_scenario::LoadedScenario;
use proptest::prelude::*;
use proptest::strategy::{BoxedStrategy, NewTree, Strategy};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use super::pipelines::random::change_of_pipeline;

/// RNTI and DRB of every bearer.
pub(super) const BEARERS: [(u16, u8); 4] = [(1, 1), (1, 2), (2, 1), (3, 1)];
/// Owners of the two clients; a third client has none.
pub(super) const OWNERS: [Option<&str>; 3] = [Some("a"), Some("b"), None];

/// Pipelines of a gNB before any control.
const TEMPLATES: [&str; 4] = ["transparent", "low_latency", "bdp_only", "bode_diffserv"];

/// A gNB.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    seed: u64,
    template: &'static str,
    is_split: bool,
    f1_loss: bool,
    delivery_status: bool,
    recall: bool,
    pub(super) sdap_poll_us: u32,
    pub(super) control_delay_us: u32,
    pub(super) report_delay_us: u32,
    is_am: bool,
    rlc_limit_bytes: u32,
    /// Time at which the second UE leaves and the third attaches, ms.
    leaves_ms: u64,
    joins_ms: u64,
    /// The second bearer is idle until then, ms.
    idle_ms: u64,
}

impl Setting {
    /// Times at which the UE attaches and leaves, µs.
    pub(super) fn attached_us(&self, rnti: u16) -> (u64, u64) {
        match rnti {
            2 => (0, self.leaves_ms * 1000),
            3 => (self.joins_ms * 1000, u64::MAX),
            _ => (0, u64::MAX),
        }
    }

    pub(super) fn scenario(&self) -> LoadedScenario {
        let ue = |rnti: u16| {
            let rlc = if self.is_am {
                json!({"mode": "am", "limit_bytes": self.rlc_limit_bytes})
            } else {
                json!({"limit_bytes": self.rlc_limit_bytes})
            };
            let own = BEARERS.iter().filter(|(of, _)| *of == rnti);
            let drbs: Vec<_> = own
                .map(|(_, id)| {
                    json!({"id": id, "rlc": rlc, "pipeline": self.template,
                           "safe_pipeline": self.template})
                })
                .collect();
            let (joins_us, leaves_us) = self.attached_us(rnti);
            let mut ue = json!({"rnti": rnti, "channel": {"fixed_mcs": 10}, "drbs": drbs,
                                "join_at_s": joins_us as f64 / 1e6});
            if leaves_us < u64::MAX {
                ue["leave_at_s"] = json!(leaves_us as f64 / 1e6);
            }
            ue
        };
        let flows: Vec<_> = BEARERS
            .iter()
            .flat_map(|(rnti, drb)| {
                let start_s = if *drb == 2 { self.idle_ms as f64 / 1e3 } else { 0.0 };
                [("large", 4_500, 1_200, "not_ect"), ("small", 800, 200, "ect1")].map(
                    |(name, rate_kbps, packet_bytes, ecn)| {
                        json!({"name": format!("{name}-{rnti}-{drb}"), "kind": "udp_cbr",
                               "rnti": rnti, "drb": drb, "rate_kbps": rate_kbps,
                               "packet_bytes": packet_bytes, "ecn_field": ecn,
                               "start_s": start_s, "start_jitter_ms": 3})
                    },
                )
            })
            .collect();
        let mut split = json!({
            "core_delay_us": 200, "recall": self.recall, "sdap_poll_us": self.sdap_poll_us,
            "e2_control_delay_us": self.control_delay_us,
            "e2_report_delay_us": self.report_delay_us,
        });
        if self.is_split {
            split["f1_delay_us"] = json!(2_000);
            split["f1"] = json!({"loss": if self.f1_loss { 0.05 } else { 0.0 }});
            if self.delivery_status {
                split["f1"]["delivery_status_us"] = json!(2_000);
            }
        }
        let scenario = json!({
            "name": "laws", "seed": self.seed, "duration_s": 60,
            "cell": {"rat": "nr", "n_prb": 25, "scs_khz": 15},
            "split": split, "ues": [ue(1), ue(2), ue(3)], "flows": flows,
        });
        LoadedScenario::from_value(scenario, "laws", std::path::Path::new(""), &[])
            .expect("a scenario within the ranges")
    }
}

/// The revision a client names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Revision {
    Unchecked,
    /// The last that was reported to it.
    Known,
    /// Another than the last that was reported to it.
    Wrong(u32),
}

/// A control.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Transaction {
        bearer: usize,
        change: Box<PipelineChange>,
        revision: Revision,
        lease_ms: Option<u32>,
        dry_run: bool,
        as_safe: bool,
    },
    Renewal {
        bearer: usize,
        revision: Revision,
        lease_ms: u32,
    },
    NodeLease {
        lease_ms: Option<u32>,
    },
    Forecast {
        bearer: usize,
        age_ms: u64,
    },
    Bytes(Vec<u8>),
}

/// What becomes of a control and its answer between client and gateway.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) delay_us: u64,
    pub(super) is_lost: bool,
    pub(super) answer_is_lost: bool,
    /// Arrives once more so much later.
    pub(super) again_us: Option<u64>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Control {
        client: usize,
        order: Order,
        delivery: Delivery,
    },
    Subscribe {
        client: usize,
        period_ms: u32,
    },
    /// A client dies: it forgets what it knew and hears no answer.
    Crash {
        client: usize,
    },
    /// The connection between node and RIC breaks, or returns.
    Link {
        is_up: bool,
    },
    /// The gNB restarts.
    Restart,
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) setting: Setting,
    /// Each with the time since the step before, µs.
    pub(super) steps: Vec<(u64, Step)>,
}

fn setting() -> impl Strategy<Value = Setting> {
    let delay = || prop::sample::select(&[0u32, 300, 1_500][..]);
    let bits = || any::<bool>();
    (
        (any::<u32>(), prop::sample::select(&TEMPLATES[..])),
        (bits(), bits(), bits(), bits(), bits()),
        (prop::sample::select(&[0u32, 0, 200][..]), delay(), delay()),
        (prop::sample::select(&[3_000u32, 40_000, 1_000_000][..]), 20u64..120, 1u64..80, 0u64..200),
    )
        .prop_map(|((seed, template), bits, delays, rest)| {
            let (is_split, f1_loss, delivery_status, recall, is_am) = bits;
            let (rlc_limit_bytes, leaves_ms, joins_ms, idle_ms) = rest;
            let (sdap_poll_us, control_delay_us, report_delay_us) = delays;
            Setting {
                seed: seed.into(),
                template,
                is_split,
                f1_loss,
                delivery_status,
                recall,
                sdap_poll_us,
                control_delay_us,
                report_delay_us,
                is_am,
                rlc_limit_bytes,
                leaves_ms,
                joins_ms,
                idle_ms,
            }
        })
}

fn revision() -> impl Strategy<Value = Revision> {
    prop_oneof![
        3 => Just(Revision::Unchecked),
        4 => Just(Revision::Known),
        1 => (0u32..6).prop_map(Revision::Wrong),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    // The first bearer most often, so that clients meet there.
    let bearer = || prop_oneof![3 => Just(0), 2 => 0..BEARERS.len()];
    let lease_ms = || prop::option::weighted(0.6, 2u32..40);
    prop_oneof![
        10 => (
            bearer(),
            prop_oneof![
                8 => change_of_pipeline(),
                1 => Just(Box::new(PipelineChange::Safe)),
                1 => Just(Box::new(PipelineChange::Initial)),
            ],
            (revision(), lease_ms()),
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
        )
            .prop_map(|(bearer, change, (revision, lease_ms), dry_run, as_safe)| {
                Order::Transaction { bearer, change, revision, lease_ms, dry_run, as_safe }
            }),
        6 => (bearer(), prop_oneof![5 => Just(Revision::Known), 1 => revision()], 2u32..40).prop_map(|(bearer, revision, lease_ms)| {
            Order::Renewal { bearer, revision, lease_ms }
        }),
        3 => prop::option::weighted(0.8, 2u32..40).prop_map(|lease_ms| Order::NodeLease { lease_ms }),
        1 => (bearer(), 0u64..30).prop_map(|(bearer, age_ms)| Order::Forecast { bearer, age_ms }),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Order::Bytes),
    ]
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (
        prop_oneof![2 => Just(0u64), 2 => 0u64..15_000],
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.1, 0u64..20_000),
    )
        .prop_map(|(delay_us, is_lost, answer_is_lost, again_us)| Delivery {
            delay_us,
            is_lost,
            answer_is_lost,
            again_us,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let client = || prop_oneof![1 => Just(0), 1 => 0..OWNERS.len()];
    prop_oneof![
        24 => (client(), order(), delivery())
            .prop_map(|(client, order, delivery)| Step::Control { client, order, delivery }),
        2 => (client(), 1u32..6)
            .prop_map(|(client, period_ms)| Step::Subscribe { client, period_ms }),
        2 => client().prop_map(|client| Step::Crash { client }),
        2 => any::<bool>().prop_map(|is_up| Step::Link { is_up }),
        1 => Just(Step::Restart),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let wait_us = prop_oneof![2 => 0u64..1_000, 3 => 0u64..8_000, 1 => 0u64..40_000];
    (setting(), prop::collection::vec((wait_us, step()), 1..40))
        .prop_map(|(setting, steps)| Plan { setting, steps })
}

/// Makes plans from seeds.
pub(super) struct Plans(BoxedStrategy<Plan>);

impl Plans {
    pub(super) fn new() -> Self {
        Self(plan().boxed())
    }

    /// The plan of a seed, which can be simplified.
    pub(super) fn of(&self, seed: u64) -> NewTree<BoxedStrategy<Plan>> {
        let bytes: Vec<u8> = [seed, !seed].iter().flat_map(|half| half.to_le_bytes()).collect();
        let random = TestRng::from_seed(RngAlgorithm::XorShift, &bytes);
        self.0.new_tree(&mut TestRunner::new_with_rng(Config::default(), random))
    }
}
