"""The switch of a release, its controllers scaled to none and back, and what it leaves behind."""

from __future__ import annotations

import time

from kube.cluster import CHART, Cluster, KubeError, until
from kube.observer import Observer

PROGRAM = "tc-controller"
LOG = "/var/lib/sojourn/decisions.jsonl"
KEPT = "persistentvolumeclaims"
"""The objects that an uninstallation keeps (docs/upgrade.md)."""
TRANSIENT = ("events", "events.events.k8s.io", "pods.metrics.k8s.io")
"""Resources that no release makes."""


def to(cluster: Cluster, mode: str) -> float:
    """`helm upgrade --set mode=…`: seconds from its start until each controller has it in force."""
    began_s = time.time()
    cluster.helm("upgrade", cluster.release, str(CHART), "--reuse-values", f"--set=mode={mode}")

    def in_force_at_s() -> list[float]:
        return [
            next(
                (
                    entry.at_s
                    for entry in cluster.logged(pod, "mode", began_s)
                    if entry.fields["mode"] == mode
                ),
                0.0,
            )
            for pod in cluster.ready(PROGRAM)
        ]

    until(lambda: all(in_force_at_s()), f"mode {mode} at all controllers", 60)
    return max(in_force_at_s()) - began_s


def returned(observer: Observer, at_s: float) -> None:
    """Each bearer has the gNB's own pipeline, as the gNB reports."""
    until(lambda: any(each.initial for each in observer.since(at_s)), "returned bearers", 10)


def none_and_back(cluster: Cluster) -> None:
    """Controllers scaled to none and back: the decision logs are those of before."""
    before = {pod: _log(cluster, pod) for pod in cluster.ready(PROGRAM)}
    (controller,) = cluster.objects("statefulsets", f"app.kubernetes.io/component={PROGRAM}")
    name = controller["metadata"]["name"]
    cluster.kubectl("scale", "statefulset", name, "--replicas=0")
    until(
        lambda: not cluster.objects("pods", f"app.kubernetes.io/component={PROGRAM}"),
        "no controller",
        60,
    )
    cluster.kubectl("scale", "statefulset", name, f"--replicas={len(before)}")
    until(lambda: len(cluster.ready(PROGRAM)) == len(before), "controllers ready again", 120)
    for pod, lines in before.items():
        if _log(cluster, pod)[: len(lines)] != lines:
            raise KubeError(f"{pod}: its decision log is not the one of before")
    if not any(before.values()):
        raise KubeError("no controller had a decision log before it was scaled to none")


def uninstalled(cluster: Cluster) -> str:
    """What `helm uninstall` leaves: claims of volumes, and the pod of `helm test`."""
    cluster.helm("uninstall", cluster.release, "--wait")
    cluster.kubectl("delete", "pod", f"{cluster.release}-doctor", "--ignore-not-found")
    until(lambda: set(_left(cluster)) <= {KEPT}, "nothing but claims of volumes", 60)
    kept = _left(cluster).get(KEPT, [])
    cluster.kubectl("delete", "pvc", "-l", f"app.kubernetes.io/instance={cluster.release}")
    until(lambda: not _left(cluster), "nothing", 60)
    return f"uninstallation keeps {', '.join(kept) or 'nothing'}"


def _log(cluster: Cluster, pod: str) -> list[str]:
    program = f"import pathlib; print(pathlib.Path({LOG!r}).read_text(), end='')"
    return cluster.kubectl("exec", pod, "--", "python3", "-c", program).splitlines()


def _left(cluster: Cluster) -> dict[str, list[str]]:
    """Names of what belongs to the release, by resource."""
    listed = cluster.run("kubectl", "api-resources", "--verbs=list", "--namespaced", "-o", "name")
    left: dict[str, list[str]] = {}
    for resource in set(listed.split()) - set(TRANSIENT):
        names = [each["metadata"]["name"] for each in cluster.objects(resource)]
        if found := [each for each in names if cluster.release in each]:
            left[resource] = found
    return left
