"""`ric plan`: what is to be done with an operator's trees, and what of it is done."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import e2sm_tc
import oai_plan.evidence
import pytest
from flexric_bridge.installed import Finding
from oai_plan.evidence import MARK, Process, Seen, bearers_are_controlled, processes, program_runs
from oai_plan.fit import FLEXRIC
from oai_plan.shapes import ADAPTER
from oai_plan.trees import FLEXRIC_FILES
from oai_trees import oai_tree, write
from ric.cli.ric import main
from ric.sm import RLC_OID, TC_V1_OID
from ric.testing.fake_ric import FakeRic
from ric.testing.fake_server import FakeGatewayServer

NAMES = (
    *("library", "check", "flexric", "bridge", "models", "gnb"),
    *("ric", "node", "gateway", "set-up", "control"),
)
"""Names of the steps, in order."""
RUN = ("ric", "node", "gateway", "set-up", "control")
"""Steps that build nothing."""


class Folders:
    """Trees of an operator, before anything is built."""

    def __init__(self, root: Path) -> None:
        self.sojourn, self.models = root / "sojourn", root / "models"
        shutil.copytree(ADAPTER, self.sojourn / "ran-function/oai/adapter")
        self.oai = oai_tree(root / "oai")
        for name in FLEXRIC_FILES:
            write(self.oai / FLEXRIC / name, "")
        self.flexric = self.oai / FLEXRIC

    def arguments(self, *more: str) -> list[str]:
        folders = (f"--oai={self.oai}", f"--sojourn={self.sojourn}", f"--models={self.models}")
        return ["plan", *folders, *more]

    def build_library(self) -> None:
        for name in ("include/sojourn_gnb.h", "lib/libsojourn_gnb.a"):
            write(self.sojourn / ".venv" / name, "")
        for name in ("flexric-bridge", "tc-controller"):
            write(self.sojourn / ".venv/bin" / name, "")

    def build_flexric(self, e2ap: str = "E2AP_V2") -> None:
        build = self.flexric / "build"
        write(build / "examples/ric/nearRT-RIC", "")
        write(
            build / "CMakeCache.txt", f"E2AP_VERSION:STRING={e2ap}\nKPM_VERSION:STRING=KPM_V2_03\n"
        )

    def build_bridge(self) -> None:
        for name in ("libflexric_level_triggered.so", "flexric/libsojourn_tc_sm.so"):
            write(self.sojourn / ".venv/lib" / name, "")

    def copy_models(self) -> None:
        write(self.models / "libsojourn_tc_sm.so", "")

    def build_gnb(self, *, text: bytes = MARK, agent: str = "ON", e2ap: str = "E2AP_V2") -> None:
        build = self.oai / "build"
        write(
            build / "CMakeCache.txt",
            f"E2_AGENT:STRING={agent}\nE2AP_VERSION:STRING={e2ap}\nKPM_VERSION:STRING=KPM_V2_03\n",
        )
        (build / "nr-softmodem").write_bytes(b"\x7fELF" + text + b"\0")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


@pytest.fixture(autouse=True)
def _bridge_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bridge's own examination has its own tests."""

    def examine(_sdk: str, libraries: Path) -> Iterator[Finding]:
        yield Finding("the SDK module is of FlexRIC with E2AP V2, KPM V2_03")
        yield Finding(f"{libraries}: examined")

    monkeypatch.setattr(oai_plan.evidence, "examine", examine)


def checked(
    folders: Folders, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, tuple[bool, str]]:
    """Each step: whether it is done, and its evidence."""
    status = main(folders.arguments("--check", "--json", "--seconds=2", *more))
    rows = json.loads(capsys.readouterr().out)["steps"]
    assert status == (0 if all(row["done"] for row in rows) else 1)
    return {row["step"]: (row["done"], row["evidence"]) for row in rows}


