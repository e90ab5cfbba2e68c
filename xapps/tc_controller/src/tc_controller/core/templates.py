"""Composes the E2SM-TC pipelines of the ladder's templates.

A pipeline is the JSON shape of the v1 ``Pipeline`` element: classifier → policer → queue →
scheduler → shaper → pacer.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from tc_controller.core.inventory import Flow
from tc_controller.core.ladder import (
    BdpOnly,
    Buffer,
    CodelParameters,
    FlowSlicing,
    FqCodel,
    L4s,
    PacerChoice,
    Rung,
    SegregateGreedy,
    Sojourn,
)

Pipeline = dict[str, Any]

#: Queue of ungreedy and of greedy flows where a template has just these two.
UNGREEDY, GREEDY = 0, 1

#: TCP, UDP, SCTP.
_WITH_PORTS = {6, 17, 132}
_MATCH_FIELDS = (
    "source",
    "destination",
    "source_port",
    "destination_port",
    "protocol",
    "dscp",
    "qfi",
    "ecn",
)


def compose(rung: Rung, greedy: Sequence[Flow] = (), drain_kbps: float | None = None) -> Pipeline:
    """The pipeline of a rung.

    Args:
        greedy: flows that `segregate_greedy` and `flow_slicing` set apart.
        drain_kbps: measured drain rate, for `flow_slicing` by share.

    Raises:
        ValueError: what the template needs is missing (see `tc_controller.core.decide`, which asks
            first).
    """
    if isinstance(rung, BdpOnly):
        return bdp_only(rung)
    if isinstance(rung, FqCodel):
        return fq_codel(rung)
    if isinstance(rung, SegregateGreedy):
        return segregate_greedy(rung, greedy)
    if isinstance(rung, FlowSlicing):
        return flow_slicing(rung, greedy, drain_kbps)
    if isinstance(rung, Sojourn):
        return sojourn(rung)
    return l4s(rung)


def bdp_only(rung: BdpOnly) -> Pipeline:
    """One FIFO in front of the pacer."""
    return {
        "name": "bdp_only",
        "classifier": {"round_robin": _target(0)},
        "queues": [_queues(0, 1, {"fifo": {"drop": rung.drop}})],
        "scheduler": "round_robin",
        "pacer": pacer(rung.pacer),
        "buffer": _buffer(rung.buffer, "tail"),
    }


def fq_codel(rung: FqCodel) -> Pipeline:
    """RFC 8290: §4.1 flow hash, CoDel per queue, §4.2 deficit round robin."""
    in_turns = rung.scheduler == "round_robin"
    return {
        "name": "fq_codel",
        "classifier": {"stochastic_hash": _hash(0, rung.queues)},
        "queues": [_queues(0, rung.queues, _codel(rung.codel))],
        "scheduler": "round_robin" if in_turns else _drr(rung.quantum_bytes),
        "pacer": pacer(rung.pacer),
        "buffer": _buffer(rung.buffer, "fattest_head"),
    }


def segregate_greedy(rung: SegregateGreedy, greedy: Sequence[Flow]) -> Pipeline:
    """irazabal2024 Fig. 8: the greedy flows deviated to a second CoDel queue."""
    if not greedy:
        raise ValueError("segregate_greedy needs at least one greedy flow")
    scheduler: Any = rung.scheduler
    if rung.scheduler == "deficit_round_robin":
        scheduler = _drr(rung.quantum_bytes)
    elif rung.scheduler == "strict_priority":
        scheduler = {"strict_priority": {"order": [_target(UNGREEDY), _target(GREEDY)]}}
    return {
        "name": "segregate_greedy",
        "classifier": {"osi": {"filters": _filters(greedy), "default": _target(UNGREEDY)}},
        "queues": [_queues(UNGREEDY, 2, _codel(rung.codel))],
        "scheduler": scheduler,
        "pacer": pacer(rung.pacer),
        "buffer": _buffer(rung.buffer, "fattest_head"),
    }


def flow_slicing(rung: FlowSlicing, greedy: Sequence[Flow], drain_kbps: float | None) -> Pipeline:
    """irazabal2024 Fig. 5a: two FIFOs in turn, the greedy one behind a shaper."""
    if not greedy:
        raise ValueError("flow_slicing needs at least one greedy flow")
    rate_kbps = slice_rate_kbps(rung, drain_kbps)
    shaper = {
        "rate_kbps": rate_kbps,
        # At least two MTUs, or the bucket never holds a packet.
        "burst_bytes": max(3_000, rate_kbps * rung.burst_ms // 8),
        "group": None,
    }
    return {
        "name": "flow_slicing",
        "classifier": {"osi": {"filters": _filters(greedy), "default": _target(UNGREEDY)}},
        "queues": [
            _queues(UNGREEDY, 1, {"fifo": {"drop": "tail"}}),
            {**_queues(GREEDY, 1, {"fifo": {"drop": "tail"}}), "shaper": shaper},
        ],
        "scheduler": "round_robin",
        "pacer": pacer(rung.pacer),
        "buffer": _buffer(rung.buffer, "fattest_head"),
    }


def slice_rate_kbps(rung: FlowSlicing, drain_kbps: float | None) -> int:
    """Rate left to the greedy flows."""
    if rung.greedy_rate_kbps is not None:
        return rung.greedy_rate_kbps
    if rung.greedy_share is None or drain_kbps is None:
        raise ValueError("flow_slicing by share needs the measured drain rate")
    return max(1, int(rung.greedy_share * drain_kbps))


def l4s(rung: L4s) -> Pipeline:
    """ECT(1) and CE (RFC 9331 §5.1) in hash buckets of their own, marked above a step threshold
    and not subject to CoDel (RFC 8290 §4.2 ce_threshold); the rest as in FQ-CoDel. Both share
    the scheduler, so neither can starve the other."""
    first_classic = rung.l4s_queues
    low_latency = _target(0, rung.l4s_queues)
    return {
        "name": "l4s",
        "classifier": {
            "osi": {
                "filters": [
                    {"id": 0, "match": _match(ecn="ect1"), "target": low_latency},
                    {"id": 1, "match": _match(ecn="ce"), "target": low_latency},
                ],
                "default": {"first": first_classic, "count": rung.classic_queues},
            }
        },
        "queues": [
            _queues(0, rung.l4s_queues, _l4s_codel(rung.codel, rung.threshold_us)),
            _queues(first_classic, rung.classic_queues, _codel(rung.codel)),
        ],
        "scheduler": _drr(rung.quantum_bytes),
        "pacer": pacer(rung.pacer),
        "buffer": _buffer(rung.buffer, "fattest_head"),
    }


def sojourn(rung: Sojourn) -> Pipeline:
    """Hash buckets for L4S and for the rest, nothing handed down before the MAC asks (tc-rf's
    template of that name). BoDe (abbasloo2019 §V-C) where a packet's wait is bounded."""
    count, bound_ms = rung.queues, rung.bulk_bound_ms
    bulk: dict[str, Any] = {"fifo": {"drop": "tail"}}
    if bound_ms is not None:
        bulk = {"bode": {"bound_us": bound_ms * 1_000}}
    l4s_codel = _l4s_codel(CodelParameters(), rung.threshold_us)
    return {
        "name": "sojourn",
        "classifier": {"l4s_ecn": {"l4s": _target(count, count), "classic": _target(0, count)}},
        "queues": [_queues(0, count, bulk), _queues(count, count, l4s_codel)],
        "scheduler": _drr(rung.quantum_bytes),
        "pacer": pacer(rung.pacer),
        "buffer": _buffer(rung.buffer, "fattest_head"),
    }


