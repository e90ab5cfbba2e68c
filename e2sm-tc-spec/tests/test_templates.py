"""Annex A of the document, its vectors and the Python module have the same templates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import e2sm_tc
import pytest

SPEC = Path(__file__).resolve().parents[1]
DOCUMENT = (SPEC / "spec" / "E2SM-TC-v1.md").read_text()
ANNEX = DOCUMENT.partition("## Annex A ")[2].partition("## Annex B ")[0]
VECTORS = [json.loads(line) for line in (SPEC / "vectors/templates.jsonl").read_text().splitlines()]


def parameters(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if "properties" in schema:
        for name, part in schema["properties"].items():
            yield from parameters(f"{path}.{name}" if path else name, part)
    elif path:
        yield path, schema


def row(path: str, schema: dict[str, Any]) -> str:
    """A row of the annex with default, range and meaning of the implementation."""
    default = schema.get("default")
    shown = default if isinstance(default, str) else json.dumps(default)
    allowed = ""
    if "minimum" in schema:
        allowed = f"{schema['minimum']} to {schema['maximum']}"
    elif "enum" in schema:
        allowed = ", ".join(f"`{value}`" for value in schema["enum"])
    elif path == "scheduler":
        allowed = ", ".join(f"`{value['const']}`" for value in schema["oneOf"])
    meaning = " ".join(schema["description"].split())
    default = "absent" if default is None else f"`{shown}`"
    return f"| `{path}` | {default} | {allowed} | {meaning} |"


@pytest.mark.parametrize("template", e2sm_tc.TEMPLATES)
def test_the_annex_lists_the_parameters_of_each_template(template: str) -> None:
    number = e2sm_tc.TEMPLATES.index(template) + 1
    section = ANNEX.partition(f"### A.{number} `{template}`\n")[2].partition("\n### ")[0]
    schema = e2sm_tc.template_schema(template)
    assert " ".join(schema["description"].split()) in section
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [row(*parameter) for parameter in parameters("", schema)]


def test_the_annex_has_no_other_template() -> None:
    assert ANNEX.count("\n### ") == len(e2sm_tc.TEMPLATES)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["template"])
def test_templates_have_the_bytes_of_the_rust_vectors(vector: dict[str, Any]) -> None:
    pipeline = e2sm_tc.pipeline(vector["template"], vector["parameters"])
    assert pipeline == vector["pipeline"]
    assert e2sm_tc.encode("pipeline", pipeline).hex() == vector["hex"]
    assert e2sm_tc.decode("pipeline", bytes.fromhex(vector["hex"])) == pipeline


def test_every_template_has_a_vector() -> None:
    assert {vector["template"] for vector in VECTORS} == set(e2sm_tc.TEMPLATES)


def test_unknown_templates_and_bad_parameters_are_refused_by_name() -> None:
    with pytest.raises(
        e2sm_tc.TemplateError, match="'cake'; expected one of transparent, "
    ) as error:
        e2sm_tc.pipeline("cake")
    assert error.value.parameter == "template"
    with pytest.raises(e2sm_tc.TemplateError, match="expected 1 to 4096") as error:
        e2sm_tc.pipeline("fq_codel", {"queues": 0})
    assert (error.value.parameter, error.value.detail) == ("queues", "0; expected 1 to 4096")


def test_a_transaction_is_applied_or_refused_with_its_cause() -> None:
    safe, fair = e2sm_tc.pipeline("transparent"), e2sm_tc.pipeline("fq_codel")
    assert e2sm_tc.candidate(fair, safe, "safe", {}) == safe
    named = e2sm_tc.candidate(fair, safe, {"delta": [{"set_name": "x"}]}, {})
    assert named == {**fair, "name": "x"}
    with pytest.raises(e2sm_tc.PipelineError) as error:
        e2sm_tc.candidate(safe, safe, {"replace": fair}, {"queues": ["fifo"]})
    assert (error.value.cause, error.value.element) == ("unsupported", "queues[0].discipline.codel")
    with pytest.raises(e2sm_tc.CodecError, match="change: "):
        e2sm_tc.candidate(safe, safe, {"delta": 7}, {})
