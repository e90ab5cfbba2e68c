"""Conversion between the gateway's Protobuf messages and the SDK's types."""

from __future__ import annotations

from typing import Final

from sojourn_interfaces import e2_gateway_pb2 as pb

from ric.e2 import (
    ControlAnswer,
    Indication,
    KpmReport,
    KpmUe,
    Node,
    NodeEvent,
    NodeEventKind,
    NodeType,
    RanFunction,
    Reading,
    SNssai,
    SubscriptionRequest,
)

_NODE_TYPES: Final = {
    pb.Node.TYPE_UNSPECIFIED: NodeType.UNKNOWN,
    pb.Node.GNB: NodeType.GNB,
    pb.Node.GNB_CU: NodeType.GNB_CU,
    pb.Node.GNB_DU: NodeType.GNB_DU,
    pb.Node.ENB: NodeType.ENB,
    pb.Node.GNB_CU_CP: NodeType.GNB_CU_CP,
    pb.Node.GNB_CU_UP: NodeType.GNB_CU_UP,
}
_NODE_TYPES_TO_PB: Final = {ours: theirs for theirs, ours in _NODE_TYPES.items()}

_READINGS: Final = {
    pb.Subscription.HISTORY: Reading.HISTORY,
    pb.Subscription.NEWEST: Reading.NEWEST,
}
_READINGS_TO_PB: Final = {ours: theirs for theirs, ours in _READINGS.items()}

_EVENT_KINDS: Final = {
    pb.NodeEvent.CONNECTED: NodeEventKind.CONNECTED,
    pb.NodeEvent.DISCONNECTED: NodeEventKind.DISCONNECTED,
    pb.NodeEvent.UPDATED: NodeEventKind.UPDATED,
}
_EVENT_KINDS_TO_PB: Final = {ours: theirs for theirs, ours in _EVENT_KINDS.items()}


def node_from_pb(node: pb.Node) -> Node:
    """A node; `UNKNOWN` for a node type that this version lacks."""
    return Node(
        id=node.id,
        type=_NODE_TYPES.get(node.type, NodeType.UNKNOWN),
        mcc=node.mcc,
        mnc=node.mnc,
        nb_id=node.nb_id,
        ran_functions=tuple(
            RanFunction(f.id, f.oid, f.revision, f.definition, f.announced_oid)
            for f in node.ran_functions
        ),
        base_station_id=node.base_station_id,
        part_id=node.part_id if node.HasField("part_id") else None,
    )


def node_to_pb(node: Node) -> pb.Node:
    """The inverse of `node_from_pb`."""
    return pb.Node(
        id=node.id,
        type=_NODE_TYPES_TO_PB[node.type],
        mcc=node.mcc,
        mnc=node.mnc,
        nb_id=node.nb_id,
        ran_functions=[
            pb.RanFunction(
                id=f.id,
                oid=f.oid,
                revision=f.revision,
                definition=f.definition,
                announced_oid=f.announced_oid,
            )
            for f in node.ran_functions
        ],
        base_station_id=node.base_station_id,
        part_id=node.part_id,
    )


def event_from_pb(event: pb.NodeEvent) -> NodeEvent | None:
    """A node event; `None` for a kind that this version lacks."""
    kind = _EVENT_KINDS.get(event.kind)
    return NodeEvent(kind, node_from_pb(event.node)) if kind is not None else None


def event_to_pb(event: NodeEvent) -> pb.NodeEvent:
    """The inverse of `event_from_pb`."""
    return pb.NodeEvent(kind=_EVENT_KINDS_TO_PB[event.kind], node=node_to_pb(event.node))


def subscription_to_pb(request: SubscriptionRequest) -> pb.Subscription:
    """The request of a RIC subscription."""
    kpm_slice = request.kpm_slice
    return pb.Subscription(
        node_id=request.node_id,
        ran_function_oid=request.oid,
        event_trigger=request.event_trigger,
        action_definitions=request.actions,
        kpm_measurements=request.kpm_measurements,
        queue_depth=request.queue_depth,
        kpm_slice=None if kpm_slice is None else pb.SNssai(sst=kpm_slice.sst, sd=kpm_slice.sd),
        reading=_READINGS_TO_PB[request.reading],
    )


