"""The RAN function definition of E2SM-TC v1 that stands for a v0 node."""

from __future__ import annotations

from typing import Any

import e2sm_tc


def capabilities(max_queues: int, max_filters: int) -> dict[str, Any]:
    """Of v1's capabilities those that v0 has."""
    return {
        "classifiers": ["round_robin", "stochastic_hash", "osi"],
        "queues": ["fifo", "codel"],
        "schedulers": ["round_robin", "strict_priority"],
        "pacers": ["none", "bdp5g"],
        "policer": True,
        "shaper": True,
        "max_queues": max_queues,
        "max_filters": max_filters,
        "max_bearers": 1,
        "min_period_ms": 1,
    }


def definition(max_queues: int, max_filters: int) -> bytes:
    """v1's OID and those capabilities."""
    return e2sm_tc.encode(
        "ran-function-definition",
        {
            "short_name": "ORAN-E2SM-TC",
            "oid": e2sm_tc.OID_V1,
            "description": "E2SM-TC v1 in front of a node that speaks v0",
            "capabilities": capabilities(max_queues, max_filters),
        },
    )
