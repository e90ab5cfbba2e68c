"""A1-P: types, instances, status, persistence, precedence, TLS, notifications, a fuzzer."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import ClientSession, web
from pki import Authority
from pydantic import ValidationError
from ric.clock import Clock, SystemClock
from ric.errors import SettingsError
from ric.security import Security
from ric.settings import AccessSettings
from ric.state_file import StateError
from structlog.testing import capture_logs
from tc_controller.a1.compile import Status
from tc_controller.a1.identities import Identities, load_identities
from tc_controller.a1.server import A1Server
from tc_controller.a1.store import InstanceStore, instance
from tc_controller.core.controller import Controller
from tc_controller.core.inputs import BearerKey, NodeDown
from tc_controller.core.policy.classes import ClassObjective
from tc_controller.core.policy.schema import Policy, Rule
from tc_controller.core.verify.compliance import Assessment, Compliance, begun
from tc_controller.settings import A1Settings
from tc_ric import POLICY, Lab, in_lab
from tc_world import NODE, RNTI, World, bulk, ping

QOS, UE, SLA = "ORAN_QoSTarget_6.0.0", "ORAN_UELevelTarget_5.0.0", "ORAN_SliceSLATarget_4.0.1"
UE_ID = {"guAmfUeNgapId": {"amfUeNgapId": 7}}
IDENTITIES = Identities.model_validate(
    {"ues": [{"ueId": UE_ID, "node": NODE, "rnti": RNTI}], "qfis_of_5qi": {9: [1], 3: [2]}}
)
FILE = Policy.model_validate(
    {
        **yaml.safe_load(POLICY),
        "slices": {"gold": {"rntis": [RNTI], "s_nssai": {"sst": 1, "sd": 0x010203}}},
    }
)
BEARER = BearerKey(NODE, RNTI, 1)


def qos(**objectives: Any) -> dict[str, Any]:
    return {"scope": {"qosId": {"5qI": 9}}, "qosObjectives": objectives}


def ue(identifier: Any = UE_ID, **objectives: Any) -> dict[str, Any]:
    return {"scope": {"ueId": identifier}, "ueLevelObjectives": objectives}


def sla(sd: str = "010203", **objectives: Any) -> dict[str, Any]:
    return {"scope": {"sliceId": {"sst": 1, "sd": sd}}, "sliceSlaObjectives": objectives}


async def _at_once(work: Any) -> None:
    work()


class Served:
    """A server on loopback and its client."""

    def __init__(self, store: InstanceStore, server: A1Server, controller: Controller) -> None:
        self.store, self.server, self.controller = store, server, controller
        self.session: ClientSession
        self.root = ""

    async def call(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        async with self.session.request(method, f"{self.root}{path}", **more) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text else None

    async def put(self, type_id: str, name: str, body: Any, query: str = "") -> tuple[int, Any]:
        return await self.call("PUT", f"/{type_id}/policies/{name}{query}", json=body)

    async def status(self, type_id: str, name: str) -> Any:
        return (await self.call("GET", f"/{type_id}/policies/{name}/status"))[1]

    def rule(self) -> Rule:
        rule = self.controller.policy.rule_for(BEARER, frozenset({1}))
        assert rule is not None
        return rule

    def bound(self) -> float:
        return self.rule().objective.bound_ms


@asynccontextmanager
async def served(
    state: Path | None = None,
    world: World | None = None,
    file: Policy = FILE,
    access: Path | None = None,
    clock: Clock | None = None,
    **settings: Any,
) -> AsyncIterator[Served]:
    store = InstanceStore(state, IDENTITIES, _at_once)
    controller = Controller(file) if world is None else world.controller

    def apply() -> None:
        now_us = 0 if world is None else world.now_us
        actions = controller.set_policy(now_us, store.apply_to(file))
        if world is not None:
            world.do(actions)

    apply()
    server = A1Server(
        store,
        controller,
        apply,
        clock or SystemClock(),
        settings=A1Settings.model_validate({"listen": "127.0.0.1:0", **settings}),
        security=Security(AccessSettings(file=access)),
    )
    made = Served(store, server, controller)
    address = await server.start()
    scheme = "https" if "key_file" in settings else "http"
    made.root = f"{scheme}://{address}/A1-P/v2/policytypes"
    try:
        async with ClientSession() as made.session:
            yield made
    finally:
        await server.stop()


class Hurried(SystemClock):
    """A clock that goes on by what it is asked to sleep, at once."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic_ns(self) -> int:
        return int(self.now_s * 1e9)

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        await asyncio.sleep(0)


