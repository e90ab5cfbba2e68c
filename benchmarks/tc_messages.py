"""Messages of E2SM-TC v1 for benchmarks and tests that are clients of a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import e2sm_tc

HEADER: Final = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 1})
"""Of a transaction."""
FLEXRIC_PIPELINE: Final = e2sm_tc.pipeline(
    "fq_codel", {"queues": 8, "scheduler": "round_robin", "pacer": "bdp5g", "codel": {"ecn": False}}
)
"""That of `policies/flexric.yaml`: one control of v1, ten of v0."""


def bearer_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """The only bearer of a connected UE in the status file of an OpenAirInterface gNB."""
    (bearer,) = (each for each in status["bearers"] if each["rnti"] is not None)
    return {"ue": {"rnti": bearer["rnti"]}, "drb": bearer["drb"]}


def transaction(bearer: Mapping[str, Any], change: Any, **other: Any) -> bytes:
    """A transaction; by default for any revision, without lease and owner."""
    content = {
        "bearer": bearer,
        "expected_revision": None,
        "lease_ms": None,
        "dry_run": False,
        "as_safe": False,
        "owner": None,
        "change": change,
        **other,
    }
    return e2sm_tc.encode("control", {"transaction": content})
