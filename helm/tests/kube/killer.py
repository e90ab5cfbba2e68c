"""SIGKILL for the programs of a pod, by a pod with the host's processes on each node.

`kubectl delete --force` is no kill: kubelet sends SIGTERM first, and a controller gives up
its nodes.
"""

from __future__ import annotations

import json
from typing import Any

from kube.cluster import Cluster, KubeError, until

NAME = "killer"
# The name of a container's cgroup has the UID of its pod, with "_" for "-" under systemd. Processes
# of other users, such as the pause container, stay.
KILL = """
import os, pathlib, signal, sys, time
killed = 0
for group in pathlib.Path("/proc").glob("[0-9]*/cgroup"):
    try:
        if sys.argv[1] in group.read_text().replace("_", "-"):
            os.kill(int(group.parent.name), signal.SIGKILL)
            killed += 1
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass
print(time.time(), killed)
"""


class Killer:
    """A DaemonSet with the image and the user of the release's pods; no other privilege."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def start(self) -> bool:
        """Whether the cluster runs it on each node that has a pod of the release."""
        self.cluster.pod_security("privileged")
        pods = self.cluster.pods("tc-controller")
        self.cluster.kubectl("apply", "-f", "-", text=json.dumps(_daemon_set(pods[0])))
        nodes = {pod["spec"]["nodeName"] for pod in self._all()}
        try:
            until(lambda: nodes <= self._by_node().keys(), "the killer's pods", 30)
        except KubeError:
            return False
        return True

    def kill(self, pod: str) -> float:
        """Kill a pod's programs and delete it, so that no back-off delays its successor.

        Returns the time of the kill, s since the Unix epoch, by the clock of the pod's node.
        """
        (found,) = (each for each in self._all() if each["metadata"]["name"] == pod)
        mine = self._by_node()[found["spec"]["nodeName"]]
        answer = self.cluster.kubectl(
            "exec", mine, "--", "python3", "-c", KILL, found["metadata"]["uid"]
        )
        at_s, killed = answer.split()
        if killed == "0":
            raise KubeError(f"{pod}: no process of it found on its node")
        self.cluster.delete_at_once(pod)
        return float(at_s)

    def _all(self) -> list[dict[str, Any]]:
        return self.cluster.objects("pods", f"app.kubernetes.io/instance={self.cluster.release}")

    def _by_node(self) -> dict[str, str]:
        return {
            pod["spec"]["nodeName"]: pod["metadata"]["name"]
            for pod in self.cluster.objects("pods", f"app={NAME}")
            if pod["status"]["phase"] == "Running"
        }


def _daemon_set(pod: dict[str, Any]) -> dict[str, Any]:
    spec, labels = pod["spec"], {"app": NAME}
    container = spec["containers"][0]
    kept = ("securityContext", "imagePullSecrets", "nodeSelector", "tolerations")
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    **{key: spec[key] for key in kept if key in spec},
                    "hostPID": True,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [
                        {
                            "name": NAME,
                            "image": container["image"],
                            "imagePullPolicy": container["imagePullPolicy"],
                            "securityContext": container["securityContext"],
                            "command": ["python3", "-c", "import signal; signal.pause()"],
                        }
                    ],
                },
            },
        },
    }
