"""The gRPC link against a real server on loopback: failures of a real network."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from e2_gateway_server import SERVICE
from ric._grpc import VARIABLE
from ric.clock import SystemClock
from ric.e2 import (
    ControlAnswer,
    KpmReport,
    KpmUe,
    Node,
    NodeType,
    RanFunction,
    Reading,
    SubscriptionRequest,
)
from ric.errors import (
    AccessDenied,
    ControlTimeout,
    GatewayProtocolError,
    GatewayUnavailable,
    NodeGone,
    RanFunctionUnknown,
    RicError,
    SettingsError,
    SubscriptionRefused,
)
from ric.gateway import E2GatewayClient, GrpcLink, calls, messages
from ric.gateway.channel import WINDOW_BYTES, open_channel
from ric.grpc_server import GrpcServer, GrpcServerSettings
from ric.procedures import Call, Handler
from ric.security import Security
from ric.settings import GatewaySettings, TlsSettings
from ric.sm import KPM_OID, RLC_OID, TC_V1_OID, rlc
from ric.testing import FakeGatewayServer, FakeRic
from sojourn_interfaces import e2_gateway_pb2 as pb

TRIGGER = rlc.event_trigger(1)


@pytest.fixture
def ric() -> FakeRic:
    return FakeRic(clock=SystemClock())


@pytest.fixture
async def server(ric: FakeRic) -> AsyncIterator[FakeGatewayServer]:
    async with FakeGatewayServer(ric) as server:
        yield server


def at(settings: GatewaySettings, address: str) -> GatewaySettings:
    return settings.model_copy(update={"address": address})


async def test_every_field_is_transmitted(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    function = RanFunction(143, RLC_OID, 3, b"definition")
    node = ric.add_node("gnb-1", function, KPM_OID, node_type=NodeType.GNB_CU)
    report = KpmReport(100, (KpmUe(7, {"DRB.UEThpDl": 1.5}),), ("X",))
    async with E2GatewayClient(at(fast_gateway, server.address)) as gateway:
        assert await gateway.wait_for_node("gnb-1") == node.node
        async with (
            aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)) as bytes_stream,
            aclosing(gateway.subscribe("gnb-1", KPM_OID, TRIGGER)) as kpm_stream,
        ):
            first = asyncio.ensure_future(anext(bytes_stream))
            kpm = asyncio.ensure_future(anext(kpm_stream))
            while len(ric.subscriptions) < 2:
                await asyncio.sleep(0.001)
            node.report(RLC_OID, b"message", header=b"header", collected_at_us=123)
            node.report(KPM_OID, kpm=report)
            got = await first
            assert (got.header, got.message, got.collected_at_us) == (b"header", b"message", 123)
            assert (got.ran_function_id, got.oid, got.kpm) == (143, RLC_OID, None)
            assert (await kpm).kpm == report


async def test_indications_of_one_message_are_yielded_one_by_one(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    node, count = ric.add_node("gnb-1", RLC_OID), 200
    link = GrpcLink(at(fast_gateway, server.address))
    request = SubscriptionRequest("gnb-1", RLC_OID, TRIGGER, queue_depth=count)
    async with asyncio.timeout(10), aclosing(link.indications(request)) as stream:
        first = asyncio.ensure_future(anext(stream))
        while not ric.subscriptions:
            await asyncio.sleep(0.001)
        for number in range(count):
            node.report(RLC_OID, b"%d" % number)
        got = [await first] + [await anext(stream) for _ in range(count - 1)]
    await link.close()
    sequence = range(got[0].sequence, got[0].sequence + count)
    assert [one.sequence for one in got] == list(sequence)
    assert [one.message for one in got] == [b"%d" % number for number in range(count)]
    assert {(one.node_id, one.oid, one.ran_function_id) for one in got} == {
        ("gnb-1", RLC_OID, got[0].ran_function_id)
    }


async def test_a_late_reader_of_the_newest_skips_what_has_arrived_meanwhile(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    node, count, began_us = ric.add_node("gnb-1", RLC_OID), 60, 1_700_000_000_000_000
    link = GrpcLink(at(fast_gateway, server.address))
    request = SubscriptionRequest(
        "gnb-1", RLC_OID, TRIGGER, queue_depth=200, reading=Reading.NEWEST
    )
    async with asyncio.timeout(30), aclosing(link.indications(request)) as stream:
        first = asyncio.ensure_future(anext(stream))
        while not ric.subscriptions:
            await asyncio.sleep(0.001)
        for number in range(count):
            # The gateway has them one by one each ms, and they come in one message.
            node.report(RLC_OID, received_at_us=began_us + 1_000 * number)
        got = [await first]
        while got[-1].sequence < count - 1:
            got.append(await anext(stream))
    await link.close()
    assert len(got) < count / 2, "the newest alone"
    assert len(got) + got[-1].coalesced == count
    assert {one.missed for one in got} == {0}


async def test_indications_in_the_connection_are_bounded(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    """A slow reader continues with the newest indications: the gateway's queue drops the oldest."""
    node, message, depth = ric.add_node("gnb-1", RLC_OID), bytes(40_000), 4
    async with (
        asyncio.timeout(30),
        E2GatewayClient(at(fast_gateway, server.address)) as gateway,
        aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER, queue_depth=depth)) as stream,
    ):
        first = asyncio.ensure_future(anext(stream))
        while not ric.subscriptions:
            await asyncio.sleep(0.001)
        # At full speed first, from which gRPC would learn to make room for more.
        for _ in range(500):
            node.report(RLC_OID, message)
            await (first if not first.done() else anext(stream))
        for _ in range(500):
            node.report(RLC_OID, message)
            await asyncio.sleep(0)
        await asyncio.sleep(0.1)
        waited = [await anext(stream)]
        while sum(1 + indication.missed for indication in waited) < 500:
            waited.append(await anext(stream))
        in_the_connection = (len(waited) - depth) * len(message)
        assert in_the_connection < 3 * WINDOW_BYTES


