//! An owner's name is of use to the client alone that holds the node under it.

use bytes::Bytes;
use e2sm_tc::v1::{
    self, BearerId, Cause, ControlHeader, ControlMessage, ControlOutcome, LeaseRenewal, NodeLease,
    PipelineChange, Transaction, UeId,
};
use lab_world::RanFunction;
use tonic::Code;

use super::{harness::*, lab_world::lab_with, pki::*};
use crate::{
    Gateway, ServeOptions,
    proto::{
        ControlAnswer, ControlRequest, ListNodesRequest, control_answer::Status,
        e2_gateway_client::E2GatewayClient,
    },
};

const BEARER: BearerId = BearerId { ue: UeId::Rnti(17921), drb: 1 };

fn lease(owner: &str, lease_ms: Option<u32>) -> ControlMessage {
    ControlMessage::NodeLease(NodeLease { owner: owner.to_owned(), lease_ms })
}

fn transaction(owner: &str) -> ControlMessage {
    ControlMessage::Transaction(Transaction {
        bearer: BEARER,
        expected_revision: None,
        lease_ms: None,
        owner: Some(owner.to_owned()),
        as_safe: false,
        dry_run: false,
        change: PipelineChange::Replace(tc_rf::templates::by_name("fq_codel").expect("a template")),
    })
}

fn renewal(owner: &str) -> ControlMessage {
    let owner = Some(owner.to_owned());
    ControlMessage::LeaseRenewal(LeaseRenewal { bearer: BEARER, revision: 1, lease_ms: 9, owner })
}

/// A client of the gateway's only node.
struct Controller {
    client: Client,
    node_id: String,
    instance: &'static [u8],
}

impl Controller {
    async fn new(mut client: Client, instance: &'static [u8]) -> Self {
        let nodes = client.list_nodes(ListNodesRequest {}).await.expect("nodes");
        let node_id = nodes.into_inner().nodes.remove(0).id;
        Self { client, node_id, instance }
    }

    async fn send(&mut self, message: &ControlMessage) -> ControlAnswer {
        let header = ControlHeader { style: message.style(), correlation_id: 0 };
        let request = ControlRequest {
            node_id: self.node_id.clone(),
            ran_function_oid: RanFunction::TcV1.oid().to_owned(),
            header: v1::encode(&header).expect("a header").into(),
            message: v1::encode(message).expect("a message").into(),
            instance: Bytes::from_static(self.instance),
            ..ControlRequest::default()
        };
        send_control(&mut self.client, request).await.expect("an answer")
    }

    async fn is_accepted(&mut self, message: &ControlMessage) -> bool {
        self.send(message).await.status() == Status::Acknowledged
    }

    /// The holder that a refusal names.
    async fn refused_for(&mut self, message: &ControlMessage) -> String {
        let answer = self.send(message).await;
        assert_eq!(answer.status(), Status::Failed, "{message:?}");
        let Ok(ControlOutcome::Refused { cause: Cause::NotOwner, holder, .. }) =
            v1::decode(&answer.outcome)
        else {
            panic!("not refused for the owner: {answer:?}");
        };
        holder.expect("the holder").owner
    }
}

async fn named(gateway: &Gateway, authority: &Authority, name: &str) -> Client {
    let pair = authority.client(name);
    let channel = dial(gateway, tls_client(authority, Some(&pair))).await.expect("a handshake");
    E2GatewayClient::new(channel)
}

async fn protected(files: &Files, authority: &Authority) -> Gateway {
    let options: ServeOptions = files.mutual_tls(authority);
    lab_with(&[], &options).await
}

#[tokio::test]
async fn a_client_that_was_refused_cannot_write_the_owners_name() {
    let (files, authority) = (Files::new(), Authority::new());
    let gateway = protected(&files, &authority).await;
    let client = named(&gateway, &authority, "controller").await;
    let mut owner = Controller::new(client, b"one start").await;
    assert!(owner.is_accepted(&lease("a", Some(60_000))).await);
    assert!(owner.is_accepted(&transaction("a")).await);
    for (name, instance) in [
        ("intruder", b"one start".as_slice()),
        ("controller", b"another start"),
        ("controller", b""),
    ] {
        let client = named(&gateway, &authority, name).await;
        let mut other = Controller::new(client, instance).await;
        assert_eq!(other.refused_for(&transaction("b")).await, "a");
        for message in [transaction("a"), renewal("a"), lease("a", Some(60_000)), lease("a", None)]
        {
            assert_eq!(other.refused_for(&message).await, "a", "{name}");
        }
    }
    // The same start over another connection.
    let client = named(&gateway, &authority, "controller").await;
    let mut returned = Controller::new(client, b"one start").await;
    assert!(returned.is_accepted(&transaction("a")).await);
    assert!(returned.is_accepted(&lease("a", None)).await);
    let client = named(&gateway, &authority, "intruder").await;
    let mut next = Controller::new(client, b"its own").await;
    assert!(next.is_accepted(&lease("a", Some(60_000))).await, "the node was given up");
    assert_eq!(returned.refused_for(&transaction("a")).await, "a");
}

#[tokio::test]
async fn without_certificate_and_instance_a_client_is_its_connection() {
    let gateway = lab_with(&[], &options()).await;
    let mut owner = Controller::new(connect(&gateway).await, b"").await;
    assert!(owner.is_accepted(&lease("a", Some(60_000))).await);
    assert!(owner.is_accepted(&transaction("a")).await);
    let mut other = Controller::new(connect(&gateway).await, b"").await;
    assert_eq!(other.refused_for(&transaction("a")).await, "a");
    let too_long =
        ControlRequest { instance: Bytes::from_static(&[0; 65]), ..control(super::double::ACCEPT) };
    let status = send_control(&mut connect(&gateway).await, too_long).await.expect_err("refused");
    assert_code(&status, Code::InvalidArgument, &["instance: 65 bytes, expected at most 64"]);
}
