"""Alerts are raised by their real causes: programs that run, and are stopped, starved, misled.

`dashboards/tests` checks durations, labels and texts of all alerts, by series alone. Causes that
the emulated gNB does not have are in `test_alerts_gateway.py`.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import tiny_model
import yaml
from aiohttp import ClientSession
from alert_world import RULES, AlertWorld, needs_prometheus
from bridge_world import ONE, BridgeWorld, kill_child
from fake_sdk import ENVIRONMENT
from loop import ANY_PORT, ROOT, SCENARIO, loop_in
from pki import Authority
from sojourn_demo.programs import Program, Programs, free_address

pytestmark = needs_prometheus
METRICS = ("--metrics-listen", ANY_PORT)


def metrics(**programs: Program) -> dict[str, str]:
    """Addresses of jobs, given as `gnb_lab=…`."""
    return {job.replace("_", "-"): each.ready["metrics"] for job, each in programs.items()}


def test_every_alert_is_raised_by_its_cause() -> None:
    files = [yaml.safe_load(path.read_text()) for path in RULES.glob("*.yaml")]
    rules = [rule for file in files for group in file["groups"] for rule in group["rules"]]
    alerts = {rule["alert"] for rule in rules if "alert" in rule}
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_alerts_*.py"))
    assert alerts == set(re.findall(r'"(Sojourn[A-Z]\w+)"', tests))


async def test_every_rule_reads_series_that_the_programs_export(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop, Programs(tmp_path) as tools:
        gnb = await loop.gnb(*METRICS)
        controller = await loop.controller(gnb.ready["listen"])
        forecaster = await loop.forecaster(gnb.ready["listen"])
        jobs = metrics(gnb_lab=gnb, tc_controller=controller, rlc_forecaster=forecaster)
        world = await AlertWorld.over(tools, tmp_path, jobs)
        await world.until(lambda: not world.unread(), world.unread)


async def test_lost_programs_and_indications(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop, Programs(tmp_path) as tools:
        gnb = await loop.gnb(*METRICS)
        gateway = gnb.ready["listen"]
        foreign = await loop.controller(gateway, "foreign")
        await asyncio.sleep(1.5)
        controller = await loop.controller(gateway)
        forecaster = await loop.forecaster(gateway)
        jobs = metrics(gnb_lab=gnb, tc_controller=controller, rlc_forecaster=forecaster)
        world = await AlertWorld.over(tools, tmp_path, jobs)

        # A controller that nobody scrapes holds the node.
        await world.raised("SojournNodeWithoutOwner")
        await asyncio.to_thread(foreign.stop)
        await world.ended("SojournNodeWithoutOwner")

        policy = tmp_path / "policy.yaml"
        good = policy.read_text()
        policy.write_text("version: 1\nrules: [{name: all, objective: {bound_ms: -1}}]\n")
        await world.raised("SojournPolicyRejected")
        policy.write_text(good)
        await world.ended("SojournPolicyRejected")

        # Starved of CPU: the gateway drops what the forecaster does not read.
        forecaster.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(8)
        forecaster.process.send_signal(signal.SIGCONT)
        await world.raised("SojournIndicationsLost")

        stopped = ("SojournIndicationsStale", "SojournTargetDown")
        # The first renewal that fails begins the series; an increase is seen from the second on.
        for more in ((), ("SojournLeaseRenewalsFail",)):
            gnb.process.send_signal(signal.SIGSTOP)
            await world.raised(*stopped, *more)
            gnb.process.send_signal(signal.SIGCONT)
            await world.ended(*stopped)

        await asyncio.to_thread(gnb.kill)
        await world.raised("SojournGatewayDown", "SojournTargetDown")
        await asyncio.to_thread(forecaster.stop)
        await world.raised("SojournForecasterDown")
        await asyncio.to_thread(controller.kill)
        await world.raised("SojournControllerDown", "SojournSiteDown")


async def test_a_gateway_that_ends_is_one_alert_that_pages(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop, Programs(tmp_path) as tools:
        gnb = await loop.gnb(*METRICS)
        gateway = gnb.ready["listen"]
        controller = await loop.controller(gateway)
        forecaster = await loop.forecaster(gateway)
        jobs = metrics(gnb_lab=gnb, tc_controller=controller, rlc_forecaster=forecaster)
        world = await AlertWorld.over(tools, tmp_path, jobs, silenced=True)
        await world.until(lambda: not world.pages(), world.pages)
        await asyncio.to_thread(gnb.kill)
        await world.raised("SojournGatewayDown")
        # Long enough for the consequences: leases end, indications are old, controls unanswered.
        await asyncio.sleep(70)
        assert world.pages() == ["SojournGatewayDown"]
        follow = (
            "NodeLost",
            "NodeWithoutOwner",
            "NodeFault",
            "IndicationsStale",
            "LeaseRenewalsFail",
        )
        assert not world.active() & {f"Sojourn{name}" for name in follow}


async def test_a_bloated_bearer_that_the_controller_may_not_touch(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        scenario = str(ROOT / "lab" / "scenarios" / "default.yaml")
        gnb = await programs.start("gnb-lab", "serve", scenario, "--listen", ANY_PORT, *METRICS)
        controller = await programs.start(
            *("tc-controller", "--gateway", gnb.ready["listen"], "--mode", "observe", *METRICS)
        )
        jobs = metrics(gnb_lab=gnb, tc_controller=controller)
        world = await AlertWorld.over(programs, tmp_path, jobs)
        await world.raised(
            "SojournBearerDelayHigh",
            "SojournObjectiveViolated",
            "SojournBearerViolating",
            "SojournQualityOfOutcomeLow",
            "SojournErrorBudgetBurn",
        )


async def controller_of(
    programs: Programs, folder: Path, scenario: dict[str, Any], rule: dict[str, Any], *more: str
) -> Program:
    """A controller of one rule over an emulated gNB: the loop's scenario with other values."""
    (folder / "changed.yaml").write_text(yaml.safe_dump({**SCENARIO, **scenario}))
    (folder / "policy.yaml").write_text(yaml.safe_dump({"version": 1, "rules": [rule]}))
    gnb = await programs.start(
        *("gnb-lab", "serve", str(folder / "changed.yaml"), "--listen", ANY_PORT)
    )
    return await programs.start(
        *("tc-controller", "--gateway", gnb.ready["listen"], *METRICS),
        *("--policy", str(folder / "policy.yaml"), *more),
    )


