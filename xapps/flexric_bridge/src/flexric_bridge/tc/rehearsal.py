"""What is done once so that the first transaction is as fast as those after it.

Python and the codec do at first use what they never do again: a millisecond, in the middle of what
may be the only transaction of a quiet day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import e2sm_tc

from flexric_bridge.sdk import SdkError
from flexric_bridge.settings import Bearer, TcSettings
from flexric_bridge.tc import ledger, v0
from flexric_bridge.tc.front import Asked, Front

_NODE: Final = "rehearsal"
_PIPELINE: Final = e2sm_tc.pipeline("fq_codel", {"queues": 8, "scheduler": "round_robin"})
_HEADER: Final = e2sm_tc.encode("control-header", {"style": 1, "correlation_id": 0})


class _Port:
    """Acknowledges everything, and sends nothing."""

    def __init__(self) -> None:
        self.sent = 0

    def now_us(self) -> int:
        return 0

    async def admit(self, controls: int, *, safe: bool) -> None:
        del controls, safe

    async def controls(
        self, header: bytes, stages: Sequence[Sequence[bytes]], *, safe: bool
    ) -> tuple[list[bool], SdkError | None]:
        del header, safe
        count = sum(map(len, stages))
        self.sent += count
        return [True] * count, None

    def changed(self) -> None:
        pass

    def tell(self, events: Sequence[Mapping[str, Any]]) -> None:
        del events


async def rehearse() -> int:
    """Lead a scratch node to a pipeline of hashed CoDel queues and back; returns the controls that
    a node would have got."""
    port = _Port()
    front = Front(_NODE, TcSettings(bearers=(Bearer(node=_NODE, rnti=1, drb=1),)), port)
    front.do_without_rlc()
    front.entry = ledger.found(v0.safe(), 1)
    for change in ({"replace": _PIPELINE}, "safe"):
        asked = front.receive(_HEADER, _transaction(change))
        if isinstance(asked, Asked):
            await front.transact(asked)
    return port.sent


def _transaction(change: Any) -> bytes:
    content = {
        "bearer": {"ue": {"rnti": 1}, "drb": 1},
        "expected_revision": None,
        "lease_ms": None,
        "dry_run": False,
        "change": change,
    }
    return e2sm_tc.encode("control", {"transaction": content})