@asynccontextmanager
async def sink() -> AsyncIterator[tuple[asyncio.Queue[Any], int]]:
    """A destination of notifications: what it got, and its port."""
    got: asyncio.Queue[Any] = asyncio.Queue()

    async def receive(request: web.Request) -> web.Response:
        await got.put(await request.json())
        return web.Response(status=204)

    application = web.Application()
    application.router.add_post("/status", receive)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield got, runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def test_types_are_listed_with_their_schemas() -> None:
    async with served() as a1:
        assert await a1.call("GET", "") == (200, [QOS, UE, SLA])
        _, found = await a1.call("GET", f"/{UE}")
        assert found["policySchema"]["additionalProperties"] is False
        assert "NOT_ENFORCED" in found["statusSchema"]["properties"]["enforceStatus"]["enum"]
        assert (await a1.call("GET", "/ORAN_QoETarget_6.0.0"))[0] == 404


async def test_an_instance_is_created_read_updated_and_deleted() -> None:
    async with served() as a1:
        assert (await a1.put(QOS, "p", qos(pdb=20)))[0] == 201
        assert a1.bound() == 20
        assert (await a1.put(QOS, "p", qos(pdb=30)))[0] == 200
        assert a1.bound() == 30
        assert await a1.call("GET", f"/{QOS}/policies/p") == (200, qos(pdb=30))
        assert await a1.call("GET", f"/{QOS}/policies") == (200, ["p"])
        assert (await a1.put(SLA, "p", sla(maxDlPacketDelayPerUe=5)))[0] == 409
        assert (await a1.call("DELETE", f"/{QOS}/policies/p"))[0] == 204
        assert a1.bound() == FILE.rules[0].objective.bound_ms
        assert (await a1.call("GET", f"/{QOS}/policies/p/status"))[0] == 404


async def test_a_narrower_scope_comes_first_and_all_before_the_file() -> None:
    async with served() as a1:
        await a1.put(SLA, "slice", sla(maxDlPacketDelayPerUe=5))
        assert a1.bound() == 5
        await a1.put(QOS, "class", qos(pdb=4))
        assert a1.bound() == 4, "as narrow: the smaller bound"
        await a1.put(UE, "ue", ue(dlPacketDelay=500))
        assert a1.bound() == 50, "unit 0.1 ms; a UE is narrower than a slice"
        other = a1.controller.policy.rule_for(BearerKey(NODE, 1, 1), frozenset())
        assert other == FILE.rules[0]


@pytest.mark.parametrize(
    ("type_id", "body", "reason", "detail"),
    [
        (QOS, qos(pdb=20, priorityLevel=1), "STATEMENT_NOT_APPLICABLE", "priorityLevel"),
        (QOS, qos(gfbr=2e6, mfbr=1e6), "STATEMENT_NOT_APPLICABLE", "gfbr, mfbr"),
        (QOS, qos(mfbr=0), "STATEMENT_NOT_APPLICABLE", "mfbr"),
        (UE, ue(dlThroughput=5), "STATEMENT_NOT_APPLICABLE", "dlThroughput"),
        (UE, ue("other", dlPacketDelay=5), "SCOPE_NOT_APPLICABLE", "ueId"),
        (SLA, sla("000001", maxDlPacketDelayPerUe=5), "SCOPE_NOT_APPLICABLE", "sliceId"),
        (
            QOS,
            {"scope": {"qosId": {"5qI": 1}}, "qosObjectives": {"pdb": 9}},
            "SCOPE_NOT_APPLICABLE",
            "qosId",
        ),
        (
            QOS,
            {"scope": {"qosId": {"5qI": 9}, "groupId": 3}, "qosObjectives": {"pdb": 9}},
            "SCOPE_NOT_APPLICABLE",
            "groupId",
        ),
        (UE, ue(dlPacketDelay=5), "SCOPE_NOT_APPLICABLE", "no watched bearer"),
    ],
)
async def test_what_cannot_be_enforced_says_why_and_changes_nothing(
    type_id: str, body: Any, reason: str, detail: str
) -> None:
    async with served() as a1:
        assert (await a1.put(type_id, "p", body))[0] == 201
        status = await a1.status(type_id, "p")
        assert (status["enforceStatus"], status["enforceReason"]) == ("NOT_ENFORCED", reason)
        assert detail in status["detail"]
        if "no watched" not in detail:
            assert a1.bound() == FILE.rules[0].objective.bound_ms


