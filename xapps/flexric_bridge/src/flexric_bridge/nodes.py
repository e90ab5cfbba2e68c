"""The nodes as the bridge knows them, and who watches them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.kpm_units import KpmUnits
from flexric_bridge.sdk import E2Node, RanFunction

_log = structlog.get_logger()

_TYPES: Final = {
    "gnb": pb.Node.GNB,
    "gnb-cu": pb.Node.GNB_CU,
    "gnb-du": pb.Node.GNB_DU,
    "enb": pb.Node.ENB,
}
_OID_OF_ID: Final = {2: KPM_OID, 142: MAC_OID, 143: RLC_OID, 146: TC_V0_OID}
"""FlexRIC's ids of the RAN functions the SDK can report, for nodes that announce no OID."""
REPORTED: Final = (RLC_OID, MAC_OID, KPM_OID, TC_V0_OID)
"""What the SDK has reports of."""


def oid_of(function: RanFunction) -> str:
    """The OID of a RAN function."""
    return function.oid or _OID_OF_ID.get(function.id, "")


class KnownNode:
    """One node; `present` while it is connected as far as can be told."""

    def __init__(self, node: E2Node, tc_definition: bytes | None) -> None:
        self.present = True
        self.no_tc = ""
        """Why its TC function is not used, though it announces one."""
        self.units = KpmUnits(node.id)
        """In which its KPM is; a node that comes back may be another version of itself."""
        self.update(node, tc_definition)

    def update(self, node: E2Node, tc_definition: bytes | None) -> bool:
        """Take over what a new session says; whether anything changed.

        With `tc_definition` a node with E2SM-TC v0 is offered with v1 as well.
        """
        functions = [
            pb.RanFunction(
                id=function.id,
                oid=oid_of(function),
                revision=function.revision,
                definition=function.definition,
            )
            for function in node.functions
        ]
        self.functions = {oid_of(function): function for function in node.functions}
        tc = self.functions.get(TC_V0_OID)
        if tc is not None and tc_definition is not None and not self.no_tc:
            functions.append(
                pb.RanFunction(id=tc.id, oid=TC_V1_OID, revision=1, definition=tc_definition)
            )
        message = pb.Node(
            id=node.id,
            type=_TYPES.get(node.type, pb.Node.TYPE_UNSPECIFIED),
            mcc=node.mcc,
            mnc=node.mnc,
            nb_id=node.nb_id,
            ran_functions=functions,
        )
        changed = getattr(self, "message", None) != message
        self.node, self.message = node, message
        return changed

    @property
    def id(self) -> str:
        """Of the node."""
        return self.node.id

    @property
    def setup_bytes(self) -> int:
        """About what the node takes in the RIC's list of nodes."""
        return 64 + sum(24 + len(f.oid) + len(f.definition) for f in self.node.functions)


class NodeBook:
    """All nodes, and the watchers of their coming and going."""

    def __init__(self, tc_definition: bytes | None) -> None:
        self._tc_definition = tc_definition
        self.known: dict[str, KnownNode] = {}
        self.on_went: Callable[[str], None] = lambda _node_id: None
        """Told the id of each node that goes."""
        self._watchers: set[asyncio.Queue[pb.NodeEvent]] = set()

    def present(self, node_id: str) -> KnownNode | None:
        """The node, if it is there."""
        known = self.known.get(node_id)
        return known if known is not None and known.present else None

    def messages(self) -> list[pb.Node]:
        """The nodes that are there."""
        return [known.message for known in self.known.values() if known.present]

    def came(self, node: E2Node) -> KnownNode:
        """A node is there."""
        known = self.known.get(node.id)
        if known is None:
            known = self.known[node.id] = KnownNode(node, self._tc_definition)
            self._tell(pb.NodeEvent.CONNECTED, known)
            return known
        if not known.present:
            known.no_tc = ""  # it may be another version of itself
        changed = known.update(node, self._tc_definition)
        if changed or not known.present:
            known.units = KpmUnits(known.id)
        if not known.present:
            known.present = True
            self._tell(pb.NodeEvent.CONNECTED, known)
        elif changed:
            self._tell(pb.NodeEvent.UPDATED, known)
        return known

    def without_tc(self, known: KnownNode, why: str) -> None:
        """A node's TC function is none: v1 is withdrawn until the node comes anew."""
        known.no_tc = why
        _log.warning("TC not used", node=known.id, why=why)
        if known.update(known.node, self._tc_definition) and known.present:
            self._tell(pb.NodeEvent.UPDATED, known)

    def went(self, known: KnownNode, why: str) -> None:
        """A node is gone."""
        if known.present:
            known.present = False
            _log.warning("node gone", node=known.id, why=why)
            self._tell(pb.NodeEvent.DISCONNECTED, known)
            self.on_went(known.id)

    def watch(self) -> asyncio.Queue[pb.NodeEvent]:
        """A queue with the nodes that are there, and then each change; to be given to `leave`."""
        queue: asyncio.Queue[pb.NodeEvent] = asyncio.Queue()
        for message in self.messages():
            queue.put_nowait(pb.NodeEvent(kind=pb.NodeEvent.CONNECTED, node=message))
        self._watchers.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[pb.NodeEvent]) -> None:
        """Not interested any more."""
        self._watchers.discard(queue)

    def _tell(self, kind: pb.NodeEvent.Kind, known: KnownNode) -> None:
        if kind != pb.NodeEvent.DISCONNECTED:
            name = pb.NodeEvent.Kind.Name(kind).lower()
            _log.info("node " + name, node=known.id, ran_functions=sorted(known.functions))
        event = pb.NodeEvent(kind=kind, node=known.message)
        for queue in self._watchers:
            queue.put_nowait(event)
