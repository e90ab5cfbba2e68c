"""Which licences of Python distributions the audit accepts."""

from __future__ import annotations

import audit
import pytest


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-2-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("License :: OSI Approved :: Python Software Foundation License", True),
        ("License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", True),
        (
            "MIT License\n\nCopyright (c) somebody\n\nPermission is hereby granted " + "x" * 200,
            True,
        ),
        ("GPL-3.0-or-later", False),
        ("MIT AND GPL-2.0-only", False),
        ("License :: OSI Approved :: GNU Affero General Public License v3", False),
        ("AGPL-3.0", False),
        ("Proprietary", False),
    ],
)
def test_a_licence_is_accepted_or_refused_with_its_name(
    text: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "licenses", lambda _: [text])
    why = audit.refused("x")
    assert (why == "") == allowed
    assert allowed or text[:20] in why


def test_a_distribution_without_a_licence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "licenses", lambda _: [])
    assert audit.refused("x") == "says nothing of its licence"


def test_what_others_need_is_found_over_several_steps() -> None:
    found = audit.needed(["sojourn-tc-controller"])
    assert {"sojourn-tc-controller", "sojourn-ric", "grpcio", "pydantic-core"} <= found
    assert "ruff" not in found