async def test_bit_rates_of_a_5qi_become_classes_of_its_qos_flows() -> None:
    file = Policy.model_validate(
        {"version": 1, "rules": [{"name": "r", "base": [{"template": "low_latency"}]}]}
    )
    world = World(Controller(file), replace(bulk(), qfi=1), ping())
    async with served(world=world, file=file) as a1:
        world.run(1_000)
        await a1.put(QOS, "p", qos(gfbr=5e6, mfbr=2e7))
        world.run(1_000)
        assert await a1.status(QOS, "p") == {"enforceStatus": "ENFORCED"}
        (each,) = a1.rule().classes
        rates = each.objective.guaranteed_mbps, each.objective.maximum_mbps
        assert (each.match[0].qfi, rates) == (1, (5, 20))
        assert a1.bound() == file.rules[0].objective.bound_ms
        assert world.tc.names()[-1] == "classes"
        await a1.call("DELETE", f"/{QOS}/policies/p")
        world.run(1_000)
        assert world.tc.names()[-1] == "low_latency"


CLASSED = Policy.model_validate(
    {"version": 1, "rules": [{"name": "r", "base": [{"template": "low_latency"}]}]}
)


def of_5qi(five_qi: int, **objectives: Any) -> dict[str, Any]:
    return {"scope": {"qosId": {"5qI": five_qi}}, "qosObjectives": objectives}


def objectives(world: World) -> dict[str, ClassObjective]:
    """What the classes of the bearer are promised, by name."""
    rule = world.controller.nodes[NODE].bearers[BEARER].rule
    assert rule is not None
    return {each.name: each.objective for each in rule.classes}


async def test_policies_of_one_bearer_merge_by_attribute_and_qos_flow() -> None:
    world = World(Controller(CLASSED), replace(bulk(), qfi=1), replace(ping(), qfi=2))
    async with served(world=world, file=CLASSED) as a1:
        world.run(1_000)
        await a1.put(QOS, "rate", of_5qi(3, gfbr=4e6))
        await a1.put(QOS, "delay", of_5qi(9, pdb=60_000))
        await a1.put(QOS, "most", of_5qi(9, mfbr=30e6))
        await a1.put(QOS, "wide", of_5qi(9, mfbr=20e6, pdb=60_000))
        world.run(2_000)
        for name in ("rate", "delay"):
            assert await a1.status(QOS, name) == {"enforceStatus": "ENFORCED"}, name
        found = objectives(world)
        assert found["a1-qfi-2"].guaranteed_mbps == 4
        assert found["a1-qfi-1"].maximum_mbps == 20
        assert a1.bound() == 60_000
        assert world.tc.names()[-1] == "classes"
        # Of one attribute of one flow the narrower comes first, and the other says so.
        assert "other policies" in (await a1.status(QOS, "most"))["detail"]
        assert (await a1.put(QOS, "both", of_5qi(9, gfbr=40e6)))[0] == 201
        world.run(1_000)
        found = objectives(world)
        assert found["a1-qfi-1"].guaranteed_mbps is None, "above the maximum of another"
        assert found["a1-qfi-2"].guaranteed_mbps == 4, "one that cannot be takes no other's place"
        assert (await a1.status(QOS, "rate")) == {"enforceStatus": "ENFORCED"}
        assert (await a1.status(QOS, "both"))["enforceStatus"] == "NOT_ENFORCED"


