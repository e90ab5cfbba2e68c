"""NetworkPolicies follow the addresses of a release, Services the families of the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from chart_readme import CHART
from chart_tools import faults, refusal, template

Manifest = dict[str, Any]
PRODUCTION = ("--values", CHART / "examples" / "production.yaml")
E42 = [{"port": 36422, "protocol": "SCTP"}]


def in_namespace(name: str) -> Manifest:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def test_controllers_reach_each_others_page_where_only_monitoring_may_read() -> None:
    objects = template(*PRODUCTION)
    name = "s-sojourn-controller"
    (policy,) = (
        each
        for each in objects
        if each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == name
    )
    readers = policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchExpressions"]
    assert readers[0]["values"] == ["tc-controller", "doctor"]


def egress(objects: list[Manifest], component: str) -> list[Manifest]:
    """Egress rules of a component's NetworkPolicy."""
    name = f"s-sojourn-{component}"
    (policy,) = (
        each
        for each in objects
        if each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == name
    )
    rules: list[Manifest] = policy["spec"]["egress"]
    return rules


@pytest.mark.parametrize(
    ("host", "peer"),
    [
        ("10.20.30.40", {"ipBlock": {"cidr": "10.20.30.40/32"}}),
        ("", {"podSelector": {}}),
        ("near-ric", {"podSelector": {}}),
        ("near-ric.ran", in_namespace("ran")),
        ("near-ric.ran.svc.cluster.local.", in_namespace("ran")),
    ],
)
def test_the_bridge_alone_may_reach_the_near_rt_ric_where_it_is(host: str, peer: Manifest) -> None:
    objects = template(*PRODUCTION, f"--set=flexricBridge.ric.host={host}")
    assert [fault for each in objects for fault in faults(each)] == []
    assert {"ports": E42, "to": [peer]} in egress(objects, "flexric-bridge")
    assert [rule for rule in egress(objects, "controller") if rule.get("ports") == E42] == []


def test_the_address_of_a_name_outside_the_cluster_is_asked_for() -> None:
    host = "--set=flexricBridge.ric.host=ric.site.example.org"
    values = str(PRODUCTION[1])
    error = refusal("--values", values, host)
    assert "flexricBridge.ric.host: ric.site.example.org is no Service of the cluster" in error
    assert "networkPolicy.egress.to" in error
    given = "--set=networkPolicy.egress.to[0].ipBlock.cidr=10.1.0.0/16"
    rules = egress(template(*PRODUCTION, host, given), "flexric-bridge")
    assert {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}]} in rules


@pytest.mark.parametrize(
    ("host", "error"),
    [
        ("10.20.30.40:36421", " has a port; expected a name or an IPv4 address, without a port: the"
         " bridge connects to E42, whose port in FlexRIC is always 36422; 36421 is E2, for gNBs"),
        ("near-ric:36422", " has a port"),
        ("fd00::5", " is an IPv6 address, FlexRIC has IPv4 alone"),
        ("[fd00::5]:36422", " is an IPv6 address, FlexRIC has IPv4 alone"),
        ("http//ric", "; expected a name or an IPv4 address"),
    ],
)  # fmt: skip
def test_a_host_of_the_ric_that_cannot_work_is_refused_with_a_hint(host: str, error: str) -> None:
    given = refusal("--values", str(PRODUCTION[1]), f"--set=flexricBridge.ric.host={host}")
    assert f"flexricBridge.ric.host: {host}{error}" in given


@pytest.mark.parametrize(
    ("address", "cidr"),
    [("10.0.0.7:36421", "10.0.0.7/32"), ("[fd00::7]:36421", "fd00::7/128")],
)
def test_a_gateway_outside_the_release_may_be_reached_by_every_program(
    address: str, cidr: str
) -> None:
    objects = template(
        "--values", CHART / "ci" / "external-gateway-values.yaml",
        f"--set=gateway.address={address}", "--set=networkPolicy.egress.enabled=true",
    )  # fmt: skip
    for component in ("controller", "forecaster"):
        assert {"to": [{"ipBlock": {"cidr": cidr}}]} in egress(objects, component)


def test_training_may_reach_mlflow() -> None:
    objects = template(
        "--values", CHART / "examples" / "training.yaml",
        "--set=networkPolicy.egress.enabled=true,training.mlflowUri=http://mlflow.ml:5000",
    )  # fmt: skip
    peer = in_namespace("ml")
    assert {"to": [peer]} in egress(objects, "training")
    assert {"to": [peer]} not in egress(objects, "controller")


def example(name: str) -> list[Manifest]:
    return template("--values", CHART / "examples" / f"{name}.yaml")


def test_on_openshift_no_uid_is_asked_for_and_dns_is_reached_at_its_pods() -> None:
    objects = example("openshift")
    specs = [
        each["spec"]["template"]["spec"] for each in objects if "template" in each.get("spec", {})
    ]
    assert specs
    for spec in specs:
        contexts = [spec["securityContext"], *(c["securityContext"] for c in spec["containers"])]
        asked = {"runAsUser", "runAsGroup", "fsGroup"}
        assert [context for context in contexts if asked & context.keys()] == []
        assert spec["securityContext"]["runAsNonRoot"] is True
    dns = egress(objects, "controller")[0]["ports"]
    assert {(each["port"], each["protocol"]) for each in dns} == {
        (port, protocol) for port in (53, 5353) for protocol in ("TCP", "UDP")
    }


@pytest.mark.parametrize(
    ("name", "policy", "families"),
    [("ipv6", "SingleStack", ["IPv6"]), ("dual-stack", "PreferDualStack", None)],
)
def test_every_service_has_the_families_of_the_release(
    name: str, policy: str, families: list[str] | None
) -> None:
    objects = example(name)
    services = [each["spec"] for each in objects if each["kind"] == "Service"]
    assert len(services) >= 3
    assert {service["ipFamilyPolicy"] for service in services} == {policy}
    assert [s for s in services if s.get("ipFamilies") != families] == []
    by_default = [each["spec"] for each in template() if each["kind"] == "Service"]
    assert [service for service in by_default if "ipFamilyPolicy" in service] == []


def test_no_address_of_ipv4_is_written_into_an_ipv6_release() -> None:
    text = str([each for each in example("ipv6") if each["kind"] != "Secret"])
    assert "0.0.0.0" not in text
    assert "127.0.0.1" not in text
