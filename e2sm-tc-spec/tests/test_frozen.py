"""What was published stays as it is: vectors keep their bytes, and types what they have before
their extension markers. `vectors/frozen.txt` has digests; lines are only added to it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import asn1tools
import pytest

SPEC = Path(__file__).resolve().parents[1]
FROZEN = [line.split() for line in (SPEC / "vectors" / "frozen.txt").read_text().splitlines()]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def first_lines(name: str, count: int) -> str:
    return "".join((SPEC / "vectors" / name).read_text().splitlines(keepends=True)[:count])


def root(node: Any) -> Any:
    """A parsed type without what stands behind its extension markers."""
    if isinstance(node, dict):
        return {key: root(value) for key, value in sorted(node.items())}
    if isinstance(node, list):
        return [root(value) for value in (node[: node.index(None) + 1] if None in node else node)]
    return node


@pytest.mark.parametrize("name", ["v0.jsonl", "v1.jsonl"])
def test_published_vectors_stay_and_new_ones_are_frozen(name):
    frozen = [(int(count), then) for file, count, then in FROZEN if file == name]
    for count, then in frozen:
        assert digest(first_lines(name, count)) == then, (
            f"one of the first {count} of {name} changed"
        )
    text = (SPEC / "vectors" / name).read_text()
    count = len(text.splitlines())
    assert frozen[-1][0] == count, f"add to vectors/frozen.txt: {name} {count} {digest(text)}"


def definitions(asn1_text: str) -> dict[str, str]:
    """A digest of each type and constant of the module, as far as its extension markers."""
    (module,) = asn1tools.parse_string(asn1_text).values()
    return {
        name: digest(json.dumps(root(definition)))
        for name, definition in (module["values"] | module["types"]).items()
    }


def test_types_stay_before_their_extension_markers_and_new_ones_are_frozen(asn1_text):
    frozen = {name: then for file, name, then in FROZEN if file == "E2SM-TC-v1.asn"}
    now = definitions(asn1_text)
    changed = [name for name, then in frozen.items() if now.get(name) != then]
    assert not changed, f"{changed}: later editions only add behind the extension markers"
    new = [f"E2SM-TC-v1.asn {name} {now[name]}" for name in now.keys() - frozen.keys()]
    assert not new, f"add to vectors/frozen.txt: {new}"


def test_a_change_before_a_marker_is_found_and_one_behind_it_is_not(asn1_text):
    marker = "    just-in-time          NULL,\n    ..."
    behind = asn1_text.replace(marker, f"{marker},\n    prophet NULL")
    before = asn1_text.replace(marker, f"    prophet NULL,\n{marker}")
    assert definitions(behind) == definitions(asn1_text)
    assert definitions(before).keys() == definitions(asn1_text).keys()
    assert definitions(before)["Pacer"] != definitions(asn1_text)["Pacer"]
