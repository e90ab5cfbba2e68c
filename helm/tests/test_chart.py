"""The chart as Helm renders it: valid objects, no secret in the open, pods without privilege."""

from __future__ import annotations

import base64
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_readme import CHART
from chart_tools import REGISTRY, RENDERING, VALUES_FILES, faults, refusal, run, template, tool
from dist import package_chart
from tc_controller.live import runbooks

Manifest = dict[str, Any]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(scope="module", params=VALUES_FILES, ids=name_of)
def release(request: pytest.FixtureRequest) -> list[Manifest]:
    return template("--values", request.param)


def pods(objects: list[Manifest]) -> list[tuple[str, Manifest]]:
    """Name and pod spec of everything that runs."""
    found = []
    for each in objects:
        spec = each.get("spec", {})
        if each["kind"] == "CronJob":
            spec = spec["jobTemplate"]["spec"]
        if each["kind"] == "Pod":
            found.append((each["metadata"]["name"], spec))
        elif "template" in spec:
            found.append((each["metadata"]["name"], spec["template"]["spec"]))
    return found


def containers(objects: list[Manifest]) -> list[tuple[str, Manifest]]:
    return [
        (f"{name}/{container['name']}", container)
        for name, spec in pods(objects)
        for container in [*spec.get("initContainers", []), *spec["containers"]]
    ]


@pytest.mark.parametrize("values", VALUES_FILES, ids=name_of)
def test_helm_finds_nothing_to_complain_about(values: Path) -> None:
    helm = tool("helm")
    run(helm, "lint", "--strict", CHART, *RENDERING, "--values", values)


def test_every_object_is_valid(release: list[Manifest]) -> None:
    assert [fault for each in release for fault in faults(each)] == []


def test_no_object_names_its_namespace(release: list[Manifest]) -> None:
    assert [each for each in release if "namespace" in each["metadata"]] == []


def test_every_container_runs_unprivileged_with_a_read_only_root(release: list[Manifest]) -> None:
    for name, spec in pods(release):
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name
    for name, container in containers(release):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True, name
        assert context["allowPrivilegeEscalation"] is False, name
        assert context["capabilities"] == {"drop": ["ALL"]}, name
        assert "memory" in container["resources"]["limits"], name


def test_every_volume_mount_has_a_volume(release: list[Manifest]) -> None:
    claimed = {
        each["metadata"]["name"]: {
            claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])
        }
        for each in release
        if each["kind"] == "StatefulSet"
    }
    for name, spec in pods(release):
        volumes = {volume["name"] for volume in spec["volumes"]} | claimed.get(name, set())
        for container in [*spec.get("initContainers", []), *spec["containers"]]:
            assert {m["name"] for m in container.get("volumeMounts", [])} <= volumes, name


def test_the_sdk_comes_from_its_image_or_from_a_volume_that_has_it() -> None:
    bridge = ("--set=lab.enabled=false", "--set=flexricBridge.enabled=true")
    own = "--set=flexricBridge.native.volume.persistentVolumeClaim.claimName=flexric"
    for flags, expected, source in (
        (bridge, ["sdk", "preflight"], "emptyDir"),
        ((*bridge, own), ["preflight"], "persistentVolumeClaim"),
    ):
        (spec,) = [each for name, each in pods(template(*flags)) if name.endswith("flexric-bridge")]
        assert [each["name"] for each in spec["initContainers"]] == expected
        (volume,) = [each for each in spec["volumes"] if each["name"] == "native"]
        assert source in volume
        if "sdk" in expected:
            sdk, program = spec["initContainers"][0], spec["containers"][0]
            (mount,) = [m for m in program["volumeMounts"] if m["name"] == "native"]
            assert sdk["image"] == f"{REGISTRY}/sojourn/flexric-sdk:0.1.0"
            assert sdk["command"][-1] == mount["mountPath"] == sdk["volumeMounts"][0]["mountPath"]


def test_programs_are_probed_for_life_and_for_readiness(release: list[Manifest]) -> None:
    for name, spec in pods(release):
        for container in spec["containers"]:
            if container.get("ports"):
                assert container["livenessProbe"]["httpGet"]["path"] == "/healthz", name
                assert container["readinessProbe"]["httpGet"]["path"] == "/readyz", name


