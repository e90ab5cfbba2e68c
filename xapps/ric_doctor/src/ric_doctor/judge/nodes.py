"""Which E2 nodes are connected."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from ric.e2 import Node, NodeType

from ric_doctor.facts import Nodes
from ric_doctor.finding import Check, Finding
from ric_doctor.text import names

_CHECK = "nodes"


def judge(nodes: Nodes, passed_over: tuple[str, ...] = ()) -> list[Finding]:
    """No nodes, duplicates, unknown types, and differences of node list and node watch."""
    if not nodes.listed:
        return [_none(), *_watch(nodes)]
    if nodes.only is not None and nodes.only not in [node.id for node in nodes.listed]:
        return [_not_that(nodes.only, nodes.listed)]
    types = Counter(node.type.value for node in nodes.listed)
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(types.items()))
    findings = [Check(_CHECK, "").ok(f"{len(nodes.listed)} connected: {counted}")]
    findings += _same_id(nodes.listed)
    findings += _same_node(nodes.listed)
    findings += _unknown_type(nodes.listed)
    findings += _watch(nodes)
    if passed_over:
        findings.append(
            Check(_CHECK, "").note(
                f"not examined, to bound the time: {names(passed_over)}",
                "",
                "Name one with --node, or raise --nodes.",
            )
        )
    return findings


def _none() -> Finding:
    return Check(_CHECK, "").fail(
        "the gateway has no E2 node",
        "Without a node there are no reports and no controls.",
        "Start the gNB's E2 agent and point it at the RIC's address; behind FlexRIC, check"
        " that nearRT-RIC logs the node's E2 SETUP, and wait for the bridge to reconnect: FlexRIC"
        " lists nodes only when an xApp connects. If nearRT-RIC ends whenever a gNB connects, it"
        " lacks libsojourn_tc_sm.so.",
    )


def _not_that(only: str, listed: tuple[Node, ...]) -> Finding:
    return Check(_CHECK, only).fail(
        "the gateway has no node with this id",
        "No node was examined.",
        f"It has {names([node.id for node in listed])}.",
    )


def _same_id(listed: tuple[Node, ...]) -> list[Finding]:
    twice = [node_id for node_id, n in Counter(node.id for node in listed).items() if n > 1]
    return [
        Check(_CHECK, node_id).fail(
            "the gateway lists this id more than once",
            "xApps keep one state per id: reports of two nodes are mixed, and a control reaches"
            " either.",
            "Give each node a global id of its own (PLMN and gNB id), then restart the gateway.",
        )
        for node_id in twice
    ]


def _same_node(listed: tuple[Node, ...]) -> list[Finding]:
    """One global id with several names. CU and DU of one gNB may share it."""
    by_global: defaultdict[tuple[int, int, int, NodeType], list[str]] = defaultdict(list)
    for node in {node.id: node for node in listed}.values():
        by_global[node.mcc, node.mnc, node.nb_id, node.type].append(node.id)
    return [
        Check(_CHECK, names(ids)).warn(
            f"several nodes of type {kind.value} with PLMN {mcc:03}-{mnc:02} and id {nb_id:#x}",
            "Either one node whose old entry the gateway still has, or two nodes with one id, on"
            " which FlexRIC's RIC aborts.",
            "Check the configuration of the gNBs: the id must be unique within the PLMN; DUs of one"
            " gNB differ by their DU id.",
        )
        for (mcc, mnc, nb_id, kind), ids in by_global.items()
        if len(ids) > 1 and kind is not NodeType.GNB_DU
    ]


def _unknown_type(listed: tuple[Node, ...]) -> list[Finding]:
    return [
        Check(_CHECK, node.id).note(
            "of an unknown type",
            "",
            "None if its RAN functions are present; xApps use those alone.",
        )
        for node in listed
        if node.type is NodeType.UNKNOWN
    ]


def _watch(nodes: Nodes) -> Iterator[Finding]:
    if nodes.watched is None:
        what = f"the node watch failed ({nodes.watch_error})"
    else:
        missing = [node.id for node in nodes.listed if node.id not in nodes.watched]
        if not missing:
            return
        what = f"listed, but not in the node watch: {names(missing)}"
    yield Check(_CHECK, "").warn(
        what,
        "xApps find nodes by the watch and read the list periodically: they find them later, by"
        " up to gateway.reconcile_s.",
        "Restart the gateway; if that does not help, the gateway violates its interface.",
    )
