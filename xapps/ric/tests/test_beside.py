"""What the settings of a program beside it tell a command of `ric`."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from ric.beside import beside
from ric.errors import SettingsError

BRIDGE = """
ric: {address: 10.0.0.1, libraries: /opt/flexric/lib}
state: /var/lib/sojourn/bridge.json
server: {listen: "[::]:36421", certificate_file: a.crt, key_file: a.key, client_ca_file: ca.crt}
http: {listen: "10.0.0.2:9102", insecure: true, fresh_within_s: 3}
"""


def given(config: Path | None = None, gateway: str | None = None) -> argparse.Namespace:
    parsed = argparse.Namespace(config=None if config is None else str(config))
    if gateway is not None:
        setattr(parsed, "setting:gateway.address", gateway)
    return parsed


def test_a_bridge_is_its_own_gateway_and_sends_no_control(tmp_path: Path) -> None:
    (tmp_path / "bridge.yaml").write_text(BRIDGE)
    found = beside(given(tmp_path / "bridge.yaml"), {})
    assert found.gateway["address"] == "localhost:36421"
    assert found.gateway["tls"] == {
        "enabled": True,
        "ca_file": Path("ca.crt"),
        "certificate_file": Path("a.crt"),
        "key_file": Path("a.key"),
        "server_name": "localhost",
    }
    assert found.http == {"address": "10.0.0.2:9102", "insecure": True}
    assert (found.forecaster, found.controls) == ({}, False)


def test_variables_of_the_program_count_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("gateway: {address: 'localhost:1'}\n")
    variables = {
        "SOJOURN_CONFIG": str(tmp_path / "settings.yaml"),
        "SOJOURN_GATEWAY__ADDRESS": "localhost:2",
        "SOJOURN_FORECASTS__ADDRESS": "localhost:3",
    }
    found = beside(given(), variables)
    assert found.gateway == {"address": "localhost:2"}
    assert found.forecaster == {"address": "localhost:3"}
    assert found.controls


def test_a_given_gateway_needs_no_program() -> None:
    assert beside(given(gateway="127.0.0.1:36421"), {}).gateway == {}


def test_settings_that_cannot_be_used_are_named_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("gateway: {address: nowhere}\n")
    with pytest.raises(SettingsError, match=r"settings\.yaml: gateway\.address: 'nowhere'"):
        beside(given(tmp_path / "settings.yaml"), {})
    with pytest.raises(SettingsError, match="SOJOURN_CONFIG"):
        beside(given(), {})
