//! Named compositions, from doing nothing to telling every flow apart.
//!
//! | name | flows are told apart by | queues | between them |
//! |---|---|---|---|
//! | `transparent` | nothing | FIFO, no pacer | |
//! | `bdp_only` | nothing | FIFO | |
//! | `fq_codel` | hash | CoDel | DRR with new and old lists |
//! | `drql_forecast` | hash | CoDel, paced by forecasts | DRR with new and old lists |
//! | `segregate_greedy` | name | CoDel | DRR with new and old lists |
//! | `flow_slicing` | name | FIFO with shaper | round robin |
//! | `l4s` | ECN | coupled DualPI2 | conditional priority |
//! | `fq_l4s` | ECN, then hash | CoDel, step marking | DRR with new and old lists |
//! | `cake_diffserv` | DSCP, then hash | COBALT | weights per class, DRR within |
//! | `bode_diffserv` | DSCP | BoDe, FIFO for the rest | strict priority |
//! | `sojourn` | ECN, then hash | FIFO or BoDe, step marking; filled as the MAC pulls | DRR with new and old lists |

mod diffserv;
mod fair;
mod l4s;
mod own;
mod params;
mod parts;
mod plain;
mod slicing;

use e2sm_tc::v1::Pipeline;

pub use diffserv::{bode_diffserv, cake_diffserv};
pub use fair::{drql_forecast, fq_codel};
pub use l4s::{fq_l4s, l4s};
pub use own::sojourn;
pub use params::{BoundedClass, Slice, TemplateParams};
pub use parts::exactly;
pub use plain::{bdp_only, transparent};
pub use slicing::{flow_slicing, segregate_greedy};

/// Names that [`by_name`] knows.
pub const NAMES: [&str; 11] = [
    "transparent",
    "bdp_only",
    "fq_codel",
    "drql_forecast",
    "segregate_greedy",
    "flow_slicing",
    "l4s",
    "fq_l4s",
    "cake_diffserv",
    "bode_diffserv",
    "sojourn",
];

/// The template of that name, one of [`NAMES`].
pub fn by_name(name: &str, params: &TemplateParams) -> Option<Pipeline> {
    match name {
        "transparent" => Some(transparent()),
        "bdp_only" => Some(bdp_only(params)),
        "fq_codel" => Some(fq_codel(params)),
        "drql_forecast" => Some(drql_forecast(params)),
        "segregate_greedy" => Some(segregate_greedy(params)),
        "flow_slicing" => Some(flow_slicing(params)),
        "l4s" => Some(l4s(params)),
        "fq_l4s" => Some(fq_l4s(params)),
        "cake_diffserv" => Some(cake_diffserv(params)),
        "bode_diffserv" => Some(bode_diffserv(params)),
        "sojourn" => Some(sojourn(params)),
        _ => None,
    }
}
