"""`ric doctor` against the emulated gNB and the forecaster, as an operator runs it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from guarded_programs import running
from loop import SCENARIO, loop_in, pipeline_status
from pki import Authority
from ric.sm import RLC_OID
from sojourn_demo.programs import Programs, free_address, free_port

RIC = Path(sys.executable).parent / "ric"


async def doctor(*arguments: str, config: Path | None = None) -> tuple[int, dict[str, Any]]:
    """Exit status and what was found."""
    process = await asyncio.create_subprocess_exec(
        *(str(RIC), "doctor", "--json", *arguments),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | ({} if config is None else {"SOJOURN_CONFIG": str(config)}),
    )
    out, _ = await process.communicate()
    shown: dict[str, Any] = json.loads(out)
    assert process.returncode == shown["status"]
    return shown["status"], shown


def levels(shown: dict[str, Any], *checks: str) -> dict[str, set[str]]:
    return {
        check: {f["level"] for f in shown["findings"] if f["check"] == check} for check in checks
    }


async def test_an_emulated_gnb_and_its_forecaster_are_examined(tmp_path: Path) -> None:
    """Ages are the machine's; everything else must be in order."""
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb("--metrics-listen", "127.0.0.1:0")
        gateway = gnb.ready["listen"]
        forecaster = await loop.forecaster(gateway)
        before = await pipeline_status(gateway, lambda status: True)
        _, shown = await doctor(
            *("--gateway", gateway, "--seconds", "1.5"),
            *("--forecaster", forecaster.ready["listen"]),
            *("--metrics", f"{gnb.ready['metrics']},{forecaster.ready['metrics']}"),
        )
        after = await pipeline_status(gateway, lambda status: True)
    in_order = ("gateway", "forecaster", "metrics", "nodes", "functions", "definition", "reports")
    assert levels(shown, *in_order) == {key: {"ok"} for key in in_order}, shown["findings"]
    (tried,) = shown["facts"]["dry_runs"]
    assert (tried["tried"], tried["bearer"]) == ("accepted", "rnti 17 drb 1")
    assert tried["revision"] == tried["expected_revision"]
    assert (after["revision"], after["name"]) == (before["revision"], before["name"])
    streams = {(s["oid"], s["style"]): s for s in shown["facts"]["streams"]}
    assert len(streams) == 6
    for stream in streams.values():
        assert stream["received"] > 3
        assert (stream["ended"], stream["undecodable"], stream["tstamp_off_us"]) == ("", 0, 0)
    assert streams[RLC_OID, ""]["delays"] > 0


async def test_a_gnb_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb()
        gnb.kill()
        status, shown = await doctor("--gateway", gnb.ready["listen"])
    assert status == 2
    (finding,) = shown["findings"]
    assert "nothing listens there" in finding["what"]


async def test_the_settings_of_the_program_beside_it_are_enough_over_tls(tmp_path: Path) -> None:
    """`kubectl exec` runs it so in a pod: one variable, no flag."""
    ca = Authority(tmp_path)
    ports = {name: free_port() for name in ("gateway", "forecaster", "http")}
    access = tmp_path / "access.yaml"
    access.write_text(
        "clients:\n"
        "  - {name: tc-controller, certificates: [controller], may: [read, subscribe, control]}\n"
        "  - {name: rlc-forecaster, certificates: [forecaster], may: [read, subscribe]}\n"
    )

    def files(name: str) -> dict[str, str]:
        certificate, key = map(str, ca.issue(name))
        return {"certificate_file": certificate, "key_file": key}

    def client(name: str, port: int) -> dict[str, Any]:
        tls = {"enabled": True, "ca_file": str(ca.file), **files(name)}
        return {"address": f"localhost:{port}", "tls": tls}

    def server(name: str, port: int) -> dict[str, Any]:
        return {"listen": f"[::]:{port}", "client_ca_file": str(ca.file), **files(name)}

    def settings(name: str, **sections: Any) -> Path:
        path = tmp_path / f"{name}.yaml"
        common = {"gateway": client(name, ports["gateway"]), "access": {"file": str(access)}}
        path.write_text(yaml.safe_dump(common | sections))
        return path

    forecaster = settings(
        "forecaster", server=server("forecaster", ports["forecaster"]), http={"listen": ""}
    )
    controller = settings(
        "controller",
        forecasts=client("controller", ports["forecaster"]),
        http=server("controller", ports["http"]),
        policy=str(tmp_path / "policy.yaml"),
        mode="observe",
    )
    (tmp_path / "policy.yaml").write_text("version: 1\nrules: [{name: all}]\n")
    (tmp_path / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO))
    async with Programs(tmp_path) as programs:
        await programs.start(
            *("gnb-lab", "serve", str(tmp_path / "scenario.yaml")),
            *("--listen", f"127.0.0.1:{ports['gateway']}", "--access", str(access)),
            *("--tls-client-ca", str(ca.file)),
            *("--tls-cert", files("gateway")["certificate_file"]),
            *("--tls-key", str(tmp_path / "gateway.key")),
        )
        await programs.start("rlc-forecaster", "--config", str(forecaster))
        await programs.start("tc-controller", "--config", str(controller))
        _, at_controller = await doctor(config=controller)
        _, at_forecaster = await doctor(config=forecaster)
        nodes = await asyncio.create_subprocess_exec(
            *(str(RIC), "nodes"),
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"SOJOURN_CONFIG": str(controller)},
        )
        listed, _ = await nodes.communicate()
    checks = ("gateway", "forecaster", "nodes")
    assert levels(at_controller, *checks, "metrics", "control") == {
        key: {"ok"} for key in (*checks, "metrics", "control")
    }, at_controller["findings"]
    # It may not send controls, so none is tried.
    assert levels(at_forecaster, *checks) == {key: {"ok"} for key in checks}
    assert at_forecaster["facts"]["dry_runs"] == []
    assert b"1.3.6.1" in listed


async def test_a_bridge_is_examined_as_its_own_gateway_over_tls(tmp_path: Path) -> None:
    certificate, key = map(str, Authority(tmp_path).issue("gateway"))
    access = tmp_path / "access.yaml"
    access.write_text("clients: [{name: me, certificates: [gateway], may: [read, subscribe]}]\n")
    tls = {"certificate_file": certificate, "key_file": key}
    tls |= {"client_ca_file": str(tmp_path / "ca.pem")}
    settings = {
        "server": tls | {"listen": free_address()},
        "http": tls | {"listen": free_address()},
        "access": {"file": str(access)},
    }
    config = tmp_path / "bridge.yaml"
    config.write_text(yaml.safe_dump(settings | {"ric": {"address": "127.0.0.1"}}))
    async with running("bridge", settings, tmp_path):
        _, shown = await doctor("--seconds", "0.5", config=config)
    assert levels(shown, "gateway") == {"gateway": {"ok"}}, shown["findings"]
    assert shown["facts"]["dry_runs"] == []
    reached = {each["url"].rpartition("/")[2]: each["error"] for each in shown["facts"]["metrics"]}
    assert reached.keys() == {"metrics", "readyz"}
    assert reached["metrics"] == ""


async def test_without_any_settings_the_doctor_says_where_it_looked() -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(RIC), "doctor"),
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "SOJOURN" not in name},
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode() == (
        "ric doctor: no settings of a program; expected --config FILE, SOJOURN_CONFIG, or one of "
        "/etc/sojourn/tc-controller.yaml, /etc/sojourn/rlc-forecaster.yaml, "
        "/etc/sojourn/flexric-bridge.yaml; or --gateway ADDRESS\n"
    )
