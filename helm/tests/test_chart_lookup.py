"""What the chart finds in the cluster: CA, certificates, token of an installation; a near-RT RIC.

helm-unittest stands in for the cluster.
"""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_readme import CHART
from chart_tools import run, tool

Manifest = dict[str, Any]
NAME = "s-sojourn-controller"
DNS_NAMES = f"{NAME}.ran.svc,{NAME},{NAME}.ran,{NAME}.ran.svc.cluster.local,localhost"
FINGERPRINT = sha256(DNS_NAMES.encode()).hexdigest()[:16]
DAY_S = 86_400


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def secret(name: str, data: dict[str, str], **annotations: str) -> Manifest:
    metadata = {"name": name, "namespace": "ran", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Certificate and key of a CA, as the data of its Secret."""
    folder = tmp_path_factory.mktemp("ca")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN=x"
    subprocess.run(
        [*command.split(), "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    return {"tls.crt": base64_of(certificate.read_bytes()), "tls.key": base64_of(key.read_bytes())}


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., None]:
    """Renders a template beside the objects of a cluster and checks one document of it."""

    def check(
        template: str,
        name: str,
        objects: list[Manifest],
        asserts: list[Manifest],
        values: Manifest | None = None,
    ) -> None:
        scheme = {
            f"v1/{kind}": {
                "gvr": {"version": "v1", "resource": f"{kind.lower()}s"},
                "namespaced": True,
            }
            for kind in ("Secret", "Service")
        }
        case = {
            "it": name or template,
            "set": {"image": {"registry": "registry.example.org"}, **(values or {})},
            "kubernetesProvider": {"scheme": scheme, "objects": objects},
            "template": template,
            "asserts": asserts,
        }
        if name:
            case["documentSelector"] = {"path": "metadata.name", "value": name}
        release = {"name": "s", "namespace": "ran"}
        content = {"suite": "x", "release": release, "templates": [template], "tests": [case]}
        suite = tmp_path / "suite_test.yaml"
        suite.write_text(yaml.safe_dump(content))
        run(tool("helm-unittest"), "--strict", "--file", suite, CHART)

    return check


def installed(ca: dict[str, str], renew_at: float, names: str = FINGERPRINT) -> list[Manifest]:
    """The Secrets of an installation whose controller has a certificate to renew then."""
    data = {"tls.crt": "b2xk", "tls.key": "b2xk", "ca.crt": ca["tls.crt"]}
    annotations = {"sojourn/renew-at": str(int(renew_at)), "sojourn/dns-names": names}
    return [secret("s-sojourn-ca", ca), secret(f"{NAME}-tls", data, **annotations)]


def test_the_ca_stays(check: Callable[..., None], ca: dict[str, str]) -> None:
    asserts = [
        {"equal": {"path": 'data["tls.crt"]', "value": ca["tls.crt"]}},
        {"equal": {"path": 'data["tls.key"]', "value": ca["tls.key"]}},
    ]
    check("templates/tls.yaml", "s-sojourn-ca", installed(ca, 0), asserts)


def test_a_certificate_that_lasts_stays(check: Callable[..., None], ca: dict[str, str]) -> None:
    asserts = [{"equal": {"path": 'data["tls.crt"]', "value": "b2xk"}}]
    objects = installed(ca, time.time() + DAY_S)
    check("templates/tls.yaml", f"{NAME}-tls", objects, asserts)


@pytest.mark.parametrize(
    ("renew_in_s", "names"), [(-DAY_S, FINGERPRINT), (DAY_S, "of-another-name")]
)
def test_a_certificate_that_ends_or_has_other_names_is_renewed_by_the_same_ca(
    check: Callable[..., None], ca: dict[str, str], renew_in_s: int, names: str
) -> None:
    asserts = [
        {"notEqual": {"path": 'data["tls.crt"]', "value": "b2xk"}},
        {"equal": {"path": 'data["ca.crt"]', "value": ca["tls.crt"]}},
        {"equal": {"path": 'metadata.annotations["sojourn/dns-names"]', "value": FINGERPRINT}},
    ]
    objects = installed(ca, time.time() + renew_in_s, names)
    check("templates/tls.yaml", f"{NAME}-tls", objects, asserts)


def test_the_token_stays(check: Callable[..., None]) -> None:
    objects = [secret("s-sojourn-access", {"noc.token": "dG9rZW4="})]
    asserts = [{"equal": {"path": 'data["noc.token"]', "value": "dG9rZW4="}}]
    check("templates/access.yaml", "s-sojourn-access", objects, asserts)


BRIDGE = {
    "lab": {"enabled": False},
    "flexricBridge": {"enabled": True},
}
LABEL = {"app.kubernetes.io/name": "oai-flexric"}


def service(name: str, port: int, labels: Manifest | None = None, **spec: str) -> Manifest:
    metadata = {"name": name, "namespace": "ran", "labels": labels or {}}
    # helm-unittest cannot copy an int; an API server's answer has floats as well.
    ports = [{"port": float(port), "protocol": "SCTP"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"ports": ports, **spec},
    }


@pytest.mark.parametrize(
    ("services", "host"),
    [
        ([], "oai-flexric"),
        ([service("near-ric", 36422), service("other", 38412)], "near-ric"),
        ([service("ric", 36421, LABEL, clusterIP="None")], "ric"),
    ],
)
def test_the_bridge_connects_to_the_near_rt_ric_of_the_namespace(
    check: Callable[..., None], services: list[Manifest], host: str
) -> None:
    asserts = [{"matchRegex": {"path": 'data["settings.yaml"]', "pattern": f"address: {host}\n"}}]
    name = "s-sojourn-flexric-bridge-settings"
    check("templates/settings.yaml", name, services, asserts, BRIDGE)


@pytest.mark.parametrize(
    ("services", "error"),
    [
        ([service("a", 36422), service("b", 1, LABEL, clusterIP="None")], "near-RT RIC: a, b; set"),
        ([service("ric", 36425, LABEL)], "ric of the near-RT RIC: has no port 36422 with protocol"),
    ],
)
def test_several_rics_and_a_wrong_port_are_refused(
    check: Callable[..., None], services: list[Manifest], error: str
) -> None:
    asserts = [{"failedTemplate": {"errorPattern": error}}]
    check("templates/settings.yaml", "", services, asserts, BRIDGE)
