//! What the host declares of the TC function.

use e2sm_tc::v1::{Capabilities, NodeDefaultSupport};

/// What the RAN function declares. Where it learns of a bearer, in PDCP, it knows the DRB identity
/// alone.
pub(crate) fn capabilities() -> Capabilities {
    let all = tc_rf::capabilities();
    let node_default = all
        .node_default
        .map(|support| NodeDefaultSupport { matches: vec!["drb".to_owned()], ..support });
    Capabilities { node_default, ..all }
}
