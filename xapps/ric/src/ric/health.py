"""`/healthz`, `/readyz` and `/metrics` over HTTP, and the conditions of readiness."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from prometheus_client import CollectorRegistry
from sojourn_serving import SCRAPES

from ric.access import Right
from ric.clock import Clock
from ric.http import HttpServer, Request, Response, text_response
from ric.metrics import GatewayMetrics
from ric.scrape import Scrape


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of readiness and its present state in words."""

    ok: bool
    detail: str
    degraded: bool = False
    """It holds, but something is wrong, as the detail says."""


class Readiness:
    """The conditions under which a program is ready; each is evaluated at every probe."""

    def __init__(self) -> None:
        self._conditions: dict[str, Callable[[], Condition]] = {}
        self._notes: dict[str, Callable[[], str | None]] = {}

    def note(self, name: str, why: Callable[[], str | None]) -> None:
        """Show why something is degraded, as long as `why` gives a reason, beside the conditions:
        the program is ready all the same."""
        self._notes[name] = why

    def degraded(self) -> dict[str, str]:
        """The present reasons of what is degraded, those of conditions that hold included."""
        found = {name: why() for name, why in self._notes.items()}
        reasons = {name: reason for name, reason in found.items() if reason is not None}
        conditions = self.conditions().items()
        return {name: each.detail for name, each in conditions if each.degraded} | reasons

    def require(self, name: str, condition: Callable[[], Condition]) -> None:
        """Add a condition."""
        self._conditions[name] = condition

    def excuse(self, name: str, why: Callable[[], str | None]) -> None:
        """Let the condition `name` hold as well while `why` gives a reason."""
        condition = self._conditions[name]

        def excused() -> Condition:
            reason = why()
            return condition() if reason is None else Condition(True, reason)

        self._conditions[name] = excused

    def require_gateway(self, metrics: GatewayMetrics, clock: Clock, fresh_within_s: float) -> None:
        """Add those of an xApp: the gateway is connected, the newest indication is fresh."""

        def connected() -> Condition:
            if metrics.connected:
                return Condition(True, "connected")
            return Condition(False, ": ".join(filter(None, ("not connected", metrics.problem))))

        def fresh() -> Condition:
            last_us = metrics.last_handled_at_us
            if last_us == 0:
                return Condition(False, "none yet")
            age_s = (clock.now_us() - last_us) / 1e6
            return Condition(
                age_s <= fresh_within_s,
                f"the newest is {age_s:.3f} s old, limit {fresh_within_s:g} s",
            )

        self.require("gateway", connected)
        self.require("indications", fresh)

    def conditions(self) -> dict[str, Condition]:
        """The present state of each condition."""
        return {name: condition() for name, condition in self._conditions.items()}

    @property
    def ready(self) -> bool:
        """Whether all conditions hold."""
        return all(condition.ok for condition in self.conditions().values())


def add_health_routes(
    server: HttpServer, registry: CollectorRegistry, readiness: Readiness
) -> None:
    """Add `/healthz`, `/readyz` and `/metrics`.

    `/healthz` is 200 while the event loop runs; `/readyz` is 200 or 503, with the conditions as
    JSON, and with what is degraded; `/metrics` is the registry in the format the scraper accepts.
    Probes need no right: a kubelet has neither certificate nor token.
    """

    async def readyz(_: Request) -> Response:
        conditions = readiness.conditions()
        ready = all(condition.ok for condition in conditions.values())
        shown: dict[str, object] = {
            "ready": ready,
            "conditions": {
                name: {"ok": each.ok, "detail": each.detail} for name, each in conditions.items()
            },
        }
        if degraded := readiness.degraded():
            shown["degraded"] = degraded
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return text_response(json.dumps(shown) + "\n", "application/json", status=status)

    server.route("GET", "/healthz", _healthz, None)
    server.route("GET", "/readyz", readyz, None)
    server.route("GET", "/metrics", Scrape(registry).answer, Right.READ, rate=SCRAPES)


async def _healthz(_: Request) -> Response:
    return text_response("ok\n")
