//! Outcomes of transactions.

use e2sm_tc::v1::{Cause, ControlOutcome, Transaction};
use tc_rf::TrafficControl;

use super::TestPacket;

pub(crate) fn apply(
    tc: &mut TrafficControl<TestPacket>,
    transaction: &Transaction,
) -> ControlOutcome {
    tc.apply(transaction, 0, &mut ())
}

/// Cause and element of a refusal; what is in force must not have changed.
pub(crate) fn refusal(
    tc: &mut TrafficControl<TestPacket>,
    transaction: &Transaction,
) -> (Cause, String) {
    let (pipeline, revision) = (tc.pipeline().clone(), tc.revision());
    let outcome = apply(tc, transaction);
    assert_eq!(tc.pipeline(), &pipeline);
    assert_eq!(tc.revision(), revision);
    match outcome {
        ControlOutcome::Refused { cause, element, detail, revision: at, .. } => {
            assert!(!detail.is_empty());
            assert_eq!(at, (cause != Cause::UnknownBearer).then_some(revision));
            (cause, element)
        }
        ControlOutcome::Accepted { .. } => panic!("accepted {transaction:?}"),
    }
}

pub(crate) fn is(cause: Cause, element: &str) -> (Cause, String) {
    (cause, element.to_owned())
}
