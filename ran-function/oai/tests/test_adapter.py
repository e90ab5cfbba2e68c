"""The adapter for OAI, wrapped by the linker into a stand-in for each generation of OAI, with the
threads of a gNB."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import e2sm_tc
import pytest

ROOT = Path(__file__).parents[3]
ADAPTER = ROOT / "ran-function" / "oai" / "adapter"
MOCK = ADAPTER / "mock"
PREFIX = Path(sys.prefix)
FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-O2")
SOURCES = ("adapter", "bearer", "pdcp", "rlc", "mac", "pace", "housekeeping")
RUN_S = 2
"""How long a stand-in runs."""


class Generation(NamedTuple):
    """Sources of the adapter by which generations differ; each has a stand-in of its name."""

    scheduler: str
    entity: str

    def sources(self) -> list[Path]:
        return [ADAPTER / "generation" / f"{name}.c" for name in self]

    def headers(self) -> list[Path]:
        return [*(MOCK / name for name in self), MOCK / "include"]


W11 = Generation("one_cell", "deliver_pdu")
SEVERAL_CELLS = Generation("several_cells", "deliver_pdu")
NR_UP = Generation("several_cells", "nr_up")
NR_UP_ONE_CELL = Generation("one_cell", "nr_up")
GENERATIONS = (W11, SEVERAL_CELLS, NR_UP)


def wraps() -> list[str]:
    return (ADAPTER / "wraps.txt").read_text().split()


def compiler() -> str:
    found = shutil.which("cc")
    if found is None:
        pytest.skip("no cc here, which compiles the adapter")
    return found


def build(
    program: Path,
    wrapped: Sequence[str],
    generation: Generation = W11,
    *flags: str,
    library: Path = PREFIX / "lib" / "libsojourn_gnb.a",
) -> Path:
    sources = [ADAPTER / f"{name}.c" for name in SOURCES] + generation.sources()
    sources += sorted(MOCK.glob("*.c"))
    includes = [f"-I{folder}" for folder in (*generation.headers(), PREFIX / "include")]
    command = [compiler(), *FLAGS, *flags, *includes, *map(str, sources)]
    command += [str(library), f"-Wl,-rpath,{library.parent}", "-o", str(program)]
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

    def counts(self, pattern: str) -> tuple[int, ...]:
        """Numbers that the stand-in printed."""
        found = re.search(pattern, self.printed)
        assert found, self.printed
        return tuple(map(int, found.groups()))


def run(program: Path, ues: int, mbit_per_s: int, *more: str, **settings: str) -> Arrived:
    """Two seconds; blocks carry 32 Mbit/s a UE of the first cell."""
    done = subprocess.run(
        [str(program), str(ues), str(RUN_S), str(mbit_per_s), *more],
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


@pytest.fixture(scope="module", params=GENERATIONS, ids="-".join)
def gnb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gNB of each generation."""
    return build(tmp_path_factory.mktemp("oai") / "gnb", wraps(), request.param)


@pytest.fixture(scope="module")
def w11(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("oai") / "gnb", wraps())


def staying(status: Path) -> dict[str, Any]:
    (stays,) = (each for each in json.loads(status.read_text())["bearers"] if each["ue"] == 1)
    return dict(stays)


def test_an_overload_waits_in_the_rlc_until_the_pipeline_takes_it(gnb: Path) -> None:
    without = run(gnb, 1, 64, SOJOURN_PIPELINE="transparent")
    controlled = run(gnb, 1, 64, SOJOURN_PIPELINE="low_latency")
    # Not one SDU as in virtual time: packets come before the MAC's first question.
    assert controlled.rlc_peak_bytes * 20 < without.rlc_peak_bytes
    assert without.gaps == controlled.gaps == 0
    assert "sojourn: traffic control" in controlled.log


def test_a_radio_that_stands_still_gets_nothing_ahead(gnb: Path) -> None:
    """The MAC's questions are due in the radio's time, not in real time."""
    seen = run(gnb, 1, 64, "halts", SOJOURN_PIPELINE="low_latency")
    assert 0 < seen.arrived < seen.sent
    # 200 ms of what is offered are 1.6 MB.
    assert seen.rlc_peak_bytes < 200_000
    assert seen.gaps == 0