async def test_of_policies_that_want_the_same_all_are_enforced() -> None:
    world = World(Controller(CLASSED), replace(bulk(), qfi=1), replace(ping(), qfi=2))
    async with served(world=world, file=CLASSED) as a1:
        world.run(1_000)
        await a1.put(QOS, "first", of_5qi(9, pdb=50_000, mfbr=20e6))
        await a1.put(QOS, "second", of_5qi(9, pdb=50_000))
        await a1.put(QOS, "third", of_5qi(9, mfbr=20e6))
        await a1.put(QOS, "looser", of_5qi(9, pdb=60_000))
        world.run(2_000)
        for name in ("first", "second", "third"):
            assert await a1.status(QOS, name) == {"enforceStatus": "ENFORCED"}, name
        assert "other policies" in (await a1.status(QOS, "looser"))["detail"]


async def test_an_objective_that_is_missed_is_not_enforced_and_the_rapp_learns_it() -> None:
    world = World(Controller(CLASSED), bulk(), ping())
    async with sink() as (got, port), served(world=world, file=CLASSED) as a1:
        world.run(1_000)
        query = f"?notificationDestination=http://127.0.0.1:{port}/status"
        await a1.put(UE, "p", ue(dlPacketDelay=0.01), query)
        world.run(2_000)
        assert await a1.status(UE, "p") == {"enforceStatus": "ENFORCED"}
        world.run(7_000)
        status = await a1.status(UE, "p")
        assert (status["enforceStatus"], status["enforceReason"]) == (
            "NOT_ENFORCED",
            "OTHER_REASON",
        )
        assert status["detail"].startswith(f"not met: delay; {BEARER}: p95 sojourn ")
        assert status["detail"].endswith("above 0.001 ms")
        notifying = asyncio.create_task(a1.server.notify())
        posted = await asyncio.wait_for(got.get(), 60)
        assert (posted["enforceStatus"], posted["detail"][:15]) == (
            "NOT_ENFORCED",
            "not met: delay;",
        )
        world.sources = []
        world.run(12_000)
        assert await asyncio.wait_for(got.get(), 60) == {"enforceStatus": "ENFORCED"}
        notifying.cancel()


def test_other_figures_are_no_change_of_a_status() -> None:
    assert Status(False, "OTHER_REASON", "a", "1 ms") == Status(False, "OTHER_REASON", "a", "2 ms")
    assert Status(False, "OTHER_REASON", "a", "1 ms").document()["detail"] == "a; 1 ms"


async def test_a_guaranteed_rate_that_is_missed_is_not_enforced() -> None:
    world = World(Controller(CLASSED), replace(bulk(), qfi=1), ping())
    async with served(world=world, file=CLASSED) as a1:
        world.run(1_000)
        await a1.put(QOS, "p", qos(gfbr=90e6))
        await a1.put(UE, "other", ue(dlPacketDelay=600_000))
        world.run(2_000)
        assert await a1.status(QOS, "p") == {"enforceStatus": "ENFORCED"}
        bearer = world.controller.nodes[NODE].bearers[BEARER]
        infeasible = Assessment(Compliance.INFEASIBLE, "needs 90.0 Mbit/s, radio gives 26.0")
        state = None
        for second in range(7):
            state = begun(infeasible, state, second * 1_000_000)
        assert state is not None
        bearer.judged.classes["a1-qfi-1"] = state
        status = await a1.status(QOS, "p")
        assert (status["enforceStatus"], status["detail"]) == (
            "NOT_ENFORCED",
            f"not met: rate of QFI 1; {BEARER}: needs 90.0 Mbit/s, radio gives 26.0",
        )
        assert await a1.status(UE, "other") == {"enforceStatus": "ENFORCED"}, "its own is met"


async def test_bit_rates_without_a_base_that_takes_classes_are_not_enforced() -> None:
    world = World(Controller(FILE), replace(bulk(), qfi=1), ping())
    async with served(world=world) as a1:
        await a1.put(QOS, "p", qos(mfbr=2e7, pdb=3))
        world.run(3_000)
        status = await a1.status(QOS, "p")
        assert (status["enforceStatus"], status["enforceReason"]) == (
            "NOT_ENFORCED",
            "OTHER_REASON",
        )
        assert status["detail"] == "1 of 1 bearers in scope have no pipeline for it"
        assert a1.rule() == FILE.rules[0]


