"""`/healthz`, `/readyz` and `/metrics` over HTTP, and what being ready means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from ric.clock import Clock
from ric.metrics import GatewayMetrics
from ric.settings import split_address

_REQUEST_TIMEOUT_S: Final = 5.0
_REQUEST_BYTES_MAX: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold; `detail` says how it stands."""

    ok: bool
    detail: str


class Readiness:
    """Ready means: the gateway is connected, an indication is fresh, and what the xApp adds."""

    def __init__(self, metrics: GatewayMetrics, clock: Clock, fresh_within_s: float) -> None:
        self._metrics = metrics
        self._clock = clock
        self._fresh_within_s = fresh_within_s
        self._extra: dict[str, Callable[[], Condition]] = {}

    def require(self, name: str, condition: Callable[[], Condition]) -> None:
        """One condition more, asked at every probe."""
        self._extra[name] = condition

    def conditions(self) -> dict[str, Condition]:
        """How each condition stands now."""
        return {
            "gateway": self._gateway(),
            "indications": self._indications(),
            **{name: condition() for name, condition in self._extra.items()},
        }

    @property
    def ready(self) -> bool:
        """Whether all conditions hold."""
        return all(condition.ok for condition in self.conditions().values())

    def _gateway(self) -> Condition:
        connected = self._metrics.connected
        return Condition(connected, "connected" if connected else "not connected")

    def _indications(self) -> Condition:
        last_us = self._metrics.last_handled_at_us
        if last_us == 0:
            return Condition(False, "none yet")
        age_s = (self._clock.now_us() - last_us) / 1e6
        return Condition(
            age_s <= self._fresh_within_s,
            f"newest is {age_s:.3f} s old, at most {self._fresh_within_s:g} s wanted",
        )


class HealthServer:
    """A small HTTP/1.1 server, one request a connection.

    `/healthz` answers 200 as long as the event loop turns; `/readyz` 200 or 503 with the
    conditions as JSON; `/metrics` the registry in the format the scraper asks for.
    """

    def __init__(self, registry: CollectorRegistry, readiness: Readiness) -> None:
        self._registry = registry
        self._readiness = readiness
        self._server: asyncio.Server | None = None

    async def start(self, listen: str) -> str:
        """Listen on `host:port`; returns the address in use, port 0 resolved.

        Raises `OSError` when the address cannot be had.
        """
        host, port = split_address(listen)
        if host.startswith("unix:"):
            self._server = await asyncio.start_unix_server(
                self._serve, host.removeprefix("unix:"), limit=_REQUEST_BYTES_MAX
            )
            return listen
        self._server = await asyncio.start_server(self._serve, host, port, limit=_REQUEST_BYTES_MAX)
        bound = self._server.sockets[0].getsockname()
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        return f"{shown}:{bound[1]}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except asyncio.LimitOverrunError:
            writer.write(_response(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head too large\n"))
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            # The client left or dawdles; there is nobody to tell.
            pass
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        lines = head.decode("latin-1").split("\r\n")
        request = lines[0].split(" ")
        if len(request) != 3 or not request[2].startswith("HTTP/1."):
            return _response(HTTPStatus.BAD_REQUEST, "not HTTP/1.1\n")
        method, target, _ = request
        body = self._resource(target.split("?")[0], _header(lines, "accept"))
        if method not in ("GET", "HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "GET or HEAD\n")
        return body.split(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else body

    def _resource(self, path: str, accept: str) -> bytes:
        if path == "/metrics":
            encode, content_type = choose_encoder(accept)
            return _response(HTTPStatus.OK, encode(self._registry), content_type)
        if path == "/healthz":
            return _response(HTTPStatus.OK, "ok\n")
        if path == "/readyz":
            conditions = self._readiness.conditions()
            ready = all(condition.ok for condition in conditions.values())
            shown = {
                "ready": ready,
                "conditions": {
                    name: {"ok": condition.ok, "detail": condition.detail}
                    for name, condition in conditions.items()
                },
            }
            status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
            return _response(status, json.dumps(shown) + "\n", "application/json")
        return _response(HTTPStatus.NOT_FOUND, "try /metrics, /healthz or /readyz\n")


def _header(lines: list[str], name: str) -> str:
    for line in lines[1:]:
        key, _, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return ""


def _response(
    status: HTTPStatus, body: str | bytes, content_type: str = "text/plain; charset=utf-8"
) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(raw)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + raw
