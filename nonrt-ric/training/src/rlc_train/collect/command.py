"""Records the reports of an E2 node as runs of a data set.

RLC reports every millisecond; MAC reports and TC pipeline status if the node has them, as in
`rlc-train dataset`. A run is written every --segment-s; the last one when the command is stopped.
Times are those of the node's clock.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.metadata
import math
import signal
import sys
from typing import Final

from ric import logs
from ric.errors import RicError
from ric.flags import folder_to_write
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

from rlc_train.collect.session import RecordingOptions, Session, partition_name
from rlc_train.errors import TrainError

NAME: Final = "collect"


class CollectSettings(ProgramSettings):
    """The E2 gateway to record from."""

    gateway: GatewaySettings = GatewaySettings()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "--out", type=folder_to_write, required=True, help="directory of the data set"
    )
    parser.add_argument("--duration-s", type=float, required=True, help="duration of the recording")
    parser.add_argument("--node", default="", help="node id (default: the first with RLC reports)")
    parser.add_argument("--cell", default="", help="partition (default: the node's id)")
    parser.add_argument(
        "--mobility", default="unknown", help="partition: mobility of the UEs (default: unknown)"
    )
    parser.add_argument(
        "--segment-s", type=float, default=60.0, help="length of a run (default: %(default)g)"
    )
    parser.add_argument(
        "--stall-s",
        type=float,
        default=10.0,
        help="end with an error after this time without a report (default: %(default)g)",
    )
    add_settings_arguments(parser, CollectSettings)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    logs.configure(LogSettings(level="warning"))
    options = _options(arguments)
    try:
        settings = settings_from(CollectSettings, arguments).gateway
        session = asyncio.run(record(settings, options))
    except RicError as error:
        raise TrainError(str(error)) from error
    counts = session.recorder.counts
    print(
        f"{options.root}: {len(session.written)} runs of {counts.reports} RLC reports,"
        f" {counts.missing} instants missing, {counts.repeated} repeated, {counts.late} late,"
        f" {session.missed} lost in transit, {session.bad_messages} refused,"
        f" {counts.invalid_values} invalid values"
    )
    return 0 if session.written else 1


async def record(
    settings: GatewaySettings, options: RecordingOptions, *, link: GatewayLink | None = None
) -> Session:
    """Records a node; SIGINT or SIGTERM ends the recording early and writes it.

    Tests pass a `link` in place of a gateway.
    """
    async with E2GatewayClient(settings, link=link) as gateway:
        session = Session(gateway, options, _print_written)
        recording = asyncio.create_task(session.run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # Keep the default handling on other platforms and outside the main thread.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, recording.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await recording
        return session


def _options(arguments: argparse.Namespace) -> RecordingOptions:
    for name in ("duration_s", "segment_s", "stall_s"):
        value = getattr(arguments, name)
        if not (math.isfinite(value) and value > 0):
            flag = name.replace("_", "-")
            raise TrainError(f"--{flag}: {value:g}; expected a number above 0")
    for name in ("cell", "mobility"):
        value = getattr(arguments, name)
        if value and partition_name(value) != value:
            raise TrainError(f"--{name}: {value!r}; expected letters, digits, '.', '_' and '-'")
    return RecordingOptions(
        root=arguments.out,
        cell=arguments.cell,
        mobility=arguments.mobility or "unknown",
        node_id=arguments.node,
        duration_s=arguments.duration_s,
        segment_s=arguments.segment_s,
        stall_s=arguments.stall_s,
        producer=producer(),
    )


def producer() -> str:
    """Name and version of this program, for provenance."""
    try:
        return f"rlc-train {importlib.metadata.version('sojourn-training')}"
    except importlib.metadata.PackageNotFoundError:
        # Not installed.
        return "rlc-train unknown"


def _print_written(written: Provenance, rows: int) -> None:
    print(f"written {written.partition}: {rows} rows", file=sys.stderr, flush=True)