def subscription_from_pb(request: pb.Subscription) -> SubscriptionRequest:
    """The inverse of `subscription_to_pb`."""
    kpm_slice = request.kpm_slice
    sd = kpm_slice.sd if kpm_slice.HasField("sd") else None
    return SubscriptionRequest(
        node_id=request.node_id,
        oid=request.ran_function_oid,
        event_trigger=request.event_trigger,
        actions=tuple(request.action_definitions),
        kpm_measurements=tuple(request.kpm_measurements),
        queue_depth=request.queue_depth,
        kpm_slice=SNssai(kpm_slice.sst, sd) if request.HasField("kpm_slice") else None,
        reading=_READINGS.get(request.reading, Reading.HISTORY),
    )


def indication_from_pb(message: pb.Indication) -> Indication:
    """One indication; `oid` is "" if the gateway does not set it."""
    return Indication(
        message.node_id,
        message.ran_function_id,
        message.ran_function_oid,
        message.sequence,
        message.header,
        message.message,
        kpm_from_pb(message.kpm) if message.HasField("kpm") else None,
        message.collected_at_us,
        message.received_at_us,
        0,
        message.dropped,
        message.coalesced,
    )


def indication_to_pb(indication: Indication) -> pb.Indication:
    """The inverse of `indication_from_pb`."""
    message = pb.Indication(
        node_id=indication.node_id,
        ran_function_id=indication.ran_function_id,
        ran_function_oid=indication.oid,
        sequence=indication.sequence,
        header=indication.header,
        collected_at_us=indication.collected_at_us,
        received_at_us=indication.received_at_us,
        dropped=indication.dropped,
        coalesced=indication.coalesced,
    )
    if indication.kpm is not None:
        message.kpm.CopyFrom(kpm_to_pb(indication.kpm))
    else:
        message.message = indication.message
    return message


def kpm_from_pb(report: pb.KpmReport) -> KpmReport:
    """One KPM report."""
    return KpmReport(
        report.period_ms,
        tuple(map(_kpm_ue_from_pb, report.ues)),
        tuple(report.unsupported),
        dict(report.units),
    )


_UE_IDS: Final = ("amf_ue_ngap_id", "gnb_cu_ue_f1ap_id", "gnb_cu_cp_ue_e1ap_id", "ran_ue_id")


def _kpm_ue_from_pb(ue: pb.KpmUe) -> KpmUe:
    known = {name: getattr(ue, name) for name in _UE_IDS if ue.HasField(name)}
    return KpmUe(ue.rnti, dict(ue.values), **known)


def kpm_to_pb(report: KpmReport) -> pb.KpmReport:
    """The inverse of `kpm_from_pb`."""
    return pb.KpmReport(
        period_ms=report.period_ms,
        ues=[
            pb.KpmUe(
                rnti=ue.rnti,
                values=ue.values,
                amf_ue_ngap_id=ue.amf_ue_ngap_id,
                gnb_cu_ue_f1ap_id=ue.gnb_cu_ue_f1ap_id,
                gnb_cu_cp_ue_e1ap_id=ue.gnb_cu_cp_ue_e1ap_id,
                ran_ue_id=ue.ran_ue_id,
            )
            for ue in report.ues
        ],
        unsupported=report.unsupported,
        units=report.units,
    )


def answer_from_pb(answer: pb.ControlAnswer) -> ControlAnswer | None:
    """The answer to a control; `None` for a status that this version lacks."""
    if answer.status not in (pb.ControlAnswer.ACKNOWLEDGED, pb.ControlAnswer.FAILED):
        return None
    acknowledged = answer.status == pb.ControlAnswer.ACKNOWLEDGED
    return ControlAnswer(acknowledged, answer.outcome, answer.detail)


def answer_to_pb(answer: ControlAnswer) -> pb.ControlAnswer:
    """The inverse of `answer_from_pb`."""
    status = pb.ControlAnswer.ACKNOWLEDGED if answer.acknowledged else pb.ControlAnswer.FAILED
    return pb.ControlAnswer(status=status, outcome=answer.outcome, detail=answer.detail)
