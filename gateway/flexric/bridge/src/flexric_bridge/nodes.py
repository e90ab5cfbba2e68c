"""The nodes as the bridge knows them, and those who watch them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

import structlog
from ric.sm import KPM_OID, MAC_OID, RLC_OID, TC_V0_OID, TC_V1_OID, kpm
from sojourn_interfaces import e2_gateway_pb2 as pb

from flexric_bridge.kpm_units import KpmUnits
from flexric_bridge.sdk import E2Node, RanFunction
from flexric_bridge.ue_identities import Rntis, UeIdentities
from flexric_bridge.v1_reports import announces_v1

_log = structlog.get_logger()

_TYPES: Final = {
    "gnb": pb.Node.GNB,
    "gnb-cu": pb.Node.GNB_CU,
    "gnb-du": pb.Node.GNB_DU,
    "enb": pb.Node.ENB,
    "gnb-cucp": pb.Node.GNB_CU_CP,
    "gnb-cuup": pb.Node.GNB_CU_UP,
}
_OID_OF_ID: Final = {2: KPM_OID, 142: MAC_OID, 143: RLC_OID, 146: TC_V0_OID, 147: TC_V1_OID}
"""FlexRIC's ids of the RAN functions the SDK can report, for nodes that announce no OID."""
REPORTED: Final = (RLC_OID, MAC_OID, KPM_OID, TC_V0_OID)
"""RAN functions of which the SDK has reports."""


def oid_of(function: RanFunction) -> str:
    """The OID of a RAN function towards xApps."""
    version = kpm.version_of(function.oid)
    if version is not None and version >= kpm.OLDEST:
        return KPM_OID
    return function.oid or _OID_OF_ID.get(function.id, "")


def unsupported(function: RanFunction) -> str:
    """Why a RAN function is not offered, in a sentence; "" where it is or where nothing is known of
    it."""
    version = kpm.version_of(function.oid)
    if version is not None and version < kpm.OLDEST:
        return f"E2SM-KPM version {version}; expected {kpm.OLDEST} or later, which report UEs"
    return ""


def base_station_of(node: E2Node) -> str:
    """Id of the base station that a node is a part of: as that of a node in one piece."""
    station = node.type.removesuffix("-cucp").removesuffix("-cuup")
    station = station.removesuffix("-cu").removesuffix("-du")
    return f"{station}-{node.mcc:03}-{node.mnc:0{node.mnc_digits}}-{node.nb_id:#x}"


class KnownNode:
    """One node; `present` while it is connected as far as is known."""

    def __init__(
        self,
        node: E2Node,
        tc_definition: bytes | None,
        kpm_units: Callable[[str], Mapping[str, str]],
        identities: UeIdentities,
    ) -> None:
        """`identities`: of the UEs of the gNB that it is a part of."""
        self.present = True
        self.identities = identities
        self.rntis = Rntis()
        self.no_tc = ""
        """Why its TC function is not used, though it announces one."""
        self._kpm_units = kpm_units
        self.update(node, tc_definition)
        self.forget_units()

    def forget_units(self) -> None:
        """Find the units of its KPM measurements anew: a node that reconnects may run another
        version."""
        self.units = KpmUnits(self.id, self.functions, self._kpm_units(self.id))

    def update(self, node: E2Node, tc_definition: bytes | None) -> bool:
        """Update from a new session; returns whether anything changed.

        With `tc_definition` a node with E2SM-TC v0 alone is listed with v1 as well.
        """
        announced = [
            function
            for function in node.functions
            if oid_of(function) != TC_V1_OID or announces_v1(function.definition)
        ]
        for function in announced:
            if why := unsupported(function):
                _log.warning("RAN function not used", node=node.id, why=why)
        functions = [
            pb.RanFunction(
                id=function.id,
                oid=oid_of(function),
                revision=function.revision,
                definition=function.definition,
                announced_oid=function.oid if function.oid != oid_of(function) else "",
            )
            for function in announced
        ]
        self.functions = {oid_of(function): function for function in announced}
        tc = None if self.has_v1 else self.functions.get(TC_V0_OID)
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
            base_station_id=base_station_of(node),
            part_id=node.cu_du_id,
        )
        changed = getattr(self, "message", None) != message
        self.node, self.message = node, message
        return changed

    @property
    def id(self) -> str:
        """Its id, as in the gateway's messages."""
        return self.node.id

    @property
    def is_flexrics(self) -> bool:
        """Whether its agent is FlexRIC's, by the service models that no other has."""
        return RLC_OID in self.functions or MAC_OID in self.functions

    @property
    def has_v1(self) -> bool:
        """Whether its TC function itself speaks E2SM-TC v1."""
        return TC_V1_OID in self.functions

    @property
    def setup_bytes(self) -> int:
        """Approximate size in the RIC's list of nodes."""
        return 64 + sum(24 + len(f.oid) + len(f.definition) for f in self.node.functions)


