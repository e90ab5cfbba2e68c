"""E2SM-TC through the `e2sm_tc` codec, which is loaded at the first use.

Values are the JSON shapes of the E2SM-TC document: `dict`s with snake_case names and units in the
names; a choice without parameters is its bare name. `Kind` names the message.
"""

from __future__ import annotations

import functools
import importlib
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from ric.errors import ServiceModelError, ServiceModelUnavailable, TemplateParameterError

if TYPE_CHECKING:
    import numpy as np
    from e2sm_tc import Report, UngreedyQueues
    from numpy.typing import NDArray

Encoding = Literal["v0", "v1"]
Kind = Literal[
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

FeedRow = tuple[int, int, Sequence[float], Sequence[float] | None, Sequence[float] | None]
"""One bearer of a forecast feed: RNTI, DRB identity, and occupancy, limit and drain in bytes, each
points × quantiles, row-major; `None` where not forecast."""

V0_OID: Final = "0.0.0.0.0.0.0.0.1.146.0"
V1_OID: Final = "0.0.0.0.0.0.0.0.1.146.1"


class _Codec(Protocol):
    CodecError: type[Exception]
    TemplateError: type[Exception]
    PipelineError: type[Exception]
    FORMER_TEMPLATES: dict[str, str]
    TEMPLATES: list[str]

    def template_schema(self, name: str) -> dict[str, Any]: ...

    def pipeline(self, template: str, parameters: Any) -> dict[str, Any]: ...

    def check_pipeline(self, pipeline: Any, capabilities: Any) -> None: ...

    def encode(self, kind: str, value: Any, encoding: str = ...) -> bytes: ...

    def decode(self, kind: str, data: bytes, encoding: str = ...) -> Any: ...

    def decode_indication(self, data: bytes) -> Report: ...

    def greedy_flows(
        self,
        loads: Sequence[tuple[int, int]],
        /,
        *,
        fair_share_ratio: float,
        min_rate_kbps: int,
        min_backlog_bytes: int,
    ) -> list[bool]: ...

    def forecast_feed(
        self,
        origin_us: int,
        points_us: Sequence[int],
        single_us: int,
        quantiles: Sequence[float],
        rows: Sequence[FeedRow],
    ) -> bytes: ...

    def pacer_limits(self, data: bytes) -> tuple[list[int], list[int], list[int]]: ...

    def status_rows(self, statuses: Any, used: Any = ...) -> NDArray[np.void]: ...

    UngreedyQueues: type[UngreedyQueues]


@functools.cache
def _codec() -> _Codec:
    try:
        return cast(_Codec, importlib.import_module("e2sm_tc"))
    except ImportError as error:
        raise ServiceModelUnavailable("tc", "e2sm_tc") from error


def available() -> bool:
    """Whether the codec is installed."""
    try:
        _codec()
    except ServiceModelUnavailable:
        return False
    return True


def encode(kind: Kind, value: Any, encoding: Encoding = "v1") -> bytes:
    """The bytes of a message.

    Raises `ServiceModelError` for a value the encoding cannot carry (`place` names the element),
    `ServiceModelUnavailable` without the codec.
    """
    codec = _codec()
    try:
        return codec.encode(kind, value, encoding)
    except codec.CodecError as error:
        raise _as_service_model_error(kind, encoding, error) from error


def decode(kind: Kind, data: bytes, encoding: Encoding = "v1") -> Any:
    """The message in `data`; raises as `encode` does."""
    codec = _codec()
    try:
        return codec.decode(kind, data, encoding)
    except codec.CodecError as error:
        raise _as_service_model_error(kind, encoding, error) from error


def decode_indication(data: bytes) -> Report:
    """Style and content of a v1 indication: objects for statuses and inventories, `dict`s for
    events. Takes a tenth of the time of `decode`; raises as `encode` does.
    """
    codec = _codec()
    try:
        return codec.decode_indication(data)
    except codec.CodecError as error:
        raise _as_service_model_error("indication", "v1", error) from error


def status_rows(statuses: Any, used: Any = None) -> NDArray[np.void]:
    """The `PipelineStatuses` of a report as one array of a row per bearer, with `ungreedy_queues`;
    see `e2sm_tc.status_rows`."""
    return _codec().status_rows(statuses, used)


def ungreedy_queues() -> UngreedyQueues:
    """The queues of ungreedy flows, none so far, for `status_rows`."""
    return _codec().UngreedyQueues()


def greedy_flows(
    loads: Sequence[tuple[int, int]],
    *,
    fair_share_ratio: float,
    min_rate_kbps: int,
    min_backlog_bytes: int,
) -> list[bool]:
    """Whether each flow of a bearer is greedy; the others are sparse (RFC 8290 §4.1).

    Args:
        loads: rate in kbit/s and backlog in bytes of each.
        fair_share_ratio: a flow below this part of its max-min fair share of the bearer is sparse.
        min_rate_kbps: a slower one is greedy by its backlog only.
        min_backlog_bytes: one with this much queued is greedy whatever its rate.
    """
    return _codec().greedy_flows(
        loads,
        fair_share_ratio=fair_share_ratio,
        min_rate_kbps=min_rate_kbps,
        min_backlog_bytes=min_backlog_bytes,
    )


def forecast_feed(
    origin_us: int,
    points_us: Sequence[int],
    single_us: int,
    quantiles: Sequence[float],
    rows: Sequence[FeedRow],
) -> bytes:
    """Control message of a forecast feed, from points in µs after `origin_us` (Unix time) and
    quantiles of each; `single_us` is the time that a single point stands for.

    Raises as `encode` does.
    """
    codec = _codec()
    try:
        return codec.forecast_feed(origin_us, points_us, single_us, quantiles, rows)
    except codec.CodecError as error:
        raise _as_service_model_error("control", "v1", error) from error
    except ValueError as error:
        raise ServiceModelError("tc", "control", str(error), "E2SM-TC v1") from None


def pacer_limits(data: bytes) -> tuple[list[int], list[int], list[int]]:
    """RNTI, DRB identity and limit in bytes of each bearer of a pipeline status that has a limit.

    Empty for other indications; raises as `encode` does.
    """
    codec = _codec()
    try:
        return codec.pacer_limits(data)
    except codec.CodecError as error:
        raise _as_service_model_error("indication", "v1", error) from error


def templates() -> tuple[str, ...]:
    """The names of the templates of pipelines."""
    return tuple(_codec().TEMPLATES)


def former_templates() -> dict[str, str]:
    """Former names of templates, which are still understood, and the names in force."""
    return dict(_codec().FORMER_TEMPLATES)


def template_schema(name: str) -> dict[str, Any]:
    """The JSON schema of the parameters of a template."""
    return _codec().template_schema(name)


def pipeline(template: str, parameters: Any) -> dict[str, Any]:
    """The v1 `Pipeline` of a template with parameters.

    Raises `TemplateParameterError` for a name or parameters that there are not.
    """
    codec = _codec()
    try:
        return codec.pipeline(template, parameters)
    except codec.TemplateError as error:
        raise TemplateParameterError(
            str(getattr(error, "parameter", "")), str(getattr(error, "detail", error))
        ) from error
    except codec.CodecError as error:
        raise TemplateParameterError("", str(error)) from error


def digest(pipeline: Any) -> int:
    """The digest of a v1 `Pipeline` as a status report has it; raises as `encode` does."""
    return zlib.crc32(encode("pipeline", pipeline))


def unsupported(pipeline: Any, capabilities: Any) -> str | None:
    """Why a node of these E2SM-TC `Capabilities` does not take a pipeline; `None` when it does.

    Of what the capabilities leave out nothing is known to be missing.
    """
    codec = _codec()
    try:
        codec.check_pipeline(pipeline, capabilities)
    except (codec.PipelineError, codec.CodecError) as error:
        return str(error)
    return None


def _as_service_model_error(kind: str, encoding: str, error: Exception) -> ServiceModelError:
    element = getattr(error, "element", "")
    place = f"{kind}.{element}" if element else kind
    return ServiceModelError("tc", place, str(error), f"a message of E2SM-TC {encoding}")
