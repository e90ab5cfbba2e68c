"""The state file: atomic, tolerant of a bad file, closed by its last save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from ric.state_file import StateError, StateFile, read_document, require_version, write_document


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def failures(registry: CollectorRegistry, operation: str) -> float | None:
    return registry.get_sample_value("sojourn_state_file_failures_total", {"operation": operation})


def test_what_is_saved_is_restored(tmp_path: Path, registry: CollectorRegistry) -> None:
    path = tmp_path / "sub" / "state.json"
    file = StateFile(path, registry)
    assert file.restore(dict) is None
    file.save({"version": 1, "n": 2})
    assert file.restore(dict) == {"version": 1, "n": 2}
    assert [entry.name for entry in path.parent.iterdir()] == ["state.json"]
    assert (failures(registry, "read"), failures(registry, "write")) == (0, 0)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"version": 2}'])
def test_an_unusable_file_is_moved_aside_and_counted(
    tmp_path: Path, registry: CollectorRegistry, text: str
) -> None:
    def accept(document: dict[str, Any]) -> dict[str, Any]:
        require_version(document, 1)
        return document

    path = tmp_path / "state.json"
    path.write_text(text)
    file = StateFile(path, registry)
    assert file.restore(accept) is None
    assert not path.exists()
    assert path.with_name("state.json.unusable").read_text() == text
    assert failures(registry, "read") == 1


def test_a_file_that_cannot_be_written_is_counted(
    tmp_path: Path, registry: CollectorRegistry
) -> None:
    (tmp_path / "file").touch()
    StateFile(tmp_path / "file" / "state.json", registry).save({})
    assert failures(registry, "write") == 1


def test_nothing_is_saved_after_the_last_save(tmp_path: Path, registry: CollectorRegistry) -> None:
    file = StateFile(tmp_path / "state.json", registry)
    file.save({"n": 1}, last=True)
    file.save({"n": 2})
    assert file.restore(dict) == {"n": 1}


def test_without_a_path_no_state_is_kept(registry: CollectorRegistry) -> None:
    file = StateFile(None, registry)
    file.save({"n": 1})
    assert file.restore(dict) is None


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("[]")
    with pytest.raises(StateError, match=r"state\.json: a list; expected an object"):
        read_document(path)
    with pytest.raises(StateError, match="a directory; expected a regular file"):
        read_document(tmp_path)
    with pytest.raises(StateError, match="version: 3; expected 1"):
        require_version({"version": 3}, 1)


def test_a_failed_write_leaves_the_old_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    write_document(path, {"n": 1})

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_document(path, {"n": 2})
    assert read_document(path) == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]
