//! `Control`: all RIC controls of a client over one call.

use std::{sync::Arc, time::Duration};

use e2sm_tc::v1::{self, BearerId, Cause, ControlMessage, UeId};
use lab_world::{ControlReply, RanFunction};
use parking_lot::Mutex;
use prost::Message;
use sha2::{Digest, Sha256};
use tc_pipelines::owners::{self, Answer, Asked, Owners};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use serving::{
    access::{Caller, Entry, Right, check_identifiers},
    admission::Client,
    limits::Hold,
};

use super::{
    command::{Command, Commands, ControlFailure, stopped},
    limits::NodePools,
    metrics::GatewayMetrics,
    proto::{self, control_answer, control_response},
};

/// Unanswered controls of one call; further ones wait in the connection.
const MAX_PENDING: usize = 256;

/// Sends controls to the world and counts their answers.
#[derive(Clone, Debug)]
pub(super) struct ControlHandler {
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    pub(super) timeout: Duration,
    pub(super) pools: NodePools,
    /// Which clients the owners of nodes are.
    pub(super) owners: Arc<Mutex<Owners>>,
    /// True once the gateway stops.
    pub(super) stopping: watch::Receiver<bool>,
}

/// A control sent to the world.
#[derive(Debug)]
struct Pending {
    node_id: String,
    answer: oneshot::Receiver<Result<ControlReply, ControlFailure>>,
    limit: Duration,
    /// Whom to tell about the answer to a node lease.
    asked: Option<(Asked, Arc<Mutex<Owners>>, Client)>,
    /// Its bytes, of the client's share.
    _bytes: Hold,
}

/// What a control came to so far.
#[derive(Debug)]
enum Sent {
    /// The world has it.
    Pending(Box<Pending>),
    /// Nowhere: the owner that it names is another client.
    Refused(ControlReply),
}

pub(super) type ControlResponses = ReceiverStream<Result<proto::ControlResponse, Status>>;

impl ControlHandler {
    /// Serves one `Control` call; controls that began are answered before it ends.
    pub(super) fn serve(
        &self,
        requests: Streaming<proto::ControlRequest>,
        client: Client,
    ) -> ControlResponses {
        let (responses, stream) = mpsc::channel(MAX_PENDING);
        tokio::spawn(self.clone().answer_all(requests, client, responses));
        ReceiverStream::new(stream)
    }

    async fn answer_all(
        self,
        mut requests: Streaming<proto::ControlRequest>,
        client: Client,
        responses: mpsc::Sender<Result<proto::ControlResponse, Status>>,
    ) {
        let mut stopping = self.stopping.clone();
        let (caller, account) = (&client.caller, self.pools.of(&client.account));
        // The place for the answer is reserved before the control is read: it bounds the pending ones.
        while let Ok(place) = responses.clone().reserve_owned().await {
            let request = tokio::select! {
                // A dropped sender means that the gateway was dropped.
                _ = stopping.wait_for(|stop| *stop) => {
                    place.send(Err(stopped()));
                    return;
                }
                request = requests.message() => request,
            };
            let request = match request {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(status) => {
                    place.send(Err(status));
                    return;
                }
            };
            let request_id = request.request_id;
            // Checked for each control: a call outlives changes of the access file.
            let admitted =
                check_identifiers(&request.node_id, &request.ran_function_oid).and_then(|()| {
                    let what = describe(&request.ran_function_oid, &request.message);
                    Ok(caller.require(Right::Control, Some(&request.node_id), &what)?)
                });
            let record = match &admitted {
                Ok(who) if caller.is_audited() => Some(Record::new(caller, who, &request)),
                _ => None,
            };
            // Sent to the world here and not in the task, which keeps the order of the requests.
            let bytes = request.encoded_len();
            let within = admitted
                .and_then(|_| account.control(bytes, client.now_us()).map_err(Status::from));
            let is_refused = within.is_err();
            let sent = within.and_then(|hold| self.send(request, hold, &client));
            let handler = self.clone();
            tokio::spawn(async move {
                let answer = match sent {
                    Ok(Sent::Pending(pending)) => pending.answer().await,
                    Ok(Sent::Refused(reply)) => Ok(reply),
                    Err(status) => Err(status),
                };
                if let Some(record) = record {
                    record.write(&answer);
                }
                let result = Some(handler.result(answer));
                place.send(Ok(proto::ControlResponse { request_id, result }));
            });
            if is_refused {
                client.account.refusal_pause().await;
            }
        }
    }

    // The error becomes the control's.
    #[allow(clippy::result_large_err)]
    fn send(
        &self,
        request: proto::ControlRequest,
        hold: Hold,
        client: &Client,
    ) -> Result<Sent, Status> {
        let limit = match request.timeout_ms {
            0 => self.timeout,
            ms => self.timeout.min(Duration::from_millis(ms.into())),
        };
        let as_owner = owner(&client.caller, &request.instance)?;
        let mut asked = None;
        if request.ran_function_oid == RanFunction::TcV1.oid() {
            let (node_id, message) = (&request.node_id, &request.message);
            match self.owners.lock().admit(node_id, message, &as_owner, client.now_us()) {
                Ok(lease) => asked = lease,
                Err(refusal) => return Ok(Sent::Refused(refusal.into())),
            }
        }
        let asked = asked.map(|asked| (asked, Arc::clone(&self.owners), client.clone()));
        let (reply, answer) = oneshot::channel();
        let node_id = request.node_id.clone();
        let sent = self.commands.send(Command::Control {
            request: lab_world::ControlRequest {
                node_id: request.node_id,
                ran_function_oid: request.ran_function_oid,
                header: request.header,
                message: request.message,
            },
            reply,
        });
        if let Err(status) = sent {
            tell(asked, Answer::NotCarriedOut);
            return Err(status);
        }
        let pending = Pending { node_id, answer, limit, asked, _bytes: hold };
        Ok(Sent::Pending(Box::new(pending)))
    }