@pytest.mark.parametrize("node_type", NodeType)
def test_a_node_is_the_same_after_conversion(node_type: NodeType) -> None:
    node = Node("n", node_type, 1, 2, 3, (RanFunction(1, "1.2", 3, b"4"),))
    assert messages.node_from_pb(messages.node_to_pb(node)) == node


def test_unknown_enumerators_are_not_misread() -> None:
    assert messages.node_from_pb(pb.Node(type=99)).type is NodeType.UNKNOWN  # type: ignore[arg-type]
    assert messages.event_from_pb(pb.NodeEvent(kind=99)) is None  # type: ignore[arg-type]
    assert messages.answer_from_pb(pb.ControlAnswer(status=99)) is None  # type: ignore[arg-type]


async def test_a_gateway_that_starts_later_is_found(
    ric: FakeRic, fast_gateway: GatewaySettings
) -> None:
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, lambda now_us: b"")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = FakeGatewayServer(ric, port=port)
    async with (
        asyncio.timeout(10),
        E2GatewayClient(at(fast_gateway, server.address)) as gateway,
        aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)) as stream,
    ):
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.1)
        assert not gateway.connected
        await server.start()
        await first
        assert gateway.connected
    await server.stop()


async def test_the_stream_resumes_after_each_restart_of_the_gateway(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    ric.add_node("gnb-1", RLC_OID).report_every(RLC_OID, 1_000, lambda now_us: b"")
    async with (
        asyncio.timeout(20),
        E2GatewayClient(at(fast_gateway, server.address)) as gateway,
        aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)) as stream,
    ):
        for life in (1, 2, 3):
            indication = await anext(stream)
            while indication.subscription < life:
                indication = await anext(stream)
            await server.stop()
            with pytest.raises((GatewayUnavailable, NodeGone)):
                await gateway.control("gnb-1", RLC_OID, b"", b"")
            await server.start()


async def test_calls_that_a_gateway_ends_leave_no_tasks(
    ric: FakeRic, fast_gateway: GatewaySettings
) -> None:
    before = asyncio.all_tasks()
    async with FakeGatewayServer(ric) as server:
        node = ric.add_node("gnb-1", RLC_OID)
        link = GrpcLink(at(fast_gateway, server.address))
        request = SubscriptionRequest("gnb-1", RLC_OID, TRIGGER)
        async with asyncio.timeout(10), aclosing(link.indications(request)) as stream:
            first = asyncio.ensure_future(anext(stream))
            while not ric.subscriptions:
                await asyncio.sleep(0.001)
            node.report(RLC_OID, b"message")
            await first
            await server.stop()
            with pytest.raises(RicError):
                await anext(stream)
        async with asyncio.timeout(5):
            while any("request" in repr(task) for task in asyncio.all_tasks() - before):
                await asyncio.sleep(0.01)
        await link.close()


