"""The client of a call or request, and what it may do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Final

import sojourn_serving
from sojourn_serving import Account, Guard

from ric.access.refusal import Refusal


class Right(StrEnum):
    """What a client may do; none includes another."""

    READ = "read"
    """Node list, metrics, pages, A1 GET, `Predict`, gRPC reflection."""
    SUBSCRIBE = "subscribe"
    """Indications of E2 nodes and the forecast stream."""
    CONTROL = "control"
    """RIC controls, changes of A1 policies."""


ALL_NODES: Final = "*"
"""Node id for what concerns all nodes: a client needs a pattern that matches every node."""


class Caller:
    """A client; every question is answered by the access file then in force."""

    __slots__ = ("_client", "_guard", "account", "audited", "sees")

    def __init__(self, client: sojourn_serving.Caller, guard: Guard) -> None:
        """`guard` is that of its server."""
        self._client = client
        self._guard = guard
        self.account: Account = client.account
        """The client whose limits count."""
        self.audited: bool = client.audited
        """Whether what it does is logged."""
        self.sees: Callable[[str], bool] = client.sees
        """Whether a node is listed for it."""

    @property
    def name(self) -> str:
        """Its name by the access file or its certificate; empty without."""
        return self._client.name

    @property
    def address(self) -> str:
        """Address of its connection, `host:port` or `unix`."""
        return self._client.address

    def refusal(self, right: str, node_id: str = "", *, what: str = "") -> Refusal | None:
        """Why it may not use a `Right` (at a node), counted and audited; `None` if it may.

        `what` is what it asked for, for the audit log.
        """
        refusal = self._client.refusal(right, node_id, what=what)
        return None if refusal is None else Refusal(refusal.reason, refusal.detail)

    def watch(
        self, right: str, node_id: str, on_lost: Callable[[Refusal], None]
    ) -> AbstractContextManager[None]:
        """Call `on_lost` when a reload of the access file takes the right."""

        def lost(refusal: sojourn_serving.Refusal) -> None:
            on_lost(Refusal(refusal.reason, refusal.detail))

        return self._guard.watch(self._client, Right(right).value, node_id, lost)

    def audit(
        self,
        action: str,
        outcome: str,
        *,
        node: str = "",
        ran_function: str = "",
        what: str = "",
        limited: bool = False,
    ) -> None:
        """Write a line of the audit log; `limited` as refusals are, for what had no effect."""
        self._client.audit(
            action, outcome, node=node, ran_function=ran_function, what=what, limited=limited
        )
