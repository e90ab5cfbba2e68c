//! The RAN function: a pipeline per bearer, found by what the service model calls it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use e2sm_tc::v1::{
    self, BearerId, BearerQos, Cause, ControlMessage, ControlOutcome, IndicationMessage, Pacer,
    Pipeline, PipelineChange, RanFunctionDefinition, Transaction, UeId,
};
use tc_rf::control::{self, refused};
use tc_rf::templates;
use tc_rf::{BlockRoom, BufferStatus, NodeDefaultState, NodeLeaseState, TrafficControl};

use crate::callbacks::{Sink, TcRfCallbacks};
use crate::packet::CPacket;
use crate::types::{TcRfBearer, TcRfDrop, TcRfEvent, TcRfResult};

/// Highest DRB identity (38.331 §6.3.2, DRB-Identity).
const MAX_DRB: u8 = 32;

/// What went wrong and a sentence about it.
pub(crate) type Failure = (TcRfResult, String);

/// A bearer has a lock of its own, so that threads that serve different bearers do not wait for each
/// other. Nothing is left in it when it has been removed while somebody waited for it.
type Shared = Arc<Mutex<Option<TrafficControl<CPacket>>>>;

/// All bearers of a gNB.
pub(crate) struct Function {
    callbacks: TcRfCallbacks,
    seed: u64,
    bearers: RwLock<BTreeMap<(u16, u8), Shared>>,
    node_lease: Mutex<NodeLeaseState>,
    node_default: Mutex<NodeDefaultState>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Function {
    pub(crate) fn new(callbacks: TcRfCallbacks, seed: u64) -> Self {
        Self {
            callbacks,
            seed,
            bearers: RwLock::default(),
            node_lease: Mutex::default(),
            node_default: Mutex::default(),
        }
    }

    /// Adds a bearer with what the node default has for it.
    pub(crate) fn add(
        &self,
        bearer: TcRfBearer,
        qos: BearerQos,
        now_us: u64,
    ) -> Result<(), Failure> {
        if !(1..=MAX_DRB).contains(&bearer.drb) {
            let detail = format!("bearer.drb: {}; expected 1 to {MAX_DRB}", bearer.drb);
            return Err((TcRfResult::OutOfRange, detail));
        }
        let id = BearerId { ue: UeId::Rnti(bearer.rnti), drb: bearer.drb };
        // Each bearer hashes in its own way, reproducibly.
        let seed = self.seed ^ (u64::from(bearer.rnti) << 8 | u64::from(bearer.drb));
        let safe = template("transparent")?;
        let mut control = TrafficControl::new(id, safe, seed)
            .map_err(|error| (TcRfResult::Refused, error.to_string()))?;
        let start = self.node_default().start_of(bearer.drb, &qos, now_us);
        control.set_qos(qos);
        let mut bearers = self.bearers.write().unwrap_or_else(PoisonError::into_inner);
        match bearers.entry((bearer.rnti, bearer.drb)) {
            Entry::Occupied(_) => {
                let detail = format!("{} is here already", name(bearer));
                return Err((TcRfResult::BearerExists, detail));
            }
            Entry::Vacant(place) => place.insert(Arc::new(Mutex::new(Some(control)))),
        };
        drop(bearers);
        match start {
            Some(start) => self.with(bearer, |control, sink| {
                control.start_with(start, now_us, sink);
            }),
            None => Ok(()),
        }
    }

    /// Removes a bearer; its packets come back as dropped.
    pub(crate) fn remove(&self, bearer: TcRfBearer, now_us: u64) -> Result<(), Failure> {
        let removed = {
            let mut bearers = self.bearers.write().unwrap_or_else(PoisonError::into_inner);
            bearers.remove(&(bearer.rnti, bearer.drb)).ok_or_else(|| unknown(bearer))?
        };
        let mut control = lock(&removed).take().ok_or_else(|| unknown(bearer))?;
        let sink = Sink { callbacks: &self.callbacks, bearer };
        control.drain(&mut |packet| sink.drop_for(&packet, TcRfDrop::BearerRemoved, now_us));
        Ok(())
    }

    pub(crate) fn remove_all(&self) {
        let keys: Vec<_> = {
            let bearers = self.bearers.read().unwrap_or_else(PoisonError::into_inner);
            bearers.keys().copied().collect()
        };
        for (rnti, drb) in keys {
            // Just listed, and the time of a handle's end is not known.
            let _ = self.remove(TcRfBearer { rnti, drb }, 0);
        }
    }

    /// Does something with the pipeline of a bearer and the callbacks for its packets, while no other
    /// thread does.
    pub(crate) fn with<R>(
        &self,
        bearer: TcRfBearer,
        act: impl FnOnce(&mut TrafficControl<CPacket>, &mut Sink<'_>) -> R,
    ) -> Result<R, Failure> {
        let shared = {
            let bearers = self.bearers.read().unwrap_or_else(PoisonError::into_inner);
            let shared = bearers.get(&(bearer.rnti, bearer.drb));
            Arc::clone(shared.ok_or_else(|| unknown(bearer))?)
        };
        let mut locked = lock(&shared);
        let control = locked.as_mut().ok_or_else(|| unknown(bearer))?;
        Ok(act(control, &mut Sink { callbacks: &self.callbacks, bearer }))
    }

    pub(crate) fn egress(&self, bearer: TcRfBearer, now_us: u64) -> Result<(), Failure> {
        let forward = Sink { callbacks: &self.callbacks, bearer };
        self.with(bearer, |control, sink| {
            control.egress(now_us, sink, &mut |packet| forward.forward(&packet));
        })
    }

    /// Packets that the MAC can pull.
    pub(crate) fn buffer_status(
        &self,
        bearer: TcRfBearer,
        now_us: u64,
    ) -> Result<BufferStatus, Failure> {
        self.with(bearer, |control, sink| control.buffer_status(now_us, sink))
    }

    /// Forwards one packet for the transport block being built; whether there was one.
    pub(crate) fn pull(
        &self,
        bearer: TcRfBearer,
        room: &BlockRoom,
        now_us: u64,
    ) -> Result<bool, Failure> {
        self.with(bearer, |control, sink| {
            let packet = control.pull(room, now_us, sink);
            if let Some(packet) = &packet {
                sink.forward(packet);
            }
            packet.is_some()
        })
    }

    /// Installs a template without a RIC, for ever.
    pub(crate) fn apply_template(
        &self,
        bearer: TcRfBearer,
        template_name: &str,
        now_us: u64,
    ) -> Result<(), Failure> {
        let change = PipelineChange::Replace(template(template_name)?);
        let id = BearerId { ue: UeId::Rnti(bearer.rnti), drb: bearer.drb };
        let transaction = Transaction {
            bearer: id,
            expected_revision: None,
            lease_ms: None,
            owner: None,
            as_safe: false,
            dry_run: false,
            change,
        };
        match self.transact(bearer, &transaction, now_us)? {
            ControlOutcome::Accepted { .. } => Ok(()),
            ControlOutcome::Refused { element, detail, .. } => {
                Err((TcRfResult::Refused, format!("{element}: {detail}")))
            }
        }
    }

    /// A RIC control of E2SM-TC v1. A refusal is an outcome, not a failure.
    pub(crate) fn control(&self, header: &[u8], message: &[u8], now_us: u64) -> Vec<u8> {
        let outcome = match control::read(header, message) {
            Ok(message) => self.dispatch(&message, now_us),
            Err(outcome) => outcome,
        };
        control::encode_outcome(outcome)
    }

    fn dispatch(&self, message: &ControlMessage, now_us: u64) -> ControlOutcome {
        let outcome = match message {
            ControlMessage::Transaction(transaction) => {
                named(&transaction.bearer).and_then(|bearer| {
                    match self.admit(bearer, transaction.owner.as_deref(), now_us)? {
                        None => self.transact(bearer, transaction, now_us),
                        Some(refusal) => Ok(refusal),
                    }
                })
            }
            ControlMessage::LeaseRenewal(renewal) => named(&renewal.bearer).and_then(|bearer| {
                match self.admit(bearer, renewal.owner.as_deref(), now_us)? {
                    None => self.with(bearer, |control, _| control.renew_lease(renewal, now_us)),
                    Some(refusal) => Ok(refusal),
                }
            }),
            ControlMessage::NodeLease(lease) => Ok(self.node_lease().apply(lease, now_us)),
            ControlMessage::NodeDefault(default) => {
                let lease = self.node_lease();
                Ok(match lease.admit(default.owner.as_deref(), now_us) {
                    Ok(()) => {
                        // Pipelines are compiled while others may set up bearers.
                        let mut changed = self.node_default().clone();
                        let outcome = changed.apply(default, now_us);
                        *self.node_default() = changed;
                        outcome
                    }
                    Err(refusal) => refusal,
                })
            }
            ControlMessage::QosFlowMapping(_) => Ok(control::no_qos_flow_mapping()),
            // The feed's clock is that of the samples it rests on: the gNB's.
            ControlMessage::ForecastFeed(feed) => Ok(control::feed(feed, 0, |forecast| {
                let revision = named(&forecast.bearer).and_then(|bearer| {
                    self.with(bearer, |control, _| {
                        let revision = control.revision();
                        let fed = control.feed_forecast(forecast, now_us);
                        fed.map(|()| revision).map_err(|error| error.into_outcome(revision))
                    })
                });
                revision.unwrap_or_else(|(_, detail)| {
                    Err(refused(Cause::UnknownBearer, "bearer", detail))
                })
            })),
        };
        outcome.unwrap_or_else(|(_, detail)| refused(Cause::UnknownBearer, "bearer", detail))
    }

    fn node_lease(&self) -> MutexGuard<'_, NodeLeaseState> {
        self.node_lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node_default(&self) -> MutexGuard<'_, NodeDefaultState> {
        self.node_default.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The refusal for a control of `owner` while another holds the node.
    fn admit(
        &self,
        bearer: TcRfBearer,
        owner: Option<&str>,
        now_us: u64,
    ) -> Result<Option<ControlOutcome>, Failure> {
        self.with(bearer, |_, _| ())?;
        Ok(self.node_lease().admit(owner, now_us).err())
    }

    fn transact(
        &self,
        bearer: TcRfBearer,
        transaction: &Transaction,
        now_us: u64,
    ) -> Result<ControlOutcome, Failure> {
        self.with(bearer, |control, sink| {
            let unpaced = control.pipeline().pacer == Pacer::None;
            let outcome = control.apply(transaction, now_us, sink);
            if unpaced && control.pipeline().pacer != Pacer::None {
                sink.event(TcRfEvent::RecallUnsent);
            }
            outcome
        })
    }

    /// Report style 1 of one bearer: an indication message.
    pub(crate) fn status(&self, bearer: TcRfBearer, now_us: u64) -> Result<Vec<u8>, Failure> {
        let status = self.with(bearer, |control, _| control.status(now_us))?;
        encode(&IndicationMessage::PipelineStatus(vec![status]))
    }

    /// Report style 2 of one bearer: an indication message.
    pub(crate) fn flows(
        &self,
        bearer: TcRfBearer,
        top: u16,
        now_us: u64,
    ) -> Result<Vec<u8>, Failure> {
        let flows = self.with(bearer, |control, _| control.flow_inventory(top, now_us))?;
        encode(&IndicationMessage::FlowInventory(vec![flows]))
    }

    pub(crate) fn definition() -> Result<Vec<u8>, Failure> {
        encode(&RanFunctionDefinition {
            short_name: v1::SHORT_NAME.to_owned(),
            oid: v1::OID.to_owned(),
            description: "Traffic control per UE and DRB".to_owned(),
            capabilities: tc_rf::capabilities(),
        })
    }
}

/// A defect that ended a call has been reported; what it left is used on.
fn lock(shared: &Shared) -> MutexGuard<'_, Option<TrafficControl<CPacket>>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn template(name: &str) -> Result<Pipeline, Failure> {
    templates::by_name(name).ok_or_else(|| {
        let known = templates::NAMES.join(", ");
        (TcRfResult::UnknownTemplate, format!("{name:?}; expected one of {known}"))
    })
}

fn encode<M: v1::Message>(message: &M) -> Result<Vec<u8>, Failure> {
    v1::encode(message).map_err(|error| (TcRfResult::Internal, error.to_string()))
}

/// The bearer that the service model means.
fn named(id: &BearerId) -> Result<TcRfBearer, Failure> {
    match id.ue {
        UeId::Rnti(rnti) => Ok(TcRfBearer { rnti, drb: id.drb }),
        _ => {
            let detail = "this RAN function names UEs by RNTI".to_owned();
            Err((TcRfResult::UnknownBearer, detail))
        }
    }
}

fn name(bearer: TcRfBearer) -> String {
    format!("DRB {} of RNTI {}", bearer.drb, bearer.rnti)
}

fn unknown(bearer: TcRfBearer) -> Failure {
    (TcRfResult::UnknownBearer, format!("no {} here", name(bearer)))
}
