"""The runbooks' commands are those of the programs, and reach what the chart and the demo have."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chart_readme import CHART
from chart_tools import template
from loop import ANY_PORT, ROOT, controlled, loop_in, pipeline_status

BIN = Path(sys.executable).parent
OURS = {"ric", "tc-controller", "rlc-forecaster", "rlc-model", "flexric-bridge"}
OF_THE_HOST = {"curl", "df", "journalctl", "less", "ls", "openssl", "systemctl", "top"}
UNITS = {path.stem for path in (ROOT / "deploy" / "systemd").glob("*.service")} | {"nearRT-RIC"}
PAGES = sorted((ROOT / "docs" / "runbooks").glob("Sojourn*.md"))
COLUMNS = ("chart", "bare metal", "demo")


def part(page: Path, heading: str) -> str:
    text = page.read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def commands(column: str) -> dict[str, str]:
    """The commands of a column of all pages; a page of each."""
    found: dict[str, str] = {}
    for page in PAGES:
        _, _, *rows = part(page, "Commands").strip().splitlines()
        for row in rows:
            cell = row.strip("| ").split(" | ")[1 + COLUMNS.index(column)]
            found |= dict.fromkeys(re.findall(r"`([^`]+)`", cell), page.stem)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_runbook_has_a_command_for_each_place_and_says_what_each_step_does_to_calls(
    page: Path,
) -> None:
    head, _, *rows = part(page, "Commands").strip().splitlines()
    assert head == f"| to see or do | {' | '.join(COLUMNS)} |"
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert {len(row) for row in cells} == {4}
    for column in (1, 2):
        assert any("`" in row[column] for row in cells)
    steps = re.findall(r"^- .*(?:\n  .*)*", part(page, "Mitigation"), re.MULTILINE)
    assert [step for step in steps if "*Calls*" not in step] == []
    assert "*Calls*" in part(page, "Mitigation")


@cache
def help_of(*command: str) -> str:
    """The help that the program prints for a command; it has parsed what stands before it."""
    words = [str(BIN / command[0]), *command[1:], "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
    return done.stdout


def check_ours(words: list[str]) -> None:
    """The program has this subcommand, these flags and these arguments."""
    known = set(re.findall(r"--[a-z0-9-]+", help_of(*words)))
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert flags <= known, shlex.join(words)


def test_commands_of_a_host_are_those_of_programs_and_services_there() -> None:
    for command in commands("bare metal"):
        program, *rest = words = shlex.split(command)
        if program in OURS:
            check_ours(words)
            continue
        assert program in OF_THE_HOST, command
        if program in ("systemctl", "journalctl"):
            assert rest[-1].removeprefix("--unit=") in UNITS, command


class Cluster:
    """What a release named `sojourn` has, by the values of three examples."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {}
        self.labels: set[str] = {"app.kubernetes.io/name=oai-flexric"}
        self.mounts: dict[str, set[str]] = {}
        for values in ("lab", "production", "training"):
            for each in template("--values", CHART / f"examples/{values}.yaml", release="sojourn"):
                self._add(each)

    def _add(self, each: dict[str, Any]) -> None:
        kind, name = each["kind"].lower(), each["metadata"]["name"]
        self.names.setdefault(kind, set()).add(name)
        labels = each["metadata"].get("labels", {})
        self.labels |= {f"{key}={value}" for key, value in labels.items()}
        if kind not in ("statefulset", "deployment"):
            return
        spec = each["spec"]
        target = f"{kind}/{name}"
        (container,) = spec["template"]["spec"]["containers"]
        targets = {target}
        if kind == "statefulset":
            targets |= {f"{name}-{ordinal}" for ordinal in range(spec["replicas"])}
        for one in targets:
            mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
            self.mounts.setdefault(one, set()).update(mounts)

    def check(self, command: str) -> None:
        kubectl, verb, *rest = shlex.split(command)
        assert kubectl == "kubectl", command
        for word in rest:
            if word.startswith("--selector="):
                assert word.removeprefix("--selector=") in self.labels, command
        given = [word for word in rest if not word.startswith("--")]
        if verb == "exec":
            assert rest[1] == "--", command
            assert rest[0] in self.mounts, command
            self._check_inside(rest[0], rest[2:])
        elif verb == "logs":
            assert given[0] in self.mounts, command
        elif verb == "rollout":
            assert given[0] == "restart", command
            assert given[1] in {*self.mounts, "deployment"}, command
        elif verb in ("get", "describe", "top"):
            if len(given) == 2:
                assert given[1] in self.names[given[0]], command
        else:
            raise AssertionError(command)

    def _check_inside(self, pod: str, words: list[str]) -> None:
        if words[:2] == ["python3", "-c"]:
            compile(words[2], pod, "exec")
        else:
            assert words[0] in OURS
            check_ours(words)
        for path in re.findall(r"/(?:var|etc|models)[^\"' ]*", " ".join(words)):
            assert any(path.startswith(mount) for mount in self.mounts[pod]), (pod, path)


def test_commands_of_the_chart_reach_what_it_installs() -> None:
    cluster = Cluster()
    for command in commands("chart"):
        cluster.check(command)


async def test_commands_of_the_demo_do_what_they_say(tmp_path: Path) -> None:
    """A reader runs them in a folder with the programs on loopback; here at free ports."""
    (tmp_path / "xapps").symlink_to(ROOT / "xapps")
    async with loop_in(tmp_path, place="base") as loop:
        gnb = await loop.gnb("--metrics-listen", ANY_PORT)
        gateway = gnb.ready["listen"]
        forecaster = await loop.forecaster(gateway)
        controller = await loop.controller(gateway)
        await pipeline_status(gateway, controlled)
        ports = {
            "127.0.0.1:9103": gnb.ready["metrics"],
            "127.0.0.1:36421": gateway,
            "127.0.0.1:9100": controller.ready["metrics"],
            "127.0.0.1:9101": forecaster.ready["metrics"],
        }
        wrong = []
        for command, page in commands("demo").items():
            program, *rest = shlex.split(command)
            assert program in OURS | OF_THE_HOST, page
            if shutil.which(program) is None and program not in OURS:
                continue
            for port, here in ports.items():
                rest = [word.replace(port, here) for word in rest]
            process = await asyncio.create_subprocess_exec(
                *(str(BIN / program) if program in OURS else program, *rest),
                cwd=tmp_path,
                # In place of the default port, which the demo has.
                env=os.environ | {"SOJOURN_HTTP__LISTEN": controller.ready["metrics"]},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            out, _ = await process.communicate()
            # The doctor ends with 1 for warnings, as of this machine's delays.
            good = process.returncode in ((0, 1) if rest[:1] == ["doctor"] else (0,)) and out
            if not good:
                wrong.append((page, command, process.returncode, out.decode()))
    assert wrong == []
