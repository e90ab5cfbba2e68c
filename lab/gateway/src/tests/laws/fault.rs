//! gNBs that break a law, for tests that the laws find it.

use bytes::Bytes;
use e2sm_tc::v1::{self, Cause, ControlMessage, ControlOutcome, Transaction};
use lab_world::{ControlReply, ControlRequest, PacketLedger, RanFunction, World};

/// How a gNB breaks a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A packet vanishes when a pipeline changes.
    LosesPackets,
    /// A packet is there twice when a pipeline changes.
    DuplicatesPackets,
    /// A packet is dropped without an arrival when a pipeline changes.
    DropsAtChange,
    /// The expected revision is not compared.
    IgnoresRevision,
    /// Anybody controls a node that another holds.
    IgnoresOwner,
    /// A lease ends late.
    ProlongsLeases,
    /// A control is acknowledged and not applied.
    ForgetsControls,
    /// A refused control is applied.
    AppliesRefused,
}

/// Time by which a gNB prolongs leases.
const LATE_MS: u32 = 20;

impl Fault {
    /// The packets of a bearer after its gNB changed `changes` pipelines.
    pub(super) fn miscount(self, ledger: &mut PacketLedger, changes: u64) {
        if changes == 0 {
            return;
        }
        match self {
            Self::LosesPackets => ledger.delivered = ledger.delivered.saturating_sub(1),
            Self::DuplicatesPackets => ledger.delivered += 1,
            Self::DropsAtChange if ledger.in_pipeline > changes => {
                ledger.in_pipeline -= changes;
                ledger.dropped_on_arrival += changes;
            }
            _ => {}
        }
    }

    /// The control as the gNB takes it, while `holder` holds it.
    pub(super) fn misread(
        self,
        request: &ControlRequest,
        holder: Option<String>,
    ) -> ControlRequest {
        let mut misread = request.clone();
        let Ok(ControlMessage::Transaction(own)) = v1::decode(&request.message) else {
            return misread;
        };
        let taken = match self {
            Self::IgnoresRevision => Transaction { expected_revision: None, ..own },
            Self::IgnoresOwner => Transaction { owner: holder.or(own.owner.clone()), ..own },
            Self::ProlongsLeases => {
                Transaction { lease_ms: own.lease_ms.map(|ms| ms + LATE_MS), ..own }
            }
            Self::ForgetsControls => Transaction { dry_run: true, ..own },
            _ => return misread,
        };
        misread.message = encoded(&ControlMessage::Transaction(taken));
        misread
    }

    /// The answer as the gNB gives it, so that the fault shows in what it does alone.
    pub(super) fn misreport(
        self,
        request: &ControlRequest,
        mut reply: ControlReply,
        world: &mut World,
    ) -> ControlReply {
        let Ok(ControlMessage::Transaction(own)) = v1::decode(&request.message) else {
            return reply;
        };
        let Ok(mut outcome) = v1::decode::<ControlOutcome>(&reply.outcome) else { return reply };
        match (self, &mut outcome) {
            (Self::ProlongsLeases, ControlOutcome::Accepted { lease_ms: Some(ms), .. }) => {
                *ms -= LATE_MS;
            }
            (Self::ForgetsControls, ControlOutcome::Accepted { revision, .. }) if !own.dry_run => {
                *revision += 1;
            }
            (Self::AppliesRefused, ControlOutcome::Refused { cause: Cause::StaleRevision, .. }) => {
                let anyway = Transaction { expected_revision: None, ..own };
                let message = encoded(&ControlMessage::Transaction(anyway));
                let applied = world.control(RanFunction::TcV1.oid(), &request.header, &message);
                applied.expect("the TC function takes controls");
            }
            _ => return reply,
        }
        reply.outcome = encoded(&outcome);
        reply
    }
}

/// The bytes of a value within its ranges.
pub(super) fn encoded<T: v1::Message>(value: &T) -> Bytes {
    v1::encode(value).expect("a value within its ranges").into()
}