async def test_a_guarantee_beyond_the_radio(tmp_path: Path) -> None:
    bulk = {"name": "bulk", "kind": "tcp", "qfi": 5}
    guarantee = {"name": "a", "match": [{"qfi": 5}], "objective": {"guaranteed_mbps": 90}}
    rule = {"name": "gbr", "base": [{"template": "low_latency"}], "classes": [guarantee]}
    async with Programs(tmp_path) as programs:
        controller = await controller_of(programs, tmp_path, {"flows": [bulk]}, rule)
        world = await AlertWorld.over(programs, tmp_path, metrics(tc_controller=controller))
        await world.raised("SojournObjectiveInfeasible")


async def test_two_controllers_of_one_identity(tmp_path: Path) -> None:
    rule = {"name": "all", "base": [{"template": "low_latency"}]}
    identity = ("--identity", "site-a")
    async with Programs(tmp_path) as programs:
        await controller_of(programs, tmp_path, {}, rule, *identity)
        gnb = programs.started[0]
        twin = await programs.start(
            *("tc-controller", "--gateway", gnb.ready["listen"], *METRICS),
            *("--policy", str(tmp_path / "policy.yaml"), *identity),
        )
        world = await AlertWorld.over(programs, tmp_path, metrics(tc_controller=twin))
        await world.raised("SojournIdentityShared")


def stalling(folder: Path, radio_ms: int = 1_000, period_ms: int = 3_000) -> dict[str, Any]:
    """A UE with a radio at the beginning of each period only."""
    trace = folder / "stalls.down"
    trace.write_text("".join(f"{ms}\n" for ms in (*range(1, radio_ms + 1), period_ms)))
    return {"rnti": 17, "channel": {"mahimahi": {"path": str(trace)}}, "drbs": [{"id": 1}]}


async def test_a_radio_that_stalls(tmp_path: Path) -> None:
    rule = {"name": "all", "base": [{"template": "low_latency"}]}
    async with Programs(tmp_path) as programs:
        controller = await controller_of(programs, tmp_path, {"ues": [stalling(tmp_path)]}, rule)
        world = await AlertWorld.over(programs, tmp_path, metrics(tc_controller=controller))
        await world.raised("SojournRadioStalled")