async def test_status_codes_become_typed_errors(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    node.refuse_subscriptions(RLC_OID, "period of 0 ms")
    async with E2GatewayClient(at(fast_gateway, server.address)) as gateway:
        with pytest.raises(SubscriptionRefused, match="period of 0 ms"):
            await anext(gateway.subscribe("gnb-1", RLC_OID, b""))
        with pytest.raises(RanFunctionUnknown):
            await gateway.control("gnb-1", TC_V1_OID, b"", b"")
        with pytest.raises(NodeGone):
            await gateway.control("gnb-2", TC_V1_OID, b"", b"")

        def leave(header: bytes, message: bytes) -> ControlAnswer:
            raise NodeGone("gnb-1", "left on the way")

        node.on_control(RLC_OID, leave)
        with pytest.raises(NodeGone, match="left on the way"):
            await gateway.control("gnb-1", RLC_OID, b"", b"")


async def test_the_link_raises_typed_errors_without_retrying(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    link = GrpcLink(at(fast_gateway, server.address))
    try:
        with pytest.raises(NodeGone):
            await anext(link.indications(SubscriptionRequest("gnb-2", RLC_OID)))
        with pytest.raises(RanFunctionUnknown):
            await anext(link.indications(SubscriptionRequest("gnb-1", TC_V1_OID)))
        pending = asyncio.ensure_future(
            anext(link.indications(SubscriptionRequest("gnb-1", RLC_OID)))
        )
        while not ric.subscriptions:
            await asyncio.sleep(0.001)
        node.break_streams()
        with pytest.raises(NodeGone):
            await pending
    finally:
        await link.close()


async def test_a_control_without_answer_times_out(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    node = ric.add_node("gnb-1", TC_V1_OID)

    async def silence(header: bytes, message: bytes) -> ControlAnswer:
        await asyncio.sleep(60)
        return ControlAnswer(True)

    node.on_control(TC_V1_OID, silence)
    async with E2GatewayClient(at(fast_gateway, server.address)) as gateway:
        with pytest.raises(ControlTimeout):
            await gateway.control("gnb-1", TC_V1_OID, b"", b"", timeout_s=0.05)


async def test_messages_may_exceed_the_default_limit_of_grpc(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    node = ric.add_node("gnb-1", RLC_OID)
    large = bytes(8 * 1024 * 1024)
    async with (
        asyncio.timeout(10),
        E2GatewayClient(at(fast_gateway, server.address)) as gateway,
        aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)) as stream,
    ):
        first = asyncio.ensure_future(anext(stream))
        while not ric.subscriptions:
            await asyncio.sleep(0.001)
        node.report(RLC_OID, large)
        assert len((await first).message) == len(large)


async def test_closing_the_client_under_a_reader_is_an_error_not_a_cancellation(
    ric: FakeRic, server: FakeGatewayServer, fast_gateway: GatewaySettings
) -> None:
    ric.add_node("gnb-1", RLC_OID)
    link = GrpcLink(at(fast_gateway, server.address))
    watch = link.watch_nodes()
    await anext(watch)
    pending = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0.01)
    await link.close()
    with pytest.raises(GatewayUnavailable):
        await pending


# ---------------------------------------------------------------------- garbage


def raw_server(answers: dict[str, Any]) -> GrpcServer:
    """A server whose answers are bytes as given, or a status code to abort with."""

    def handler(name: str) -> Handler:
        async def answer(_: Any, call: Call) -> bytes | None:
            if isinstance(answers[name], grpc.StatusCode):
                call.abort(answers[name], "as configured")
            if name == "ListNodes":
                return bytes(answers[name])
            await call.write(answers[name])
            await asyncio.sleep(60)
            return None

        return answer

    return GrpcServer(
        SERVICE,
        {name: ("read", handler(name)) for name in SERVICE.methods_by_name},
        GrpcServerSettings(listen="127.0.0.1:0"),
        security=Security(),
    )


GOOD_LIST = pb.ListNodesResponse(
    nodes=[pb.Node(id="gnb-1", ran_functions=[pb.RanFunction(id=143, oid=RLC_OID)])]
).SerializeToString()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"\xff\xff\xff\xff", RicError),
        (b"\x00", RicError),
        (grpc.StatusCode.UNIMPLEMENTED, GatewayProtocolError),
        (grpc.StatusCode.INTERNAL, GatewayProtocolError),
        (grpc.StatusCode.PERMISSION_DENIED, AccessDenied),
        (grpc.StatusCode.UNAUTHENTICATED, AccessDenied),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, GatewayUnavailable),
    ],
)
async def test_garbage_and_unexpected_codes_are_typed_errors(
    answer: Any, error: type[Exception], fast_gateway: GatewaySettings
) -> None:
    answers = {"ListNodes": answer, "WatchNodes": answer, "Subscribe": answer, "Control": answer}
    server = raw_server(answers)
    await server.start()
    link = GrpcLink(at(fast_gateway, f"127.0.0.1:{server.port}"))
    try:
        with pytest.raises(error):
            await link.list_nodes()
        with pytest.raises(error):
            await anext(link.watch_nodes())
        with pytest.raises(error):
            await anext(link.indications(SubscriptionRequest("gnb-1", RLC_OID)))
        with pytest.raises(error):
            await link.control("gnb-1", RLC_OID, b"", b"", 1.0)
    finally:
        await link.close()
        await server.stop(0)


