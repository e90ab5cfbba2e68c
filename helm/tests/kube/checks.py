"""What the API server can be asked without a running program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml
from kube.cluster import CHART, Cluster, KubeError

NO_FAMILY = "not configured on this cluster"
"""End of the API server's words about an address of a family that the cluster has not."""


def dry_run(cluster: Cluster) -> Iterator[str]:
    """The API server accepts every example: admission, defaults, NetworkPolicies, RBAC."""
    version = json.loads(cluster.run("kubectl", "get", "--raw", "/version"))["gitVersion"]
    known = cluster.run("kubectl", "api-resources", "--no-headers").split()
    for values in sorted([*CHART.glob("examples/*.yaml"), *CHART.glob("ci/*.yaml")]):
        text = cluster.helm(
            "template", "dry", str(CHART), "--no-hooks", f"--kube-version={version}",
            f"--values={values}", f"--set=image.registry={cluster.registry}",
        )  # fmt: skip
        objects = [each for each in yaml.safe_load_all(text) if each]
        sent = [each for each in objects if each["kind"] in known]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": sent})
        unknown = sorted({each["kind"] for each in objects} - set(known))
        try:
            cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=text)
        except KubeError as error:
            refused = [line for line in str(error).splitlines() if line.startswith("Error from")]
            if not all(line.endswith(NO_FAMILY) for line in refused):
                raise
            unknown.append("Services of its IP family")
        but = f", without {', '.join(unknown)}: not of this cluster" if unknown else ""
        yield f"server-side dry run of {values.parent.name}/{values.name}{but}"


def has_default_storage_class(cluster: Cluster) -> bool:
    """Whether a claim without a class gets a volume."""
    key = "storageclass.kubernetes.io/is-default-class"
    classes = json.loads(cluster.run("kubectl", "get", "storageclasses", "-o", "json"))["items"]
    return any(each["metadata"].get("annotations", {}).get(key) == "true" for each in classes)


def rights(cluster: Cluster) -> None:
    """The programs' ServiceAccount may do no more than any other, and no pod has a token."""

    def allowed(account: str) -> str:
        name = f"system:serviceaccount:{cluster.namespace}:{account}"
        return cluster.kubectl("auth", "can-i", "--list", f"--as={name}")

    if allowed(cluster.release) != allowed("default"):
        raise KubeError("the programs' ServiceAccount has rights at the Kubernetes API")
    for pod in cluster.objects("pods"):
        mounts = [m for c in pod["spec"]["containers"] for m in c.get("volumeMounts", [])]
        if any("serviceaccount" in mount["mountPath"] for mount in mounts):
            raise KubeError(f"{pod['metadata']['name']} has a token for the Kubernetes API")


def ric_service(cluster: Cluster) -> None:
    """`helm install` finds the Service of a near-RT RIC, and refuses several and a wrong port."""
    other = _service("near-ric", port=36422)
    headless = _service("oai-flexric", clusterIP="None", port=36422)
    wrong = _service("oai-flexric", port=36425)
    cases = [
        ([], "--ric=oai-flexric"),
        ([headless], "--ric=oai-flexric"),
        ([other], "--ric=near-ric"),
        ([headless, other], "near-ric, oai-flexric; set flexricBridge.ric.host"),
        ([wrong], "oai-flexric of the near-RT RIC: has no port 36422"),
    ]
    for services, expected in cases:
        manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": services})
        if services:
            cluster.kubectl("apply", "-f", "-", text=manifests)
        try:
            answer = cluster.helm(
                "install", "dry", str(CHART), "--dry-run=server", "--set=lab.enabled=false",
                "--set=flexricBridge.enabled=true", f"--set=image.registry={cluster.registry}",
            )  # fmt: skip
        except KubeError as error:
            answer = str(error)
        finally:
            if services:
                cluster.kubectl("delete", "-f", "-", text=manifests)
        if expected not in answer:
            raise KubeError(f"expected {expected!r} with {services}; found {answer[-500:]}")


def _service(name: str, port: int, **spec: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name}
    ports = [{"name": "e42", "port": port, "protocol": "SCTP"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"ports": ports, "selector": labels, **spec},
    }