async def test_a_slow_e2_and_folders_that_are_no_more(tmp_path: Path) -> None:
    # No pipeline brings a saturated bearer below half a millisecond, so decisions follow.
    rule = {
        "name": "impossible",
        "objective": {"bound_ms": 0.5, "confirm_ms": 1},
        "enforce": {"cool_down_ms": 100, "retry_failed_rung_ms": 100},
        "ladder": [{"template": "fq_codel"}, {"template": "bdp_only"}],
    }
    logs, state = tmp_path / "logs", tmp_path / "state"
    logs.mkdir()
    state.mkdir()
    async with Programs(tmp_path) as programs:
        controller = await controller_of(
            programs,
            tmp_path,
            {"split": {"e2_control_delay_us": 200_000}},
            rule,
            *("--decision-log", str(logs / "decisions.jsonl"), "--decision-log-max-bytes", "4096"),
            *("--state", str(state / "controller.json"), "--observe-for-s", "12"),
        )
        world = await AlertWorld.over(programs, tmp_path, metrics(tc_controller=controller))
        for folder in (state, logs):
            shutil.rmtree(folder)
            folder.write_text("a file in place of the folder")
        await world.raised("SojournControlSlow", "SojournStateFileFailures")
        await world.raised("SojournDecisionsNotLogged")


async def test_a_policy_that_no_pipeline_meets(tmp_path: Path) -> None:
    # Rungs of one queue, where a ping waits behind a download: worse than the first rung, taken
    # back and tried again.
    one_queue = [{"template": "bdp_only", "buffer": {"packets": 5_000 + n}} for n in range(15)]
    rule = {
        "name": "impossible",
        "objective": {"bound_ms": 0.5, "confirm_ms": 1},
        "guard": {"min_utilisation_ratio": 1, "max_sojourn_ratio": 1, "sojourn_floor_ms": 0},
        "verify": {"margin_ms": 50, "max_settle_ms": 200, "window_ms": 100},
        "enforce": {"cool_down_ms": 10, "retry_failed_rung_ms": 10},
        "ladder": [{"template": "fq_codel"}, *one_queue],
    }
    async with Programs(tmp_path) as programs:
        # Counts of before the first scrape are no increase.
        observe = ("--observe-for-s", "10")
        controller = await controller_of(programs, tmp_path, {}, rule, *observe)
        world = await AlertWorld.over(programs, tmp_path, metrics(tc_controller=controller))
        await world.raised("SojournRollbacks", "SojournPipelineFlapping")


async def test_models_and_files_that_cannot_be_used(tmp_path: Path) -> None:
    async with loop_in(tmp_path, place="base") as loop, Programs(tmp_path) as tools:
        gnb = await loop.gnb(*METRICS)
        gateway = gnb.ready["listen"]
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "manifest.json").write_text("{}")
        model = ("--model", str(tmp_path / "model"))
        damaged = await loop.forecaster(gateway, ANY_PORT, *model)
        world = await AlertWorld.over(tools, tmp_path, metrics(rlc_forecaster=damaged))
        await world.raised("SojournModelRefused", "SojournModelMissing")


async def test_a_model_of_noise_in_a_cell_that_changes(tmp_path: Path) -> None:
    async with forecaster_of_noise(tmp_path, stalling(tmp_path)) as world:
        await world.raised("SojournForecastDrift")


async def test_a_model_of_noise_for_a_queue_that_stands(tmp_path: Path) -> None:
    # Its length is the forecast that nothing beats, and each trace of noise in the mix is worse.
    async with forecaster_of_noise(tmp_path, stalling(tmp_path, 300, 600_000)) as world:
        await world.raised("SojournForecastsWorseThanSimple")


@asynccontextmanager
async def forecaster_of_noise(folder: Path, ue: dict[str, Any]) -> AsyncIterator[AlertWorld]:
    """The alerts of a forecaster with a model of noise, from the first report of a UE on."""
    scenario = folder / "changed.yaml"
    scenario.write_text(yaml.safe_dump({**SCENARIO, "ues": [ue]}))
    model = tiny_model.write(folder / "model")
    gateway = free_address()
    async with Programs(folder) as programs:
        forecaster = await programs.start(
            *("rlc-forecaster", "--gateway", gateway, "--listen", ANY_PORT),
            *("--model", str(model), *METRICS),
        )
        world = await AlertWorld.over(programs, folder, metrics(rlc_forecaster=forecaster))
        # Last: what the mix has not learned yet is part of what is observed.
        await programs.start("gnb-lab", "serve", str(scenario), "--listen", gateway)
        yield world