def pacer(choice: PacerChoice) -> str | dict[str, Any]:
    """The E2SM-TC ``Pacer``."""
    if choice.kind == "drql":
        return {"drql": {"mtu_bytes": choice.mtu_bytes}}
    if choice.kind == "dql":
        return {"dql": {"min_bytes": choice.limit_bytes, "max_bytes": choice.limit_bytes}}
    if choice.kind == "forecast":
        return {"forecast": {"stale_us": choice.stale_us}}
    if choice.kind == "dyn_rlc":
        # 1..10 SDUs and α 0.05: irazabal2021 §VI.
        return {
            "dyn_rlc": {
                "interval_us": choice.interval_us,
                "target_us": choice.target_us,
                "min_sdus": 1,
                "max_sdus": 10,
                "alpha_milli": 50,
                "metric": "interval_average",
                "status_gap_beta_milli": None,
            }
        }
    return choice.kind


def match_flow(flow: Flow) -> dict[str, Any]:
    """The ``FlowMatch`` that matches exactly this 5-tuple."""
    source, destination, sport, dport, protocol = flow.five_tuple
    ports = protocol in _WITH_PORTS
    return _match(
        source=_host(source),
        destination=_host(destination),
        source_port={"low": sport, "high": sport} if ports else None,
        destination_port={"low": dport, "high": dport} if ports else None,
        protocol=protocol,
    )


def _match(**given: Any) -> dict[str, Any]:
    """A ``FlowMatch``; what is not given matches all."""
    return {**dict.fromkeys(_MATCH_FIELDS), **given}


def _filters(flows: Sequence[Flow]) -> list[dict[str, Any]]:
    return [
        {"id": number, "match": match_flow(flow), "target": _target(GREEDY)}
        for number, flow in enumerate(flows)
    ]


def _host(address: str) -> dict[str, Any]:
    parsed = ipaddress.ip_address(address)
    kind = "v4" if parsed.version == 4 else "v6"
    return {kind: {"address": str(parsed), "length": parsed.max_prefixlen}}


def _target(first: int, count: int = 1) -> dict[str, int]:
    return {"first": first, "count": count}


def _hash(first: int, count: int) -> dict[str, Any]:
    return {"target": _target(first, count), "perturbation": None, "ways": 1}


def _queues(first: int, count: int, discipline: dict[str, Any]) -> dict[str, Any]:
    return {
        "first": first,
        "count": count,
        "discipline": discipline,
        "limit_packets": None,
        "limit_bytes": None,
        "policer": None,
        "shaper": None,
    }


def _codel(parameters: CodelParameters) -> dict[str, Any]:
    return {
        "codel": {
            "target_us": parameters.target_us,
            "interval_us": parameters.interval_us,
            "ecn": parameters.ecn,
            "ce_threshold_us": None,
            "l4s": False,
        }
    }


def _l4s_codel(parameters: CodelParameters, threshold_us: int) -> dict[str, Any]:
    codel = _codel(parameters)
    codel["codel"] |= {"ecn": True, "ce_threshold_us": threshold_us, "l4s": True}
    return codel


def _drr(quantum_bytes: int) -> dict[str, Any]:
    return {"deficit_round_robin": {"quantum_bytes": quantum_bytes}}


def _buffer(buffer: Buffer, overflow: str) -> dict[str, Any]:
    return {"packets": buffer.packets, "bytes": buffer.bytes, "overflow": overflow}
