"""A RIC to test xApps against, without a network and without waiting; needs `sojourn-ric[testing]`.

`FakeRic` has nodes, reports and control answers. `FakeRic.link()` is an in-memory link, so the xApp
under test uses the real `E2GatewayClient` including reconnection::

    from contextlib import aclosing
    from ric.sm import RLC_OID, rlc
    from ric.testing import FakeRic, run_virtual

    async def scenario() -> None:
        ric = FakeRic()
        node = ric.add_node("gnb-1", RLC_OID)
        node.report_every(RLC_OID, 1_000, lambda now_us: rlc.encode(rlc.zeros(2), now_us))
        async with ric.client() as gateway:
            stream = gateway.subscribe("gnb-1", RLC_OID, rlc.event_trigger(period_ms=1))
            async with aclosing(stream):
                indication = await anext(stream)
        assert len(rlc.decode(indication.message).records) == 2

    run_virtual(scenario())

`FakeNode.on_control` answers controls and `FakeRic.controls` records them; `remove_node`, `down`,
`break_streams`, `skip` and `refuse_subscriptions` inject faults.

`run_virtual` runs a coroutine, and `on_virtual_time` a test, on an event loop whose time jumps to
the next timer once every task waits. On an ordinary event loop the same fake runs in real time.
`FakeGatewayServer` serves a `FakeRic` over gRPC on a free port, for faults that need a network.
"""

from ric.testing.fake_ric import (
    ControlHandler,
    FakeLink,
    FakeNode,
    FakeRic,
    RecordedControl,
    ran_function,
)
from ric.testing.fake_server import FakeGatewayServer
from ric.testing.virtual_time import LoopClock, VirtualTimeLoop, on_virtual_time, run_virtual

__all__ = [
    "ControlHandler",
    "FakeGatewayServer",
    "FakeLink",
    "FakeNode",
    "FakeRic",
    "LoopClock",
    "RecordedControl",
    "VirtualTimeLoop",
    "on_virtual_time",
    "ran_function",
    "run_virtual",
]
