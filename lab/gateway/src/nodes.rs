//! Node table and the streams that watch it.
//!
//! A watcher compares the previous table with the present one: a slow watcher skips intermediate states
//! and has no backlog. A node that its client may no longer read is reported as disconnected.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt};
use lab_world::NodeInfo;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tonic::Status;

use serving::access::{AccessChanges, Caller, Right};

use super::{
    node::NodeState,
    proto::{self, NodeEvent, node_event::Kind},
};

/// Nodes connected now.
pub(super) type NodeTable = Arc<Vec<NodeState>>;

/// Stream of a `WatchNodes` call.
pub(super) struct NodeWatch {
    tables: Option<WatchStream<NodeTable>>,
    table: watch::Receiver<NodeTable>,
    caller: Caller,
    access_changes: AccessChanges,
    seen: BTreeMap<String, NodeState>,
    pending: VecDeque<NodeEvent>,
}

impl NodeWatch {
    /// Starts with the present table as `CONNECTED` events.
    pub(super) fn new(table: watch::Receiver<NodeTable>, caller: Caller) -> Self {
        Self {
            tables: Some(WatchStream::new(table.clone())),
            table,
            access_changes: caller.access_changes(),
            caller,
            seen: BTreeMap::new(),
            pending: VecDeque::new(),
        }
    }

    fn compare(&mut self, table: &[NodeState]) {
        let is_visible = |id: &str| self.caller.may(Right::Read, Some(id));
        let table: Vec<_> = table.iter().filter(|state| is_visible(&state.node.id)).collect();
        let gone: Vec<String> = self
            .seen
            .values()
            .filter(|old| {
                !table
                    .iter()
                    .any(|new| new.node.id == old.node.id && new.generation == old.generation)
            })
            .map(|old| old.node.id.clone())
            .collect();
        for id in gone {
            if let Some(old) = self.seen.remove(&id) {
                self.pending.push_back(event(Kind::Disconnected, &old));
            }
        }
        for new in table {
            let kind = match self.seen.get(&new.node.id) {
                None => Kind::Connected,
                Some(old) if old != new => Kind::Updated,
                Some(_) => continue,
            };
            self.seen.insert(new.node.id.clone(), new.clone());
            self.pending.push_back(event(kind, new));
        }
    }
}

fn event(kind: Kind, state: &NodeState) -> NodeEvent {
    NodeEvent { kind: kind.into(), node: Some(to_proto(&state.node)) }
}

/// A node as gRPC message.
pub(super) fn to_proto(node: &NodeInfo) -> proto::Node {
    proto::Node {
        id: node.id.clone(),
        r#type: proto::node::Type::Gnb.into(),
        mcc: node.mcc,
        mnc: node.mnc,
        nb_id: node.nb_id,
        ran_functions: node
            .ran_functions
            .iter()
            .map(|info| proto::RanFunction {
                id: info.function.id(),
                oid: info.function.oid().to_owned(),
                revision: info.function.revision(),
                definition: info.definition.clone(),
                announced_oid: String::new(),
            })
            .collect(),
        base_station_id: node.id.clone(),
        part_id: None,
    }
}

impl Stream for NodeWatch {
    type Item = Result<NodeEvent, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(tables) = self.tables.as_mut() else {
                return Poll::Ready(None);
            };
            match Pin::new(tables).poll_next(context) {
                Poll::Ready(Some(table)) => self.compare(&table),
                Poll::Ready(None) => {
                    self.tables = None;
                    return Poll::Ready(Some(Err(Status::unavailable("the gateway stopped"))));
                }
                Poll::Pending => match self.access_changes.poll_next_unpin(context) {
                    Poll::Ready(Some(())) => {
                        let table = Arc::clone(&self.table.borrow());
                        self.compare(&table);
                    }
                    _ => return Poll::Pending,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::local_caller;

    fn state(id: &str, generation: u64, nb_id: u64) -> NodeState {
        NodeState { node: NodeInfo { id: id.to_owned(), nb_id, ..NodeInfo::default() }, generation }
    }

    async fn next(watch: &mut NodeWatch) -> (Kind, String) {
        let event = watch.next().await.expect("an event").expect("no error");
        (event.kind(), event.node.expect("a node").id)
    }

    #[tokio::test]
    async fn a_quick_reconnection_is_reported_as_disconnected_and_connected() {
        let (tables, receiver) = watch::channel(Arc::new(vec![state("a", 0, 1), state("b", 0, 2)]));
        let mut watch = NodeWatch::new(receiver, local_caller());
        assert_eq!(next(&mut watch).await, (Kind::Connected, "a".to_owned()));
        assert_eq!(next(&mut watch).await, (Kind::Connected, "b".to_owned()));
        tables.send_replace(Arc::new(vec![state("a", 1, 1), state("b", 0, 3)]));
        assert_eq!(next(&mut watch).await, (Kind::Disconnected, "a".to_owned()));
        assert_eq!(next(&mut watch).await, (Kind::Connected, "a".to_owned()));
        assert_eq!(next(&mut watch).await, (Kind::Updated, "b".to_owned()));
        drop(tables);
        let status = watch.next().await.expect("an end").expect_err("unavailable");
        assert_eq!(status.code(), tonic::Code::Unavailable);
        assert!(watch.next().await.is_none());
    }
}
