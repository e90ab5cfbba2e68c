"""Traces of OpenTelemetry: from the report that led to a decision to the acknowledged control.

A trace is one transaction: span `decision` from the node's collection of the report to the answer,
with the children `indication` (node to xApp), `decide` (handling, until the control is sent) and
`control` (until it is answered). Exported over OTLP; endpoint, TLS, headers and sampling are set by
the environment variables of the OpenTelemetry specification, `OTEL_EXPORTER_OTLP_ENDPOINT` and so
on. Controls share one gRPC stream, whose metadata are sent once, so the trace context does not go
along; the attribute `tc.control_id` is the correlation id in the control's header, which the node
sees.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ric.errors import RicError

from tc_controller.core.actions import Action, SendControl
from tc_controller.core.inputs import Accepted, BearerKey, Outcome
from tc_controller.core.report.records import result_name

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

#: Controls without answer that are remembered; the oldest is forgotten.
_MOST_OPEN: Final = 10_000
#: A stop waits this long for the collector.
EXPORT_AT_STOP_S: Final = 1.0


class TracingError(RicError):
    """Traces are wanted, but OpenTelemetry is not installed."""

    def __init__(self, missing: ImportError) -> None:
        super().__init__(
            f"tracing.enabled: {missing.name} is not installed; "
            "expected: pip install 'sojourn-tc-controller[tracing]'"
        )


def open_provider() -> TracerProvider:
    """A provider that exports over OTLP in batches, off the event loop.

    Raises:
        TracingError: the optional dependency `tracing` is not installed.
    """
    try:
        resources = importlib.import_module("opentelemetry.sdk.resources")
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.grpc.trace_exporter")
    except ImportError as error:
        raise TracingError(error) from error
    resource = resources.Resource.create({"service.name": "tc-controller"})
    provider: TracerProvider = sdk.TracerProvider(resource=resource)
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return provider


def close_provider(provider: TracerProvider, within_s: float = EXPORT_AT_STOP_S) -> None:
    """Export what is left and shut down; blocks for at most `within_s`.

    Without a collector the exporter of OpenTelemetry retries for many seconds, which no setting of
    its `shutdown` bounds. What is not exported by then is lost.
    """
    closing = threading.Thread(target=provider.shutdown, name="close traces", daemon=True)
    closing.start()
    closing.join(within_s)


@dataclass(frozen=True, slots=True)
class _Open:
    """A transaction without answer. Times in µs since the Unix epoch."""

    node_id: str
    bearer: str
    #: Collection and handling of the report; ``None``: a timer led to the decision.
    collected_at_us: int | None
    handled_at_us: int
    sent_at_us: int


class DecisionTraces:
    """Spans of transactions, made when they are answered.

    Args:
        tracer: of OpenTelemetry.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._api = importlib.import_module("opentelemetry.trace")
        self._open: dict[int, _Open] = {}

    def sent(
        self,
        actions: Sequence[Action],
        handled_at_us: int,
        sent_at_us: int,
        collected_at_us: int | None = None,
    ) -> None:
        """Actions were carried out.

        Args:
            actions: of which transactions are traced.
            handled_at_us: when the handling of what led to them began.
            sent_at_us: now.
            collected_at_us: when the node collected the report that led to them.
        """
        for action in actions:
            if isinstance(action, SendControl) and "transaction" in action.message:
                bearer = BearerKey.from_ie(action.node_id, action.message["transaction"]["bearer"])
                self._open[action.control_id] = _Open(
                    action.node_id, str(bearer), collected_at_us, handled_at_us, sent_at_us
                )
                if len(self._open) > _MOST_OPEN:
                    del self._open[next(iter(self._open))]

    def answered(self, control_id: int, outcome: Outcome, now_us: int) -> None:
        """A control was answered, or was not in time; of others than transactions nothing is
        done."""
        item = self._open.pop(control_id, None)
        if item is None:
            return
        collected_us = item.collected_at_us
        # The clock of the node may be ahead.
        began_us = item.handled_at_us if collected_us is None else collected_us
        began_us = min(began_us, item.handled_at_us)
        attributes: dict[str, str | int] = {
            "tc.node": item.node_id,
            "tc.bearer": item.bearer,
            "tc.control_id": control_id,
            "tc.outcome": result_name(outcome),
        }
        root = self._tracer.start_span(
            "decision", start_time=began_us * 1000, attributes=attributes
        )
        context = self._api.set_span_in_context(root)
        if collected_us is not None:
            self._span("indication", context, began_us, item.handled_at_us)
        self._span("decide", context, item.handled_at_us, item.sent_at_us)
        self._span("control", context, item.sent_at_us, now_us)
        if not isinstance(outcome, Accepted):
            root.set_status(self._api.StatusCode.ERROR, result_name(outcome))
        root.end(now_us * 1000)

    def _span(self, name: str, context: Any, began_us: int, ended_us: int) -> None:
        span = self._tracer.start_span(name, context, start_time=began_us * 1000)
        span.end(ended_us * 1000)
