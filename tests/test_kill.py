"""Each program may be killed at any time: the others continue, and it recovers after a restart."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from loop import PATIENCE_S, controlled, loop_in, pipeline_status, safe
from sojourn_demo.programs import Program


async def test_the_gnb_returns_to_safe_without_its_controller_and_a_new_one_takes_over(
    tmp_path: Path,
) -> None:
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb()
        gateway = gnb.ready["listen"]
        controller = await loop.controller(gateway)
        before = await pipeline_status(gateway, controlled)
        assert before["lease_left_ms"] is not None
        controller.kill()
        fallen = await pipeline_status(gateway, safe)
        assert fallen["revision"] > before["revision"]
        await loop.controller(gateway)
        again = await pipeline_status(gateway, controlled)
        assert again["revision"] > fallen["revision"]
        assert gnb.alive


async def test_the_base_stays_without_a_controller_and_the_next_one_finds_it(
    tmp_path: Path,
) -> None:
    async with loop_in(tmp_path, place="base") as loop:
        gateway = (await loop.gnb()).ready["listen"]
        controller = await loop.controller(gateway)
        before = await pipeline_status(gateway, controlled)
        assert (before["safe"], before["lease_left_ms"]) == (True, None)
        state = tmp_path / "controller-state.json"
        async with asyncio.timeout(PATIENCE_S):
            while not (state.exists() and "fq_codel" in state.read_text()):
                await asyncio.sleep(0.05)
        controller.kill()
        # At some 40 Mbit/s of ingress a lease of 1 s would have ended by then.
        later = await pipeline_status(
            gateway, lambda s: s["ingress_bytes"] > before["ingress_bytes"] + 20_000_000
        )
        assert (later["name"], later["revision"]) == (before["name"], before["revision"])
        again = await loop.controller(gateway)
        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(keeps_base, again):
                await asyncio.sleep(0.05)
        found = await pipeline_status(gateway, controlled)
        assert found["revision"] == before["revision"]


async def test_a_lease_is_renewed_for_as_long_as_the_controller_lives(tmp_path: Path) -> None:
    # Renewed each third of the lease: a loaded machine may delay a renewal by 3 s.
    async with loop_in(tmp_path, lease_ms=5_000) as loop:
        gateway = (await loop.gnb()).ready["listen"]
        await loop.controller(gateway)
        first = await pipeline_status(gateway, controlled)
        # At some 40 Mbit/s of ingress the first lease has ended by then.
        later = await pipeline_status(
            gateway, lambda s: s["ingress_bytes"] > first["ingress_bytes"] + 40_000_000
        )
        assert controlled(later)
        assert later["revision"] == first["revision"]


async def test_a_restarted_gnb_is_controlled_again(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop:
        gnb = await loop.gnb()
        gateway = gnb.ready["listen"]
        controller = await loop.controller(gateway)
        forecaster = await loop.forecaster(gateway)
        await pipeline_status(gateway, controlled)
        gnb.kill()
        assert "sojourn_e2_gateway_connected" in controller.metrics()
        await loop.gnb(listen=gateway)
        await pipeline_status(gateway, controlled)
        assert controller.alive
        assert forecaster.alive
        async with asyncio.timeout(PATIENCE_S):
            while 'source="persistence"} 1.0' not in forecaster.metrics():
                await asyncio.sleep(0.1)


async def test_xapps_wait_for_the_gateway(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop:
        early = await loop.gnb()
        gateway = early.ready["listen"]
        early.kill()
        controller = await loop.controller(gateway)
        forecaster = await loop.forecaster(gateway)
        await loop.gnb(listen=gateway)
        await pipeline_status(gateway, controlled)
        assert controller.alive
        assert forecaster.alive


async def test_the_loop_does_not_need_its_forecaster(tmp_path: Path) -> None:
    async with loop_in(tmp_path) as loop:
        gateway = (await loop.gnb()).ready["listen"]
        forecaster = await loop.forecaster(gateway)
        controller = await loop.controller(gateway)
        await pipeline_status(gateway, controlled)
        forecaster.kill()
        status = await pipeline_status(gateway, controlled)
        assert status["lease_left_ms"] is not None
        assert controller.alive
        again = await loop.forecaster(gateway)
        assert again.alive


KEPT = re.compile(r"^sojourn_controller_bearers_base_kept\{[^}]*\} 1", re.MULTILINE)


def keeps_base(controller: Program) -> bool:
    return KEPT.search(controller.metrics()) is not None


OWNER = re.compile(r"^sojourn_controller_node_owner\{[^}]*\} (\d)", re.MULTILINE)


def owns(controller: Program) -> bool:
    found = OWNER.search(controller.metrics())
    return found is not None and found[1] == "1"


async def until_owner(controller: Program) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await asyncio.to_thread(owns, controller):
            await asyncio.sleep(0.05)


async def test_of_two_controllers_one_owns_the_gnb_and_the_other_takes_over_when_it_is_killed(
    tmp_path: Path,
) -> None:
    async with loop_in(tmp_path, lease_ms=3_000) as loop:
        gateway = (await loop.gnb()).ready["listen"]
        first = await loop.controller(gateway, "first")
        await until_owner(first)
        second = await loop.controller(gateway, "second")
        installed = await pipeline_status(gateway, controlled)
        assert installed["owner"] is not None
        assert not owns(second)
        for killed in ("first", "second"):
            first.kill()
            await until_owner(second)
            await pipeline_status(gateway, controlled)
            # The killed one, started again, is the standby.
            first, second = second, await loop.controller(gateway, killed)
            assert owns(first)
            assert not owns(second)
