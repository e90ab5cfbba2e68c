"""The RIC by its host name: resolved at each connection; what a preflight finds."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
from bridge_world import ONE, BridgeWorld
from flexric_bridge import session
from flexric_bridge.cli import main
from flexric_bridge.ric_address import NoSctp, Unreachable, check_host, ipv4_of, preflight
from flexric_bridge.sdk import SdkError


async def test_a_name_is_resolved_again_when_the_ric_is_lost(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = iter(["10.0.0.1", "10.0.0.2"])
    opened: list[str] = []

    async def resolve(_host: str) -> str:
        return next(addresses, "10.0.0.2")

    def refuses(request: dict[str, Any]) -> Any:
        opened.append(request["address"])
        raise SdkError("timeout", "no answer")

    monkeypatch.setattr(session, "ipv4_of", resolve)
    world.ric.answer["open"] = refuses
    await world.start(ONE, ric={"address": "oai-flexric"})
    await world.until(lambda: len(opened) > 1, "a second connection")
    assert opened[:2] == ["10.0.0.1", "10.0.0.2"]


async def test_a_name_that_does_not_resolve_is_an_absent_ric(
    world: BridgeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolve(host: str) -> str:
        raise Unreachable(f"{host} does not resolve")

    monkeypatch.setattr(session, "ipv4_of", resolve)
    bridge = await world.start(ONE, ric={"address": "oai-flexric"})
    await world.until(lambda: "does not resolve" in bridge.session.why, "the reason")
    assert world.ric.requests["open"] == 0


def test_localhost_resolves_to_an_ipv4_address() -> None:
    assert asyncio.run(ipv4_of("localhost")) == "127.0.0.1"
    assert asyncio.run(ipv4_of("127.0.0.2")) == "127.0.0.2"


@pytest.mark.parametrize("host", ["10.0.0.5", "oai-flexric", "ric.oai.svc.cluster.local"])
def test_addresses_and_names_are_hosts(host: str) -> None:
    assert check_host(host) == host


@pytest.mark.parametrize("host", ["10.0.0", "10.0.0.256", "ric:36422", "-ric", "", "ric..x", "::1"])
def test_ports_and_half_addresses_are_refused(host: str) -> None:
    with pytest.raises(ValueError, match="expected IPv4 or a host name, without a port"):
        check_host(host)


def outcomes(*each: Exception | str) -> Callable[[str], str]:
    """Attempts that end so, one after the other."""
    left = list(each)

    def attempt(_host: str) -> str:
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, Exception):
            raise now
        return now

    return attempt


def test_a_preflight_succeeds_when_the_ric_answers() -> None:
    lines: list[str] = []
    attempt = outcomes(Unreachable("refuses the connection"), "10.0.0.5")
    assert preflight("ric", 60, lines.append, attempt) == 0
    assert lines == [
        "refuses the connection",
        "the near-RT RIC answers at 10.0.0.5, port 36422/SCTP",
    ]


def test_a_preflight_without_sctp_fails_at_once() -> None:
    lines: list[str] = []
    assert preflight("ric", 60, lines.append, outcomes(NoSctp("the node has no SCTP"))) == 2
    assert lines == ["the node has no SCTP"]


def test_a_ric_that_is_late_does_not_keep_the_bridge_from_starting() -> None:
    lines: list[str] = []
    assert preflight("ric", 0, lines.append, outcomes(Unreachable("does not answer"))) == 0
    assert lines == ["does not answer", "not reached within 0 s; the bridge goes on trying"]


def test_the_command_says_what_this_machine_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["preflight", "--ric", "localhost"])
    printed = capsys.readouterr().out
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        assert status == 2
        assert "modprobe sctp" in printed
    else:
        assert status == 0
        assert "36422/SCTP" in printed
