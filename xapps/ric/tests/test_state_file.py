"""The state file: atomic, tolerant of a bad file, closed by its last save."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from ric.state_file import StateError, StateFile, read_document, require_version, write_document


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def program(text: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A program of its own that knows the state file; its standard output is asserted on."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def failures(registry: CollectorRegistry, operation: str) -> float | None:
    return registry.get_sample_value("sojourn_state_file_failures_total", {"operation": operation})


def test_what_is_saved_is_restored(tmp_path: Path, registry: CollectorRegistry) -> None:
    path = tmp_path / "sub" / "state.json"
    file = StateFile(path, registry)
    assert file.restore(dict) is None
    file.save({"version": 1, "n": 2})
    assert file.restore(dict) == {"version": 1, "n": 2}
    assert {entry.name for entry in path.parent.iterdir()} == {"state.json", ".state.json.lock"}
    file.save({"version": 1, "n": 3}, last=True)
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


@pytest.mark.parametrize("kind", ["directory", "fifo", "link"])
def test_what_is_no_regular_file_is_refused_and_stays(
    tmp_path: Path, registry: CollectorRegistry, kind: str
) -> None:
    path = tmp_path / "state.json"
    if kind == "directory":
        path.mkdir()
        (path / "other").write_text("of others")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(os.devnull)
    before = path.lstat()
    with pytest.raises(StateError, match=r"state\.json: a .*; expected a regular file"):
        StateFile(path, registry)
    assert os.path.samestat(path.lstat(), before)
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


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


def test_a_key_given_twice_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"version": 1, "a": {"b": 1, "b": 2}}')
    with pytest.raises(StateError, match=r"key 'b' given twice; expected it once$"):
        read_document(path)


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


TWO_WRITERS = """
import os, signal, sys
from pathlib import Path
from ric.state_file import StateError, read_document, write_document
path = Path(sys.argv[1])
write_document(path, {"writer": 0, "rows": []})
children = []
for writer in (1, 2):
    if (child := os.fork()) == 0:
        while True:
            # Documents of different lengths show where two are mixed.
            rows = [writer] * 3000 * writer
            write_document(path, {"writer": writer, "rows": rows}, durable=False)
    children.append(child)
torn, seen, reads = 0, {0}, 0
# On a busy machine one of them may write nothing for long.
while reads < 600 or len(seen) < 3:
    reads += 1
    try:
        document = read_document(path)
        torn += document["rows"] != [document["writer"]] * 3000 * document["writer"]
        seen.add(document["writer"])
    except StateError:
        torn += 1
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(torn, sorted(seen - {0}))
"""


def test_two_writers_of_one_file_tear_no_document(tmp_path: Path) -> None:
    done = program(TWO_WRITERS, tmp_path / "state.json")
    assert done.stdout == "0 [1, 2]\n", done.stderr


KILLED = """
import os, sys
from pathlib import Path
from ric.state_file import read_document, write_document
path = Path(sys.argv[1])
for step in range(1000):
    write_document(path, {"document": "old"})
    if (child := os.fork()) == 0:
        left = step
        def end(event, arguments):
            global left
            left -= event.startswith(("open", "os."))
            if left < 0:
                os._exit(9)
        sys.addaudithook(end)
        write_document(path, {"document": "new"})
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert read_document(path)["document"] in ("old", "new")
    if status == 0:
        print(step)
        break
"""
"""Ends a writer before its first step on files, before its second, and so on."""


def test_a_writer_killed_at_any_step_leaves_a_whole_document(
    tmp_path: Path, registry: CollectorRegistry
) -> None:
    path = tmp_path / "state.json"
    done = program(KILLED, path)
    assert int(done.stdout or 0) >= 3, done.stderr
    left = [one.name for one in tmp_path.iterdir() if one != path]
    assert left, "what the killed ones had begun"
    assert StateFile(path, registry).restore(dict) == {"document": "new"}
    assert [one.name for one in tmp_path.iterdir() if one != path] == [".state.json.lock"]


OTHER = """
import sys
from pathlib import Path
from prometheus_client import CollectorRegistry
from ric.state_file import StateError, StateFile
try:
    StateFile(Path(sys.argv[1]), CollectorRegistry())
    print("kept")
except StateError as error:
    print(error)
"""


def test_a_second_program_is_refused_by_the_name_of_the_first(
    tmp_path: Path, registry: CollectorRegistry
) -> None:
    path = tmp_path / "state.json"
    file = StateFile(path, registry)
    printed = program(OTHER, path).stdout
    assert re.fullmatch(
        rf"{path}: is in use by .+, process \d+ on .+, since \S+Z;"
        r" expected one process at a time\n",
        printed,
    )
    file.save({}, last=True)
    assert program(OTHER, path).stdout == "kept\n"
    killed = (
        f"{OTHER}\nimport os\nfile = StateFile(Path(sys.argv[1]), CollectorRegistry())\nos._exit(9)"
    )
    assert program(killed, path).returncode == 9
    assert program(OTHER, path).stdout == "kept\n", "a killed program has no claim"


def test_a_directory_without_write_access_is_no_claim(
    tmp_path: Path, registry: CollectorRegistry
) -> None:
    (tmp_path / "file").touch()
    assert StateFile(tmp_path / "file" / "state.json", registry).restore(dict) is None
