"""The chart's values, their schema and its README say the same; no Helm needed."""

from __future__ import annotations

import json
from typing import Any

import chart_readme
import chart_schema
import pytest
import yaml
from chart_readme import CHART

VALUES_TEXT = (CHART / "values.yaml").read_text(encoding="utf-8")
VALUES: dict[str, Any] = yaml.safe_load(VALUES_TEXT)
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


def test_every_value_is_described() -> None:
    described = {value.path for value in chart_readme.documented(VALUES_TEXT)}
    assert list(chart_readme.undocumented(VALUES, described)) == []


def test_the_readme_is_generated_from_the_values() -> None:
    readme = (CHART / "README.md").read_text(encoding="utf-8")
    assert readme == chart_readme.readme(readme, VALUES_TEXT), "run python helm/chart_readme.py"


def test_the_schema_has_what_the_programs_accept() -> None:
    text = (CHART / "values.schema.json").read_text(encoding="utf-8")
    assert text == chart_schema.text(), "run python helm/chart_schema.py"


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference names."""
    name = schema.get("$ref")
    return schema if name is None else SCHEMA["$defs"][name.removeprefix("#/$defs/")]


def compare(values: dict[str, Any], schema: dict[str, Any], path: str) -> list[str]:
    """Keys that only values or only the schema have, below objects that the schema closes."""
    schema = resolve(schema)
    if schema.get("additionalProperties") is not False:
        return []
    known = schema["properties"]
    wrong = [f"{path}.{key}: not in the schema" for key in values.keys() - known.keys()]
    # The keys of `pod` of a component, and Helm's `global`, have no default.
    if values:
        wrong += [f"{path}.{key}: no value" for key in known.keys() - values.keys() - {"global"}]
    for key in values.keys() & known.keys():
        if isinstance(values[key], dict):
            wrong += compare(values[key], known[key], f"{path}.{key}")
    return wrong


def test_schema_and_values_have_the_same_keys() -> None:
    assert (
        sorted(line for line in compare(VALUES, SCHEMA, "") if not line.startswith(".tls.secrets"))
        == []
    )


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# -- One.\na: 1\n", ["| `a` | `1` | One. |"]),
        ("a:\n  # -- Two\n  # lines.\n  b: [x]\n", ['| `a.b` | `["x"]` | Two lines. |']),
        ("# Of a group.\na:\n  # -- B.\n  b: {}\nc: 1\n", ["| `a.b` | `{}` | B. |"]),
    ],
)
def test_a_comment_with_dashes_describes_the_key_below(text: str, rows: list[str]) -> None:
    assert chart_readme.table(text).splitlines()[2:] == rows


def test_a_value_without_a_description_is_reported() -> None:
    text = "# -- A.\na: 1\nb:\n  c: 2\n"
    described = {value.path for value in chart_readme.documented(text)}
    assert list(chart_readme.undocumented(yaml.safe_load(text), described)) == ["b.c"]