def test_config_maps_hold_no_secret(release: list[Manifest]) -> None:
    texts = [str(each.get("data")) for each in release if each["kind"] == "ConfigMap"]
    assert [text for text in texts if "PRIVATE KEY" in text or "token:" in text] == []


def access(objects: list[Manifest]) -> dict[str, Manifest]:
    """The clients of the access file, by name."""
    (secret,) = (each for each in objects if each["metadata"]["name"] == "s-sojourn-access")
    text = base64.b64decode(secret["data"]["access.yaml"])
    return {client["name"]: client for client in yaml.safe_load(text)["clients"]}


def test_only_controller_and_doctor_may_control() -> None:
    clients = access(template())
    assert {name for name, client in clients.items() if "control" in client["may"]} == {
        "tc-controller",
        "doctor",
    }
    assert clients["tc-controller"]["certificates"] == ["s-sojourn-controller.default.svc"]
    assert clients["noc"] == {"name": "noc", "token_file": "noc.token", "may": ["read"]}


def test_given_clients_are_added_and_replace_those_of_the_chart(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(
        "access:\n  clients:\n"
        "    - {name: noc, token_file: noc.token, may: [read], nodes: [gnb-1]}\n"
        "    - {name: ric, certificates: [ric.smo.svc], may: [read]}\n"
    )
    clients = access(template("--values", values))
    assert clients["noc"]["nodes"] == ["gnb-1"]
    assert clients["ric"]["certificates"] == ["ric.smo.svc"]


WATCHED = ("--values", CHART / "examples/lab.yaml")
RULES = [f"--set=monitoring.rules.{key}" for key in ("docsUrl=https://d.org/", "sloTarget=0.995")]


def test_rules_get_the_addresses_and_the_objective_of_the_release() -> None:
    rules = [each for each in template(*WATCHED, *RULES) if each["kind"] == "PrometheusRule"]
    assert len(rules) == len(list((CHART / "files/rules").glob("*.yaml")))
    alerts = [rule for each in rules for group in each["spec"]["groups"] for rule in group["rules"]]
    urls = [rule["annotations"]["runbook_url"] for rule in alerts if "alert" in rule]
    assert urls
    assert [url for url in urls if not url.startswith("https://d.org/docs/runbooks/")] == []
    assert [rule["expr"] for rule in alerts if rule["expr"].endswith("+ 0.995")]
    assert "{{ $labels." in str(rules), "Prometheus's own templates stay"


def test_runbooks_are_those_of_the_controller_unless_a_site_is_given() -> None:
    text = str([each for each in template(*WATCHED) if each["kind"] == "PrometheusRule"])
    urls = set(re.findall(r"https?://[^ '\"]+/docs/runbooks/\w+\.html", text))
    served = {f"/docs/{name}.html" for name in runbooks.pages()}
    assert len(urls) > 40
    own = "https://s-sojourn-controller.default.svc:9100"
    assert [url for url in urls if url.removeprefix(own) not in served] == []
    plain = str(template(*WATCHED, "--set=tls.mode=none"))
    assert "http://s-sojourn-controller.default.svc:9100/docs/runbooks/" in plain


def test_every_dashboard_is_a_config_map_of_grafanas_sidecar() -> None:
    maps = [
        each
        for each in template(*WATCHED)
        if each["metadata"].get("labels", {}).get("grafana_dashboard") == "1"
    ]
    names = {name for each in maps for name in each["data"]}
    assert names == {path.name for path in (CHART / "files/dashboards").glob("*.json")}


def test_each_controller_gets_its_number_and_how_many_there_are() -> None:
    (stateful,) = (each for each in template() if each["kind"] == "StatefulSet")
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each for each in container["env"]}
    assert environment["SOJOURN_REPLICA__COUNT"]["value"] == "2"
    assert "pod-index" in str(environment["SOJOURN_REPLICA__INDEX"]["valueFrom"])
    assert "SOJOURN_IDENTITY" not in environment, "by default its pod and start"