def test_a_cu_hands_down_what_a_shaper_held_back_though_no_mac_asks(
    gnb: Path, tmp_path: Path
) -> None:
    """While no packet comes, too: each millisecond what the shaper lets pass."""
    patient = {"target_us": 1_000_000, "interval_us": 1_000_000}
    shaped = {"maximum_kbps": 10_000, "codel": patient, "bulk_bound_us": None, "pacer": "none"}
    pipeline = e2sm_tc.pipeline("classes", shaped)
    transaction = {
        "bearer": {"ue": {"rnti": 0x1001}, "drb": 1},
        **{"expected_revision": None, "lease_ms": 60_000, "owner": None},
        **{"dry_run": False, "as_safe": False},
        "change": {"replace": pipeline},
    }
    header = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 0})
    message = e2sm_tc.encode("control", {"transaction": transaction})
    control = tmp_path / "control"
    control.write_bytes(b"".join(len(part).to_bytes(2) + part for part in (header, message)))
    status = tmp_path / "status.json"
    seen = run(gnb, 1, 20, "cu", str(control), SOJOURN_STATUS_FILE=str(status))
    assert seen.gaps == 0
    # A burst is twice what passes: the other half of it goes down in the pause, some 200 ms long.
    (milliseconds,) = seen.counts(r"pause_ms (\d+)\n")
    pauses = RUN_S * 1000 // 400
    assert milliseconds > 50 * pauses


