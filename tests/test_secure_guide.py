"""The guide to a secured deployment, run from certificates to checks."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "secure.md").read_text(encoding="utf-8")
PORTS = ("36421", "36422", "9100", "9101", "9103")


@pytest.fixture
def ports() -> dict[str, str]:
    """Free ports for those of the guide."""
    with ExitStack() as probes:
        taken = [probes.enter_context(socket.create_server(("", 0))) for _ in PORTS]
        return {port: str(one.getsockname()[1]) for port, one in zip(PORTS, taken, strict=True)}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment with the programs on PATH; the working directory has the scenarios."""
    (tmp_path / "lab").symlink_to(ROOT / "lab")
    yield {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def blocks(language: str, ports: dict[str, str]) -> list[str]:
    text = re.sub(rf":({'|'.join(PORTS)})\b", lambda found: f":{ports[found[1]]}", PAGE)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_guide_ends_with_a_closed_loop_that_strangers_cannot_read(
    tmp_path: Path, ports: dict[str, str], shell: dict[str, str]
) -> None:
    *prepare, check, _ = blocks("sh", ports)
    (programs,) = [block for block in blocks("text", ports) if "--config" in block]
    run(tmp_path, shell, "".join(prepare))
    with ExitStack() as running:
        for command in programs.splitlines():
            process = running.enter_context(
                subprocess.Popen(
                    command.split(), cwd=tmp_path, env=shell, stdout=subprocess.PIPE, text=True
                )
            )
            running.callback(process.terminate)
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "ready"
        wait_until_connected(tmp_path, shell, ports)
        shown = run(tmp_path, shell, check)
    assert "sojourn_e2_gateway_connected 1.0" in shown
    assert "ok\n" in shown
    assert "unknown client: no certificate and no token" in shown
    assert "tc_v1" in shown
    audited = [
        json.loads(line)
        for name in ("gateway", "tc-controller")
        for line in (tmp_path / f"{name}-audit.jsonl").read_text().splitlines()
    ]
    assert {"control", "subscribe", "refused"} <= {line["action"] for line in audited}
    assert {"tc-controller", "rlc-forecaster"} <= {line["who"] for line in audited}


def test_a_model_is_signed_as_the_guide_says(
    tmp_path: Path, ports: dict[str, str], shell: dict[str, str]
) -> None:
    (tmp_path / "xapps").symlink_to(ROOT / "xapps")
    *_, signing = blocks("sh", ports)
    assert "quantiles" in run(tmp_path, shell, signing)
    assert len((tmp_path / "signed-model" / "SHA256SUMS.sig").read_bytes()) == 64


def wait_until_connected(where: Path, shell: dict[str, str], ports: dict[str, str]) -> None:
    token = (where / "prometheus.token").read_text().strip()
    run(
        where,
        shell,
        f"""
        until curl --silent --cacert ca.pem --header "Authorization: Bearer {token}" \
            https://localhost:{ports["9100"]}/metrics | grep "sojourn_e2_gateway_connected 1.0"
        do sleep 0.2; done
        until grep '"action": *"control"' gateway-audit.jsonl; do sleep 0.2; done
        """,
    )


def run(where: Path, shell: dict[str, str], script: str) -> str:
    """Output of a script that must succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=where,
        env=shell,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_scrape_configuration_is_of_the_names_in_the_guide(ports: dict[str, str]) -> None:
    configured = "".join(blocks("yaml", ports))
    for name in ("ca.pem", "prometheus.token", f"localhost:{ports['9100']}"):
        assert name in configured
