"""`ric doctor`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
from collections.abc import Callable

from ric.doctor import text
from ric.doctor.finding import exit_status
from ric.doctor.judge import judge
from ric.doctor.probe import DoctorSettings, Patience, examine
from ric.doctor.probe.node import Periods
from ric.settings import add_settings_arguments, settings_from

_DESCRIPTION = """Look at a deployment from where an xApp stands, in bounded time, and say what is
wrong, why it matters and what to do. Subscribes for some seconds and tries a control that changes
nothing; leaves nothing behind. The exit status is 0 when all is well, 1 with warnings, 2 with
failures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the subcommand to `parser`."""
    default = Patience()
    parser.description = _DESCRIPTION
    parser.add_argument("--json", action="store_true", help="findings and facts as one JSON object")
    parser.add_argument("--node", help="listen to this node alone")
    parser.add_argument(
        "--nodes",
        type=_at_least(1),
        default=default.nodes,
        help="listen to so many nodes at most (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=default.seconds,
        help="listen to each node, and to the forecaster, for so long (default: %(default)s)",
    )
    parser.add_argument(
        "--rlc-period-ms",
        type=_at_least(1),
        default=default.periods.rlc_ms,
        help="period of RLC reports to ask for; that of the xApps, where a gateway shares"
        " subscriptions (default: %(default)s)",
    )
    add_settings_arguments(parser, DoctorSettings)


def run(given: argparse.Namespace) -> int:
    """Examine, print, and return the exit status; raises `SettingsError`."""
    settings = settings_from(DoctorSettings, given)
    patience = Patience(given.seconds, given.nodes, given.node, Periods(rlc_ms=given.rlc_period_ms))
    facts = asyncio.run(examine(settings, patience, tell=_tell))
    findings = judge(facts)
    if given.json:
        sys.stdout.write(json.dumps(text.as_json(findings, facts)) + "\n")
    else:
        sys.stdout.write(text.table(findings))
    return exit_status(findings)


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"looking at {what}\n")


def _at_least(least: int) -> Callable[[str], int]:
    def number(given: str) -> int:
        value = int(given)
        if value < least:
            raise argparse.ArgumentTypeError(f"{given}; expected {least} or more")
        return value

    return number


def _seconds(given: str) -> float:
    value = float(given)
    if not (math.isfinite(value) and 0.1 <= value <= 600):
        raise argparse.ArgumentTypeError(f"{given}; expected 0.1 to 600 seconds")
    return value