def test_the_plan_names_each_step_in_its_order_with_commands(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.build_flexric(e2ap="E2AP_V3")
    assert main(folders.arguments("--json")) == 0
    rows = json.loads(capsys.readouterr().out)["steps"]
    assert tuple(row["step"] for row in rows) == NAMES
    commands = {row["step"]: "\n".join(row["commands"]) for row in rows}
    # RIC and agent have one version of E2AP: that of the FlexRIC that is built.
    assert "-DE2AP_VERSION=E2AP_V3 -DKPM_VERSION=KPM_V2_03" in commands["gnb"]
    assert f"INCLUDE={folders.sojourn}/ran-function/oai/adapter/sojourn.cmake" in commands["gnb"]
    for step in ("ric", "node"):
        preloaded = f"{folders.sojourn}/.venv/lib/libflexric_level_triggered.so"
        assert f"LD_PRELOAD={preloaded} " in commands[step]
    assert f" -c {folders.flexric}/flexric.conf" in commands["ric"]
    assert main(folders.arguments()) == 0
    shown = capsys.readouterr().out
    assert [shown.index(f" {name}: ") for name in NAMES] == sorted(
        shown.index(f" {name}: ") for name in NAMES
    )


def test_each_build_is_seen_by_what_it_leaves(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    done = ["check"]
    builds = {
        "library": folders.build_library,
        "flexric": folders.build_flexric,
        "bridge": folders.build_bridge,
        "models": folders.copy_models,
        "gnb": folders.build_gnb,
    }
    for name, build in builds.items():
        found = checked(folders, capsys)
        assert [step for step in NAMES if found[step][0]] == [n for n in NAMES if n in done]
        build()
        done.append(name)
    found = checked(folders, capsys)
    assert [step for step in NAMES if not found[step][0]] == list(RUN)
    assert main(folders.arguments("--check", "--seconds=2")) == 1
    shown = capsys.readouterr().out
    assert "next  ric " in shown
    assert "Next: start the near-RT RIC first" in shown


@pytest.mark.parametrize(
    ("made", "evidence"),
    [
        ({"text": b"other"}, "has no traffic control: it was configured without the options"),
        ({"agent": "OFF"}, "has no E2 agent: E2_AGENT is OFF"),
        ({"e2ap": "E2AP_V3"}, "E2AP_VERSION is E2AP_V3; the RIC's is E2AP_V2"),
    ],
)
def test_a_gnb_of_another_build_is_not_done(
    folders: Folders, capsys: pytest.CaptureFixture[str], made: dict[str, Any], evidence: str
) -> None:
    folders.build_flexric()
    folders.build_gnb(**made)
    done, said = checked(folders, capsys)["gnb"]
    assert not done
    assert evidence in said


def test_a_gnb_older_than_the_library_is_to_be_built_again(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.build_gnb()
    folders.build_library()
    os.utime(folders.oai / "build/nr-softmodem", (1, 1))
    done, said = checked(folders, capsys)["gnb"]
    assert not done
    assert "build it again" in said


def test_steps_that_build_say_how_long_they_take_and_what_they_need(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(folders.arguments("--json")) == 0
    steps = {each["step"]: each for each in json.loads(capsys.readouterr().out)["steps"]}
    for name in set(NAMES) - set(RUN) - {"models"}:
        assert re.fullmatch(r"\d+ (s|min)", steps[name]["takes"]), name
    assert "swig 4.1" in steps["bridge"]["what"]
    assert "what OAI itself needs" in steps["gnb"]["what"]
    # FlexRIC's own tests need what nothing else of the plan does.
    assert "-DUNIT_TEST=FALSE" in steps["flexric"]["commands"][0]


@pytest.mark.parametrize("flag", ["oai", "flexric", "sojourn"])
def test_folders_that_are_something_else_are_refused(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert main(folders.arguments(f"--{flag}={other}")) == 2
    said = capsys.readouterr().err
    assert f"ric plan: --{flag}: {other}: " in said
    assert "source tree" in said


def test_a_build_of_another_tree_is_refused(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = tmp_path / "build"
    write(build / "CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n")
    assert main(folders.arguments(f"--oai-build={build}")) == 2
    assert f"--oai-build: {build}: is the build tree of /elsewhere" in capsys.readouterr().err


def test_a_submodule_that_is_empty_is_the_next_step(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    flexric = folders.oai.parent / "flexric"
    shutil.move(folders.flexric, flexric)
    done, said = checked(folders, capsys, f"--flexric={flexric}")["check"]
    assert not done
    assert "git submodule update --init" in said


def test_processes_are_seen_with_what_they_have_loaded() -> None:
    own = next(process for process in processes() if process.pid == os.getpid())
    assert Path(own.file) == Path(sys.executable).resolve()
    assert any(name.startswith("libc.so") for name in own.libraries)


def test_a_program_runs_if_it_is_of_this_build_and_has_the_library() -> None:
    program = Path("/build/nearRT-RIC")

    def evidence(*running: Process) -> str:
        seen = Seen(running, "", None, {})
        found = program_runs(seen, program, "libx.so")
        return ("" if found.done else "not: ") + found.text

    assert evidence() == "not: no process of nearRT-RIC here (on another machine: look there)"
    other = Process(7, "/usr/bin/nearRT-RIC", frozenset({"libx.so"}))
    assert "not: nearRT-RIC of /usr/bin/nearRT-RIC runs; expected" in evidence(other)
    without = Process(8, str(program), frozenset())
    assert evidence(without) == "not: process 8 has no libx.so: start it with LD_PRELOAD"
    assert evidence(Process(9, str(program), frozenset({"libx.so"}))).startswith("process 9 runs")


BEARER: dict[str, object] = {
    "bearer": {"ue": {"rnti": 17921}, "drb": 1},
    "name": "low_latency",
    "owner": None,
    "by_default": None,
}


def test_bearers_are_controlled_if_a_controller_installed_their_pipelines() -> None:
    def evidence(*bearers: Mapping[str, object]) -> tuple[bool, str]:
        found = bearers_are_controlled(Seen((), "", (), {"gnb": bearers}))
        return found.done, found.text

    assert evidence() == (False, "no bearer: no UE is connected, or no E2SM-TC v1")
    owned = {**BEARER, "owner": "controller/1"}
    by_default = {**BEARER, "by_default": {"revision": 1, "rule": 0, "age_ms": 3}}
    assert evidence(owned, by_default)[0]
    done, said = evidence(owned, BEARER)
    assert not done
    assert said == "bearers without a controller's pipeline: 1 of 2 (low_latency)"


async def test_nodes_and_bearers_are_seen_through_the_gateway(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gateway is a stand-in of the RIC's, over gRPC."""
    fake = FakeRic()
    async with FakeGatewayServer(fake) as server:
        gateway = f"--gateway={server.address}"

        async def steps() -> dict[str, tuple[bool, str]]:
            return await asyncio.to_thread(checked, folders, capsys, gateway)

        found = await steps()
        assert found["gateway"] == (True, f"the E2 gateway at {server.address} answers")
        assert found["set-up"] == (False, "the gateway has no node")
        fake.add_node("gnb-1", RLC_OID)
        assert "gnb-1: no E2SM-TC v1" in (await steps())["set-up"][1]
        node = fake.add_node("gnb-2", TC_V1_OID)
        assert "no bearer" in (await steps())["control"][1]
        report = status_report()
        node.report_every(TC_V1_OID, 50_000, lambda _now_us: report)
        found = await steps()
        assert found["set-up"] == (True, "gnb-2: E2 set-up with E2SM-TC v1")
        assert found["control"] == (True, "bearers with a controller's pipeline: 1 (fq_codel)")


def status_report() -> bytes:
    """A report of the vectors, of its bearer that a controller owns."""
    lines = (ADAPTER.parents[2] / "e2sm-tc-spec/vectors/v1.jsonl").read_text().splitlines()
    for line in map(json.loads, lines):
        if line["kind"] == "indication":
            found = e2sm_tc.decode("indication", bytes.fromhex(line["hex"]))
            owned = [each for each in found.get("pipeline_status", []) if each["owner"]]
            if owned:
                return e2sm_tc.encode("indication", {"pipeline_status": owned[:1]})
    raise AssertionError("no vector")
