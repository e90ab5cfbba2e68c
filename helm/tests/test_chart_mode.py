"""One value switches the release; an upgrade announces it before it changes anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from chart_tools import refusal, template

Manifest = dict[str, Any]


def named(objects: list[Manifest], kind: str, name: str) -> Manifest:
    (found,) = (o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name)
    return found


def settings(objects: list[Manifest]) -> Manifest:
    text = named(objects, "ConfigMap", "s-sojourn-controller-settings")["data"]["settings.yaml"]
    loaded: Manifest = yaml.safe_load(text)
    return loaded


@pytest.mark.parametrize(
    ("given", "mode"), [("act", "act"), ("observe", "observe"), ("off", "off"), ('"off"', "off")]
)
def test_the_mode_is_in_the_file_and_in_the_hook(given: str, mode: str, tmp_path: Path) -> None:
    """`off` without quotes is a boolean to Helm's YAML."""
    values = tmp_path / "values.yaml"
    values.write_text(f"mode: {given}\n")
    objects = template("--values", values)
    assert named(objects, "ConfigMap", "s-sojourn-controller-mode")["data"] == {"mode": mode}
    hook = named(objects, "Pod", "s-sojourn-mode")
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "pre-upgrade,pre-rollback"
    assert hook["spec"]["containers"][0]["args"][0] == mode


def test_other_modes_are_refused() -> None:
    assert "at '/mode'" in refusal("--set=mode=on")
    assert "at '/mode'" in refusal("--set=mode=true")


def test_a_change_of_mode_restarts_nothing() -> None:
    pods = [
        named(template(f"--set=mode={mode}"), "StatefulSet", "s-sojourn-controller")["spec"]
        for mode in ("act", "off")
    ]
    assert pods[0] == pods[1]


@pytest.mark.parametrize("tls", ["generated", "none"])
def test_the_hook_and_the_command_ask_every_replica(tls: str) -> None:
    objects = template(f"--set=tls.mode={tls}")
    address = "s-sojourn-controller-replicas.default.svc:9100"
    assert settings(objects)["peers"]["address"] == address
    hook = named(objects, "Pod", "s-sojourn-mode")
    assert f"--at={address}" in hook["spec"]["containers"][0]["args"]
    assert hook["metadata"]["labels"]["app.kubernetes.io/component"] == "doctor"
    service = named(objects, "Service", "s-sojourn-controller-replicas")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    # Monitors find Services by this label: a second one would be scraped as well.
    assert "app.kubernetes.io/component" not in service["metadata"]["labels"]


def test_what_is_set_at_a_controller_is_kept_beside_its_state() -> None:
    found = settings(template())
    assert found["mode_state"].startswith("/var/lib/sojourn/")
    stateful = named(template(), "StatefulSet", "s-sojourn-controller")
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {"/var/lib/sojourn", str(Path(found["mode_file"]).parent)} <= mounts
