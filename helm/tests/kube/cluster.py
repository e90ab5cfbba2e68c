"""kubectl and helm against the cluster of KUBECONFIG."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "helm" / "sojourn"
_PATH = os.pathsep.join((os.environ.get("PATH", ""), str(Path(sys.executable).parent)))


class KubeError(Exception):
    """A command failed, or something did not happen in time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a program's log."""

    at_s: float
    """Seconds since the Unix epoch."""
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A namespace of the cluster, and the values files of the release in it."""

    namespace: str
    release: str = "sojourn"
    values: tuple[Path, ...] = ()
    registry: str = "localhost"
    """Registry of the images; `localhost` for images that were loaded into the nodes."""

    def run(self, *command: str, text: str | None = None, timeout_s: float = 300) -> str:
        """Output of a command; `KubeError` with its errors if it fails."""
        program = shutil.which(command[0], path=_PATH)
        if program is None:
            raise KubeError(f"{command[0]} is not on PATH")
        try:
            done = subprocess.run(
                [program, *command[1:]],
                input=text,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise KubeError(f"{' '.join(command)}: no end within {timeout_s:g} s") from None
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "symbolic link" not in line]
            raise KubeError("\n".join([" ".join(command), done.stdout, *errors]))
        return done.stdout

    def kubectl(self, *arguments: str, text: str | None = None, timeout_s: float = 300) -> str:
        """kubectl in the namespace."""
        return self.run("kubectl", "-n", self.namespace, *arguments, text=text, timeout_s=timeout_s)

    def helm(self, *arguments: str, timeout_s: float = 600) -> str:
        """helm in the namespace."""
        return self.run("helm", "-n", self.namespace, *arguments, timeout_s=timeout_s)

    def install(self, *arguments: str) -> None:
        """Install the chart, or upgrade it, and wait until it is ready."""
        files = [f"--set=image.registry={self.registry}"]
        files += [f"--values={path}" for path in self.values]
        self.helm(
            "upgrade", "--install", self.release, str(CHART), "--wait", "--timeout=5m",
            *files, *arguments,
        )  # fmt: skip

    def objects(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        """Objects of a kind in the namespace."""
        items = json.loads(self.kubectl("get", kind, "-o", "json", "-l", selector))["items"]
        return list(items)

    def pods(self, program: str) -> list[dict[str, Any]]:
        """Pods of a program that are not being deleted."""
        found = self.objects("pods", f"app.kubernetes.io/component={program}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def ready(self, program: str) -> dict[str, str]:
        """UIDs of the ready pods of a program, by name."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in self.pods(program)
            if any(
                each["type"] == "Ready" and each["status"] == "True"
                for each in pod["status"].get("conditions", [])
            )
        }

    def delete_at_once(self, pod: str) -> None:
        """Delete a pod without waiting for the end of its programs, which get SIGTERM."""
        self.kubectl("delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def pod_security(self, level: str) -> None:
        """Enforce a level of the Pod Security Standards for new pods of the namespace."""
        label = f"pod-security.kubernetes.io/enforce={level}"
        self.run("kubectl", "label", "--overwrite", "namespace", self.namespace, label)

    def logged(self, pod: str, event: str, after_s: float) -> list[Entry]:
        """Entries of an event in a pod's log after a time, s since the Unix epoch."""
        found = []
        try:
            lines = self.kubectl("logs", pod, "--since=5m").splitlines()
        except KubeError:
            # Its container does not run yet.
            return []
        for line in lines:
            try:
                fields = json.loads(line)
                if fields["event"] == event:
                    at_s = datetime.fromisoformat(fields["timestamp"]).timestamp()
                    found.append(Entry(at_s, fields))
            except (ValueError, KeyError, TypeError):
                continue
        return [entry for entry in found if entry.at_s > after_s]

    def owner_since(self, pod: str, after_s: float) -> list[float]:
        """When a controller became the owner of a node, after a time; s since the Unix epoch."""
        roles = self.logged(pod, "ownership", after_s)
        return [entry.at_s for entry in roles if entry.fields.get("role") == "owner"]

    def roles(self, pod: str) -> str:
        """What a controller says about its roles; empty while it does not answer."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/https:{pod}:9100/proxy/readyz"
        try:
            answer = self.run("kubectl", "get", "--raw", path, timeout_s=5)
        except KubeError as error:
            # 503 has the conditions as well, in the error.
            answer = str(error)
        begin = answer.find('"nodes"')
        return answer[begin:] if begin >= 0 else ""

    def owner(self, program: str = "tc-controller") -> str | None:
        """The controller that owns the node of the emulated gNB."""
        names = [pod["metadata"]["name"] for pod in self.pods(program)]
        return next((name for name in names if "owner: " in self.roles(name)), None)


def until(condition: Callable[[], Any], what: str, timeout_s: float, every_s: float = 0.2) -> float:
    """Seconds until the condition holds; `KubeError` after the timeout."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > timeout_s:
            raise KubeError(f"{what}: not within {timeout_s:g} s")
        time.sleep(every_s)
    return time.monotonic() - began
