"""E2SM-TC v1 in front of a v0 node with a real TC function."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import e2sm_tc
import pytest
from bridge_world import PATIENCE_S, BridgeWorld
from fake_flexric import DEFAULT, HANG, RLC, TC, node, rlc_message
from flexric_bridge.sdk import SdkError
from lab_node import RNTI, LabNode
from pipelines import codel, hashed, pipeline, queues, segregated, target
from ric import E2GatewayClient
from ric.errors import GatewayError
from ric.sm import TC_V1_OID
from ric.state_file import write_document

BEARER = {"ue": {"rnti": RNTI}, "drb": 1}
Outcome = dict[str, Any]


class Tc:
    """v1 controls to one node."""

    def __init__(
        self, client: E2GatewayClient, node_id: str, timeout_s: float | None = None
    ) -> None:
        self._client = client
        self._node_id = node_id
        self._timeout_s = timeout_s

    async def send(self, message: dict[str, Any], style: int = 1) -> Outcome:
        header = e2sm_tc.encode("control-header", {"style": style, "correlation_id": 1})
        answer = await self._client.control(
            self._node_id,
            TC_V1_OID,
            header,
            e2sm_tc.encode("control", message),
            timeout_s=self._timeout_s,
        )
        outcome: Outcome = e2sm_tc.decode("control-outcome", answer.outcome)
        assert answer.acknowledged == ("accepted" in outcome)
        return outcome

    async def change(self, change: Any, **more: Any) -> Outcome:
        transaction = {
            "bearer": BEARER,
            "expected_revision": None,
            "lease_ms": None,
            "dry_run": False,
            "change": change,
            **more,
        }
        return await self.send({"transaction": transaction})

    async def renew(self, revision: int, lease_ms: int) -> Outcome:
        renewal = {"bearer": BEARER, "revision": revision, "lease_ms": lease_ms}
        return await self.send({"lease_renewal": renewal}, style=2)

    def reports(self, style: str, trigger: Any) -> Any:
        action = {"style": style, "bearers": [], "top_flows": 8}
        return self._client.subscribe(
            self._node_id,
            TC_V1_OID,
            e2sm_tc.encode("event-trigger", trigger),
            [e2sm_tc.encode("action-definition", action)],
        )


def refuse(world: BridgeWorld, when: Callable[[dict[str, Any]], bool], why: str) -> Any:
    """Refuse the v0 controls for which `when` holds; returns the handler that accepts all."""
    take = world.ric.on_control
    assert take is not None

    async def choosy(node_id: str, message: bytes) -> None:
        if when(e2sm_tc.decode("control", message, "v0")):
            raise SdkError("refused", why)
        await take(node_id, message)

    world.ric.on_control = choosy
    return take


async def status(tc: Tc, revision: int | None = None) -> Any:
    """The next status, or the next of a revision."""
    stream = tc.reports("pipeline_status", {"periodic": {"period_ms": 10}})
    async with asyncio.timeout(PATIENCE_S), aclosing(stream) as indications:
        async for indication in indications:
            statuses = e2sm_tc.decode("indication", indication.message)["pipeline_status"]
            if statuses and revision in (None, statuses[0]["revision"]):
                return statuses[0]
    raise AssertionError("the stream ended")


def refusal(outcome: Outcome) -> tuple[str, str]:
    return outcome["refused"]["cause"], outcome["refused"]["element"]


async def test_transactions_statuses_and_revisions(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    await world.start()
    world.spawn(lab.run())
    async with world.client() as client:
        known = await client.wait_for_node(lab.node.id)
        function = known.ran_function(TC_V1_OID)
        assert function is not None
        capabilities = e2sm_tc.decode("ran-function-definition", function.definition)[
            "capabilities"
        ]
        assert capabilities["schedulers"] == ["round_robin", "strict_priority"]
        tc = Tc(client, lab.node.id)
        first = await status(tc)
        assert (first["bearer"], first["safe"], first["revision"]) == (BEARER, True, 1)
        assert first["name"] == "transparent"

        done = await tc.change({"replace": hashed(4)}, expected_revision=1, lease_ms=60_000)
        assert done["accepted"]["revision"] == 2
        assert 59_000 < done["accepted"]["lease_ms"] <= 60_000
        after = await status(tc, 2)
        assert (after["name"], after["safe"]) == ("hashed", False)
        while not after["ingress_packets"]:
            after = await status(tc, 2)

        stale = await tc.change({"replace": hashed(8)}, expected_revision=1)
        assert refusal(stale) == ("stale_revision", "expected_revision")
        assert stale["refused"]["revision"] == 2
        sent = len(world.ric.controls)
        tried = await tc.change({"replace": segregated()}, dry_run=True)
        assert tried["accepted"]["revision"] == 2
        drr = {"deficit_round_robin": {"quantum_bytes": 1514}}
        refused = await tc.change({"replace": {**hashed(4), "scheduler": drr}}, dry_run=True)
        assert refusal(refused) == ("unsupported", "scheduler.deficit_round_robin")
        wrong = await tc.change({"replace": pipeline(queues=[queues(0, 1), queues(0, 1)])})
        assert refusal(wrong)[0] == "duplicate_id"
        assert len(world.ric.controls) == sent

        delta = [
            {"add_queues": queues(4, 1, codel())},
            {"set_classifier": {"stochastic_hash": {
                "target": target(0, 5), "perturbation": None, "ways": 1}}},
        ]  # fmt: skip
        assert (await tc.change({"delta": delta}))["accepted"]["revision"] == 3
        assert len(world.ric.controls) == sent + 2
        safe = await tc.change("safe", lease_ms=5)
        assert safe["accepted"] == {"revision": 4, "lease_ms": None}
        assert (await status(tc, 4))["safe"]


async def test_the_end_of_a_lease_restores_the_safe_pipeline(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    await world.start()
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        stream = tc.reports("events", "on_change")
        async with aclosing(stream) as indications, asyncio.timeout(PATIENCE_S):
            events = asyncio.ensure_future(anext(indications))
            done = await tc.change({"replace": segregated()}, lease_ms=60_000)
            renewed = await tc.renew(done["accepted"]["revision"], 300)
            assert renewed["accepted"]["revision"] == 2
            assert refusal(await tc.renew(7, 300)) == ("stale_revision", "revision")
            kinds = [e2sm_tc.decode("indication", (await events).message)["events"][0]["kind"]]
            while "lease_expired" not in kinds[-1]:
                message = e2sm_tc.decode("indication", (await anext(indications)).message)
                kinds += [event["kind"] for event in message["events"]]
        assert {"pipeline_changed": {"revision": 2, "name": "segregated"}} in kinds
        assert kinds[-1] == {"lease_expired": {"revision": 3}}
        assert (await status(tc, 3))["safe"]
        refused = await tc.renew(3, 100)
        assert refusal(refused)[0] == "inconsistent"
    seen = e2sm_tc.decode("control", world.ric.controls[-1][1], "v0")
    assert seen == {"type": "PCR", "act": "MOD", "pcr_type": "DUMMY", "dummy": 0}


async def test_a_transaction_that_fails_on_the_way_is_undone(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    bridge = await world.start()
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        before = await status(tc)
        take = refuse(world, lambda control: control["type"] == "SCH", "no scheduler")
        failed = await tc.change({"replace": segregated()})
        assert refusal(failed)[0] == "inconsistent"
        assert "SCH MOD" in failed["refused"]["detail"]
        assert "undone" in failed["refused"]["detail"]
        world.ric.on_control = take
        assert failed["refused"]["revision"] == before["revision"]
        await asyncio.sleep(0.1)
        after = await status(tc)
        assert (after["revision"], after["safe"]) == (before["revision"], True)
        done = await tc.change({"replace": segregated()})
        assert done["accepted"]["revision"] == before["revision"] + 1
    assert bridge.traffic.served[lab.node.id].function.undone == 1


@pytest.mark.parametrize("together", [1, 3, 8, 16])
async def test_of_controls_at_once_those_that_took_effect_are_undone(
    world: BridgeWorld, together: int
) -> None:
    lab = LabNode(world.ric)
    await world.start(ric={"controls_together": together})
    world.spawn(lab.run())
    added = itertools.count(1)

    def is_the_fourth_queue(control: dict[str, Any]) -> bool:
        return (control["type"], control["act"]) == ("QUEUE", "ADD") and next(added) == 4

    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        before = await status(tc)
        refuse(world, is_the_fourth_queue, "no more queues")
        failed = await tc.change({"replace": hashed(8)})
        assert refusal(failed)[0] == "inconsistent"
        assert "undone" in failed["refused"]["detail"]
        # Up to the fourth, and behind it what was on the way already; the node has one queue.
        assert next(added) - 1 == {1: 4, 3: 6, 8: 7, 16: 7}[together]
        after = await status(tc)
        # Until the node has reported since.
        async with asyncio.timeout(PATIENCE_S):
            while [queue["id"] for queue in after["queues"]] != [0]:
                after = await status(tc)
        # With sixteen at once, classifier and pacer were changed and had to be changed back.
        assert (after["revision"], after["safe"]) == (before["revision"], True)
        done = await tc.change({"replace": hashed(8)})
        assert done["accepted"]["revision"] == before["revision"] + 1


async def test_a_transaction_cut_short_is_found_on_the_node_and_its_lease_still_ends(
    world: BridgeWorld,
) -> None:
    lab = LabNode(world.ric)
    await world.start(ric={"command_timeout_s": 2})
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        await status(tc)
        world.ric.answer["control"] = lambda q: HANG if q["message"][:2] == "03" else DEFAULT
        with pytest.raises(GatewayError):
            await tc.change({"replace": segregated()}, lease_ms=3_000)
        del world.ric.answer["control"]
        await client.wait_for_node(lab.node.id)
        found = await status(tc)
        while found["safe"]:
            found = await status(tc)
        assert found["name"] == "foreign"
        assert found["lease_left_ms"] is not None
        while not found["safe"]:
            found = await status(tc)
        assert found["lease_left_ms"] is None


async def test_a_gnb_that_restarts_is_seen_to_have_lost_its_pipeline(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    await world.start()
    running = world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        assert "accepted" in await tc.change({"replace": hashed(4)}, lease_ms=60_000)
        assert not (await status(tc, 2))["safe"]
        running.cancel()
        world.spawn(LabNode(world.ric).run())
        again = await status(tc, 3)
        assert (again["safe"], again["lease_left_ms"]) == (True, None)


async def test_pipelines_and_leases_survive_a_restart_of_the_sidecar(world: BridgeWorld) -> None:
    state = world.folder / "state.json"
    lab = LabNode(world.ric)
    await world.start(state=str(state))
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        done = await Tc(client, lab.node.id).change({"replace": hashed(4)}, lease_ms=60_000)
        revision = done["accepted"]["revision"]
    await world.stop()
    kept = json.loads(state.read_text())
    assert kept["budget"]["clean"] is True
    assert kept["pipelines"][lab.node.id]["revision"] == revision

    bridge = await world.start(state=str(state))
    assert bridge.budget.used == kept["budget"]["used"]
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        again = await status(tc)
        assert (again["name"], again["revision"]) == ("hashed", revision)
        assert (await tc.renew(revision, 200))["accepted"]["revision"] == revision
    await world.stop()

    # The lease ends while the sidecar is down; it restores the safe pipeline first.
    await asyncio.sleep(0.25)
    sent = len(world.ric.controls)
    await world.start(state=str(state))
    await world.until(lambda: len(world.ric.controls) > sent, "the safe pipeline")
    async with world.client(lab.node.id) as client:
        assert (await status(Tc(client, lab.node.id), revision + 1))["safe"]


async def test_a_slow_write_of_the_state_file_delays_no_report(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(path: Path, document: dict[str, Any]) -> None:
        begun.set()
        assert over.wait(PATIENCE_S)
        write_document(path, document)

    monkeypatch.setattr("ric.state_file.write_document", slow)
    state, lab = world.folder / "state.json", LabNode(world.ric)
    await world.start(state=str(state))
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        assert "accepted" in await tc.change({"replace": hashed(4)})
        await world.until(begun.is_set)
        assert "accepted" in await tc.change({"replace": hashed(5)})
        assert not state.exists()
        over.set()
    await world.stop()
    # The newest state is written last, even if the previous write was slow.
    assert json.loads(state.read_text())["budget"]["clean"] is True


async def test_a_forecast_feed_is_refused_with_a_way_out(world: BridgeWorld) -> None:
    lab = LabNode(world.ric)
    await world.start()
    world.spawn(lab.run())
    feed = {
        "bearers": [
            {
                "bearer": BEARER,
                "origin_us": 1,
                "horizon_start_us": 1000,
                "step_us": 1000,
                "occupancy_bytes": [1],
                "limit_bytes": [],
                "drain_bytes": [],
            }
        ]
    }
    async with world.client(lab.node.id) as client:
        outcome = await Tc(client, lab.node.id).send({"forecast_feed": feed}, style=3)
    assert outcome["refused"]["cause"] == "unsupported"
    assert "forecaster's stream" in outcome["refused"]["detail"]
    assert not world.ric.controls


async def test_the_bearer_is_the_only_one_or_that_of_the_settings(world: BridgeWorld) -> None:
    gnb = node(0xE00, functions=(RLC, TC))
    world.ric.add(gnb)
    plain = e2sm_tc.encode("indication", PLAIN, "v0")
    world.reporting(gnb.id, TC, lambda: plain)
    bearers: list[tuple[tuple[int, int], ...]] = [((17, 1), (17, 2))]
    world.reporting(gnb.id, RLC, lambda: rlc_message(bearers[0]))
    await world.start()
    async with world.client(gnb.id) as client:
        tc = Tc(client, gnb.id)
        refused = await tc.change({"replace": hashed(2)})
        assert refusal(refused) == ("unknown_bearer", "bearer")
        assert "RNTI 17 DRB 1, RNTI 17 DRB 2" in refused["refused"]["detail"]
        bearers[0] = ((17, 1),)
        assert (await status(tc))["bearer"] == BEARER
    await world.stop()
    bearers[0] = ((17, 1), (17, 2), (18, 1))
    await world.start(tc={"bearers": [{"node": "gnb-001-*", "rnti": 17, "drb": 1}]})
    async with world.client(gnb.id) as client:
        tc = Tc(client, gnb.id)
        assert (await status(tc))["bearer"] == BEARER
        other = {"ue": {"rnti": 18}, "drb": 1}
        refused = await tc.change({"replace": hashed(2)}, bearer=other)
        assert refusal(refused) == ("unknown_bearer", "bearer")


async def test_a_cu_without_rlc_has_the_bearer_of_the_settings(world: BridgeWorld) -> None:
    cu = node(0xE00, functions=(TC,))
    world.ric.add(cu)
    plain = e2sm_tc.encode("indication", PLAIN, "v0")
    world.reporting(cu.id, TC, lambda: plain)
    await world.start(tc={"bearers": [{"rnti": 17, "drb": 1}]})
    async with world.client(cu.id) as client:
        assert (await status(Tc(client, cu.id)))["bearer"] == BEARER


PLAIN = {
    "sch": {"type": "RR"},
    "pcr": {"type": "DUMMY", "id": 0, "mtr": {"bnd_flt": 0.0, "time_window_ms": 100}},
    "cls": {"type": "RR", "dummy": 0},
    "q": [
        {
            "shp": {"id": 0, "active": 0, "max_rate_kbps": 0,
                    "mtr": {"bnd_flt": 0.0, "time_window_ms": 100}},
            "plc": {"id": 0, "mtr": {"bnd_flt": 0.0, "time_window_ms": 100}, "dropped_pkts": 0,
                    "marked_pkts": 0, "max_rate_kbps": 0.0, "active": 0, "dst_id": 0, "dev_id": 0},
            "queue": {"type": "FIFO", "bytes": 0, "pkts": 0, "bytes_fwd": 0, "pkts_fwd": 0,
                      "dropped_pkts": 0, "avg_sojourn_time": 0.0, "last_sojourn_time": 0},
        }
    ],
    "tstamp": 0,
}  # fmt: skip


async def test_a_transaction_waits_for_the_report_of_a_node_that_is_overdue(
    world: BridgeWorld,
) -> None:
    # The node may have just died, and the RIC would abort on the controls.
    lab = LabNode(world.ric)
    await world.start(nodes={"stale_after_s": 240})
    running = world.spawn(lab.run())
    async with world.client(lab.node.id) as client, asyncio.timeout(PATIENCE_S):
        tc = Tc(client, lab.node.id, timeout_s=PATIENCE_S)
        await status(tc)
        running.cancel()
        await asyncio.sleep(0.5)
        change = asyncio.ensure_future(tc.change({"replace": hashed(4)}))
        await asyncio.sleep(0.2)
        assert not world.ric.controls
        world.spawn(lab.run())
        assert "accepted" in await change
    assert world.ric.controls


async def test_one_client_holds_the_node_and_the_next_takes_it_when_the_lease_ends(
    world: BridgeWorld,
) -> None:
    lab = LabNode(world.ric)
    await world.start()
    world.spawn(lab.run())
    async with world.client(lab.node.id) as client:
        tc = Tc(client, lab.node.id)
        await status(tc)

        async def take(owner: str, lease_ms: int | None) -> Outcome:
            return await tc.send({"node_lease": {"owner": owner, "lease_ms": lease_ms}}, style=4)

        assert (await take("a", 60_000))["accepted"] == {"revision": 1, "lease_ms": 60_000}
        done = await tc.change({"replace": hashed(4)}, lease_ms=60_000, owner="a")
        assert "accepted" in done
        assert (await status(tc, 2))["owner"] == "a"
        for outcome in (
            await take("b", 1_000),
            await tc.change("safe", owner="b"),
            await tc.change("safe", dry_run=True),
            await tc.renew(2, 60_000),
        ):
            assert refusal(outcome) == ("not_owner", "owner")
            holder = outcome["refused"]["holder"]
            assert holder["owner"] == "a"
            assert 50_000 < holder["lease_left_ms"] <= 60_000
        assert "accepted" in await take("a", None)
        assert (await take("b", 60_000))["accepted"]["revision"] == 2
        assert refusal(await tc.change("safe", owner="a")) == ("not_owner", "owner")
        sent = await tc.change({"replace": hashed(4)}, owner="b", as_safe=True)
        assert refusal(sent) == ("unsupported", "as_safe")
        assert "accepted" in await tc.change("initial", owner="b")
        assert (await status(tc, 3))["safe"]


async def test_the_name_of_an_owner_is_of_use_to_the_client_alone_that_holds_the_node(
    world: BridgeWorld,
) -> None:
    lab = LabNode(world.ric)
    await world.start()
    world.spawn(lab.run())
    async with world.client(lab.node.id) as one, world.client(lab.node.id) as two:
        owner, other = Tc(one, lab.node.id), Tc(two, lab.node.id)
        await status(owner)

        async def take(tc: Tc, lease_ms: int | None) -> Outcome:
            return await tc.send({"node_lease": {"owner": "a", "lease_ms": lease_ms}}, style=4)

        assert "accepted" in await take(owner, 60_000)
        sent = len(world.ric.controls)
        for outcome in (
            await take(other, 60_000),
            await take(other, None),
            await other.change({"replace": hashed(4)}, owner="a"),
        ):
            assert refusal(outcome) == ("not_owner", "owner")
            assert outcome["refused"]["holder"]["owner"] == "a"
        assert len(world.ric.controls) == sent
        assert "accepted" in await owner.change({"replace": hashed(4)}, owner="a")
        assert "accepted" in await take(owner, None)
        assert "accepted" in await take(other, 60_000)
        assert refusal(await owner.change("safe", owner="a")) == ("not_owner", "owner")
