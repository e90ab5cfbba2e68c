"""E2SM-TC version 0 in terms of version 1, for a gateway in front of a node that has v0 alone.

Annex B of the document has the mapping. A v1 pipeline is lowered to a :class:`State`, a state leads
to another by controls, and :class:`Reports` are lifted to v1 status.
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
    """What v0 has of the v1 ``Capabilities``, for a node with this much room."""
    declared: dict[str, Any] = json.loads(_native.v0_capabilities(max_queues, max_filters))
    return declared


def lower(pipeline: Mapping[str, Any], base: int, max_queues: int, max_filters: int) -> State:
    """The state of a v0 node that does what a v1 pipeline describes, queues numbered from ``base``.

    Raises:
        UnsupportedInV0: the pipeline is invalid, there is no room for it, or v0 cannot express it;
            ``cause``, ``element`` and ``detail`` as of a ``PipelineError``.
        CodecError: the value does not have the shape of a pipeline.
    """
    return _native.lower(json.dumps(pipeline), base, max_queues, max_filters)


def pipeline(state: State) -> dict[str, Any]:
    """The pipeline of a state in v1, with the node's queue ids and its own buffer limit."""
    made: dict[str, Any] = json.loads(state.to_json())["pipeline"]
    return made


def lift(reports: Reports, state: State, context: Mapping[str, Any]) -> dict[str, Any] | None:
    """The v1 ``PipelineStatus`` of the newest report with all queues; ``None`` before the first.

    ``context`` has what v0 does not tell: ``bearer``, ``revision``, ``lease_left_ms`` and
    ``rlc_occupancy_bytes``.

    Raises:
        CodecError: ``context`` does not have this shape.
    """
    status = reports.status(state, json.dumps(context))
    return None if status is None else json.loads(status)


def queue_numbers(indication: Mapping[str, Any]) -> list[int]:
    """The queue ids of a decoded v0 indication, in its order. v0 reports have none: those of the
    shapers stand for them, or the order where these are not distinct."""
    return _native.queue_numbers([queue["shp"]["id"] for queue in indication["q"]])
