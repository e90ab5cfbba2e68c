"""Watches, from a pod of its own, which pipeline each bearer has: what the gNB itself reports."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import Any

import yaml
from kube.cluster import Cluster, until

PERIOD_MS = 100
INITIAL = "transparent"
"""Name of the gNB's pipeline before any control."""
FEW_BYTES = 500_000
"""Most bytes in the RLC of a bearer that is not bloated; one that is has megabytes."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The bearers of the gNB at a time."""

    at_s: float
    """Time of the pod's node, s since the Unix epoch."""
    names: tuple[str, ...]
    """Names of the pipelines in force."""
    rlc_bytes: int
    """Most bytes in the RLC of a bearer."""

    @property
    def in_force(self) -> bool:
        """Whether each bearer has a pipeline of the controller."""
        return bool(self.names) and INITIAL not in self.names

    @property
    def initial(self) -> bool:
        """Whether each bearer has the gNB's own pipeline."""
        return bool(self.names) and set(self.names) == {INITIAL}

    @property
    def cured(self) -> bool:
        """Whether, besides, no bearer has a long queue in front of the radio."""
        return self.in_force and self.rlc_bytes < FEW_BYTES


def sample(line: str) -> Sample | None:
    """The sample of a line of `ric watch tc_v1`; `None` for its log."""
    try:
        indication = json.loads(line)
        bearers = indication["value"]["pipeline_status"]
    except (ValueError, KeyError, TypeError):
        return None
    return Sample(
        indication["handled_at_us"] / 1e6,
        tuple(bearer["name"] for bearer in bearers),
        max((bearer["pacer"]["rlc_occupancy_bytes"] for bearer in bearers), default=0),
    )


def longest_without_s(samples: list[Sample]) -> float:
    """Longest time a bearer was without a pipeline of the controller, s.

    Time without reports counts for what was reported before it.
    """
    longest, since = 0.0, None
    for each in samples:
        if each.in_force:
            since = None
        else:
            since = each.at_s if since is None else since
            longest = max(longest, each.at_s - since)
    return longest


class Observer:
    """The pod `observer`; it has the doctor's certificate."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.samples: list[Sample] = []
        self._log: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Create the pod and wait for the first sample."""
        cluster = self._cluster
        (doctor,) = (
            hook
            for hook in _manifests(cluster)
            if hook["kind"] == "Pod" and hook["metadata"]["name"].endswith("-doctor")
        )
        container = doctor["spec"]["containers"][0]
        gateway = [word for word in container["args"] if word.startswith("--gateway")]
        container |= {
            "name": "observer",
            "command": ["ric", "watch", "tc_v1", f"--period-ms={PERIOD_MS}", "--count=0"],
            "args": gateway,
        }
        doctor["spec"]["restartPolicy"] = "Always"
        doctor["metadata"] |= {"name": "observer", "annotations": {}}
        cluster.kubectl("apply", "-f", "-", text=json.dumps(doctor))
        threading.Thread(target=self._read, daemon=True).start()
        until(lambda: self.samples, "reports to the observer", 60)

    def _read(self) -> None:
        while True:
            command = ["kubectl", "-n", self._cluster.namespace, "logs", "-f", "observer"]
            since = [] if not self.samples else ["--since=1s"]
            self._log = subprocess.Popen(
                [*command, *since], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            assert self._log.stdout is not None
            for line in self._log.stdout:
                if (found := sample(line)) is not None:
                    self.samples.append(found)
            time.sleep(0.2)

    def since(self, at_s: float) -> list[Sample]:
        """Samples from a time on."""
        return [each for each in self.samples if each.at_s >= at_s]

    def cured_after(self, at_s: float, timeout_s: float) -> float:
        """Seconds from a time until a bearer is cured and a report says so."""

        def cured() -> float | None:
            return next((each.at_s for each in self.since(at_s) if each.cured), None)

        until(cured, "a cured bearer", timeout_s)
        return (cured() or at_s) - at_s


def _manifests(cluster: Cluster) -> list[dict[str, Any]]:
    text = cluster.helm("get", "hooks", cluster.release)
    return [document for document in yaml.safe_load_all(text) if document]
