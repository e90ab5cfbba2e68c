//! E2SM-TC v1 of the lab for the service model in the agent: subscriptions, reports, controls.
//!
//! FlexRIC's agent has timers alone, so that reports of the world wait in a mailbox per subscription until
//! the agent asks.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use e2sm_tc::v1::{self, EventTrigger, IndicationMessage, ReportItem};
use lab_gateway::{LocalClient, LocalClientError, ReportCallback};
use lab_world::{ControlRequest, Payload, RanFunction, Report, SubscriptionRequest};

use crate::message_log::{MessageLogs, write_parts};

/// The near-RT RIC aborts without an answer within 3 s: answer well before.
const CONTROL_PATIENCE: Duration = Duration::from_secs(1);
/// Reports that wait for the agent. It asks each few milliseconds; one that hangs gets the newest.
const MAX_WAITING: usize = 64;
/// Largest part of the age of a periodic report that waiting for the agent may be.
const ASKS_PER_PERIOD: u32 = 4;
/// Longest time until the agent asks, ms.
const LONGEST_POLL_MS: u32 = 5;

/// A report as two E2AP octet strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// RIC indication header.
    pub header: Bytes,
    /// RIC indication message.
    pub message: Bytes,
}

/// Reports of one subscription that the agent has not asked for yet.
#[derive(Debug, Default)]
struct Mailbox {
    waiting: VecDeque<Message>,
    /// The subscription has ended.
    closed: bool,
}

/// The lab's RAN function in E2SM-TC v1.
#[derive(Debug)]
pub struct TcV1 {
    client: LocalClient,
    node_id: String,
    definition: Bytes,
    mailboxes: Mutex<BTreeMap<u32, Arc<Mutex<Mailbox>>>>,
}

impl TcV1 {
    /// `definition` is the RAN function definition of the node.
    pub fn new(client: LocalClient, node_id: &str, definition: Bytes) -> Self {
        Self { client, node_id: node_id.to_owned(), definition, mailboxes: Mutex::default() }
    }

    /// RAN function definition.
    pub fn definition(&self) -> &[u8] {
        &self.definition
    }

    /// Begins a subscription of the RIC; returns each how many milliseconds to ask for reports.
    ///
    /// # Errors
    /// When the RAN function refuses it.
    pub fn subscribe(
        &self,
        request: u32,
        event_trigger: Bytes,
        action_definition: Bytes,
    ) -> Result<u32, LocalClientError> {
        let poll_ms = poll_ms(&event_trigger);
        let mailbox = Arc::new(Mutex::new(Mailbox::default()));
        let own = Arc::clone(&mailbox);
        let callback: ReportCallback = Box::new(move |report: &Report| deliver(&own, report));
        self.client.subscribe(
            SubscriptionRequest {
                node_id: self.node_id.clone(),
                ran_function_oid: RanFunction::TcV1.oid().to_owned(),
                event_trigger,
                action_definitions: vec![action_definition],
                ..SubscriptionRequest::default()
            },
            callback,
        )?;
        lock(&self.mailboxes).insert(request, mailbox);
        Ok(poll_ms)
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, request: u32) {
        if let Some(mailbox) = lock(&self.mailboxes).remove(&request) {
            *lock(&mailbox) = Mailbox { closed: true, ..Mailbox::default() };
        }
    }

    /// The oldest report of a subscription that was not taken yet. One whose message is longer than
    /// `capacity` bytes is divided, and its parts are taken one by one.
    pub fn report(
        &self,
        request: u32,
        capacity: usize,
        logs: &Mutex<MessageLogs>,
    ) -> Option<Message> {
        let mailbox = Arc::clone(lock(&self.mailboxes).get(&request)?);
        loop {
            let report = lock(&mailbox).waiting.pop_front()?;
            if report.message.len() <= capacity {
                let parts: [&[u8]; 2] = [&report.header, &report.message];
                write_parts(&mut lock(logs).reports, "report", &parts);
                return Some(report);
            }
            let parts = parts(&report.message, capacity);
            if parts.is_empty() {
                let bytes = report.message.len();
                tracing::warn!(bytes, expected = capacity, "a report is too large for E2");
            }
            let mut mailbox = lock(&mailbox);
            for message in parts.into_iter().rev() {
                let header = report.header.clone();
                mailbox.waiting.push_front(Message { header, message });
            }
        }
    }

    /// Carries out a control before it returns its outcome; `None` without one in time.
    pub fn control(
        &self,
        header: &[u8],
        message: &[u8],
        logs: &Mutex<MessageLogs>,
    ) -> Option<Bytes> {
        write_parts(&mut lock(logs).controls, "control", &[header, message]);
        let request = ControlRequest {
            node_id: self.node_id.clone(),
            ran_function_oid: RanFunction::TcV1.oid().to_owned(),
            header: Bytes::copy_from_slice(header),
            message: Bytes::copy_from_slice(message),
        };
        match self.client.control(request, CONTROL_PATIENCE) {
            Ok(reply) => Some(reply.outcome),
            Err(error) => {
                tracing::warn!(%error, "a control has no outcome");
                None
            }
        }
    }
}

fn deliver(mailbox: &Mutex<Mailbox>, report: &Report) -> ControlFlow<()> {
    let mut mailbox = lock(mailbox);
    if mailbox.closed {
        return ControlFlow::Break(());
    }
    if let Payload::Message(message) = &report.payload {
        if mailbox.waiting.len() == MAX_WAITING {
            mailbox.waiting.pop_front();
        }
        let (header, message) = (report.header.clone(), message.clone());
        mailbox.waiting.push_back(Message { header, message });
    }
    ControlFlow::Continue(())
}

/// The message of a report as several of at most `capacity` bytes, in order.
fn parts(message: &[u8], capacity: usize) -> Vec<Bytes> {
    match v1::decode(message) {
        Ok(IndicationMessage::PipelineStatus(items)) => divided(&items, capacity),
        Ok(IndicationMessage::FlowInventory(items)) => divided(&items, capacity),
        Ok(IndicationMessage::Events(items)) => divided(&items, capacity),
        Err(_) => Vec::new(),
    }
}

fn divided<T: ReportItem>(mut items: &[T], capacity: usize) -> Vec<Bytes> {
    let mut parts = Vec::new();
    while let Ok(Some((message, number))) = v1::encode_first(items, capacity) {
        parts.push(Bytes::from(message));
        items = &items[number..];
        if items.is_empty() {
            break;
        }
    }
    parts
}

/// Other triggers than a period are asked for each millisecond: their reports are urgent.
fn poll_ms(event_trigger: &[u8]) -> u32 {
    match v1::decode(event_trigger) {
        Ok(EventTrigger::Periodic { period_ms }) => {
            (period_ms / ASKS_PER_PERIOD).clamp(1, LONGEST_POLL_MS)
        }
        _ => 1,
    }
}

/// A poisoned lock is usable: each value is written as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
