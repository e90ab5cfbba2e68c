"""Two commands on one directory: the second is refused by the name of the first, or waits."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from made_model import SHAPE, zero_model
from rlc_model import write_contract
from rlc_train import cli
from rlc_train.rundir import RunDirectory
from rlc_train.settings import Settings

HOLDER = """
import sys
from pathlib import Path
from ric.claim import Claim
with Claim.of(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[int]:
    """Another process that works on a directory; its id."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process.pid


@pytest.mark.parametrize(
    "words",
    [
        ["train", "--data", "none", "--run"],
        ["tune", "--data", "none", "--run"],
        ["tune", "--data", "none", "--chief", "--run"],
        ["evaluate", "--run"],
        ["promote", "--run"],
        ["report", "--run"],
        ["publish", "--run"],
        ["retrain", "--data", "none", "--model", "none", "--work"],
    ],
    ids=lambda words: " ".join(words[:1] + words[3:4]),
)
def test_a_command_on_a_directory_in_use_names_who_uses_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    monkeypatch.setattr(cli, "LEASE_S", 0.0)
    run = tmp_path / "run"
    run.mkdir()
    with held(run) as process:
        assert cli.main([*words, str(run)]) == 2
        printed = capsys.readouterr().err
        named = rf"{run}: is in use by .*, process {process} on .*; expected one process at a time"
        assert re.search(named, printed)
        assert list(run.iterdir()) == []


def test_a_directory_is_free_when_its_command_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with held(run) as process:
        pass
    for _ in range(2):
        assert cli.main(["promote", "--run", str(run)]) == 2
        assert f"process {process}" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [run]


def test_a_worker_shares_the_directory_of_its_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with held(tmp_path / "run"):
        words = ["tune", "--data", str(tmp_path / "none"), "--worker", "a", "--run"]
        assert cli.main([*words, str(tmp_path / "run")]) == 2
        assert "in use" not in capsys.readouterr().err


def test_a_command_on_a_directory_that_is_not_there_makes_none(tmp_path: Path) -> None:
    assert cli.main(["evaluate", "--run", str(tmp_path / "no" / "run")]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_model_directory_is_written_by_one_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rlc_train.history.WAIT_S", 0.0)
    model = tmp_path / "current"
    with held(model) as process:
        assert cli.main(["rollback", "--model", str(model)]) == 2
    assert f"current: is in use by -c, process {process} on " in capsys.readouterr().err


@pytest.mark.usefixtures("mlflow_extra")
def test_three_publish_to_a_fresh_store_at_once(tmp_path: Path) -> None:
    processes = []
    for name in "abc":
        directory = RunDirectory(tmp_path / name)
        directory.begin(Settings(name=name, network=SHAPE), {"sha256": "0" * 64, "t_m_us": 10.0})
        write_contract(directory.path / "model", *zero_model(name, "1"))
        command = [sys.executable, "-m", "rlc_train.cli", "publish", "--run", str(directory.path)]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
    for name, process in zip("abc", processes, strict=True):
        printed, error = process.communicate(timeout=280)
        assert process.returncode == 0, error
        assert re.fullmatch(rf".*/{name}: MLflow run \w+, model version 1\n", printed), printed


@pytest.mark.parametrize("role", [["--chief"], ["--worker", "a"]])
def test_a_search_beyond_this_machine_wants_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], role: list[str]
) -> None:
    words = ["tune", "--data", str(tmp_path / "none"), "--run", str(tmp_path / "run"), *role]
    for address in ("10.0.0.1:9070", "0.0.0.0:9070", "[::]:9070", "example.org:9070"):
        assert cli.main([*words, "--address", address]) == 2
        printed = capsys.readouterr().err
        assert f"--address: {address} is beyond this machine, in plain text" in printed
    for allowed in (["127.0.0.1:9070"], ["localhost:9070"], ["10.0.0.1:9070", "--insecure"]):
        assert cli.main([*words, "--address", *allowed]) == 2
        assert f"{tmp_path}/none" in capsys.readouterr().err, "it goes on to the data set"