def test_ues_that_come_go_and_are_renamed_disturb_nobody(gnb: Path, tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    settings = {"SOJOURN_STATUS_FILE": str(status), "SOJOURN_SLOT_CLOCK": "cpu"}
    seen = run(gnb, 12, 8, SOJOURN_PIPELINE="low_latency", **settings)
    assert seen.gaps == 0
    report = json.loads(status.read_text())
    own, whole = report["slot_times_own"], report["slot_times"]
    assert 0 < own["slots"] <= whole["slots"]
    assert own["p50_us"] <= whole["p50_us"], "without PDCP and RLC"
    stays = staying(status)
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
    """OAI has one lock for PDCP of all UEs, during the system call of a delivery, too: each lasts
    until UE 1 has got SDUs meanwhile."""
    status = tmp_path / "status.json"
    settings = {"SOJOURN_STATUS_FILE": str(status)}
    seen = run(gnb, 4, 8, "uplink", SOJOURN_PIPELINE="low_latency", **settings)
    deliveries, stalls, disturbed = seen.counts(r"deliveries (\d+) stalls (\d+) disturbed (\d+)\n")
    assert deliveries > 1
    assert stalls == 0, "no SDU of UE 1 was sent while PDCP was in use"
    assert disturbed == 0, "a context of ciphering was used by two threads"
    assert seen.arrived > 0
    assert seen.gaps == 0
    assert staying(status)["refused_by_pdcp_packets"] == 0
    # OAI's statistics have both directions.
    numbered, received = seen.counts(r"numbered (\d+) received (\d+)\n")
    assert numbered >= seen.arrived
    assert received > 0


@pytest.mark.parametrize(
    ("sanitizer", "generation"),
    [("thread", W11), ("thread", NR_UP), ("address,undefined", NR_UP)],
)
def test_the_threads_share_nothing_unprotected(
    tmp_path: Path, generation: Generation, sanitizer: str
) -> None:
    """The library has no instructions of the sanitizer, which does not see its locks: as a shared
    object what it copies and frees itself is left out. What the adapter and OAI do is not."""
    library = tmp_path / "libsojourn_gnb.so"
    archive = PREFIX / "lib" / "libsojourn_gnb.a"
    whole = ("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive")
    subprocess.run([compiler(), "-shared", "-o", library, *whole, "-ldl", "-lm"], check=True)
    flags = (f"-fsanitize={sanitizer}", "-fno-omit-frame-pointer")
    program = build(tmp_path / "gnb", wraps(), generation, *flags, library=library)
    left_out = tmp_path / "suppressions"
    left_out.write_text(f"called_from_lib:{library.stem}\n")
    seen = run(
        *(program, 4, 8, "uplink"),
        SOJOURN_PIPELINE="low_latency",
        SOJOURN_STATUS_FILE=str(tmp_path / "status.json"),
        TSAN_OPTIONS=f"suppressions={left_out}:exitcode=66",
        ASAN_OPTIONS="exitcode=66",
        UBSAN_OPTIONS="halt_on_error=1:exitcode=66",
    )
    assert "WARNING: ThreadSanitizer" not in seen.log
    assert seen.counts(r"stalls (\d+) disturbed (\d+)\n") == (0, 0)


def test_cells_have_slots_of_their_own(tmp_path: Path) -> None:
    """Two cells, with slots of 0.5 and 1 ms."""
    status = tmp_path / "status.json"
    program = build(tmp_path / "gnb", wraps(), SEVERAL_CELLS)
    began_s = time.monotonic()
    seen = run(*(program, 4, 8), SOJOURN_PIPELINE="low_latency", SOJOURN_STATUS_FILE=str(status))
    passed_us = (time.monotonic() - began_s) * 1e6
    assert seen.gaps == 0
    report = json.loads(status.read_text())
    first, second = report["cells"]
    assert [cell["slot_us"] for cell in (first, second)] == [500, 1000]
    assert [cell["radio_us"] % cell["slot_us"] for cell in (first, second)] == [0, 0]
    # The second's are not counted as the first's: together they would be half as many again.
    assert report["radio_us"] == max(first["radio_us"], second["radio_us"]) <= passed_us
    assert all(cell["slot_times"]["slots"] > 0 for cell in (first, second))
    both = first["slot_times"]["slots"] + second["slot_times"]["slots"]
    assert report["slot_times"]["slots"] == both


def test_pacing_keeps_each_cell_to_its_own_slots(tmp_path: Path) -> None:
    """Runs in virtual time: the clock is that of the test, which only sleeping moves."""
    test = tmp_path / "pace.c"
    test.write_text(
        """
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include "adapter.h"
        static uint64_t now_us = 1000000;
        uint64_t adapter_now_us(void) { return now_us; }
        int clock_nanosleep(clockid_t clock, int flags, const struct timespec* until,
                            struct timespec* left) {
          (void)clock, (void)flags, (void)left;
          now_us = (uint64_t)until->tv_sec * 1000000 + (uint64_t)until->tv_nsec / 1000;
          return 0;
        }
        int main(void) {
          for (int slot = 0; slot <= 1000; ++slot) {
            adapter_pace(0, 500);
            if (slot % 2 == 0) {
              adapter_pace(1, 1000);
            }
          }
          printf("%d\\n", (int)(now_us - 1000000));
          adapter_pace(99, 500);
          return 0;
        }
        """
    )
    program = tmp_path / "pace"
    includes = [f"-I{folder}" for folder in (ADAPTER, PREFIX / "include")]
    subprocess.run(
        [compiler(), *FLAGS, *includes, test, ADAPTER / "pace.c", "-o", program], check=True
    )
    for setting, passed_us in (("1", 1000 * 500), ("0", 0)):
        done = subprocess.run(
            [program], env={"SOJOURN_PACE": setting}, capture_output=True, text=True, check=True
        )
        assert int(done.stdout) == passed_us


def test_nr_up_drops_before_the_number_what_the_rlc_has_no_room_for(tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    settings = {"SOJOURN_STATUS_FILE": str(status), "SOJOURN_PIPELINE": "transparent"}
    old = build(tmp_path / "old", wraps(), SEVERAL_CELLS)
    assert run(old, 1, 64, "full", **settings).gaps > 0, "as in OAI without the adapter"
    new = build(tmp_path / "new", wraps(), NR_UP)
    seen = run(new, 1, 64, "full", **settings)
    assert seen.gaps == 0
    assert seen.arrived > 0
    assert staying(status)["refused_by_pdcp_packets"] > 0


def test_a_cell_that_is_not_configured_has_no_slots(gnb: Path) -> None:
    seen = run(gnb, 2, 8, "unconfigured", SOJOURN_PIPELINE="low_latency")
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
    w11: Path, settings: dict[str, str], reason: str
) -> None:
    seen = run(w11, 1, 8, **settings)
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


def refusal(source: Path, headers: Sequence[Path]) -> str:
    """The one error of a source that does not fit the headers, as OAI's build shows it."""
    includes = [f"-I{folder}" for folder in (*headers, PREFIX / "include")]
    done = subprocess.run(
        [compiler(), *FLAGS, "-Wfatal-errors", *includes, "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    (error,) = (line for line in done.stderr.splitlines() if " error: " in line)
    return error


def test_an_oai_of_another_shape_is_refused_by_the_compiler(tmp_path: Path) -> None:
    include = tmp_path / "include"
    shutil.copytree(MOCK / "include", include)
    header = include / "openair2" / "LAYER2" / "nr_rlc" / "nr_rlc_oai_api.h"
    text = header.read_text()
    assert "bool nr_rlc_update_id(int from_id, int to_id);" in text
    header.write_text(text.replace("(int from_id, int to_id)", "(int from_id, int to_id, int du)"))
    found = refusal(ADAPTER / "rlc.c", [include])
    assert "another OAI generation: nr_rlc_update_id has other arguments" in found


OTHERS = (
    ("one_cell", SEVERAL_CELLS, "this OAI has several cells, and generation/several_cells.c fits"),
    ("several_cells", W11, "this OAI has one cell, and generation/one_cell.c fits"),
    ("deliver_pdu", NR_UP, "this OAI has nr_up, and generation/nr_up.c fits"),
    ("nr_up", W11, "this OAI has no nr_up, and generation/deliver_pdu.c fits"),
)
"""Each source by which generations differ, with headers of another generation."""


@pytest.mark.parametrize(("source", "headers", "sentence"), OTHERS)
def test_a_generation_refuses_the_headers_of_others_in_a_sentence(
    source: str, headers: Generation, sentence: str
) -> None:
    found = refusal(ADAPTER / "generation" / f"{source}.c", headers.headers())
    assert sentence in found


@pytest.mark.parametrize("generation", [*GENERATIONS, NR_UP_ONE_CELL], ids="-".join)
def test_cmake_selects_what_the_headers_declare(tmp_path: Path, generation: Generation) -> None:
    """Builds the stand-in as OAI is built, with the file that OAI's CMake includes."""
    done = configure(tmp_path, generation)
    assert done.returncode == 0, done.stderr
    for name in generation:
        assert f"sojourn: generation/{name}.c fits this OAI" in done.stdout
    built = subprocess.run(
        ["cmake", "--build", str(tmp_path / "build")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    seen = run(tmp_path / "build" / "nr-softmodem", 2, 8, SOJOURN_PIPELINE="low_latency")
    assert "sojourn: traffic control" in seen.log
    assert seen.arrived > 0


def test_cmake_says_which_declaration_fits_no_generation(tmp_path: Path) -> None:
    header = "openair2/LAYER2/NR_MAC_gNB/mac_proto.h"
    for text, count in (("void gNB_dlsch_ulsch_scheduler(int module);\n", 1), ("\n", 0)):
        done = configure(tmp_path, W11, {header: text})
        assert done.returncode != 0
        said = " ".join(done.stderr.split())
        assert f"{header} declares gNB_dlsch_ulsch_scheduler with {count} arguments" in said
        assert "make oai-check OAI=" in said


def configure(
    folder: Path, generation: Generation, changed: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Configures a tree with the headers and sources of a stand-in, as OAI's own is."""
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here, which selects a generation")
    tree = folder / "oai"
    for part in generation.headers():
        shutil.copytree(part, tree, dirs_exist_ok=True)
    for source in MOCK.glob("*.c"):
        shutil.copy(source, tree)
    for name, text in (changed or {}).items():
        (tree / name).write_text(text)
    (tree / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.19)\nproject(OpenAirInterface LANGUAGES C)\n"
        "set(CMAKE_C_STANDARD 11)\nfile(GLOB sources *.c)\n"
        "add_executable(nr-softmodem ${sources})\n"
        "target_include_directories(nr-softmodem PRIVATE ${CMAKE_SOURCE_DIR})\n"
    )
    return subprocess.run(
        [
            *("cmake", "-S", str(tree), "-B", str(folder / "build")),
            f"-DCMAKE_PROJECT_OpenAirInterface_INCLUDE={ADAPTER / 'sojourn.cmake'}",
            f"-DSOJOURN_PREFIX={PREFIX}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
