"""Runs a program of an image, or of a fresh environment, and a control loop of two of them."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from loop import ANY_PORT, SCENARIO, controlled, pipeline_status, policy
from sojourn_demo.programs import Program

Command = Callable[..., list[str]]
"""`command(program, *arguments)`: what starts a program, as words."""

CONFINE = """
root=$1 shared=$2; shift 2
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --bind "$shared" "$root/tmp"
mount --rbind /dev "$root/dev"
exec env -i PATH=/opt/sojourn/bin:/usr/local/bin:/usr/bin:/bin unshare --user \
    --map-user=65532 --map-group=65532 --root="$root" --wd=/var/lib/sojourn "$@"
"""
"""A container without an engine: user and mount namespaces, read-only root, `shared` as /tmp."""


def confined(root: Path, shared: Path, program: str, *arguments: str) -> list[str]:
    """The command that runs `program` in the image unpacked at `root`."""
    shell = ["sh", "-euc", CONFINE, "sh", str(root), str(shared)]
    return ["unshare", "--user", "--map-root-user", "--mount", *shell, program, *arguments]


def missing_namespaces() -> str:
    """Why `confined` cannot work here; "" if it can."""
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not on PATH"
    command = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stderr.strip()


def unpack(archive: Path, root: Path) -> dict[str, Any]:
    """Unpack the layers of an OCI archive to `root`; returns the configuration of the image."""
    with tarfile.open(archive) as tar:

        def blob(digest: str) -> Any:
            return tar.extractfile(f"blobs/{digest.replace(':', '/')}")

        index = json.load(tar.extractfile("index.json"))  # type: ignore[arg-type]
        manifest = json.load(blob(index["manifests"][0]["digest"]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=gzip.open(blob(layer["digest"]))) as files:
                files.extractall(root, filter="tar")
        # Container engines make it.
        (root / "dev").mkdir(exist_ok=True)
        found: dict[str, Any] = json.load(blob(manifest["config"]["digest"]))["config"]
    return found


async def check_loop(gnb_lab: Command, tc_controller: Command, shared: Path, seen_as: Path) -> None:
    """The controller installs its pipeline in the gNB; `seen_as` is `shared` for the programs."""
    (shared / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO))
    (shared / "policy.yaml").write_text(policy())
    with ExitStack() as stack:

        def start(command: list[str], log: str) -> Program:
            program = Program(command, shared / log)
            stack.callback(program.stop)
            return program.wait_ready()

        gnb = start(
            gnb_lab("gnb-lab", "serve", f"{seen_as}/scenario.yaml", "--listen", ANY_PORT),
            "gnb.log",
        )
        gateway = gnb.ready["listen"]
        start(
            tc_controller(
                *("tc-controller", "--gateway", gateway, "--metrics-listen", ANY_PORT),
                *("--policy", f"{seen_as}/policy.yaml"),
                *("--decision-log", f"{seen_as}/decisions.jsonl"),
            ),
            "controller.log",
        )
        await pipeline_status(gateway, controlled)