async def test_a_model_above_its_maximum_age(tmp_path: Path) -> None:
    async with loop_in(tmp_path, place="base") as loop, Programs(tmp_path) as tools:
        gnb = await loop.gnb(*METRICS)
        age = ("--model-max-age-h", "0.000001")
        stale = await loop.forecaster(gnb.ready["listen"], ANY_PORT, *age)
        world = await AlertWorld.over(tools, tmp_path, metrics(rlc_forecaster=stale))
        await world.raised("SojournModelStale")


async def test_certificates_and_strangers(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("forecaster", days=1)
    (tmp_path / "prometheus.token").write_text("0123456789abcdef" * 3)
    audit = tmp_path / "audit"
    audit.mkdir()
    client = {"name": "prometheus", "token_file": "prometheus.token", "may": ["read"]}
    (tmp_path / "access.yaml").write_text(yaml.safe_dump({"clients": [client]}))
    async with loop_in(tmp_path, place="base") as loop, Programs(tmp_path) as tools:
        gnb = await loop.gnb(*METRICS)
        forecaster = await loop.forecaster(
            gnb.ready["listen"],
            ANY_PORT,
            *("--certificate-file", str(certificate), "--key-file", str(key)),
            *("--access", str(tmp_path / "access.yaml")),
            *("--audit", str(audit / "forecaster.jsonl")),
        )
        token = {"authorization": {"credentials_file": str(tmp_path / "prometheus.token")}}
        jobs = metrics(rlc_forecaster=forecaster)
        world = await AlertWorld.over(tools, tmp_path, jobs, scrape=token)
        await world.raised("SojournCertificateExpiring")

        stranger = asyncio.create_task(_strange_requests(jobs["rlc-forecaster"]))
        await world.raised("SojournAccessRefused")
        shutil.rmtree(audit)
        audit.write_text("a file in place of the folder")
        await world.raised("SojournAuditNotWritten")
        stranger.cancel()

        flood = asyncio.create_task(_flood(jobs["rlc-forecaster"], "0123456789abcdef" * 3))
        await world.raised("SojournClientLimited")
        flood.cancel()

        certificate.write_text("not a certificate")
        await world.raised("SojournCertificateNotReloaded")


async def _strange_requests(address: str) -> None:
    while True:
        with suppress(HTTPError):
            await asyncio.to_thread(urllib.request.urlopen, f"http://{address}/metrics")
        await asyncio.sleep(0.2)


async def _flood(address: str, token: str) -> None:
    """Send requests as one client, beyond its rate and its burst."""
    headers = {"Authorization": f"Bearer {token}"}
    async with ClientSession(headers=headers) as session:
        while True:
            for _ in range(300):
                async with session.get(f"http://{address}/healthz"):
                    pass
            await asyncio.sleep(0.1)


@pytest.fixture
async def bridge_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[BridgeWorld]:
    """A bridge with a fake FlexRIC; the bridge is not started."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "ric"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "gateway" / "flexric" / "bridge" / "tests"))
    world = BridgeWorld(str(tmp_path / "ric"), tmp_path)
    await world.ric.start()
    yield world
    await world.end()


async def test_a_bridge_whose_ric_dies_and_runs_out_of_requests(
    bridge_world: BridgeWorld, tmp_path: Path
) -> None:
    budget = {"requests": 2050, "reserve": 2000}
    bridge = await bridge_world.start(ONE, http={"listen": ANY_PORT}, budget=budget)
    async with Programs(tmp_path) as tools:
        jobs = {"flexric-bridge": bridge.http_address}
        world = await AlertWorld.over(tools, tmp_path, jobs)
        await world.raised("SojournRicRequestBudgetLow")
        for _ in range(6):
            await bridge_world.until(lambda: bridge.session.up, "a session")
            kill_child(bridge)
            await bridge_world.until(lambda: not bridge.session.up, "the end of the session")
            await asyncio.sleep(1)
        await world.raised("SojournBridgeRestarts")
        await bridge_world.ric.stop()
        kill_child(bridge)
        await world.raised("SojournRicDown")
        await bridge_world.stop()
        await world.raised("SojournBridgeDown", "SojournTargetDown")
