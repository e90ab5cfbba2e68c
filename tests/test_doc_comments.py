"""The check of doc comments finds those that begin with a preposition."""

from __future__ import annotations

from pathlib import Path

import doc_comments
import pytest

RUST = """\
//! From bytes to numbers.
//! For a node.

/// Number of packets, of which
/// Of these, marked ones are not one.
struct A {
    /// As-is copy.
    a: u8,
    {comment}
    b: u8,
}
"""
PYTHON = '''\
"""With a title."""
#: Longest wait
#: For an answer.
WAIT_S = 3
{comment}
def wait() -> None:
    """
    By asking.
    """
    print("Of what", """For whom""")
'''


@pytest.mark.parametrize(
    ("name", "text", "comment", "expected"),
    [
        ("a.rs", RUST, "/// Of them.", ["1: From bytes to numbers.", "9: Of them."]),
        ("a.py", PYTHON, "#: In s.", ["1: With a title.", "5: In s.", "7: By asking."]),
    ],
)
def test_a_comment_that_begins_with_a_preposition_is_found(
    tmp_path: Path, name: str, text: str, comment: str, expected: list[str]
) -> None:
    file = tmp_path / name
    file.write_text(text.replace("{comment}", comment))
    assert doc_comments.problems(file) == expected


def test_the_check_fails_and_names_the_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.rs"
    file.write_text("/// Of a bearer.\n")
    assert doc_comments.main([str(file)]) == 1
    assert f"{file}:1: Of a bearer.\nexpected a noun or a verb" in capsys.readouterr().out
    file.write_text("/// Queue of a bearer.\n")
    assert doc_comments.main([str(file)]) == 0
