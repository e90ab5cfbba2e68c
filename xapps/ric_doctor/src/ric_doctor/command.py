"""The subcommand `ric doctor`: arguments and output."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from ric.beside import Beside, beside
from ric.errors import SettingsError
from ric.flags import number, whole_number
from ric.settings import add_settings_arguments, settings_from
from ric.terminal import complain, show

from ric_doctor import text
from ric_doctor.finding import exit_status
from ric_doctor.judge import judge
from ric_doctor.probe import DoctorSettings, Patience, examine
from ric_doctor.probe.node import Periods

_DESCRIPTION = """Examine a deployment from where an xApp runs: does it reach the programs, which
nodes and RAN functions are there, does a control go through; what is wrong, why it matters and what
to do. Addresses, certificates and token are those of the program whose settings file --config,
SOJOURN_CONFIG or /etc/sojourn has. Subscribes for some seconds and, unless that program sends no
controls, sends a dry-run control; changes nothing. The exit status is 0 without findings, 1 with
warnings, 2 with failures."""
EXAMPLE = "ric doctor --gateway 127.0.0.1:36421 --metrics 127.0.0.1:9100,127.0.0.1:9101"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    default = Patience()
    parser.description = _DESCRIPTION
    parser.epilog = f"example:\n  {EXAMPLE}"
    parser.add_argument("--json", action="store_true", help="findings and facts as one JSON object")
    parser.add_argument("--node", help="subscribe to this node only")
    parser.add_argument(
        "--nodes",
        type=whole_number(1),
        default=default.nodes,
        help="largest number of nodes to subscribe to (default: %(default)s)",
    )
    parser.add_argument(
        "--seconds",
        type=number(0.1, 600, "seconds"),
        default=default.seconds,
        help="duration of the subscriptions to a node, and longest wait for a forecast"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--rlc-period-ms",
        type=whole_number(1),
        default=default.periods.rlc_ms,
        help="period of the RLC subscription; use that of the xApps for a gateway that shares"
        " subscriptions (default: %(default)s)",
    )
    parser.add_argument(
        "--accept-warnings",
        action="store_true",
        help="exit with 0 if there are warnings and no failures",
    )
    add_settings_arguments(parser, DoctorSettings)


def run(given: argparse.Namespace) -> int:
    """Examine, print, and return the exit status."""
    periods = Periods(rlc_ms=given.rlc_period_ms)
    try:
        program = beside(given)
        settings = settings_from(DoctorSettings, given, in_place_of_file=_of(program))
        patience = Patience(given.seconds, given.nodes, given.node, periods, program.controls)
        facts = asyncio.run(examine(settings, patience, progress=_progress))
    except SettingsError as error:
        complain("ric doctor", error)
        return 2
    findings = judge(facts)
    if given.json:
        sys.stdout.write(json.dumps(text.as_json(findings, facts)) + "\n")
    else:
        show(text.table(findings))
    return exit_status(findings, accept_warnings=given.accept_warnings)


def _of(program: Beside) -> dict[str, Any]:
    """Settings of the doctor beside a program."""
    settings: dict[str, Any] = {"gateway": program.gateway, "forecaster": program.forecaster}
    if program.http and not program.http["address"].startswith("unix:"):
        tls = program.http.get("tls")
        scheme = "http" if tls is None else "https"
        at = f"{scheme}://{program.http['address']}"
        settings["metrics"] = [f"{at}/metrics", f"{at}/readyz"]
        settings["http"] = {} if tls is None else {"tls": tls}
    return settings


def _progress(step: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"examining {step}\n")
