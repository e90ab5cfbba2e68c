"""Instructions of the hot paths stay what they are."""

from __future__ import annotations

import json
import shutil

import instructions
import pytest

KEPT = json.loads(instructions.KEPT.read_text())


def test_a_tenth_more_is_tolerated_and_what_is_not_in_both_is_reported() -> None:
    kept = {"fifo": 100.0, "codel": 100.0, "gone": 1.0}
    counted = {"fifo": 110.0, "codel": 111.0, "new": 1.0}
    assert instructions.grown(kept, counted) == ["codel", "gone", "new"]
    assert instructions.grown(kept, dict(kept)) == []


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_hot_paths_take_no_more_instructions_than_are_kept() -> None:
    if instructions.compiler() != KEPT["compiler"]:
        pytest.skip(f"counts are kept of {KEPT['compiler']}, this is {instructions.compiler()}")
    counted = instructions.counts()
    assert instructions.grown(KEPT["instructions"], counted) == [], counted