class EndedCall:
    """A call that its server has ended while gRPC's client writes a request."""

    def __init__(self, requests: AsyncIterator[pb.ControlRequest], **_: Any) -> None:
        self._requests = requests

    async def __aiter__(self) -> AsyncIterator[pb.ControlResponse]:
        async for _ in self._requests:
            raise calls.rpc_error(grpc.StatusCode.INTERNAL, "Internal error from Core")
            yield

    def cancel(self) -> bool:
        return True


async def test_an_error_of_grpc_itself_is_not_one_of_the_gateway() -> None:
    """The gateway's status is lost in it; what is asked again learns it."""
    call = calls.ControlCall(SimpleNamespace(Control=EndedCall))  # type: ignore[arg-type]
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call.control(pb.ControlRequest(node_id="gnb-1"), 5.0)
    assert raised.value.code() is grpc.StatusCode.ABORTED
    assert call.ended


async def test_a_gateway_that_sends_garbage_is_retried(fast_gateway: GatewaySettings) -> None:
    indication = pb.Indication(sequence=1, message=b"sense")
    answers: dict[str, Any] = {
        "ListNodes": GOOD_LIST,
        "WatchNodes": pb.NodeEvent().SerializeToString(),
        "Subscribe": b"\xff\xff",
        "Control": pb.ControlResponse(request_id=1, answer={}).SerializeToString(),
    }
    server = raw_server(answers)
    await server.start()
    try:
        async with (
            asyncio.timeout(10),
            E2GatewayClient(at(fast_gateway, f"127.0.0.1:{server.port}")) as gateway,
            aclosing(gateway.subscribe("gnb-1", RLC_OID, TRIGGER)) as stream,
        ):
            first = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.1)
            # Each retry opens another call, whose first subscription has number 1.
            event = pb.SubscriptionEvent(subscription_id=1, indication=indication)
            answers["Subscribe"] = pb.SubscribeResponse(events=[event]).SerializeToString()
            got = await first
            assert got.message == b"sense"
            assert got.oid == RLC_OID
            assert gateway.metrics.subscriptions["gnb-1", RLC_OID, "lost"] >= 1
            with pytest.raises(GatewayProtocolError, match="control status 0"):
                await gateway.control("gnb-1", RLC_OID, b"", b"")
    finally:
        await server.stop(0)


# -------------------------------------------------------------------------- TLS


async def test_mutual_tls(ric: FakeRic, certificates: Path, fast_gateway: GatewaySettings) -> None:
    ric.add_node("gnb-1", RLC_OID)
    with_certificate = TlsSettings(
        enabled=True,
        ca_file=certificates / "ca.pem",
        certificate_file=certificates / "xapp.pem",
        key_file=certificates / "xapp.key",
        server_name="gateway",
    )
    without = TlsSettings(enabled=True, ca_file=certificates / "ca.pem", server_name="gateway")
    served = FakeGatewayServer(
        ric,
        certificate_file=certificates / "gateway.pem",
        key_file=certificates / "gateway.key",
        client_ca_file=certificates / "ca.pem",
    )
    async with served as server:
        settings = at(fast_gateway, server.address)
        for tls, refused in ((with_certificate, False), (without, True), (TlsSettings(), True)):
            link = GrpcLink(settings.model_copy(update={"tls": tls}))
            try:
                if refused:
                    with pytest.raises(GatewayUnavailable):
                        await link.list_nodes()
                else:
                    assert [node.id for node in await link.list_nodes()] == ["gnb-1"]
            finally:
                await link.close()


@pytest.mark.parametrize("content", [None, b"", b"not pem"])
def test_the_error_names_a_certificate_that_cannot_be_used(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    settings = GatewaySettings(tls=TlsSettings(enabled=True, ca_file=path))
    with pytest.raises(SettingsError, match=r"gateway\.tls\.ca_file: .*ca\.pem: .*; expected"):
        open_channel(settings, settings.address)


# ---------------------------------------------------------------------- how gRPC is loaded


PROGRAM = f"""
import os
import ric, grpc
print(repr(os.environ.get({VARIABLE!r})))
grpc.insecure_channel("127.0.0.1:1").close()
"""
_UNKNOWN = "Unknown experiment"


def loaded(given: str | None) -> tuple[str, str]:
    """The variable in the environment afterwards, and the output on stderr."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if given is not None:
        environment[VARIABLE] = given
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip(), done.stderr


def test_the_core_gets_its_option_and_child_processes_do_not() -> None:
    left, printed = loaded(None)
    assert left == "None"
    assert _UNKNOWN not in printed


@pytest.mark.parametrize("given", ["", "-no_such_thing"])
def test_the_environment_takes_precedence(given: str) -> None:
    left, printed = loaded(given)
    assert left == repr(given)
    assert (_UNKNOWN in printed) == bool(given)
