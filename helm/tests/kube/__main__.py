"""`make test-kube`: the chart on the cluster of KUBECONFIG, programs run where a kubelet is.

Writes the measurements to out/kube/report.json and exits with 1 if a bound is missed. On nodes of
kwok, which run nothing, it does what needs no running program, and says so.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from kube import checks, switch, training
from kube.cluster import Cluster, KubeError, until
from kube.killer import Killer
from kube.observer import Observer, longest_without_s

PROGRAMS = ("tc-controller", "rlc-forecaster", "gnb-lab")
LEASE_S = 6.0
"""Lease of a pipeline in the default policy."""
NODE_LEASE_S = 3.0
ANSWER_S = 0.5
"""Time allowed to the request of a standby that waited for the end of the node lease."""
INSTALLED_WITHIN_S = 120.0
RECOVERED_WITHIN_S = 10.0
SWITCHED_WITHIN_S = 5.0


class Report:
    """Measurements and skipped steps, printed as they come."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.failed = False

    def measured(self, what: str, values: list[float], bound: float) -> None:
        """Times of a step, s, and their bound."""
        worst = max(values)
        kept = worst <= bound
        self.failed |= not kept
        self.rows.append({"what": what, "seconds": values, "bound_s": bound, "kept": kept})
        each = f", {len(values)} times" if len(values) > 1 else ""
        self._print("ok" if kept else "MISSED", f"{what}: {worst:.1f} s (bound {bound:g} s{each})")

    def done(self, what: str) -> None:
        """A step without a measurement."""
        self.rows.append({"what": what, "kept": True})
        self._print("ok", what)

    def skipped(self, what: str, why: str) -> None:
        """A step that this cluster cannot do."""
        self.rows.append({"what": what, "skipped": why})
        self._print("skipped", f"{what}: {why}")

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """A step that ends the run if it fails."""
        try:
            yield
        except KubeError as error:
            self.failed = True
            self.rows.append({"what": what, "error": str(error), "kept": False})
            self._print("FAILED", f"{what}: {error}")
            raise

    @staticmethod
    def _print(state: str, text: str) -> None:
        print(f"{state:8}{text}", flush=True)


def main() -> int:
    """Run; returns the exit status."""
    parser = argparse.ArgumentParser(prog="make test-kube", description=__doc__)
    parser.add_argument("--namespace", default="sojourn-test", help="made and removed again")
    parser.add_argument("--values", type=Path, action="append", default=[], help="values file")
    parser.add_argument("--registry", default="localhost", help="of the images; default: loaded")
    parser.add_argument("--kills", type=int, default=10, help="of each program; default 10")
    parser.add_argument(
        "--training", action="store_true", help="also train a model: 15 minutes, two volumes"
    )
    parser.add_argument("--keep", action="store_true", help="leave the release in place")
    parser.add_argument("--out", type=Path, default=Path("out/kube"))
    given = parser.parse_args()
    cluster = Cluster(given.namespace, values=tuple(given.values), registry=given.registry)
    report = Report()
    try:
        cluster.run("kubectl", "create", "namespace", cluster.namespace)
        cluster.pod_security("restricted")
        try:
            run(cluster, report, given.kills)
            if given.training:
                train(cluster, report)
            if not given.keep:
                with report.step("helm uninstall"):
                    report.done(switch.uninstalled(cluster))
        finally:
            if not given.keep:
                cluster.run("kubectl", "delete", "namespace", cluster.namespace, "--wait=false")
    except KubeError as error:
        print(f"make test-kube: {error}", file=sys.stderr)
        report.failed = True
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "report.json").write_text(json.dumps(report.rows, indent=2) + "\n")
    return int(report.failed)


def nodes(cluster: Cluster) -> list[dict[str, Any]]:
    """Schedulable nodes that the values files select."""
    selector: dict[str, str] = {}
    for path in cluster.values:
        pod = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("pod", {})
        selector |= pod.get("nodeSelector", {})
    labels = ",".join(f"{key}={value}" for key, value in selector.items())
    return [
        node for node in cluster.objects("nodes", labels) if not node["spec"].get("unschedulable")
    ]


