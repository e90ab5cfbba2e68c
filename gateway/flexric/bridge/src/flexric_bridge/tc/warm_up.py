"""A transaction without a node, so that the first real one is as fast as those after it.

Python and the codec initialise themselves at first use: a millisecond, in what may be the only
transaction of a quiet day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import e2sm_tc
from e2sm_tc import v0

from flexric_bridge.sdk import SdkError
from flexric_bridge.settings import Bearer, TcSettings
from flexric_bridge.tc import in_force
from flexric_bridge.tc.messages import bearer_id
from flexric_bridge.tc.ran_function import Pending, RanFunction

_NODE: Final = "warm-up"
_PIPELINE: Final = e2sm_tc.pipeline("fq_codel", {"queues": 8, "scheduler": "round_robin"})
_HEADER: Final = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 0})


class _Port:
    """Acknowledges everything and sends nothing."""

    def __init__(self) -> None:
        self.acknowledged = 0

    def now_us(self) -> int:
        return 0

    async def admit(self, controls: int, *, safe: bool) -> None:
        del controls, safe

    async def controls(
        self, header: bytes, groups: Sequence[Sequence[bytes]], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        del header, safe
        count = sum(map(len, groups))
        self.acknowledged += count
        return [True] * count, None

    def changed(self) -> None:
        pass

    def publish(self, events: Sequence[Mapping[str, Any]]) -> None:
        del events


async def warm_up() -> int:
    """Change a simulated node to a pipeline of hashed CoDel queues and back; returns the number of
    controls."""
    port = _Port()
    settings = TcSettings(bearers=(Bearer(node=_NODE, rnti=1, drb=1),))
    function = RanFunction(_NODE, settings, port)
    function.bearer.assume_configured()
    function.in_force = in_force.found(v0.State.safe(), 1)
    for change in ({"replace": _PIPELINE}, "safe"):
        pending = function.receive(_HEADER, _transaction(change))
        if isinstance(pending, Pending):
            await function.transact(pending)
    return port.acknowledged


def _transaction(change: Any) -> bytes:
    content = {
        "bearer": bearer_id(1, 1),
        "expected_revision": None,
        "lease_ms": None,
        "dry_run": False,
        "change": change,
    }
    return e2sm_tc.encode("control", {"transaction": content})