async def test_misprints_of_the_published_schemas_are_accepted() -> None:
    async with served() as a1:
        body = ue()
        body["ueLevelObjectives"] = {
            "dlRlcSduPacketLossRate ": 1,
            "dlReliability": {"successProbility": 0.9},
            "ulReliability": {" successProbability": 0.9},
        }
        assert (await a1.put(UE, "p", body))[0] == 201
        body["ueLevelObjectives"]["dlRlcSduPacketLossRate"] = 2
        status, problem = await a1.put(UE, "p", body)
        assert (status, "twice" in problem["detail"]) == (400, True)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"{", "body"),
        (b"[" * 60_000, "body"),
        (b'{"scope": NaN}', "body"),
        (b"[]", "policy"),
        (b'{"scope": {"qosId": {"5qI": 9, "5qI": 3}}}', "body: key '5qI' given twice"),
        (json.dumps(qos()).encode(), "policy: qosObjectives"),
        (json.dumps(qos(pdb=-1)).encode(), "policy: qosObjectives.pdb"),
        (json.dumps(qos(pdb=1, pbd=1)).encode(), "policy: qosObjectives.pbd"),
    ],
)
async def test_a_problem_names_the_place(body: bytes, place: str) -> None:
    async with served() as a1:
        status, problem = await a1.call("PUT", f"/{QOS}/policies/p", data=body)
        assert (status, problem["status"], problem["title"]) == (400, 400, "Bad Request")
        assert problem["detail"].startswith(place)
        assert not a1.store.instances
        too_large = await a1.call("PUT", f"/{QOS}/policies/p", data=b" " * 70_000)
        assert too_large[0] == 413


async def test_instances_survive_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "a1.json"
    async with served(state) as a1:
        await a1.put(QOS, "kept", qos(pdb=20), "?notificationDestination=http://127.0.0.1:9/")
        await a1.put(QOS, "gone", qos(pdb=7))
        await a1.call("DELETE", f"/{QOS}/policies/gone")
    async with served(state) as a1:
        assert list(a1.store.instances) == ["kept"]
        assert a1.store.instances["kept"] == instance(QOS, qos(pdb=20), "http://127.0.0.1:9/")
        assert a1.bound() == 20
    state.write_text('{"version": 1, "instances": {"x": {}}}')
    with pytest.raises(StateError, match=r"a1\.json"):
        InstanceStore(state, IDENTITIES, _at_once)


