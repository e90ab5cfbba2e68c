"""A control that changes nothing: an E2SM-TC v1 transaction in dry run (§7.2, rule 7).

It asks for what is there already, the safe pipeline where that is in force and else the name that
the pipeline has, at the revision that was reported last: even a RAN function that overlooked
`dry_run` would change a revision and nothing else.
"""

from __future__ import annotations

from typing import Any, Final

from ric.clock import Clock
from ric.e2 import ControlAnswer
from ric.errors import (
    AccessDenied,
    ControlTimeout,
    GatewayError,
    NodeGone,
    RanFunctionUnknown,
    ServiceModelError,
    ServiceModelUnavailable,
)
from ric.gateway.link import GatewayLink
from ric.sm import TC_V1_OID, tc

from ric_doctor.facts import DryRun, Tried

_TRANSACTION_STYLE: Final = 1
_CORRELATION_ID: Final = 0xD0C
_NOBODY: Final = {"ue": {"rnti": 0xFFFF}, "drb": 32}
"""A bearer that does not exist: 65535 is the P-RNTI of TS 38.321 §7.1, never a UE's."""


async def dry_run(
    link: GatewayLink, clock: Clock, node_id: str, status: dict[str, Any] | None, timeout_s: float
) -> DryRun:
    """Use the bearer of a pipeline status; without one, a bearer that does not exist."""
    transaction = _transaction(status)
    expected = transaction["expected_revision"]
    bearer = "" if status is None else _shown(status["bearer"])
    began_ns = clock.monotonic_ns()
    try:
        header = {"style": _TRANSACTION_STYLE, "correlation_id": _CORRELATION_ID}
        answer = await link.control(
            node_id,
            TC_V1_OID,
            tc.encode("control-header", header),
            tc.encode("control", {"transaction": transaction}),
            timeout_s,
        )
    except ServiceModelUnavailable as error:
        return DryRun(node_id, Tried.NO_CODEC, bearer, detail=str(error))
    except ControlTimeout as error:
        return DryRun(node_id, Tried.TIMEOUT, bearer, round(timeout_s * 1e6), detail=str(error))
    except AccessDenied as error:
        return DryRun(node_id, Tried.DENIED, bearer, detail=error.detail)
    except (NodeGone, RanFunctionUnknown) as error:
        return DryRun(node_id, Tried.GONE, bearer, detail=str(error))
    except GatewayError as error:
        return DryRun(node_id, Tried.UNAVAILABLE, bearer, detail=str(error))
    took_us = (clock.monotonic_ns() - began_ns) // 1000
    return _read(node_id, bearer, took_us, expected, answer)


def _transaction(status: dict[str, Any] | None) -> dict[str, Any]:
    if status is None:
        status = {"bearer": _NOBODY, "revision": None, "lease_left_ms": None, "safe": True}
    return {
        "bearer": status["bearer"],
        "expected_revision": status["revision"],
        # Without a lease the pipeline would stay for ever if this took effect.
        "lease_ms": status["lease_left_ms"] or None,
        "owner": None,
        "dry_run": True,
        "as_safe": False,
        "change": "safe" if status["safe"] else {"delta": [{"set_name": status["name"]}]},
    }


def _read(
    node_id: str, bearer: str, took_us: int, expected: int | None, answer: ControlAnswer
) -> DryRun:
    try:
        outcome = tc.decode("control-outcome", answer.outcome)
    except ServiceModelError as error:
        tried = Tried.UNDECODABLE if answer.outcome or answer.acknowledged else Tried.FAILED
        detail = answer.detail or str(error)
        return DryRun(node_id, tried, bearer, took_us, expected, detail=detail)
    if (accepted := outcome.get("accepted")) is not None:
        return DryRun(node_id, Tried.ACCEPTED, bearer, took_us, expected, accepted["revision"])
    refused = outcome["refused"]
    return DryRun(
        node_id,
        Tried.REFUSED,
        bearer,
        took_us,
        expected,
        refused["revision"],
        refused["cause"],
        refused["element"],
        refused["detail"],
    )


def _shown(bearer: dict[str, Any]) -> str:
    ((kind, ue),) = bearer["ue"].items()
    return f"{kind} {ue} drb {bearer['drb']}"
