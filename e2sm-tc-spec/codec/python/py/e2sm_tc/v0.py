"""E2SM-TC v0 translated to v1, for a gateway in front of a node with v0 only.

The mapping is annex B of the document. A v1 pipeline is lowered to a :class:`State`, controls lead
from one state to another, and :class:`Reports` are lifted to v1 status.
"""

import json
from collections.abc import Mapping
from typing import Any

from e2sm_tc import _native
from e2sm_tc._native import UnsupportedInV0
from e2sm_tc._native import V0ControlError as ControlError
from e2sm_tc._native import V0Reports as Reports
from e2sm_tc._native import V0State as State

__all__ = [
    "ControlError",
    "Reports",
    "State",
    "UnsupportedInV0",
    "capabilities",
    "lift",
    "lower",
    "pipeline",
    "queue_numbers",
]


def capabilities(max_queues: int, max_filters: int) -> dict[str, Any]:
    """The v1 ``Capabilities`` of a v0 node with these limits."""
    declared: dict[str, Any] = json.loads(_native.v0_capabilities(max_queues, max_filters))
    return declared


def lower(pipeline: Mapping[str, Any], base: int, max_queues: int, max_filters: int) -> State:
    """The v0 state equivalent to a v1 pipeline, with queues numbered from ``base``.

    Raises:
        UnsupportedInV0: the pipeline is invalid, exceeds the limits, or v0 cannot express it;
            ``cause``, ``element`` and ``detail`` as in ``PipelineError``.
        CodecError: the value does not have the shape of a pipeline.
    """
    return _native.lower(json.dumps(pipeline), base, max_queues, max_filters)


def pipeline(state: State) -> dict[str, Any]:
    """The v1 pipeline of a state, with the node's queue ids and buffer limit."""
    result: dict[str, Any] = json.loads(state.to_json())["pipeline"]
    return result


def lift(reports: Reports, state: State, context: Mapping[str, Any]) -> dict[str, Any] | None:
    """The v1 ``PipelineStatus`` of the newest report with all queues; ``None`` before the first.

    ``context`` has what v0 does not report: ``bearer``, ``revision``, ``lease_left_ms`` and
    ``rlc_occupancy_bytes``.

    Raises:
        CodecError: ``context`` does not have this shape.
    """
    status = reports.status(state, json.dumps(context))
    return None if status is None else json.loads(status)


def queue_numbers(indication: Mapping[str, Any]) -> list[int]:
    """The queue ids of a decoded v0 indication, in its order. v0 does not report them: shaper ids
    are used, or positions if these are not distinct."""
    return _native.queue_numbers([queue["shp"]["id"] for queue in indication["q"]])
