"""Traces of decisions, from the node's report to the acknowledged control."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Sequence

import pytest

pytest.importorskip(
    "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
    reason="no OpenTelemetry: pip install -r requirements-dev.txt",
)

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tc_controller.core.actions import Action, SendControl
from tc_controller.core.inputs import Accepted, Refused
from tc_controller.tracing import (
    DecisionTraces,
    TracingError,
    close_provider,
    open_provider,
)
from tc_ric import Lab, in_lab

BEARER = {"ue": {"rnti": 17}, "drb": 1}


def recording() -> tuple[TracerProvider, InMemorySpanExporter]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def times(spans: Sequence[ReadableSpan]) -> dict[str, tuple[int, int]]:
    """Beginning and end by name, µs."""
    return {
        span.name: ((span.start_time or 0) // 1000, (span.end_time or 0) // 1000) for span in spans
    }


def sent(control_id: int, message: dict[str, object]) -> list[Action]:
    return [SendControl(control_id, "gnb-1", {}, message)]


@in_lab
async def test_a_decision_is_one_trace_from_the_report_to_the_answer(lab: Lab) -> None:
    lab.provider, exporter = recording()
    lab.add_node()
    lab.start()
    await asyncio.sleep(3)
    spans = exporter.get_finished_spans()
    assert sorted(span.name for span in spans) == ["control", "decide", "decision", "indication"]
    (root,) = (span for span in spans if span.parent is None)
    assert root.name == "decision"
    assert root.attributes is not None
    assert root.attributes["tc.bearer"] == "gnb-1/0x4601/drb1"
    assert root.attributes["tc.outcome"] == "accepted"
    assert {span.context.trace_id for span in spans if span.context} == {
        root.context.trace_id if root.context else None
    }


def test_spans_have_the_times_of_node_and_controller() -> None:
    provider, exporter = recording()
    traces = DecisionTraces(provider.get_tracer("test"))
    traces.sent(sent(7, {"transaction": {"bearer": BEARER}}), 1_500, 1_600, collected_at_us=1_000)
    traces.answered(7, Accepted(2, None), 3_000)
    assert times(exporter.get_finished_spans()) == {
        "decision": (1_000, 3_000),
        "indication": (1_000, 1_500),
        "decide": (1_500, 1_600),
        "control": (1_600, 3_000),
    }


def test_a_refusal_is_an_error_and_a_timer_has_no_indication() -> None:
    provider, exporter = recording()
    traces = DecisionTraces(provider.get_tracer("test"))
    traces.sent(sent(7, {"transaction": {"bearer": BEARER}}), 1_500, 1_600)
    traces.answered(7, Refused("overload", "", "", None), 3_000)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans.keys() == {"decision", "decide", "control"}
    assert not spans["decision"].status.is_ok
    assert spans["decision"].status.description == "overload"


def test_renewals_and_unknown_answers_are_not_traced() -> None:
    provider, exporter = recording()
    traces = DecisionTraces(provider.get_tracer("test"))
    traces.sent(sent(7, {"lease_renewal": {"bearer": BEARER}}), 1, 2)
    traces.answered(7, Accepted(2, None), 3)
    traces.answered(8, Accepted(2, None), 3)
    assert not exporter.get_finished_spans()


def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(f"no {name}", name=name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(TracingError, match=r"pip install 'sojourn-tc-controller\[tracing\]'"):
        open_provider()


def test_a_collector_that_does_not_answer_holds_up_no_stop() -> None:
    given_up = threading.Event()

    class Unreachable(SpanProcessor):
        def shutdown(self) -> None:
            given_up.wait()

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Unreachable())
    close_provider(provider, within_s=0.01)
    assert not given_up.is_set()
    given_up.set()


def test_spans_are_exported_at_a_stop() -> None:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    provider.get_tracer("test").start_span("decision").end()
    close_provider(provider)
    assert [span.name for span in exporter.get_finished_spans()] == ["decision"]
