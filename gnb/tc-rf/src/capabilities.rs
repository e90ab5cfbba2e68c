//! The capabilities of this RAN function. It has every kind of the service model: the `match`es that
//! compile a pipeline are exhaustive.

use std::sync::LazyLock;

use e2sm_tc::v1::Capabilities;
use tc_pipelines::limits::everything;

/// Transactions are checked against these.
pub(crate) static CAPABILITIES: LazyLock<Capabilities> = LazyLock::new(capabilities);

/// Most queues of a pipeline.
pub const MAX_QUEUES: u16 = 4096;
/// Most filters of a classifier.
pub const MAX_FILTERS: u16 = 256;
/// Most bearers of a node; the RAN function itself is per bearer.
const MAX_BEARERS: u32 = 4096;

/// The capabilities in the RAN function definition.
pub fn capabilities() -> Capabilities {
    Capabilities {
        max_queues: MAX_QUEUES,
        max_filters: MAX_FILTERS,
        max_bearers: MAX_BEARERS,
        ..everything()
    }
}
