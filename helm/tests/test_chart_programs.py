"""What the chart gives the programs is what they take: settings, flags, access file."""

from __future__ import annotations

import argparse
import base64
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_tools import VALUES_FILES, template
from flexric_bridge.settings import BridgeSettings
from ric.beside import beside
from ric.settings import load_settings
from rlc_forecaster.settings import ForecasterSettings
from sojourn_serving import check_access_file
from tc_controller.settings import ControllerSettings

BIN = Path(sys.executable).parent
PROGRAMS: dict[str, Any] = {
    "tc-controller": ControllerSettings,
    "rlc-forecaster": ForecasterSettings,
    "flexric-bridge": BridgeSettings,
}


@pytest.fixture(params=VALUES_FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def release(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return template("--values", request.param)


def test_the_programs_accept_their_settings(release: list[dict[str, Any]], tmp_path: Path) -> None:
    seen = set()
    for each in release:
        program = each["metadata"].get("labels", {}).get("app.kubernetes.io/component")
        if each["kind"] != "ConfigMap" or program not in PROGRAMS:
            continue
        if text := each["data"].get("settings.yaml"):
            path = tmp_path / f"{program}.yaml"
            # The volume with FlexRIC's libraries is not here.
            path.write_text(text.replace("/opt/flexric/lib/flexric", str(tmp_path)))
            load_settings(
                PROGRAMS[program], prog=program, arguments=["--config", str(path)], environment={}
            )
            seen.add(program)
    assert "tc-controller" in seen
    assert "rlc-forecaster" in seen


def test_the_doctor_finds_the_servers_of_each_pod(
    release: list[dict[str, Any]], tmp_path: Path
) -> None:
    """`kubectl exec POD -- ric doctor` has the variables of the container."""
    files = {
        each["metadata"]["name"]: each["data"]["settings.yaml"]
        for each in release
        if each["kind"] == "ConfigMap" and "settings.yaml" in each["data"]
    }
    found = set()
    for each in release:
        if each["kind"] not in ("StatefulSet", "Deployment"):
            continue
        pod = each["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        volumes = {v["name"]: v.get("configMap", {}).get("name") for v in pod["volumes"]}
        settings = files.get(volumes.get("settings"))
        if settings is None:
            continue
        path = tmp_path / "settings.yaml"
        path.write_text(settings)
        variables = {one["name"]: str(one.get("value", "0")) for one in container["env"]}
        mount = next(m for m in container["volumeMounts"] if m["name"] == "settings")
        assert variables["SOJOURN_CONFIG"] == f"{mount['mountPath']}/settings.yaml"
        program = beside(
            argparse.Namespace(config=None), {**variables, "SOJOURN_CONFIG": str(path)}
        )
        assert program.gateway["address"].endswith(":36421")
        assert program.http["address"].startswith("localhost:910")
        assert program.controls == (container["name"] == "tc-controller")
        found.add(container["name"])
    assert {"tc-controller", "rlc-forecaster"} <= found


def containers(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All containers of the release."""
    found = []
    for each in objects:
        spec = each.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        spec = spec.get("template", {}).get("spec", spec)
        found += [*spec.get("initContainers", []), *spec.get("containers", [])]
    return found


@cache
def usage(*command: str) -> str:
    """The help of a program."""
    words = [str(BIN / command[0]), *command[1:], "--help"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def called(container: dict[str, Any]) -> tuple[str, ...]:
    """Program and subcommand of a container."""
    program = container["image"].rpartition("/")[2].partition(":")[0]
    program = {"training": "rlc-train"}.get(program, program)
    words = container.get("command", [program])
    rest = [word for word in container.get("args", [])[:1] if not word.startswith("-")]
    return (*words, *rest) if words == [program] else tuple(words)


def test_every_flag_in_the_chart_is_one_of_its_program(release: list[dict[str, Any]]) -> None:
    checked = 0
    for container in containers(release):
        command = called(container)
        if command[:2] == ("python3", "-c") or command[0] == "cp":
            continue
        words = container.get("args", [])
        flags = {word.partition("=")[0] for word in words if word.startswith("--")}
        text = usage(*command)
        known = set(re.findall(r"--[a-z0-9-]+", text))
        assert sorted(flags - known) == [], command
        checked += 1
    assert checked > 1


def test_the_programs_accept_the_access_file(tmp_path: Path) -> None:
    (secret,) = (each for each in template() if each["metadata"]["name"] == "s-sojourn-access")
    for name, content in secret["data"].items():
        (tmp_path / name).write_bytes(base64.b64decode(content))
    check_access_file(tmp_path / "access.yaml")
    document = yaml.safe_load((tmp_path / "access.yaml").read_text())
    clients = {client["name"]: client for client in document["clients"]}
    assert "s-sojourn-controller.default.svc" in clients["tc-controller"]["certificates"]
    assert clients["noc"]["token_file"] == "noc.token"