def fake(cluster: Cluster) -> bool:
    """Whether all nodes are kwok's: their pods are said to be ready and run nothing."""
    return all("kwok.x-k8s.io/node" in n["metadata"]["annotations"] for n in nodes(cluster))


def run(cluster: Cluster, report: Report, kills: int) -> None:
    """All steps, in the order in which an operator meets them."""
    with report.step("nodes"):
        if not nodes(cluster):
            raise KubeError("the cluster has no schedulable node that these values select")
    with report.step("server-side dry run"):
        for accepted in checks.dry_run(cluster):
            report.done(accepted)
    with report.step("the near-RT RIC's Service"):
        checks.ric_service(cluster)
        report.done("the near-RT RIC's Service is found by its label or port")
    began_s = time.time()
    # Controllers keep their logs where the cluster has volumes for them.
    volumes = checks.has_default_storage_class(cluster)
    persistence = [f"--set=controller.persistence.enabled={str(volumes).lower()}"]
    with report.step("helm install"):
        cluster.install(*persistence)
    with report.step("rights"):
        checks.rights(cluster)
        report.done("no right and no token for the Kubernetes API")
    if fake(cluster):
        report.skipped("traffic, helm test and kills", "nodes of kwok run no programs")
        for what, change in changes(cluster, persistence):
            with report.step(what):
                change()
                report.done(what)
        with report.step("drain"):
            drain(cluster, report)
        return
    observer = Observer(cluster)
    with report.step("helm install to a cured bearer"):
        observer.start()
        cured_s = observer.cured_after(began_s, INSTALLED_WITHIN_S)
        report.measured("helm install to a cured bearer", [cured_s], INSTALLED_WITHIN_S)
    with report.step("helm test"):
        cluster.helm("test", cluster.release, "--timeout=2m")
        report.done("helm test")
    for what, change in changes(cluster, persistence):
        with report.step(what):
            under_traffic(observer, report, what, change)
    switched(cluster, observer, report)
    killer = Killer(cluster)
    with report.step("killer"):
        killable = killer.start()
    if killable:
        with report.step("takeover"):
            under_traffic(observer, report, "takeovers", lambda: takeovers(killer, report, kills))
        for program in PROGRAMS:
            with report.step(f"kills of {program}"):
                kill_each(killer, observer, report, program, kills)
    else:
        report.skipped("kills", "the cluster runs no pod with the host's processes (hostPID)")
    with report.step("drain"):
        under_traffic(observer, report, "drain", lambda: drain(cluster, report))
    if volumes:
        with report.step("controllers scaled to none and back"):
            switch.none_and_back(cluster)
            report.done("controllers scaled to none and back: their decision logs are there")
    else:
        report.skipped("controllers scaled to none and back", "no default StorageClass")


def switched(cluster: Cluster, observer: Observer, report: Report) -> None:
    """Each mode from another one, and what it does to bearers."""
    for mode in ("off", "observe", "act"):
        with report.step(f"mode {mode}"):
            began_s = time.time()
            taken_s = switch.to(cluster, mode)
            report.measured(f"helm upgrade to mode {mode} in force", [taken_s], SWITCHED_WITHIN_S)
            if mode == "off":
                switch.returned(observer, began_s)
                report.done("mode off: every bearer has the gNB's own pipeline")
            if mode == "act":
                cured_s = observer.cured_after(began_s + taken_s, RECOVERED_WITHIN_S)
                report.measured("mode act to a cured bearer", [cured_s], RECOVERED_WITHIN_S)


def changes(cluster: Cluster, persistence: list[str]) -> list[tuple[str, Callable[[], None]]]:
    """An upgrade that restarts controllers and forecaster, and the way back."""
    restart = ("controller", "forecaster")
    upgrade = [f"--set={program}.settings.log.level=debug" for program in restart]
    return [
        ("upgrade", lambda: cluster.install(*persistence, *upgrade)),
        ("rollback", lambda: rolled_back(cluster)),
    ]


def rolled_back(cluster: Cluster) -> None:
    cluster.helm("rollback", cluster.release, "--wait", "--timeout=5m")


def under_traffic(
    observer: Observer, report: Report, what: str, change: Callable[[], None]
) -> None:
    """How long a bearer was without a pipeline of the controller meanwhile."""
    began_s = time.time()
    change()
    time.sleep(2)
    without_s = longest_without_s(observer.since(began_s))
    report.measured(f"{what}: longest time without a pipeline", [without_s], LEASE_S)


