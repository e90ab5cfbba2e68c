"""`tc-controller explain` at running controllers: their logs over TLS, joined, and bounded."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from fleet_servers import Servers, http, servers
from tc_controller import cli, explain_command
from tc_controller.log_server import LogServer

NAME = "controllers.example"


def decided(key: str, at_s: int, node: str) -> dict[str, Any]:
    """The part of a decision that the list shows."""
    bearer = {"node": node, "rnti": 0x4601, "drb": 1}
    rung = {"template": "fq_codel"}
    return {
        "event": "decided",
        "id": key,
        "at_us": at_s * 1_000_000,
        "bearer": bearer,
        "rung": rung,
    }


def state(node: str, role: str, at_us: int, compliance: str) -> list[dict[str, Any]]:
    """What a controller knows of a node with a bearer."""
    bearer = {"node": node, "rnti": 0x4601, "drb": 1}
    return [
        {"event": "ownership", "node": node, "role": role, "at_us": at_us},
        {
            **{"event": "compliance", "bearer": bearer, "state": compliance, "at_us": at_us},
            **{"rule": "r", "reason": f"as {role}"},
        },
    ]


class Peers:
    """Controllers at addresses of one name, each with a log."""

    def __init__(self, here: Servers, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.here = here
        self._folder = folder
        self.hosts: list[str] = []
        with socket.socket() as free:
            free.bind(("127.0.0.2", 0))
            self._port = free.getsockname()[1]
        resolve = socket.getaddrinfo

        def found(host: Any, *arguments: Any, **options: Any) -> Any:
            hosts = self.hosts if host == NAME else [host]
            return [each for one in hosts for each in resolve(one, *arguments, **options)]

        monkeypatch.setattr(socket, "getaddrinfo", found)

    def _host(self) -> str:
        self.hosts.append(f"127.0.0.{len(self.hosts) + 2}")
        return self.hosts[-1]

    async def controller(self, identity: str, *logs: list[dict[str, Any]]) -> None:
        """A controller with these files of its log, oldest first; with none it keeps no log."""
        path = self._folder / f"{identity}.jsonl" if logs else None
        for age, records in enumerate(reversed(logs)):
            file = path if age == 0 else self._folder / f"{identity}.jsonl.{age}"
            assert file is not None
            file.write_text("".join(f"{json.dumps(each)}\n" for each in records))

        async def blocking(call: Any) -> Any:
            return await asyncio.to_thread(call)

        server = self.here.server(f"{self._host()}:{self._port}")
        LogServer(path, identity, blocking).add_routes(server)
        await server.start()

    async def raw(self, body: bytes) -> None:
        """A server that answers this."""
        await self.here.raw(http(body), self._host(), self._port)

    async def explain(self, *arguments: str, client: str = "reader") -> int:
        """Exit status of the command."""
        tls = self.here.client("", client)["tls"]
        files = {"ca": tls.ca_file, "certificate": tls.certificate_file, "key": tls.key_file}
        flags = [f"--peers-tls-{name}-file={file}" for name, file in files.items()]
        flags += [
            f"--peers={NAME}:{self._port}",
            "--peers-tls",
            "--peers-tls-server-name=controller",
        ]
        return await asyncio.to_thread(cli.main, ["explain", *arguments, *flags])


@pytest.fixture
async def stack() -> Any:
    async with AsyncExitStack() as open_ones:
        yield open_ones


@pytest.fixture
async def peers(tmp_path: Path, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch) -> Peers:
    return Peers(await stack.enter_async_context(servers(tmp_path)), tmp_path, monkeypatch)


async def test_decisions_of_all_controllers_are_one_list_by_time(
    peers: Peers, capsys: pytest.CaptureFixture[str]
) -> None:
    await peers.controller("ric-0", [decided("a-1", 1, "gnb-1")], [decided("a-2", 3, "gnb-1")])
    await peers.controller("ric-1", [decided("b-1", 2, "gnb-2")])
    assert await peers.explain("--list") == 0
    lines = [each.split() for each in capsys.readouterr().out.splitlines()]
    assert [(each[0], each[-1]) for each in lines] == [
        ("a-1", "ric-0"),
        ("b-1", "ric-1"),
        ("a-2", "ric-0"),
    ]
    assert await peers.explain("c-9") == 1
    assert "ric-0, ric-1: no decision c-9" in capsys.readouterr().err


async def test_the_state_of_a_node_is_what_its_owner_says(
    peers: Peers, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = state("gnb-1", "owner", 1, "violated") + state("gnb-2", "standby", 9, "no_data")
    await peers.controller("ric-0", owner)
    await peers.controller("ric-1", state("gnb-2", "owner", 1, "met"))
    await peers.controller("ric-2", state("gnb-1", "standby", 9, "no_data"))
    assert await peers.explain("--state") == 0
    text = capsys.readouterr().out
    assert "gnb-1/0x4601/drb1: violated" in text
    assert "gnb-2/0x4601/drb1: met" in text
    assert "standby" not in text


async def test_those_that_answer_are_shown_beside_those_that_do_not(
    peers: Peers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain_command, "_MAX_BYTES", 10_000)
    await peers.controller("ric-0", [decided("a-1", 1, "gnb-1")])
    await peers.controller("ric-1")
    await peers.raw(b'{"event": "decided", "id": "x"}\n')
    await peers.raw(b"x" * 20_000)
    await peers.raw(b"[" * 5_000)
    peers.hosts.append("127.0.0.99")
    assert await peers.explain("--list") == 1
    shown = capsys.readouterr()
    assert shown.out.split()[0] == "a-1"
    for host, problem in (
        ("127.0.0.3", "404 this controller keeps no decision log"),
        ("127.0.0.4", "records without what they should have: KeyError('rung')"),
        ("127.0.0.5", "more than 10000 bytes"),
        ("127.0.0.99", "no controller runs there"),
    ):
        assert any(host in each and problem in each for each in shown.err.splitlines()), host


async def test_who_may_not_read_gets_no_log(
    peers: Peers, capsys: pytest.CaptureFixture[str]
) -> None:
    await peers.controller("ric-0", [decided("a-1", 1, "gnb-1")])
    assert await peers.explain("--list", client="stranger") == 1
    shown = capsys.readouterr()
    assert "a-1" not in shown.out
    assert "401" in shown.err
    assert "--log FILE reads one" in shown.err
