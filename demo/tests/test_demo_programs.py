"""Invalid files and programs end the demo with one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml
from sojourn_demo import DemoError, programs
from sojourn_demo.cli import main
from sojourn_demo.kernel.__main__ import main as kernel_main
from sojourn_demo.ops.__main__ import main as ops_main
from sojourn_demo.recording import write_scenario

BASE = {"duration_s": 1, "ues": [{"rnti": 17, "channel": {"fixed_mcs": 10}}]}


def test_a_trace_becomes_the_channel_of_every_ue(tmp_path: Path) -> None:
    base, trace = tmp_path / "base.yaml", tmp_path / "radio.down"
    base.write_text(yaml.safe_dump(BASE))
    trace.write_text("1\n2\n")
    path = write_scenario(base, tmp_path, duration_s=40, trace=trace, seed=7)
    scenario = yaml.safe_load(path.read_text())
    assert scenario["ues"][0]["channel"] == {"mahimahi": {"path": str(trace)}}
    assert (scenario["duration_s"], scenario["seed"]) == (40, 7)


@pytest.mark.parametrize("start", [main, kernel_main, ops_main])
def test_a_file_in_the_place_of_the_results_is_refused_at_once(
    start: Callable[[Sequence[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        start(["--out", f"{tmp_path}/file/out"])
    assert ended.value.code == 2
    expected = f"argument --out: '{tmp_path}/file' is no folder; expected one\n"
    assert capsys.readouterr().err.endswith(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "has no ues"), ("ues: []", "has no ues"), ("a: [", "while parsing"), ("7", "has no ues")],
)
def test_an_invalid_base_scenario_is_named(tmp_path: Path, text: str, message: str) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(text)
    with pytest.raises(DemoError, match=rf"base.yaml: (.|\n)*{message}"):
        write_scenario(base, tmp_path, duration_s=1, trace=None, seed=None)


def test_a_missing_trace_gives_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = tmp_path / "base.yaml"
    base.write_text(yaml.safe_dump(BASE))
    arguments = ["--scenario", str(base), "--trace", "no.down", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "sojourn-demo: no.down: no such file; expected a Mahimahi trace (.xz and .gz too)\n"
    )


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs in place of this environment's."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path


def script(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


async def test_a_program_that_dies_is_reported_with_its_last_log_line(bin_folder: Path) -> None:
    script(bin_folder, "gnb-lab", "echo 'scenario.yaml: cell: wrong' >&2; exit 2")
    async with programs.Programs(bin_folder) as running:
        with pytest.raises(DemoError, match=r"gnb-lab ended with status 2: scenario.yaml: cell"):
            await running.start("gnb-lab", "serve")


async def test_programs_are_stopped_when_the_block_is_left(bin_folder: Path) -> None:
    script(bin_folder, "a", 'echo \'{"event": "ready"}\'; exec sleep 60')
    async with programs.Programs(bin_folder) as running:
        program = await running.start("a")
        assert program.alive
    assert not program.alive


async def test_an_unexpected_first_line_is_shown(bin_folder: Path) -> None:
    script(bin_folder, "a", "echo hello; exec sleep 60")
    async with programs.Programs(bin_folder) as running:
        with pytest.raises(DemoError, match=r"a printed b'hello\\n'; expected its ready line"):
            await running.start("a")


async def test_a_program_that_is_not_installed_is_named(bin_folder: Path) -> None:
    async with programs.Programs(bin_folder) as running:
        with pytest.raises(DemoError, match=r"tc-controller: no such program; run `make setup`"):
            await running.start("tc-controller")


def test_sigterm_leaves_no_program_behind(tmp_path: Path) -> None:
    """SIGTERM is how `timeout` and supervisors end a demo or a benchmark."""
    body = f"""
import asyncio
from pathlib import Path
from sojourn_demo.programs import Programs

async def main():
    async with Programs(Path({str(tmp_path)!r})) as programs:
        program = programs.spawn(["sleep", "600"], has_ready_line=False)
        print(program.process.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""
    command = [sys.executable, "-c", body]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
        assert started.stdout is not None
        program = int(started.stdout.readline())
        started.send_signal(signal.SIGTERM)
        started.wait(60)
    give_up_s = time.monotonic() + 60
    while Path(f"/proc/{program}").exists() and time.monotonic() < give_up_s:
        time.sleep(0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)
