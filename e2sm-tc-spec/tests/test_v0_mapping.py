"""The vectors of annex B from Python, and the bindings of the mapping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import e2sm_tc
import pytest
from e2sm_tc import v0

SPEC = Path(__file__).resolve().parents[1]
VECTORS = [
    json.loads(line) for line in (SPEC / "vectors/v0_mapping.jsonl").read_text().splitlines()
]


def of_kind(kind: str) -> Any:
    vectors = [vector for vector in VECTORS if vector["kind"] == kind]
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["name"])


def lowered(pipeline: dict[str, Any] | None) -> v0.State:
    return v0.State.safe() if pipeline is None else v0.lower(pipeline, 0, 64, 64)


@of_kind("lower")
def test_pipelines_are_lowered_as_in_the_vectors(vector: dict[str, Any]) -> None:
    if "refused" in vector:
        with pytest.raises(v0.UnsupportedInV0) as refused:
            lowered(vector["pipeline"])
        error = refused.value
        found = {"cause": error.cause, "element": error.element, "detail": error.detail}
        assert found == vector["refused"]
        return
    state = lowered(vector["pipeline"])
    assert json.loads(state.to_json()) == vector["state"]
    assert v0.pipeline(state) == vector["state"]["pipeline"]
    controls = lowered(vector["before"]).controls_to(state)
    assert [[control.hex() for control in group] for group in controls] == vector["controls"]


@of_kind("lift")
def test_reports_are_lifted_as_in_the_vectors(vector: dict[str, Any]) -> None:
    indications = [bytes.fromhex(indication) for indication in vector["indications"]]
    if "refused" in vector:
        with pytest.raises(e2sm_tc.CodecError) as refused:
            v0.State.observed(indications[-1])
        assert str(refused.value) == f"indication: {vector['refused']}"
        return
    reports = v0.Reports()
    for indication in indications:
        reports.take(indication)
    observed = v0.State.observed(indications[-1])
    assert json.loads(observed.to_json()) == vector["observed"]
    state = observed if vector["pipeline"] is None else lowered(vector["pipeline"])
    status = v0.lift(reports, state, vector["context"])
    assert status == vector["status"]
    e2sm_tc.encode("indication", {"pipeline_status": [status]})


def test_states_are_compared_by_content_and_with_reports_by_reported_content() -> None:
    greedy = next(v for v in VECTORS if v["kind"] == "lower" and v["name"] == "all that v0 has")
    state, before = lowered(greedy["pipeline"]), lowered(greedy["before"])
    assert state == lowered(greedy["pipeline"])
    assert state != before
    for group in before.controls_to(state):
        for control in group:
            before = before.after(control)
    assert before.agrees_with(state)
    assert before.controls_to(state) == []
    assert not state.agrees_with(v0.State.safe())
    assert (v0.State.safe(3).base, v0.State.safe(3).name, state.name) == (
        3,
        "transparent",
        "everything_v0_has",
    )


def test_invalid_messages_and_controls_are_errors() -> None:
    safe, delete = v0.State.safe(), {"type": "QUEUE", "act": "DEL", "id": 7, "queue_type": "FIFO"}
    with pytest.raises(v0.ControlError, match="queue 7"):
        safe.after(e2sm_tc.encode("control", delete, "v0"))
    for call in (safe.after, v0.State.observed, v0.Reports().take):
        with pytest.raises(e2sm_tc.CodecError):
            call(b"\x00")
    with pytest.raises(e2sm_tc.CodecError, match="context"):
        v0.lift(v0.Reports(), safe, {})
    context = next(vector["context"] for vector in VECTORS if vector["kind"] == "lift")
    assert v0.lift(v0.Reports(), safe, context) is None
