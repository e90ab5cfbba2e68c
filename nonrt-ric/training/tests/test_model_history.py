"""A model that was replaced can be put back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from made_model import zero_model
from rlc_model import read_contract
from rlc_train import history
from rlc_train.cli import main


def version_of(directory: Path) -> str:
    return read_contract(directory).manifest.model_version


def test_rollback_goes_back_one_model_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    current = tmp_path / "current"
    for version in "123":
        history.install(current, *zero_model("made", version))
    for version in "21":
        assert main(["rollback", "--model", str(current)]) == 0
        assert version_of(current) == version
        assert f"made:{version} of " in capsys.readouterr().out
    assert version_of(tmp_path / "current.history/undone") == "2"
    assert main(["rollback", "--model", str(current)]) == 2
    assert "current: has no earlier model in " in capsys.readouterr().err
    assert version_of(current) == "1"
    history.install(current, *zero_model("made", "4"))
    assert main(["rollback", "--model", str(current)]) == 0
    assert version_of(current) == "1"


def test_a_repeated_installation_adds_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = tmp_path / "current"
    history.install(current, *zero_model("made", "1"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(history, "write_contract", killed)
        history.install(current, *zero_model("made", "2"))
    assert version_of(current) == "1"
    history.install(current, *zero_model("made", "2"))
    # Killed before it could be noted that it was done.
    history.install(current, *zero_model("made", "2"))
    assert [version_of(entry) for entry in history.entries(current)] == ["1"]


def test_the_oldest_entries_are_removed(tmp_path: Path) -> None:
    current = tmp_path / "current"
    for version in range(history.KEPT + 3):
        history.install(current, *zero_model("made", str(version)))
    kept = [version_of(entry) for entry in history.entries(current)]
    assert kept == [str(version) for version in range(2, history.KEPT + 2)]


def test_a_signature_goes_with_its_model(tmp_path: Path) -> None:
    current = tmp_path / "current"
    signature = current / "SHA256SUMS.sig"
    history.install(current, *zero_model("made", "1"), signer=lambda sums: b"signed " + sums[:8])
    signed = signature.read_bytes()
    history.install(current, *zero_model("made", "2"))
    assert not signature.exists()
    history.roll_back(current)
    assert signature.read_bytes() == signed
    history.install(current, *zero_model("made", "3"))
    damaged = history.entries(current)[-1] / "model.onnx"
    damaged.write_bytes(b"x")
    assert main(["rollback", "--model", str(current)]) == 2
    assert version_of(current) == "3"


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from made_model import zero_model
from rlc_model import read_contract
from rlc_train import history

models = {version: zero_model("made", version) for version in "123"}
current = Path(sys.argv[1]) / "current"

def version(directory):
    return read_contract(directory).manifest.model_version

def killed(step, do):
    "Whether `do` was ended before its step on files."
    if (child := os.fork()) == 0:
        left = step
        def end(event, arguments):
            nonlocal left
            left -= event.startswith(("open", "os.", "shutil."))
            if left < 0:
                os._exit(9)
        sys.addaudithook(end)
        do()
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0

def everything(do, before, allowed, after):
    for step in range(0, 1000, 3):
        before()
        was_killed = killed(step, do)
        assert version(current) in allowed, step
        earlier = [version(entry) for entry in history.entries(current)]
        assert len(set(earlier)) == len(earlier), (step, earlier)
        do()
        after()
        if not was_killed:
            return step

def fresh():
    import shutil
    for name in ("current", "current.history"):
        shutil.rmtree(current.with_name(name), ignore_errors=True)
    history.install(current, *models["1"])
    history.install(current, *models["2"])

def installed():
    assert version(current) == "3"
    assert [version(entry) for entry in history.entries(current)] == ["1", "2"]

steps = everything(lambda: history.install(current, *models["3"]), fresh, "23", installed)

def rolled_back():
    assert version(current) == "1"

def back():
    if history.entries(current):
        history.roll_back(current)

steps += everything(back, fresh, "21", rolled_back)
print(steps)
"""
"""Ends an installation and a rollback before the first step on files, before the fourth, and so on,
and then repeats them."""


def test_a_kill_at_any_step_leaves_a_model_and_no_entry_twice(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert int(done.stdout or 0) > 40, done.stderr