    /// Counts the answer and converts it.
    fn result(&self, answer: Result<ControlReply, Status>) -> control_response::Result {
        match answer {
            Ok(answer) => {
                self.metrics.control_answered(&answer);
                let status = if answer.acknowledged {
                    control_answer::Status::Acknowledged
                } else {
                    control_answer::Status::Failed
                };
                control_response::Result::Answer(proto::ControlAnswer {
                    status: status.into(),
                    outcome: answer.outcome,
                    detail: answer.detail,
                })
            }
            Err(status) => {
                self.metrics.control_error(status.code());
                control_response::Result::Error(proto::ControlError {
                    code: (status.code() as i32).cast_unsigned(),
                    detail: status.message().to_owned(),
                })
            }
        }
    }
}

/// A control for the audit log.
#[derive(Debug)]
struct Record {
    caller: Caller,
    who: String,
    node_id: String,
    ran_function_oid: String,
    what: String,
}

impl Record {
    fn new(caller: &Caller, who: &str, request: &proto::ControlRequest) -> Self {
        Self {
            caller: caller.clone(),
            who: who.to_owned(),
            node_id: request.node_id.clone(),
            ran_function_oid: request.ran_function_oid.clone(),
            what: describe(&request.ran_function_oid, &request.message),
        }
    }

    fn write(&self, answer: &Result<ControlReply, Status>) {
        let outcome = match answer {
            Ok(reply) if reply.acknowledged => "accepted".to_owned(),
            Ok(reply) => format!("rejected: {}", reply.cause.unwrap_or("unnamed")),
            Err(status) => format!("rejected: {}", status.message()),
        };
        let entry = Entry {
            who: &self.who,
            action: "control",
            node: &self.node_id,
            ran_function: &self.ran_function_oid,
            what: &self.what,
            outcome: &outcome,
            ..Entry::default()
        };
        let reached_no_node = answer
            .as_ref()
            .is_err_and(|status| matches!(status.code(), Code::NotFound | Code::ResourceExhausted));
        if reached_no_node {
            self.caller.record_attempt(&entry);
        } else {
            self.caller.record(&entry);
        }
    }
}

/// Style and bearer of a control, where the service model is known, and the start of its SHA-256.
fn describe(ran_function_oid: &str, message: &[u8]) -> String {
    let bearer = |id: &BearerId| match id.ue {
        UeId::Rnti(rnti) => format!("UE {rnti:#06x} DRB {}", id.drb),
        UeId::GnbCuUeF1apId(id_of_ue) => format!("UE F1AP {id_of_ue} DRB {}", id.drb),
    };
    let what = if ran_function_oid == RanFunction::TcV1.oid() {
        match v1::decode::<ControlMessage>(message) {
            Ok(ControlMessage::Transaction(it)) => format!("transaction {}, ", bearer(&it.bearer)),
            Ok(ControlMessage::LeaseRenewal(it)) => {
                format!("lease renewal {}, ", bearer(&it.bearer))
            }
            Ok(ControlMessage::ForecastFeed(it)) => {
                format!("forecasts of {} bearers, ", it.bearers.len())
            }
            Ok(ControlMessage::NodeLease(_)) => "node lease, ".to_owned(),
            Ok(ControlMessage::NodeDefault(_)) => "node default, ".to_owned(),
            Ok(ControlMessage::QosFlowMapping(it)) => {
                format!("QFI {} to {}, ", it.qfi, bearer(&it.bearer))
            }
            Err(error) if error.cause() == Cause::Unsupported => "of a later version, ".to_owned(),
            Err(_) => "not decodable, ".to_owned(),
        }
    } else {
        String::new()
    };
    let digest = Sha256::digest(message);
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{what}sha256 {digest}")
}

/// The client as the owner of a node: by its name in the access file or, where there is none, its
/// certificate.
///
/// # Errors
/// The instance is too long.
// The error is the control's.
#[allow(clippy::result_large_err)]
fn owner(caller: &Caller, instance: &[u8]) -> Result<owners::Client, Status> {
    let name = caller.name().unwrap_or_default();
    owners::Client::new(&name, &caller.address().to_string(), instance)
        .map_err(Status::invalid_argument)
}

fn tell(asked: Option<(Asked, Arc<Mutex<Owners>>, Client)>, answer: Answer<'_>) {
    if let Some((asked, owners, client)) = asked {
        owners.lock().answered(asked, answer, client.now_us());
    }
}

impl Pending {
    async fn answer(mut self) -> Result<ControlReply, Status> {
        let asked = self.asked.take();
        let reply = self.reply().await;
        tell(
            asked,
            match &reply {
                Ok(reply) => Answer::Outcome(&reply.outcome),
                Err(status) if status.code() == Code::NotFound => Answer::NotCarriedOut,
                Err(_) => Answer::Lost,
            },
        );
        reply
    }

    async fn reply(self) -> Result<ControlReply, Status> {
        let Self { node_id, answer, limit, .. } = self;
        let answer = timeout(limit, answer).await.map_err(|_| {
            Status::deadline_exceeded(format!(
                "node {node_id:?} has not answered in {} ms",
                limit.as_millis()
            ))
        })?;
        answer.map_err(|_| stopped())?.map_err(|error| match error {
            ControlFailure::Route(error) => Status::not_found(error.to_string()),
            ControlFailure::NodeLost => {
                Status::unavailable(format!("node {node_id:?} disconnected before it answered"))
            }
        })
    }
}
