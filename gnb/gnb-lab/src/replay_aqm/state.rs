//! Names of kinds and reasons, and the inner state of a discipline as JSON.

use serde_json::{Value, json};
use tc_rf::DropReason;
use tc_rf::queueing::{AqmState, Discipline, QueueState};

/// A discipline by its name in the service model.
pub(super) fn kind(discipline: &Discipline) -> &'static str {
    match discipline {
        Discipline::Fifo { .. } => "fifo",
        Discipline::Codel(_) => "codel",
        Discipline::Pie(_) => "pie",
        Discipline::Red(_) => "red",
        Discipline::Cobalt(_) => "cobalt",
        Discipline::Bode { .. } => "bode",
        Discipline::L4sMarking(_) => "l4s_marking",
        Discipline::DualPi2(..) => "dual_pi2",
    }
}

pub(super) fn reason(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Policer => "policer",
        DropReason::QueueLimit => "queue_limit",
        DropReason::BufferLimit => "buffer_limit",
        DropReason::Codel => "codel",
        DropReason::Pie => "pie",
        DropReason::Red => "red",
        DropReason::Blue => "blue",
        DropReason::Bode => "bode",
        DropReason::DualPi2 => "dual_pi2",
    }
}

/// Inner state under the names of the discipline's RFC or paper; empty where there is none.
pub(super) fn inner(queue: &QueueState) -> Value {
    match (queue.aqm, queue.discipline) {
        (AqmState::Codel(codel), _) => json!({
            "dropping": codel.dropping(),
            "count": codel.count(),
            "drop_next_us": codel.drop_next_us(),
        }),
        (AqmState::Pie(pie), _) => json!({
            "drop_prob": pie.drop_prob(),
            "qdelay_us": pie.qdelay_us(),
            "qdelay_old_us": pie.qdelay_old_us(),
            "burst_allowance_us": pie.burst_allowance_us(),
            "accu_prob": pie.accu_prob(),
        }),
        (AqmState::Red(red), _) => json!({"avg_bytes": red.avg_bytes(), "count": red.count()}),
        (AqmState::Cobalt(cobalt), _) => json!({
            "p_blue": cobalt.p_blue(),
            "dropping": cobalt.dropping(),
            "count": cobalt.count(),
            "drop_next_us": cobalt.drop_next_us(),
        }),
        (AqmState::L4sMarking(recur), _) => json!({"recur": recur.sum()}),
        (AqmState::DualPi2(pair), Discipline::DualPi2(params, _)) => json!({
            "p": pair.base_probability(),
            "p_c": pair.classic_probability(),
            "p_cl": pair.coupled_probability(&params),
            "qdelay_us": pair.delay_us(),
            "l_sojourn_us": pair.l_sojourn_us(),
            "c_sojourn_us": pair.c_sojourn_us(),
        }),
        (_, Discipline::Bode { bound_us }) => json!({"bound_us": bound_us}),
        _ => json!({}),
    }
}
