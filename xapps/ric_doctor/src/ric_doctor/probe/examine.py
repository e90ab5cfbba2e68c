"""The whole examination, in bounded time: each part is queried once, with a timeout."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import grpc.aio
from pydantic import Field, field_validator
from ric.clock import Clock, SystemClock
from ric.core_wait import CoreWaitMeter
from ric.e2 import Node
from ric.errors import GatewayError
from ric.gateway import GrpcLink
from ric.settings import (
    ClientSettings,
    GatewaySettings,
    ProgramSettings,
    Section,
    TlsSettings,
)

from ric_doctor.facts import Facts, Nodes, PortState, Reach
from ric_doctor.probe.endpoint import HttpClient, url_of
from ric_doctor.probe.forecaster import reach_forecaster
from ric_doctor.probe.node import NodeFacts, NodeProbe, Periods
from ric_doctor.probe.port import check_port


class ForecasterSettings(ClientSettings):
    """The forecast stream."""

    section: ClassVar[str] = "forecaster"

    address: str | None = Field(
        default=None,
        description="Address of the forecast stream, host:port; not examined if unset.",
    )


class HttpSettings(Section):
    """TLS and token towards the metrics endpoints with https addresses."""

    tls: TlsSettings = Field(
        default_factory=TlsSettings, description="TLS towards https addresses."
    )
    token_file: Path | None = Field(
        default=None,
        description="File whose first line is the bearer token sent to all of them that are on this"
        " machine or have an https address.",
    )


class DoctorSettings(ProgramSettings):
    """Diagnose a deployment from where an xApp runs."""

    gateway: GatewaySettings = Field(
        default_factory=GatewaySettings, title="Gateway", description="The E2 gateway."
    )
    forecaster: ForecasterSettings = Field(
        default_factory=ForecasterSettings, title="Forecaster", description="The forecast stream."
    )
    http: HttpSettings = Field(
        default_factory=HttpSettings, title="Metrics", description="TLS and token for metrics."
    )
    metrics: tuple[str, ...] = Field(
        default=(),
        description="Metrics endpoints of gateway and xApps to reach, separated by commas:"
        " host:port or URL.",
    )

    @field_validator("metrics", mode="before")
    @classmethod
    def _metrics(cls, given: object) -> object:
        if isinstance(given, str):
            return tuple(one.strip() for one in given.split(",") if one.strip())
        return given

    @field_validator("metrics")
    @classmethod
    def _urls(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(url_of(one) for one in given)


@dataclass(frozen=True, slots=True)
class Patience:
    """Bounds of the examination."""

    seconds: float = 3.0
    """Length of the examination of each node, and of the forecaster."""
    nodes: int = 4
    """Nodes that are subscribed to, at most."""
    only: str | None = None
    """The one node to subscribe to."""
    periods: Periods = field(default_factory=Periods)
    control: bool = True
    """Send a dry run to each node."""


async def examine(
    settings: DoctorSettings,
    patience: Patience,
    *,
    clock: Clock | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Facts:
    """All facts; `progress` is called with each step.

    Raises `SettingsError` for a certificate, key or token that cannot be read.
    """
    clock = clock or SystemClock()
    timeout_s = settings.gateway.connect_timeout_s
    http = HttpClient(settings.http.tls, settings.http.token_file)
    progress(f"gateway {settings.gateway.address}")
    link = GrpcLink(settings.gateway)
    try:
        facts = Facts(await _reach(link, settings.gateway, clock))
        if facts.gateway.usable:
            facts = await _behind(
                link, settings.gateway, patience, clock, facts=facts, progress=progress
            )
    finally:
        await link.close()
    if settings.forecaster.address is not None:
        progress(f"forecaster {settings.forecaster.address}")
        forecaster = await reach_forecaster(
            settings.forecaster,
            settings.forecaster.address,
            clock,
            timeout_s=timeout_s,
            seconds=patience.seconds,
        )
        facts = replace(facts, forecaster=forecaster)
    endpoints = [await http.reach(url, timeout_s) for url in settings.metrics]
    return replace(facts, metrics=tuple(endpoints))


async def _behind(
    link: GrpcLink,
    settings: GatewaySettings,
    patience: Patience,
    clock: Clock,
    *,
    facts: Facts,
    progress: Callable[[str], None],
) -> Facts:
    """`facts` and what is behind a gateway that answers."""
    nodes = await _nodes(link, settings.connect_timeout_s)
    wanted = [node for node in nodes.listed if patience.only in (None, node.id)]
    seen = NodeFacts()
    meter = CoreWaitMeter()
    before = meter.read()
    for node in wanted[: patience.nodes]:
        progress(f"node {node.id}, {patience.seconds:g} s")
        timeout_s = settings.control_timeout_s
        probe = NodeProbe(link, clock, node, patience.periods, timeout_s, patience.control)
        one = await probe.listen(patience.seconds)
        seen.streams += one.streams
        seen.dry_runs += one.dry_runs
        seen.definitions += one.definitions
    wait = meter.read()
    return replace(
        facts,
        nodes=replace(nodes, only=patience.only),
        core_wait_us=None if wait is None or before is None else wait.since(before).mean_us,
        passed_over=tuple(node.id for node in wanted[patience.nodes :]),
        definitions=tuple(seen.definitions),
        streams=tuple(seen.streams),
        dry_runs=tuple(seen.dry_runs),
    )


async def _reach(link: GrpcLink, settings: GatewaySettings, clock: Clock) -> Reach:
    reach = await check_port(settings.address, settings.tls, settings.connect_timeout_s)
    if reach.port is not PortState.ANSWERS:
        return reach
    began_ns = clock.monotonic_ns()
    try:
        await link.list_nodes()
    except GatewayError as error:
        cause = error.__cause__
        code = cause.code().name if isinstance(cause, grpc.aio.AioRpcError) else "UNKNOWN"
        return replace(reach, code=code, detail=str(error))
    return replace(reach, code="OK", answered_us=(clock.monotonic_ns() - began_ns) // 1000)


async def _nodes(link: GrpcLink, timeout_s: float) -> Nodes:
    try:
        listed = await link.list_nodes()
    except GatewayError as error:
        return Nodes(watched=None, watch_error=str(error))
    watched: list[str] = []
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s), aclosing(link.watch_nodes()) as events:
                while not _all_in(listed, watched):
                    watched.append((await anext(events)).node.id)
    except (GatewayError, StopAsyncIteration) as error:
        return Nodes(listed, None, str(error) or "the node watch ended at once")
    return Nodes(listed, tuple(watched))


def _all_in(listed: tuple[Node, ...], watched: list[str]) -> bool:
    return {node.id for node in listed} <= set(watched)
