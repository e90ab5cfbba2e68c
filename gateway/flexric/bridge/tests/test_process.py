"""The program, and the SDK's session when it is killed."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import urllib.request
from pathlib import Path

import pytest
from bridge_world import BridgeWorld, some
from fake_flexric import RLC, node, rlc_message
from ric import E2GatewayClient
from ric.settings import GatewaySettings
from ric.sm import RLC_OID, rlc

PROGRAM = Path(sys.executable).parent / "flexric-bridge"
ONE = node(0xE00)


async def start(*arguments: str, sdk: str = "fake_sdk:FakeSdk") -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        str(PROGRAM),
        *("serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"),
        *("--ric-sdk", sdk, "--subscriptions-linger-s", "60", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_killed_sidecar_leaves_no_subscription_behind(world: BridgeWorld) -> None:
    world.ric.add(ONE)
    world.reporting(ONE.id, RLC, rlc_message)
    process = await start()
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    async with E2GatewayClient(GatewaySettings(address=ready["listen"])) as client:
        await client.wait_for_node(ONE.id)
        await some(client.subscribe(ONE.id, RLC_OID, rlc.event_trigger(10)), 1)
        assert world.ric.subscriptions
        url = f"http://{ready['metrics']}"
        text = (await asyncio.to_thread(urllib.request.urlopen, f"{url}/metrics")).read().decode()
        assert "sojourn_flexric_up 1.0" in text
        assert 'sojourn_flexric_requests_total{use="subscription"} 1.0' in text
        node = 'node="gnb-001-01-0xe00"'
        for counter in ("reports", "reports_missing"):
            assert f'sojourn_flexric_{counter}_total{{{node},ran_function="rlc"}}' in text
        for series in ("reports_lost_total", "reports_bad_total", "last_report_timestamp_seconds"):
            assert f"sojourn_flexric_{series}{{{node}}}" in text
        process.kill()
        await process.communicate()
    await world.until(lambda: world.ric.closed == 1, "the child closes the session")
    assert world.ric.requests["unsubscribe"] == 1


async def test_a_missing_module_is_reported_and_retried_with_back_off(world: BridgeWorld) -> None:
    process = await start("--ric-backoff-initial-s", "0.05", sdk="fake_sdk:broken")
    assert process.stderr is not None
    waits: list[float] = []
    while len(waits) < 4:
        line = json.loads(await process.stderr.readline())
        if line["event"] == "FlexRIC session down":
            assert "libe42_xapp_shared.so" in line["why"]
            assert "exited with 1" in line["why"]
            waits.append(line["retry_in_s"])
    process.terminate()
    _, rest = await process.communicate()
    assert process.returncode == 0, rest
    assert waits[3] > waits[0]


async def test_a_gateway_on_a_port_of_the_ric_suggests_another(world: BridgeWorld) -> None:
    try:
        taken = socket.create_server(("127.0.0.1", 36422))
    except OSError:
        pytest.skip("port 36422 is in use; this test needs it")
    with taken:
        process = await start("--listen", "127.0.0.1:36422")
        _, printed = await process.communicate()
    assert process.returncode == 1
    assert b"SCTP is carried over TCP" in printed
    assert b"--listen 127.0.0.1:36431" in printed
