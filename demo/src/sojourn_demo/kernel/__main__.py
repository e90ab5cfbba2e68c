"""``python -m sojourn_demo.kernel``: the loop on real network stacks, with and without control."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ric.flags import folder_to_write

from sojourn_demo.cli import run_command
from sojourn_demo.kernel.run import run

LEAST_S: Final = 5.0
"""Shortest phase: less shows nothing of a video."""


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m sojourn_demo.kernel",
        description="Run iperf3, ping, irtt and a browser through gNB, forecaster and controller,"
        " without control and with it, and write a report. Needs root or user namespaces.",
        epilog="example:\n  python -m sojourn_demo.kernel --trace radio.down --out out/demo-live",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--scenario",
        type=Path,
        default=Path("lab/scenarios/live.yaml"),
        help="scenario of the gNB, its first UE with a flow of kind host (default: %(default)s)",
    )
    parser.add_argument(
        "--trace", type=Path, help="Mahimahi trace as the radio of every UE; .xz and .gz too"
    )
    parser.add_argument("--policy", type=Path, help="policy of the controller (default: its own)")
    parser.add_argument(
        "--before",
        type=_seconds,
        default=20.0,
        help="seconds of each run in which the controller only observes (default: %(default)g)",
    )
    parser.add_argument(
        "--after",
        type=_seconds,
        default=40.0,
        help="seconds after them, with control in one of the runs (default: %(default)g)",
    )
    parser.add_argument("--seed", type=int, help="seed of the scenario (default: the scenario's)")
    parser.add_argument(
        "--out",
        type=folder_to_write,
        default=Path("out/demo-live"),
        help="folder to write (default: %(default)s)",
    )
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not LEAST_S <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text}; expected {LEAST_S:g} to 3600 seconds")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns 0 on success, 2 on an error, 130 if interrupted."""
    return run_command(run, make_parser().parse_args(arguments), "demo-live")


if __name__ == "__main__":
    sys.exit(main())
