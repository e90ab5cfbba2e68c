"""`python -m gnb_lab sweep`: `gnb-lab sweep`, with its runs on a Dask cluster.

It takes the arguments of `gnb-lab sweep`, and --dask ADDRESS. The folder is the same: what one has
begun the other resumes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from gnb_lab.program import BAD_INPUT, SweepError
from gnb_lab.sweeps import on_cluster


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status: 0, 2 for bad input, 1 for anything else."""
    parser = argparse.ArgumentParser(prog="python -m gnb_lab", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "sweep",
        help="gnb-lab sweep, with its runs on a Dask cluster",
        description="Runs a scenario over values of its elements and over seeds.",
        epilog="All other arguments are those of gnb-lab sweep: see gnb-lab sweep --help.",
        allow_abbrev=False,
    )
    command.add_argument(
        "--dask",
        required=True,
        metavar="ADDRESS",
        help="Dask scheduler, tcp://host:8786, whose workers make the runs",
    )
    own, others = parser.parse_known_args(arguments)
    try:
        print(_cluster(others, own.dask).strip())
    except SweepError as error:
        print(f"gnb-lab: {error}", file=sys.stderr)
        return BAD_INPUT if error.is_input else 1
    return 0


def _cluster(arguments: Sequence[str], address: str) -> str:
    is_shown = sys.stderr.isatty()
    began_s = time.monotonic()

    def show(finished: int, total: int) -> None:
        if is_shown:
            took_s = time.monotonic() - began_s
            line = f"\rsweep: {finished} of {total} missing runs, {took_s:.0f} s "
            print(line, end="", file=sys.stderr, flush=True)

    try:
        return on_cluster(arguments, address, show)
    finally:
        if is_shown:
            print(f"\r{'':60}\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
