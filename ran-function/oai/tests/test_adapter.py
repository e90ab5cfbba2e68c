"""The adapter for OAI, wrapped by the linker into a stand-in for OAI, with the threads of a gNB."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ADAPTER = ROOT / "ran-function" / "oai" / "2026.w11"
MOCK = ADAPTER / "mock"
PREFIX = Path(sys.prefix)
FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2")
SOURCES = ("adapter", "pdcp", "pdcp_lock", "rlc", "mac", "pace", "housekeeping")


def wraps() -> list[str]:
    return (ADAPTER / "wraps.txt").read_text().split()


def build(program: Path, wrapped: list[str], *defines: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no cc here, which compiles the adapter")
    sources = [ADAPTER / f"{name}.c" for name in SOURCES] + sorted(MOCK.glob("*.c"))
    includes = [f"-I{folder}" for folder in (MOCK / "include", ADAPTER, PREFIX / "include")]
    command = [compiler, *FLAGS, *defines, *includes, *map(str, sources)]
    command += [str(PREFIX / "lib" / "libsojourn_gnb.a"), "-o", str(program)]
    command += [*(f"-Wl,--wrap={name}" for name in wrapped), "-lpthread", "-ldl", "-lm"]
    subprocess.run(command, check=True)
    return program


@dataclass(frozen=True)
class Arrived:
    """What the stand-in counted, for the UE that stays, and what the gNB wrote."""

    sent: int
    arrived: int
    gaps: int
    rlc_peak_bytes: int
    log: str
    printed: str


def run(program: Path, ues: int, mbit_per_s: int, *more: str, **settings: str) -> Arrived:
    """Three seconds; blocks carry 32 Mbit/s a UE."""
    done = subprocess.run(
        [str(program), str(ues), "3", str(mbit_per_s), *more],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(
        r"sent (\d+) arrived (\d+) gaps (\d+) worst_small_us \d+ rlc_peak_bytes (\d+)", done.stdout
    )
    assert found, done.stdout
    sent, arrived, gaps, rlc_peak_bytes = map(int, found.groups())
    return Arrived(sent, arrived, gaps, rlc_peak_bytes, done.stderr, done.stdout)


@pytest.fixture(scope="module")
def gnb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("oai") / "gnb", wraps())


def test_an_overload_waits_in_the_rlc_until_the_pipeline_takes_it(gnb: Path) -> None:
    without = run(gnb, 1, 64, SOJOURN_PIPELINE="transparent")
    controlled = run(gnb, 1, 64, SOJOURN_PIPELINE="low_latency")
    # Not one SDU as in virtual time: packets come before the MAC's first question, and when the
    # machine does not let the MAC ask for a radio frame.
    assert controlled.rlc_peak_bytes * 20 < without.rlc_peak_bytes
    assert without.gaps == controlled.gaps == 0
    assert "sojourn: traffic control" in controlled.log


def test_ues_that_come_go_and_are_renamed_disturb_nobody(gnb: Path, tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    settings = {"SOJOURN_STATUS_FILE": str(status), "SOJOURN_SLOT_CLOCK": "cpu"}
    seen = run(gnb, 12, 8, SOJOURN_PIPELINE="low_latency", **settings)
    assert seen.gaps == 0
    report = json.loads(status.read_text())
    own, whole = report["slot_times_own"], report["slot_times"]
    assert 0 < own["slots"] <= whole["slots"]
    assert own["p50_us"] <= whole["p50_us"], "without PDCP and RLC"
    (stays,) = (bearer for bearer in report["bearers"] if bearer["ue"] == 1)
    assert stays["controlled"]
    assert stays["pipeline"] == "low_latency"
    assert stays["taken_packets"] > 0
    # What was under way when time was up is in no count of the UE's.
    ended = stays["forwarded_packets"] + stays["waiting_packets"]
    assert ended + stays["dropped_by_pipeline_packets"] <= stays["taken_packets"] <= seen.sent
    kinds = {event["what"] for event in report["events"]}
    assert {"bearer_up", "bearer_down", "rnti_changed"} <= kinds
    # Buffers of removed bearers came back: what is in use is what waits.
    waiting = sum(bearer["waiting_packets"] for bearer in report["bearers"])
    assert 16_384 - report["buffers_free"] <= waiting + 12 * 1024


def test_the_mac_does_not_wait_for_uplink_deliveries(gnb: Path, tmp_path: Path) -> None:
    """OAI's thread of uplink SDUs has PDCP's lock during a system call."""
    status = tmp_path / "status.json"
    settings = {"SOJOURN_STATUS_FILE": str(status)}
    seen = run(gnb, 4, 8, "uplink", SOJOURN_PIPELINE="low_latency", **settings)
    found = re.search(r"deliveries (\d+) stalls (\d+)", seen.printed)
    assert found, seen.printed
    deliveries, stalls = map(int, found.groups())
    assert deliveries > 1
    assert stalls == 0, "the MAC scheduled no slot while PDCP was in use"
    assert seen.arrived > 0
    assert seen.gaps == 0
    (stays,) = (each for each in json.loads(status.read_text())["bearers"] if each["ue"] == 1)
    assert stays["pdcp_missed"] > 0
    assert stays["refused_by_pdcp_packets"] == 0


def test_a_cell_that_is_not_configured_has_no_slots(gnb: Path) -> None:
    seen = run(gnb, 1, 8, "unconfigured", SOJOURN_PIPELINE="low_latency")
    assert seen.arrived > 0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"SOJOURN_OFF": "1"}, "off by SOJOURN_OFF"),
        ({"SOJOURN_PIPELINE": "codell"}, 'pipeline "codell"; expected one of transparent'),
        ({"SOJOURN_BUFFERS": "many"}, "SOJOURN_BUFFERS=many; expected a number"),
        ({"SOJOURN_BUFFERS": "3"}, "buffers 3; expected 64 to 1048576"),
        ({"SOJOURN_SLOT_CLOCK": "sun"}, "SOJOURN_SLOT_CLOCK=sun; expected wall or cpu"),
    ],
)
def test_what_cannot_serve_says_why_and_lets_all_packets_pass(
    gnb: Path, settings: dict[str, str], reason: str
) -> None:
    seen = run(gnb, 1, 8, **settings)
    assert reason in seen.log
    assert "all packets pass untouched" in seen.log
    assert "a wrapped symbol is missing" not in seen.log
    assert seen.gaps == 0
    assert seen.arrived > 0


def test_functions_that_the_linker_left_alone_are_named(tmp_path: Path) -> None:
    left = {"nr_mac_rlc_status_ind", "nr_rlc_update_id"}
    program = build(tmp_path / "gnb", [name for name in wraps() if name not in left])
    seen = run(program, 1, 8, SOJOURN_PIPELINE="low_latency")
    for name in left:
        assert f"sojourn: {name} is not wrapped: link with wraps.txt" in seen.log
    assert "a wrapped symbol is missing; all packets pass untouched" in seen.log
    assert seen.arrived > 0


def test_an_oai_of_another_shape_is_refused_by_the_compiler(tmp_path: Path) -> None:
    include = tmp_path / "include"
    shutil.copytree(MOCK / "include", include)
    header = include / "openair2" / "LAYER2" / "nr_rlc" / "nr_rlc_oai_api.h"
    text = header.read_text()
    assert "bool nr_rlc_update_id(int from_id, int to_id);" in text
    header.write_text(text.replace("(int from_id, int to_id)", "(int from_id, int to_id, int du)"))
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no cc here, which compiles the adapter")
    includes = [f"-I{folder}" for folder in (include, ADAPTER, PREFIX / "include")]
    done = subprocess.run(
        [compiler, *FLAGS, *includes, "-fsyntax-only", str(ADAPTER / "rlc.c")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "another OAI generation: nr_rlc_update_id has other arguments" in done.stderr