class NodeRegistry:
    """All nodes, and those who watch them connect and disconnect."""

    def __init__(
        self,
        tc_definition: bytes | None,
        kpm_units: Callable[[str], Mapping[str, str]] = lambda _node_id: {},
    ) -> None:
        """`kpm_units`: the units that the settings state for a node id, by measurement."""
        self._tc_definition = tc_definition
        self._kpm_units = kpm_units
        self._identities: defaultdict[str, UeIdentities] = defaultdict(UeIdentities)
        """Identities of UEs by base station."""
        self.known: dict[str, KnownNode] = {}
        self.on_disconnected: Callable[[str], None] = lambda _node_id: None
        """Called with the id of each node that disconnects."""
        self._watchers: set[asyncio.Queue[pb.NodeEvent]] = set()

    def present(self, node_id: str) -> KnownNode | None:
        """The node, if it is connected."""
        known = self.known.get(node_id)
        return known if known is not None and known.present else None

    def messages(self) -> list[pb.Node]:
        """The nodes that are connected."""
        return [known.message for known in self.known.values() if known.present]

    def connected(self, node: E2Node) -> KnownNode:
        """A node is connected, for the first time or still."""
        known = self.known.get(node.id)
        if known is None:
            identities = self._identities[base_station_of(node)]
            known = KnownNode(node, self._tc_definition, self._kpm_units, identities)
            self.known[node.id] = known
            self._publish(pb.NodeEvent.CONNECTED, known)
            return known
        if not known.present:
            known.no_tc = ""  # it may run another version
        changed = known.update(node, self._tc_definition)
        if changed or not known.present:
            known.forget_units()
        if not known.present:
            known.present = True
            self._publish(pb.NodeEvent.CONNECTED, known)
        elif changed:
            self._publish(pb.NodeEvent.UPDATED, known)
        return known

    def without_tc(self, known: KnownNode, why: str) -> None:
        """A node's TC function does not work: v1 is withdrawn until the node reconnects."""
        known.no_tc = why
        _log.warning("TC not used", node=known.id, why=why)
        if known.update(known.node, self._tc_definition) and known.present:
            self._publish(pb.NodeEvent.UPDATED, known)

    def disconnected(self, known: KnownNode, why: str) -> None:
        """A node is no longer connected."""
        if known.present:
            known.present = False
            known.rntis = Rntis()
            known.identities.forget(known.id)
            _log.warning("node disconnected", node=known.id, why=why)
            self._publish(pb.NodeEvent.DISCONNECTED, known)
            self.on_disconnected(known.id)

    def watch(self) -> asyncio.Queue[pb.NodeEvent]:
        """A queue with the connected nodes, and then each change; end with `leave`."""
        queue: asyncio.Queue[pb.NodeEvent] = asyncio.Queue()
        for message in self.messages():
            queue.put_nowait(pb.NodeEvent(kind=pb.NodeEvent.CONNECTED, node=message))
        self._watchers.add(queue)
        return queue

    def leave(self, queue: asyncio.Queue[pb.NodeEvent]) -> None:
        """The inverse of `watch`."""
        self._watchers.discard(queue)

    def _publish(self, kind: pb.NodeEvent.Kind, known: KnownNode) -> None:
        if kind != pb.NodeEvent.DISCONNECTED:
            name = pb.NodeEvent.Kind.Name(kind).lower()
            _log.info("node " + name, node=known.id, ran_functions=sorted(known.functions))
        event = pb.NodeEvent(kind=kind, node=known.message)
        for queue in self._watchers:
            queue.put_nowait(event)
