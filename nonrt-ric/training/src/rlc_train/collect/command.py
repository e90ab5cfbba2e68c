"""Records a node of an E2 gateway as runs of a data set.

RLC reports each millisecond, and MAC reports and TC pipeline status where the node has them, the
same as `rlc-train dataset` records of the lab. A run is written each --segment-s; stopping the
command writes the last one. The node's clock gives the times.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.metadata
import math
import signal
import sys
from pathlib import Path
from typing import Final

from ric import logs
from ric.errors import RicError
from ric.gateway import E2GatewayClient
from ric.gateway.link import GatewayLink
from ric.settings import (
    GatewaySettings,
    LogSettings,
    ProgramSettings,
    add_settings_arguments,
    settings_from,
)
from rlc_dataset import Provenance

from rlc_train.collect.session import Session, Wish, partition_name
from rlc_train.errors import TrainError

NAME: Final = "collect"


class CollectSettings(ProgramSettings):
    """The E2 gateway to record from."""

    gateway: GatewaySettings = GatewaySettings()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--out", type=Path, required=True, help="directory of the data set")
    parser.add_argument("--duration-s", type=float, required=True, help="how long to record")
    parser.add_argument("--node", default="", help="node id (default: the first that has RLC)")
    parser.add_argument("--cell", default="", help="partition (default: the node's id)")
    parser.add_argument(
        "--mobility", default="unknown", help="partition: how the UEs move (default: unknown)"
    )
    parser.add_argument(
        "--segment-s", type=float, default=60.0, help="length of a run (default: %(default)g)"
    )
    parser.add_argument(
        "--stall-s",
        type=float,
        default=10.0,
        help="give up after so long without a report (default: %(default)g)",
    )
    add_settings_arguments(parser, CollectSettings)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    logs.configure(LogSettings(level="warning"))
    wish = _wish(arguments)
    try:
        settings = settings_from(CollectSettings, arguments).gateway
        session = asyncio.run(record(settings, wish))
    except RicError as error:
        raise TrainError(str(error)) from error
    counts = session.recorder.counts
    print(
        f"{wish.root}: {len(session.written)} runs of {counts.reports} RLC reports,"
        f" {counts.missing} instants missing, {counts.twice} twice, {counts.late} late,"
        f" {session.missed} lost on the way, {session.bad_messages} refused,"
        f" {counts.odd_values} odd values"
    )
    return 0 if session.written else 1


async def record(
    settings: GatewaySettings, wish: Wish, *, link: GatewayLink | None = None
) -> Session:
    """Records as `wish` says; a first SIGINT or SIGTERM ends it early and well.

    `link` stands for the gateway in tests.
    """
    async with E2GatewayClient(settings, link=link) as gateway:
        session = Session(gateway, wish, _tell)
        recording = asyncio.create_task(session.run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Another platform, or not the main thread: the default handling stays.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, recording.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await recording
        return session


def _wish(arguments: argparse.Namespace) -> Wish:
    for name in ("duration_s", "segment_s", "stall_s"):
        value = getattr(arguments, name)
        if not (math.isfinite(value) and value > 0):
            flag = name.replace("_", "-")
            raise TrainError(f"--{flag}: {value:g} is not above 0")
    for name in ("cell", "mobility"):
        value = getattr(arguments, name)
        if value and partition_name(value) != value:
            raise TrainError(
                f"--{name}: {value!r} is not a directory name of letters, digits, '.', '_', '-'"
            )
    try:
        version = importlib.metadata.version("sojourn-training")
    except importlib.metadata.PackageNotFoundError:
        # Run from its sources.
        version = "unknown"
    return Wish(
        root=arguments.out,
        cell=arguments.cell,
        mobility=arguments.mobility or "unknown",
        node_id=arguments.node,
        duration_s=arguments.duration_s,
        segment_s=arguments.segment_s,
        stall_s=arguments.stall_s,
        producer=f"rlc-train {version}",
    )


def _tell(written: Provenance, rows: int) -> None:
    print(f"written {written.partition}: {rows} rows", file=sys.stderr, flush=True)
