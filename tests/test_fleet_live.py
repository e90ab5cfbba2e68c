"""Two real controllers of one gNB over TLS: who owns it, on the page and for `explain`."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from loop import PATIENCE_S, controlled, loop_in, pipeline_status
from sojourn_demo.programs import Program
from test_mode_live import COMMAND, Switch

Row = dict[str, Any]


class Pair(Switch):
    """Controllers that ask each other with the certificate of `noc`, which may read."""

    def peer(self, controller: Program) -> tuple[str, ...]:
        """Settings of those who ask a controller."""
        certificate, key = self.ca.issue("noc")
        return (
            *("--peers", controller.ready["metrics"], "--peers-tls"),
            *("--peers-tls-ca-file", str(self.ca.file), "--peers-tls-server-name", "localhost"),
            *("--peers-tls-certificate-file", str(certificate), "--peers-tls-key-file", str(key)),
        )

    async def fleet(self, controller: Program, wanted: Callable[[Row], bool]) -> Row:
        """What the page of a controller shows, once it is as wanted."""
        certificate, key = self.ca.issue("noc")
        context = ssl.create_default_context(cafile=str(self.ca.file))
        context.load_cert_chain(certificate, key)
        url = f"https://{controller.ready['metrics']}/live/fleet"
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_S):
            while True:
                async with session.get(url, ssl=context, server_hostname="localhost") as answer:
                    view: Row = json.loads(await answer.text())
                if wanted(view):
                    return view
                await asyncio.sleep(0.2)


async def explained(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(str(COMMAND), "explain", *arguments), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode()


async def test_the_page_of_one_controller_shows_the_node_as_the_other_has_it(
    tmp_path: Path,
) -> None:
    async with loop_in(tmp_path, place="base") as loop:
        pair = Pair(tmp_path)
        gateway = (await loop.gnb()).ready["listen"]
        listen = ("--metrics-listen", "127.0.0.1:0")
        both = ("tc-controller", "--gateway", gateway, *listen, *pair.flags)
        owner = await loop._start(*both, "--identity", "ric-0")
        await pipeline_status(gateway, controlled)
        log = ("--decision-log", str(tmp_path / "standby.jsonl"))
        peer = pair.peer(owner)
        second = await loop._start(*both, "--identity", "ric-1", *log, *peer)

        def of(replica: str) -> Callable[[Row], bool]:
            return lambda view: (
                [(each["replica"], each["owned"]) for each in view["nodes"]] == [(replica, True)]
                and {each["replica"] for each in view["bearers"]} == {replica}
            )

        view = await pair.fleet(second, of("ric-0"))
        assert {each["name"]: each["problem"] for each in view["replicas"]} == {
            "ric-0": None,
            "ric-1": None,
        }
        state = await explained("--state", *peer)
        assert ": owner since " in state
        first = (await explained("--list", *peer)).split()[0]
        assert "fq_codel" in await explained(first, *peer)

        owner.kill()
        view = await pair.fleet(second, of("ric-1"))
        (silent,) = (each for each in view["replicas"] if each["problem"])
        assert silent["name"] == "ric-0"
        assert silent["since_us"] <= view["now_us"]
