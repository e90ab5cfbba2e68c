"""The xApp SDK of Sojourn.

A complete xApp::

    from contextlib import aclosing
    from ric import Node, XApp, XAppSettings, for_each_node, load_settings, run_xapp
    from ric.sm import RLC_OID, rlc

    async def main(app: XApp[XAppSettings]) -> None:
        async def watch(node: Node) -> None:
            trigger = rlc.event_trigger(period_ms=1)
            async with aclosing(app.gateway.subscribe(node.id, RLC_OID, trigger)) as indications:
                async for indication in indications:
                    bearers = rlc.decode(indication.message).records
                    app.log.info("queues", bytes=bearers["txbuf_occ_bytes"].tolist())

        await for_each_node(app.gateway, RLC_OID, watch)

    raise SystemExit(run_xapp("my-xapp", load_settings(XAppSettings, prog="my-xapp"), main))

A report of the queue of a bearer, from a fake RIC:

>>> import asyncio
>>> from contextlib import aclosing
>>> from ric.sm import RLC_OID, rlc
>>> from ric.testing import FakeRic
>>> async def queued_bytes() -> list[int]:
...     fake, bearers = FakeRic(), rlc.zeros(1)
...     bearers["txbuf_occ_bytes"] = 1500
...     node = fake.add_node("gnb-1", RLC_OID)
...     node.report_every(RLC_OID, 1_000, lambda now_us: rlc.encode(bearers, now_us))
...     async with fake.client() as gateway:
...         trigger = rlc.event_trigger(period_ms=1)
...         async with aclosing(gateway.subscribe("gnb-1", RLC_OID, trigger)) as indications:
...             indication = await anext(indications)
...     return rlc.decode(indication.message).records["txbuf_occ_bytes"].tolist()
>>> asyncio.run(queued_bytes())
[1500]

Modules:

- `ric.e2`: the vocabulary (nodes, indications, control answers) and the `E2Gateway` interface.
- `ric.gateway`: the client of the E2 gateway; back-off, resubscription, node churn.
- `ric.sm`: service models as NumPy structured arrays and typed reports.
- `ric.lifecycle`, `ric.http`, `ric.health`, `ric.access`, `ric.logs`, `ric.metrics`,
  `ric.settings`, `ric.flags`, `ric.state_file`, `ric.grpc_server`, `ric.version`: the shell of
  an xApp or another long-running program.
- `ric.testing`: a fake RIC, virtual time.
- `ric.errors`: every error of the SDK.
"""

import ric._grpc  # noqa: F401 - before anything else loads gRPC
from ric.e2 import (
    ControlAnswer,
    E2Gateway,
    Indication,
    KpmReport,
    KpmUe,
    Node,
    NodeEvent,
    NodeEventKind,
    NodeType,
    RanFunction,
    Reading,
    SNssai,
    SubscriptionRequest,
)
from ric.gateway import E2GatewayClient, for_each_node
from ric.lifecycle import XApp, run_xapp
from ric.settings import XAppSettings, load_settings

__all__ = [
    "ControlAnswer",
    "E2Gateway",
    "E2GatewayClient",
    "Indication",
    "KpmReport",
    "KpmUe",
    "Node",
    "NodeEvent",
    "NodeEventKind",
    "NodeType",
    "RanFunction",
    "Reading",
    "SNssai",
    "SubscriptionRequest",
    "XApp",
    "XAppSettings",
    "for_each_node",
    "load_settings",
    "run_xapp",
]
