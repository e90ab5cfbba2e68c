"""Pipelines of the ladder's rungs: a template of E2SM-TC annex A, and the flows to set apart.

A pipeline is the JSON shape of the v1 ``Pipeline`` element: classifier → policer → queue →
scheduler → shaper → pacer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ric.sm import tc

from tc_controller.core.inventory import Flow
from tc_controller.core.ladder import CHOSEN, Rung

Pipeline = dict[str, Any]


def compose(rung: Rung, greedy: Sequence[Flow] = (), drain_kbps: float | None = None) -> Pipeline:
    """The pipeline of a rung.

    Args:
        greedy: flows that `segregate_greedy` and `flow_slicing` set apart.
        drain_kbps: measured drain rate, for `flow_slicing` by share.

    Raises:
        ValueError: what the template needs is missing (see `tc_controller.core.decide`, which asks
            first).
    """
    parameters = rung.parameters
    if rung.template in CHOSEN and not greedy:
        raise ValueError(f"{rung.template} needs at least one greedy flow")
    flows = [_five_tuple(flow) for flow in greedy]
    if rung.template == "segregate_greedy":
        parameters["greedy"] = flows
    elif rung.template == "flow_slicing":
        parameters["slices"] = [{"flows": flows, "shaper": _shaper(rung, drain_kbps)}]
    return tc.pipeline(rung.template, parameters)


def _shaper(rung: Rung, drain_kbps: float | None) -> dict[str, Any]:
    """Holds the greedy flows to the rate that is left to them (irazabal2024 §V-B1)."""
    rate_kbps = slice_rate_kbps(rung, drain_kbps)
    # At least two MTUs, or the bucket never holds a packet.
    burst_bytes = max(3_000, rate_kbps * rung.burst_ms // 8)
    return {"rate_kbps": rate_kbps, "burst_bytes": burst_bytes, "group": None}


def slice_rate_kbps(rung: Rung, drain_kbps: float | None) -> int:
    """Rate left to the greedy flows."""
    if rung.greedy_rate_kbps is not None:
        return rung.greedy_rate_kbps
    if rung.greedy_share is None or drain_kbps is None:
        raise ValueError("flow_slicing by share needs the measured drain rate")
    return max(1, int(rung.greedy_share * drain_kbps))


def _five_tuple(flow: Flow) -> dict[str, Any]:
    source, destination, source_port, destination_port, protocol = flow.five_tuple
    return {
        "source": source,
        "destination": destination,
        "source_port": source_port,
        "destination_port": destination_port,
        "protocol": protocol,
    }
