"""The E2SM-TC service model: codecs of v0 (FlexRIC's plain layout) and v1 (aligned PER), templates,
transactions, limits of a node.

Values have the JSON shape of the service model: names in snake_case with units, one key for the
alternative of a choice, ``None`` for absent elements. See ``spec/E2SM-TC-v1.md``.

The pipeline of a template, and a control that installs it on a bearer:

>>> import e2sm_tc
>>> transaction = {
...     "bearer": {"ue": {"rnti": 17921}, "drb": 1},
...     "expected_revision": None,
...     "lease_ms": 3000,
...     "owner": "example",
...     "dry_run": False,
...     "as_safe": False,
...     "change": {"replace": e2sm_tc.pipeline("low_latency", {})},
... }
>>> message = e2sm_tc.encode("control", {"transaction": transaction})
>>> decoded = e2sm_tc.decode("control", message)["transaction"]
>>> decoded["bearer"], decoded["change"]["replace"]["name"]
({'ue': {'rnti': 17921}, 'drb': 1}, 'low_latency')
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from e2sm_tc import _native
from e2sm_tc._native import (
    FORMER_TEMPLATES,
    OID_V0,
    OID_V1,
    TEMPLATES,
    Asked,
    CodecError,
    FlowInventory,
    FlowRecord,
    Owners,
    PipelineError,
    PipelineStatus,
    PipelineStatuses,
    QueueStatus,
    TemplateError,
    UngreedyQueues,
    ValidationError,
    greedy_defaults,
    greedy_flows,
)

__all__ = [
    "FORMER_TEMPLATES",
    "NO_RNTI",
    "OID_V0",
    "OID_V1",
    "STATUS_ROW",
    "TEMPLATES",
    "Asked",
    "CodecError",
    "Encoding",
    "FlowInventory",
    "FlowRecord",
    "Kind",
    "Owners",
    "PipelineError",
    "PipelineStatus",
    "PipelineStatuses",
    "QueueStatus",
    "Report",
    "TemplateError",
    "UngreedyQueues",
    "ValidationError",
    "candidate",
    "check_pipeline",
    "decode",
    "decode_indication",
    "encode",
    "forecast_feed",
    "greedy_defaults",
    "greedy_flows",
    "pacer_limits",
    "pipeline",
    "status_rows",
    "template_schema",
    "validate",
    "validate_pipeline",
]

Encoding: TypeAlias = Literal["v0", "v1"]
Kind: TypeAlias = Literal[
    "control",
    "control-header",
    "control-outcome",
    "event-trigger",
    "action-definition",
    "indication-header",
    "indication",
    "ran-function-definition",
    "pipeline",
]

#: Style of a v1 indication and its content.
Report: TypeAlias = (
    tuple[Literal["pipeline_status"], PipelineStatuses]
    | tuple[Literal["flow_inventory"], list[FlowInventory]]
    | tuple[Literal["events"], list[dict[str, Any]]]
)

#: ``rnti`` of a row of a UE that is identified otherwise.
NO_RNTI: Final = 0xFFFF_FFFF

#: State of one bearer's pipeline as a row: what `PipelineStatus` has, of its queues the sums;
#: ``lease_left_ms`` is -1 without lease, ``ungreedy_sojourn_us`` that of `PipelineStatus`.
STATUS_ROW: Final = np.dtype(
    [
        ("dropped_packets", "u8"),
        ("marked_packets", "u8"),
        ("backlog_bytes", "u8"),
        ("lease_left_ms", "i8"),
        ("rnti", "u4"),
        ("revision", "u4"),
        ("head_of_line_age_us", "u4"),
        ("ungreedy_sojourn_us", "f4"),
        ("drb", "u1"),
        ("safe", "?"),
    ],
    align=True,
)

_NO_INVENTORIES: Final = UngreedyQueues()
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def encode(kind: Kind, value: Mapping[str, Any] | str, encoding: Encoding = "v1") -> bytes:
    """Encode a message.

    A choice without parameters is its bare name: ``encode("event-trigger", "on_change")``.

    Raises:
        CodecError: the value does not have the shape of the message, or is out of range.
    """
    return _native.encode(encoding, kind, _to_json(value))


def decode(kind: Kind, data: bytes, encoding: Encoding = "v1") -> Any:
    """Decode a message: a ``dict``, or a ``str`` for a choice without parameters.

    ``data`` may be any bytes-like object.

    Raises:
        CodecError: the bytes do not decode; names the element and what was expected. ``cause`` is
            ``unsupported`` for an alternative or value of a later version, ``malformed`` otherwise.
            Components of a later version are skipped.
    """
    return json.loads(_native.decode(encoding, kind, bytes(data)))


def decode_indication(data: bytes) -> Report:
    """Decode a v1 indication to objects: what :func:`decode` gives as ``dict``, except for the
    elements that no consumer reads. Events are as :func:`decode` gives them. Bearers and events
    that only a later version can describe are left out.

    Takes a tenth of the time of :func:`decode`.

    Raises:
        CodecError: as :func:`decode`.
    """
    style, content = _native.decode_indication(bytes(data))
    if style == "pipeline_status":
        return "pipeline_status", content
    if style == "flow_inventory":
        return "flow_inventory", content
    return "events", json.loads(content)


def status_rows(statuses: PipelineStatuses, used: UngreedyQueues | None = None) -> NDArray[np.void]:
    """The statuses of all bearers of a report as one read-only array of `STATUS_ROW`, shape
    (bearers,), in their order. ``used``: queues of ungreedy flows, where inventories have them.

    >>> style, statuses = e2sm_tc.decode_indication(message)  # doctest: +SKIP
    >>> e2sm_tc.status_rows(statuses)["backlog_bytes"].sum()  # doctest: +SKIP
    """
    return np.frombuffer(statuses.rows(_NO_INVENTORIES if used is None else used), STATUS_ROW)


def forecast_feed(
    origin_us: int,
    points_us: Sequence[int],
    single_us: int,
    quantiles: Sequence[float],
    rows: Sequence[
        tuple[
            int,
            int,
            Sequence[float],
            Sequence[float] | None,
            Sequence[float] | None,
        ]
    ],
) -> bytes:
    """The control message of a forecast feed (style 3) from forecasts with quantiles of each point.

    Occupancy and limit are fed at their median, the drain at the quantile that pacers are fed by
    default.

    Args:
        origin_us: Time of the newest sample that they rest on, µs since the Unix epoch.
        points_us: Points, µs after the origin, increasing.
        single_us: Time that a single point stands for, µs.
        quantiles: Of each series, increasing.
        rows: RNTI, DRB identity and series of each bearer, row-major over points and quantiles, in
            bytes: occupancy, limit, drain since the point before; ``None`` where not forecast.

    Raises:
        ValueError: points, quantiles or a series do not fit; says what was expected.
        CodecError: no message can be made of them: no bearer, one twice, more than 256.
    """
    return _native.forecast_feed(origin_us, points_us, single_us, quantiles, rows)


def pacer_limits(data: bytes) -> tuple[list[int], list[int], list[int]]:
    """RNTIs, DRB identities and limits in bytes of the bearers of a v1 pipeline status whose pacer
    has a limit; empty for other indications and for UEs without RNTI.

    Takes a tenth of the time of :func:`decode`.

    Raises:
        CodecError: the bytes are not an indication; names the element and what was expected.
    """
    return _native.pacer_limits(bytes(data))


def validate(kind: Kind, value: Mapping[str, Any] | str) -> None:
    """Validate a v1 message: ranges and relations between elements.

    Raises:
        ValidationError: ``element`` is the path of the first invalid element, ``cause`` that of a
            RAN function's refusal.
        CodecError: the value does not have the shape of the message.
    """
    _native.validate(kind, _to_json(value))


def validate_pipeline(pipeline: Mapping[str, Any]) -> None:
    """Validate a pipeline; see :func:`validate`."""
    validate("pipeline", pipeline)


def template_schema(name: str) -> dict[str, Any]:
    """The JSON schema of the parameters of a template, one of ``TEMPLATES``.

    Raises:
        TemplateError: unknown template.
    """
    schema: dict[str, Any] = json.loads(_native.template_schema(name))
    return schema


def pipeline(template: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The v1 ``Pipeline`` of a template; omitted parameters have their defaults.

    Raises:
        TemplateError: unknown template or invalid parameters; ``parameter`` is the path of the
            first invalid one.
    """
    result: dict[str, Any] = json.loads(_native.pipeline(template, _to_json(parameters or {})))
    return result


def candidate(
    current: Mapping[str, Any],
    safe: Mapping[str, Any],
    change: Mapping[str, Any] | str,
    capabilities: Mapping[str, Any],
) -> dict[str, Any]:
    """The pipeline after the ``change`` of a transaction on a node with these capabilities. Omitted
    capabilities count as fully supported.

    Raises:
        PipelineError: the node does not accept it; ``element`` is the path of the offending
            element, ``cause`` that of the refusal.
        CodecError: an argument does not have its shape.
    """
    arguments = (_to_json(value) for value in (current, safe, change, capabilities))
    after: dict[str, Any] = json.loads(_native.candidate(*arguments))
    return after


def check_pipeline(pipeline: Mapping[str, Any], capabilities: Mapping[str, Any]) -> None:
    """Check a pipeline against a node's capabilities; raises as :func:`candidate`."""
    _native.check_pipeline(_to_json(pipeline), _to_json(capabilities))


def _to_json(value: Mapping[str, Any] | str) -> str:
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError) as error:
        raise _native.codec_error(f"value: {error}", "value") from error