async def test_what_cannot_be_kept_is_not_in_force(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store_path = tmp_path / "a1.json"
    async with served(store_path) as a1:
        a1.store._path = tmp_path / "file" / "a1.json"
        assert (await a1.put(QOS, "p", qos(pdb=20)))[0] == 500
        assert not a1.store.instances


async def test_a_change_of_status_is_posted_to_the_destination() -> None:
    world = World(Controller(FILE), bulk(), ping())
    async with sink() as (got, port), served(world=world) as a1:
        query = f"?notificationDestination=http://127.0.0.1:{port}/status"
        await a1.put(UE, "p", ue(dlPacketDelay=100), query)
        assert (await a1.status(UE, "p"))["enforceReason"] == "SCOPE_NOT_APPLICABLE"
        notifying = asyncio.create_task(a1.server.notify())
        world.run(4000)
        assert await a1.status(UE, "p") == {"enforceStatus": "ENFORCED"}
        assert await asyncio.wait_for(got.get(), 60) == {"enforceStatus": "ENFORCED"}
        world.controller.on_node_event(world.now_us, NodeDown(NODE))
        gone = await asyncio.wait_for(got.get(), 60)
        assert (gone["enforceStatus"], gone["enforceReason"]) == (
            "NOT_ENFORCED",
            "SCOPE_NOT_APPLICABLE",
        )
        notifying.cancel()
        for bad in ("ftp://a/b", "nothing", "http://[::1"):
            status, problem = await a1.put(
                UE, "p", ue(dlPacketDelay=1), f"?notificationDestination={bad}"
            )
            assert (status, problem["detail"][:23]) == (400, "notificationDestination")


async def test_a_destination_that_takes_nothing_is_asked_ever_less_often() -> None:
    world = World(Controller(FILE), bulk(), ping())
    asked_s: list[float] = []

    async def refuse(_: web.Request) -> web.Response:
        asked_s.append(clock.now_s)
        return web.Response(status=503 if len(asked_s) < 10 else 204)

    application = web.Application()
    application.router.add_post("/status", refuse)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    clock = Hurried()
    async with served(world=world, clock=clock) as a1:
        query = f"?notificationDestination=http://127.0.0.1:{runner.addresses[0][1]}/status"
        await a1.put(UE, "p", ue(dlPacketDelay=100), query)
        world.run(4_000)
        notifying = asyncio.create_task(a1.server.notify())
        async with asyncio.timeout(60):
            while len(asked_s) < 10:
                await asyncio.sleep(0.01)
        notifying.cancel()
    await runner.cleanup()
    waits_s = [after - before for before, after in pairwise(asked_s)]
    steps_s = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert all(step / 2 <= wait <= step for step, wait in zip(steps_s, waits_s, strict=True))


async def test_only_hosts_of_the_list_are_notified(tmp_path: Path) -> None:
    query = "?notificationDestination=http://{}/status"
    async with served(notify_hosts=["*.smo.example"]) as a1:
        for host in ("127.0.0.1:9", "smo.example", "x.smo.example.org", "x.smo.example@evil.org"):
            status, problem = await a1.put(QOS, "p", qos(pdb=20), query.format(host))
            assert status == 403
            assert problem["detail"].endswith("is not in a1.notify_hosts")
        assert (await a1.put(QOS, "p", qos(pdb=20), query.format("a.SMO.example:8443")))[0] == 201


async def test_a_destination_that_is_no_longer_in_the_list_is_not_notified(tmp_path: Path) -> None:
    """It was accepted by an earlier run with another list."""
    state = tmp_path / "a1.json"
    async with served(state, notify_hosts=["*"]) as a1:
        await a1.put(QOS, "p", qos(pdb=20), "?notificationDestination=http://127.0.0.1:9/")
    async with served(state) as a1:
        assert a1.store.instances["p"].notify == "http://127.0.0.1:9/"
    async with served(state, notify_hosts=["smo.example"]) as a1:
        notifying = asyncio.create_task(a1.server.notify())
        with capture_logs() as logged:
            while not logged:
                await asyncio.sleep(0.01)
        notifying.cancel()
        await asyncio.gather(notifying, return_exceptions=True)
        assert [line["event"] for line in logged] == ["A1 status not sent"]


async def test_a_destination_shows_a_certificate_of_the_notified_ca(tmp_path: Path) -> None:
    got: asyncio.Queue[Any] = asyncio.Queue()

    async def receive(request: web.Request) -> web.Response:
        await got.put(await request.json())
        return web.Response(status=204)

    key, certificate = _self_signed(tmp_path)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    sink = web.Application()
    sink.router.add_post("/status", receive)
    runner = web.AppRunner(sink)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server).start()
    query = f"?notificationDestination=https://127.0.0.1:{runner.addresses[0][1]}/status"
    ca = tmp_path / "ca.pem"
    shutil.copy(_self_signed(tmp_path / "other")[1], ca)
    state = tmp_path / "a1.json"
    async with served(state) as a1:
        await a1.put(QOS, "p", qos(pdb=20), query)
    # The first status after a start is notified.
    async with served(state, notify_ca_file=ca) as a1:
        notifying = asyncio.create_task(a1.server.notify())
        for content, event in [
            (ca.read_text(), "A1 status not delivered"),
            ("no PEM", "CA certificates refused, those in force stay"),
        ]:
            ca.write_text(content)
            with capture_logs() as logged:
                while event not in {line["event"] for line in logged}:
                    await asyncio.sleep(0.01)
        assert got.empty()
        shutil.copy(certificate, ca)
        assert (await asyncio.wait_for(got.get(), 60))["enforceStatus"] == "NOT_ENFORCED"
        notifying.cancel()
        await asyncio.gather(notifying, return_exceptions=True)
    await runner.cleanup()
    for content in ("no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        ca.write_text(content)
        with pytest.raises(SettingsError, match=r"a1\.notify_ca_file: .*ca\.pem"):
            async with served(notify_ca_file=ca):
                pass


def _self_signed(tmp_path: Path) -> tuple[Path, Path]:
    tmp_path.mkdir(exist_ok=True)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return key, certificate


async def test_tls_with_certificate_and_key_plain_text_on_loopback_alone(tmp_path: Path) -> None:
    key, certificate = _self_signed(tmp_path)
    clients = Authority(tmp_path, "clients")
    async with served(certificate_file=certificate, key_file=key) as a1:
        trusted = ssl.create_default_context(cafile=str(certificate))
        assert (await a1.call("GET", "", ssl=trusted))[0] == 200
    async with served(
        certificate_file=certificate, key_file=key, client_ca_file=clients.file
    ) as a1:
        # A connection that stays open keeps its client.
        close = {"Connection": "close"}
        status, problem = await a1.call("GET", "", ssl=trusted, headers=close)
        assert (status, problem["detail"]) == (401, "unknown client: no certificate and no token")
        trusted.load_cert_chain(*clients.issue("client"))
        assert (await a1.call("GET", "", ssl=trusted))[0] == 200
    with pytest.raises(ValidationError, match="plain text on"):
        A1Settings(listen="0.0.0.0:9200")
    with pytest.raises(SettingsError):
        async with served(certificate_file=key, key_file=certificate):
            pass


def test_an_identity_file_names_the_place_of_an_error(tmp_path: Path) -> None:
    path = tmp_path / "identities.yaml"
    path.write_text("ues: [{ueId: a, node: n, rnti: 70000}]\n")
    with pytest.raises(SettingsError, match=r"identities\.yaml: ues\[0\]\.rnti"):
        load_identities(path)


async def test_a_schema_driven_fuzzer_finds_no_server_error() -> None:
    """Each operation with valid and invalid requests, as schemathesis derives them."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415
    from hypothesis.errors import Unsatisfiable  # noqa: PLC0415

    async with served() as a1:
        _, document = await a1.call("GET", "/../openapi.json")
        origin = a1.root.removesuffix("/A1-P/v2/policytypes")
        schema = schemathesis.openapi.from_dict(document)
        loop = asyncio.get_running_loop()
        seen: set[int] = set()

        def fuzz() -> None:
            modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
            for result in schema.get_all_operations():
                operation = result.ok()
                for mode in modes:

                    @settings(
                        max_examples=20,
                        deadline=None,
                        database=None,
                        derandomize=True,
                        phases=[Phase.generate],
                        suppress_health_check=list(HealthCheck),
                    )
                    @given(case=operation.as_strategy(generation_mode=mode))
                    def each(case: Any) -> None:
                        answer = case.call(base_url=origin)
                        seen.add(answer.status_code)
                        assert answer.status_code < 500, (case.as_curl_command(), answer.text)

                    # An operation without parameters has no invalid request.
                    with suppress(Unsatisfiable):
                        each()

        await loop.run_in_executor(None, fuzz)
        assert {200, 201, 400} <= seen


@in_lab
async def test_the_controller_serves_a1_and_keeps_instances_over_a_reload_of_its_file(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lab.directory / "a1.json"
    item = {"type": QOS, "policy": qos(pdb=20), "notify": None}
    path.write_text(json.dumps({"version": 1, "instances": {"p": item}}))
    identities = lab.directory / "identities.yaml"
    identities.write_text("qfis_of_5qi: {9: [1]}\n")
    lab.start(a1=A1Settings(listen="127.0.0.1:0", state=path, identities=identities))
    await asyncio.sleep(0.1)
    assert lab.app is not None
    lines = capsys.readouterr().out.splitlines()
    (ready,) = [json.loads(line) for line in lines if line.startswith("{")]
    assert ready["a1"].startswith("127.0.0.1:")
    for text in (POLICY, POLICY + "\n# changed\n"):
        lab.write_policy(text)
        await asyncio.sleep(2)
        rule = lab.app.controller.policy.rule_for(BEARER, frozenset({1}))
        assert rule is not None
        assert (rule.name, rule.objective.bound_ms) == ("r/a1", 20)