def train(cluster: Cluster, report: Report) -> None:
    """A model from reports to the forecaster, one that the gate refuses, and a search."""
    if fake(cluster):
        report.skipped("training", "nodes of kwok run no programs")
        return
    with report.step("training: volumes"):
        training.release(cluster)
    with report.step("training: a model that passes the gate"):
        swapped_s = training.promotes(cluster)
        report.measured("training: promoted model in use", [swapped_s], RECOVERED_WITHIN_S)
    with report.step("training: a model that fails the gate"):
        training.refuses(cluster)
        report.done("training: a model that fails the gate stays off the volume")
    with report.step("training: search"):
        report.done(f"training: search, {training.tunes(cluster)}")


def takeovers(killer: Killer, report: Report, kills: int) -> None:
    """The owner of the node is killed; another controller owns it within the node lease."""
    cluster = killer.cluster
    if len(cluster.pods("tc-controller")) < 2:
        report.skipped("takeover", "one controller only")
        return
    taken_s = []
    for _ in range(kills):
        until(lambda: len(cluster.ready("tc-controller")) > 1, "two ready controllers", 60)
        until(cluster.owner, "an owner", 30)
        owner = cluster.owner()
        assert owner is not None
        at_s = killer.kill(owner)

        def taken(at_s: float = at_s) -> list[float]:
            # The successor of the killed one may be there before the lease ends.
            names = [pod["metadata"]["name"] for pod in cluster.pods("tc-controller")]
            return [since for name in names for since in cluster.owner_since(name, at_s)]

        until(taken, "a takeover", 30)
        taken_s.append(min(taken()) - at_s)
    report.measured(
        "owner killed: another controller owns the node", taken_s, NODE_LEASE_S + ANSWER_S
    )


def kill_each(killer: Killer, observer: Observer, report: Report, program: str, kills: int) -> None:
    """A pod is killed; its successor is ready, and the bearer is cured."""
    cluster = killer.cluster
    ready_s, cured_s = [], []
    for _ in range(kills):
        until(lambda: all_ready(cluster, program), f"{program} ready", 60)
        before = cluster.ready(program)
        began = time.monotonic()
        at_s = killer.kill(min(before))

        def replaced(before: dict[str, str] = before) -> bool:
            now = cluster.ready(program)
            return len(now) == len(before) and set(now.values()) != set(before.values())

        until(replaced, f"{program} ready again", 60)
        ready_s.append(time.monotonic() - began)
        cured_s.append(observer.cured_after(at_s + 0.5, 60) + 0.5)
    report.measured(f"{program} killed: ready again", ready_s, RECOVERED_WITHIN_S)
    report.measured(f"{program} killed: bearer cured", cured_s, RECOVERED_WITHIN_S)


def all_ready(cluster: Cluster, program: str) -> bool:
    """Whether a program has pods and all are ready."""
    return 0 < len(cluster.pods(program)) == len(cluster.ready(program))


def drain(cluster: Cluster, report: Report) -> None:
    """A node is drained; the PodDisruptionBudget leaves a controller running."""
    usable = nodes(cluster)
    if len(usable) < 2:
        report.skipped("drain", "one node only: drained pods would have nowhere to go")
        return
    drained = cluster.pods("tc-controller")[0]["spec"]["nodeName"]
    selector = f"app.kubernetes.io/instance={cluster.release}"
    try:
        cluster.run(
            "kubectl", "drain", drained, "--ignore-daemonsets", "--delete-emptydir-data",
            "--force", f"--pod-selector={selector},app.kubernetes.io/component", "--timeout=120s",
        )  # fmt: skip
        for program in PROGRAMS:
            until(partial(all_ready, cluster, program), f"{program} on another node", 60)
        where = {pod["spec"]["nodeName"] for p in PROGRAMS for pod in cluster.pods(p)}
        if drained in where:
            raise KubeError(f"pods are still on {drained}")
    finally:
        cluster.run("kubectl", "uncordon", drained)
    report.done("drain")


if __name__ == "__main__":
    sys.exit(main())
