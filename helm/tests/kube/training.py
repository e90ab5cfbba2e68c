"""A model searched for, trained, judged, promoted and swapped in, on the cluster."""

from __future__ import annotations

import json

import yaml
from kube.cluster import CHART, Cluster, KubeError, until

VALUES = CHART / "ci" / "training-values.yaml"
CRON_JOB = "cronjob/sojourn-training"
ENDS_WITHIN_S = 1800.0
REFUSED = '{"epochs":1,"learning_rate":1e-9}'
"""Settings that learn nothing: the gate must refuse the model."""


def release(cluster: Cluster) -> None:
    """Install with the volumes of training, the search not yet begun: it needs data."""
    (training,) = yaml.safe_load(VALUES.read_text(encoding="utf-8"))["training"]["volume"].values()
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": training},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    cluster.kubectl("apply", "-f", "-", text=json.dumps(claim))
    _install(cluster, "--set=training.tune.enabled=false")


def promotes(cluster: Cluster) -> float:
    """The CronJob collects, trains, judges and promotes, and the forecaster swaps the model in.

    Returns the time from the end of the job to the swap, s.
    """
    before = _active(cluster)
    cluster.kubectl("create", "job", "promoted", f"--from={CRON_JOB}")
    _ended(cluster, "promoted", "complete")
    return until(lambda: _active(cluster) > before, "a swapped model", 60)


def refuses(cluster: Cluster) -> None:
    """A model that fails the gate fails the job and stays off the volume."""
    _install(
        cluster,
        "--set=training.tune.enabled=false",
        f"--set-json=training.train.settings.fit={REFUSED}",
    )
    before = _active(cluster)
    cluster.kubectl("create", "job", "refused", f"--from={CRON_JOB}")
    _ended(cluster, "refused", "failed")
    log = cluster.kubectl("logs", "job/refused", "-c", "retrain")
    if "is not promoted" not in log:
        raise KubeError(f"the job failed for another reason than the gate: {log[-500:]}")
    if _active(cluster) != before:
        raise KubeError("the forecaster swapped a model in that the gate refused")


def tunes(cluster: Cluster) -> str:
    """Chief and worker search on the collected data; returns what the chief found."""
    _install(cluster)
    (chief,) = (
        job["metadata"]["name"]
        for job in cluster.objects("jobs", "app.kubernetes.io/component=training")
        if "-chief-" in job["metadata"]["name"]
    )
    _ended(cluster, chief, "complete")
    return cluster.kubectl("logs", f"job/{chief}").splitlines()[-1]


def _install(cluster: Cluster, *arguments: str) -> None:
    cluster.install(f"--values={VALUES}", *arguments)


def _ended(cluster: Cluster, job: str, expected: str) -> None:
    def ended() -> bool:
        (found,) = (each for each in cluster.objects("jobs") if each["metadata"]["name"] == job)
        conditions = found["status"].get("conditions", [])
        states = {each["type"].lower() for each in conditions if each["status"] == "True"}
        if (states & {"complete", "failed"}) - {expected}:
            log = cluster.kubectl("logs", f"job/{job}", "--all-containers", "--tail=20")
            raise KubeError(f"job {job}: {', '.join(sorted(states))}; expected {expected}\n{log}")
        return expected in states

    until(ended, f"the end of job {job}", ENDS_WITHIN_S, every_s=2)


def _active(cluster: Cluster) -> int:
    """How often forecasters made a model active, by their logs."""
    log = cluster.kubectl("logs", "deployment/sojourn-forecaster", "--tail=-1")
    return log.count('"model active"')