def test_state_and_decision_log_survive_scaling_to_none() -> None:
    objects = template("--set=controller.persistence.enabled=true,controller.replicas=0")
    (stateful,) = (each for each in objects if each["kind"] == "StatefulSet")
    retention = stateful["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert retention == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_every_image_is_of_the_registry_and_may_be_pinned(release: list[Manifest]) -> None:
    images = {container["image"] for _, container in containers(release)}
    assert [image for image in images if not image.startswith(f"{REGISTRY}/sojourn/")] == []
    digest = f"sha256:{'a' * 64}"
    objects = template(f"--set=controller.image.digest={digest}")
    pinned = f"{REGISTRY}/sojourn/tc-controller@{digest}"
    assert pinned in {container["image"] for _, container in containers(objects)}


STABLE = [
    path
    for path in VALUES_FILES
    if (yaml.safe_load(path.read_text()) or {}).get("tls", {}).get("mode", "generated")
    != "generated"
]


@pytest.mark.parametrize("values", STABLE, ids=name_of)
def test_a_release_with_certificates_of_others_renders_the_same_each_time(values: Path) -> None:
    """GitOps tools render at each synchronisation, without a cluster to look a secret up in."""
    assert template("--values", values) == template("--values", values)


def test_the_token_of_the_noc_may_be_given() -> None:
    objects = template(
        "--values", CHART / "ci" / "cert-manager-values.yaml", "--set=access.nocTokenSecret=noc"
    )
    assert access(objects)["noc"] == {"name": "noc", "token_file": "noc.token", "may": ["read"]}
    sources = [
        source
        for _, spec in pods(objects)
        for volume in spec["volumes"]
        for source in volume.get("projected", {}).get("sources", [])
    ]
    token = {"secret": {"name": "noc", "items": [{"key": "noc.token", "path": "noc.token"}]}}
    assert token in sources
    (secret,) = (each for each in objects if each["metadata"]["name"] == "s-sojourn-access")
    assert secret["data"].keys() == {"access.yaml"}


def test_identities_differ_by_the_number_of_the_replica() -> None:
    objects = template("--set=controller.settings.identity=east")
    (stateful,) = (each for each in objects if each["kind"] == "StatefulSet")
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    names = [each["name"] for each in container["env"]]
    (identity,) = (each["value"] for each in container["env"] if each["name"] == "SOJOURN_IDENTITY")
    assert identity == "east/$(SOJOURN_REPLICA__INDEX)"
    # Kubernetes expands what comes before.
    assert names.index("SOJOURN_REPLICA__INDEX") < names.index("SOJOURN_IDENTITY")


def listeners(objects: list[Manifest]) -> list[str]:
    """Addresses that the programs of a release listen at, of settings and of flags."""
    found = []
    for each in objects:
        if each["kind"] == "ConfigMap" and (text := each["data"].get("settings.yaml")):
            sections = yaml.safe_load(text).values()
            found += [
                one["listen"] for one in sections if isinstance(one, dict) and "listen" in one
            ]
    for _, container in containers(objects):
        given = dict(word.split("=", 1) for word in container.get("args", []) if "=" in word)
        flags = ["--listen", "--metrics-listen"]
        flags += ["--address"] if "--chief" in container.get("args", []) else []
        found += [given[flag] for flag in flags if flag in given]
    return [address for address in found if address]


def test_every_program_listens_at_both_families(release: list[Manifest]) -> None:
    found = listeners(release)
    assert len(found) >= 3
    assert {address.rpartition(":")[0] for address in found} == {"[::]"}


def test_numbers_of_a_scenario_arrive_as_they_were_written(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("lab: {scenario: {name: big, flows: [{receive_window_bytes: 10000000}]}}\n")
    texts = [
        each["data"]["scenario.yaml"]
        for each in template("--values", values)
        if each["metadata"]["name"] == "s-sojourn-lab-scenario"
    ]
    assert yaml.safe_load(texts[0])["flows"] == [{"receive_window_bytes": 10000000}]


def test_the_package_has_no_time_of_its_making(tmp_path: Path) -> None:
    tool("helm")
    build = {"version": "1.2.3", "source_date_epoch": "1700000000"}
    package_chart(build, tmp_path)
    with tarfile.open(tmp_path / "sojourn-1.2.3.tgz") as package:
        assert {file.mtime for file in package} == {1_700_000_000}
    assert (tmp_path / "sojourn-1.2.3.tgz").read_bytes()[4:8] == (1_700_000_000).to_bytes(
        4, "little"
    )


def test_training_holds_out_a_recording_for_the_gate() -> None:
    objects = template("--values", CHART / "ci" / "training-values.yaml")
    settings = next(
        each for each in objects if each["metadata"]["name"] == "s-sojourn-training-settings"
    )
    split = yaml.safe_load(settings["data"]["settings.yaml"])["split"]
    assert split == {"train": 0.6, "held_out_cells": ["held-out"]}
    (job,) = (each for each in objects if each["kind"] == "CronJob")
    job_spec = job["spec"]["jobTemplate"]["spec"]
    (step,) = job_spec["template"]["spec"]["containers"]
    assert step["args"][0] == "retrain"
    assert {"--collect-s=240", "--held-out-s=120", "--always"} <= set(step["args"])
    # A refused model is no accident, a killed pod is one.
    disrupted, refused = job_spec["podFailurePolicy"]["rules"]
    assert disrupted["action"] == "Ignore"
    assert disrupted["onPodConditions"] == [{"type": "DisruptionTarget"}]
    assert refused["onExitCodes"]["containerName"] == step["name"]
    assert 1 in refused["onExitCodes"]["values"]
    assert job_spec["backoffLimit"] > 0


def test_models_are_signed_and_signatures_demanded() -> None:
    objects = template(
        "--values", CHART / "examples" / "training.yaml",
        "--set", "forecaster.model.trustedKeys=keys,training.signingKey=key",
    )  # fmt: skip
    assert [fault for each in objects for fault in faults(each)] == []
    mounts = {
        (container["name"], mount["name"]): mount["mountPath"]
        for _, container in containers(objects)
        for mount in container.get("volumeMounts", [])
    }
    keys = f"{mounts['rlc-forecaster', 'trusted-models']}/trusted-models.pem"
    (settings,) = (
        each["data"]["settings.yaml"]
        for each in objects
        if each["kind"] == "ConfigMap" and each["metadata"]["name"].endswith("forecaster-settings")
    )
    assert yaml.safe_load(settings)["model_trusted_keys"] == keys
    (retrain,) = (each for _, each in containers(objects) if each["name"] == "retrain")
    assert f"--sign-key={mounts['retrain', 'signing-key']}/model.key" in retrain["args"]


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ("controler.replicas=3", "additional properties 'controler' not allowed"),
        ("tls.mode=off", "at '/tls/mode'"),
        ("image.registry=", "image.registry: unset; expected the registry that has the images"),
        ("controller.settings.on_sotp=release", "additional properties 'on_sotp' not allowed"),
        ("controller.settings.log.level=loud", "at '/controller/settings/log/level'"),
        ("forecaster.settings.gatway.address=x", "additional properties 'gatway' not allowed"),
        ("flexricBridge.settings.budget.requests=many", "at '/flexricBridge/settings/budget/req"),
        ("controller.policy.content.rules=no", "at '/controller/policy/content/rules'"),
        ("controller.policy.content.version=1", "missing property 'rules'"),
        (
            "controller.pod.extraArgs[0]=--identity=east",
            "--identity=east is the same for every replica; expected controller.settings.identity",
        ),
        ("pod.extraEnv[0].name=SOJOURN_IDENTITY", "SOJOURN_IDENTITY is the same for every replica"),
        ("controller.settings.replica.index=1", "the chart sets it; expected controller.replicas"),
        ("flexricBridge.enabled=true", "both serve the E2 gateway; set one of them to false"),
        ("lab.enabled=false", "no E2 gateway: set flexricBridge.enabled or lab.enabled"),
        ("training.enabled=true", "set forecaster.model.source to volume"),
        ("tls.mode=secrets", ": missing; expected the name of a Secret with tls.crt, tls.key"),
        ("access.clients[0].name=x,access.clients[0].may[0]=write", "at '/access/clients/0/may/0'"),
    ],
)
def test_wrong_values_are_refused_with_what_is_expected(values: str, error: str) -> None:
    assert error in refusal("--set", values)
