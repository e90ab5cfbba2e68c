"""Access files against the vectors, which the library has too, and against the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sojourn_interfaces import check_identifiers
from sojourn_serving import SetupError, check_access_file

VECTORS = Path(__file__).resolve().parents[3] / "access" / "vectors"
SCHEMA = Draft202012Validator(json.loads((VECTORS.parent / "access.schema.json").read_text()))
FILES: list[dict[str, Any]] = yaml.safe_load((VECTORS / "files.yaml").read_text())
BOUNDS: dict[str, list[dict[str, Any]]] = yaml.safe_load((VECTORS / "audit.yaml").read_text())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["name", "certificates", "token_file", "may", "nodes"])


@pytest.mark.parametrize("case", FILES, ids=lambda case: case["name"])
def test_files_are_accepted_or_refused_with_their_place(
    case: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "access.yaml"
    for name, content in {path.name: case["access"], **case.get("files", {})}.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(int(case.get("modes", {}).get(name, "0644"), 8))
    if "error" not in case:
        check_access_file(path)
        SCHEMA.validate(yaml.safe_load(case["access"]))
        return
    with pytest.raises(SetupError) as refused:
        check_access_file(path)
    place = f"{path}: {case['error']}: " if case["error"] else f"{path}: "
    assert str(refused.value).startswith(place)


def test_the_schema_refuses_what_its_keywords_can_say() -> None:
    for wrong in (
        {"clients": []},
        {"clients": [{"name": "a", "certificates": ["a"], "may": ["write"]}]},
        {"clients": [{"name": "a b", "certificates": ["a"], "may": ["read"]}]},
        {"clients": [{"name": "a", "certificates": ["a"], "may": ["read"], "node": ["x"]}]},
    ):
        assert list(SCHEMA.iter_errors(wrong)), wrong


@given(text=st.one_of(st.text(), st.binary().map(lambda raw: raw.decode("latin-1"))))
def test_any_text_is_accepted_or_refused_with_its_place(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _check(tmp_path_factory.getbasetemp() / "any.yaml", text.encode("utf-8", "surrogatepass"))


@given(client=st.dictionaries(KEYS, VALUES | st.just(["read"]) | st.just("a\0b")))
def test_any_client_is_accepted_or_refused_with_its_place(
    client: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    document = yaml.safe_dump({"clients": [client]})
    _check(tmp_path_factory.getbasetemp() / "client.yaml", document.encode("utf-8", "replace"))


def _check(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        check_access_file(path)
    except SetupError as error:
        assert str(error).startswith(f"{path}: ")


@pytest.mark.parametrize("case", BOUNDS["identifiers"], ids=str)
def test_identifiers_are_bounded_as_in_the_vectors(case: dict[str, Any]) -> None:
    text = case["text"] * case["times"]
    if case["accepted"]:
        check_identifiers(node_id=text)
        return
    with pytest.raises(ValueError, match=r"^node_id: .*; expected at most 256 bytes without"):
        check_identifiers(node_id=text)
