"""Files and model directories are replaced as a whole, whoever is killed or writes beside."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rlc_model import files
from rlc_model.files import (
    remove_directory,
    replace_directory,
    replace_file,
    replacing,
    restore_directory,
)


def program(text: str, *arguments: object) -> str:
    """Standard output of a program of its own."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.symlink_to(os.devnull)
    with pytest.raises(OSError, match="is no regular file; expected one, or none"):
        replace_file(path, b"[]")
    assert path.is_symlink()
    assert [one.name for one in tmp_path.iterdir()] == ["results.json"]


ABOUT = """
import errno, os, sys
from pathlib import Path
from rlc_model import ContractError, Quantity, FEATURES, Manifest, read_contract, write_contract
from rlc_model import files
from rlc_model.manifest import ExporterCheck, Horizon, Scaler, TrainingData

def write(directory, version):
    model = Manifest(
        model_name="tiny", model_version=version, features=list(FEATURES), target="residual",
        scaler=Scaler(minimum=[0.0] * len(FEATURES), maximum=[1.0] * len(FEATURES)),
        quantities=[Quantity.OCCUPANCY], horizon=Horizon(points_us=(11_000,)), quantiles=[0.5],
        state_size=8, training_data=TrainingData(description="", sha256="0" * 64),
        exporter_check=ExporterCheck(steps=1, max_abs_difference=0.0),
    )
    write_contract(directory, model, version.encode() * 1000)

def version(directory):
    contract = read_contract(directory)
    found = contract.manifest.model_version
    assert contract.onnx == found.encode() * 1000
    return found

def without_exchange(*_):
    raise OSError(errno.EINVAL, "as on NFS")

directory = Path(sys.argv[1])
if sys.argv[2] == "renames":
    files._exchange = without_exchange
"""

KILLED = (
    ABOUT
    + """
missing = 0
for step in range(1000):
    write(directory, "1")
    if (child := os.fork()) == 0:
        left = step
        def end(event, arguments):
            global left
            left -= event.startswith(("open", "os.", "shutil."))
            if left < 0:
                os._exit(9)
        sys.addaudithook(end)
        write(directory, "2")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if sys.argv[2] == "renames":
        missing += not directory.exists()
        files.restore_directory(directory)
    assert version(directory) in ("1", "2"), step
    if status == 0:
        break
assert version(directory) == "2"
print(step, missing, sorted(path.name for path in directory.parent.iterdir()))
"""
)
"""Ends a writer before its first step on files, before its second, and so on."""


@pytest.mark.parametrize(("way", "without"), [("exchange", 0), ("renames", 1)])
def test_a_model_directory_survives_a_kill_at_any_step(
    tmp_path: Path, way: str, without: int
) -> None:
    steps, missing, left = program(KILLED, tmp_path / "model", way).split(" ", 2)
    assert int(steps) > 10
    assert int(missing) == without, "between the two renames, and put back"
    assert left.strip() == "['model']", "what was left by killed writers is removed"


BESIDE = (
    ABOUT
    + """
write(directory, "0")
children = []
for number in (1, 2):
    if (child := os.fork()) == 0:
        for _ in range(150):
            write(directory, str(number))
        os._exit(0)
    children.append(child)
seen, torn = set(), 0
running = set(children)
while running:
    try:
        seen.add(version(directory))
    except ContractError as error:
        torn += 1
    for child in list(running):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            running.discard(child)
print(torn, sorted(seen | {"0"}), [path.name for path in directory.parent.iterdir()])
"""
)


def test_readers_beside_two_writers_see_whole_models(tmp_path: Path) -> None:
    printed = program(BESIDE, tmp_path / "model", "exchange")
    assert printed == "0 ['0', '1', '2'] ['model']\n"


def test_a_file_that_is_not_finished_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert path.read_bytes() == b"old"
    with replacing(path) as one, replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one", "the last to end, whole"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_none_of_the_model_stay(tmp_path: Path) -> None:
    model = tmp_path / "model"
    replace_directory(model, {"a": b"1", "b": b"1"})
    model.chmod(0o750)
    (model / "notes.txt").write_text("mine")
    (model / ".a.part").write_text("left by a killed writer")
    replace_directory(model, {"a": b"2"}, names=("b",))
    assert {path.name: path.read_bytes() for path in model.iterdir()} == {
        "a": b"2",
        "notes.txt": b"mine",
    }
    assert model.stat().st_mode & 0o777 == 0o750
    (model / "runs").mkdir()
    with pytest.raises(IsADirectoryError, match="has the folder runs; expected files alone"):
        replace_directory(model, {"a": b"3"})
    assert (model / "a").read_bytes() == b"2"


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to("first")
    replace_directory(tmp_path / "current", {"a": b"1"})
    replace_directory(tmp_path / "current", {"a": b"2"})
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "first" / "a").read_bytes() == b"2"
    remove_directory(tmp_path / "first")
    restore_directory(tmp_path / "current")
    assert list(tmp_path.iterdir()) == [tmp_path / "current"]


def test_a_mount_point_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: Path, other: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(other))

    monkeypatch.setattr(files, "_exchange", busy)
    (tmp_path / "model").mkdir()
    with pytest.raises(OSError, match=r"is a mount point, .*; expected a folder within it"):
        replace_directory(tmp_path / "model", {"a": b"1"})
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]
