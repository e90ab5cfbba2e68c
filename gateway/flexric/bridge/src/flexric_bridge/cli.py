"""`flexric-bridge`: serves the E2 gateway from FlexRIC; shows and resets its request budget.

`serve` runs the bridge. `preflight` says which piece is missing or of another build, and tries to
reach the RIC over SCTP. `budget` prints the requests left by the state file; `--reset` sets the
count to zero, after the RIC was restarted while the bridge was down.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ric.errors import SettingsError
from ric.lifecycle import run_service
from ric.security import check_files
from ric.settings import ProgramParser, add_settings_arguments, settings_from
from ric.state_file import (
    StateError,
    check_state_path,
    claim,
    read_document,
    require_version,
    write_document,
)
from ric.terminal import complain
from ric.version import VERSION

from flexric_bridge.app import STATE_VERSION, Bridge
from flexric_bridge.budget import Budget
from flexric_bridge.installed import examine
from flexric_bridge.ric_address import check_host, preflight
from flexric_bridge.session import MAKE_IT, missing_module
from flexric_bridge.settings import BridgeSettings, BudgetSettings, RicSettings

NAME = "flexric-bridge"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns 2 for invalid settings or an unusable state file."""
    given = _parser().parse_args(arguments)
    try:
        if given.action == "budget":
            return _budget(given.state, reset=given.reset)
        if given.action == "preflight":
            return _preflight(given)
        settings = settings_from(BridgeSettings, given)
        check_files(settings)
        if settings.state is not None:
            check_state_path(settings.state)
    except (SettingsError, StateError) as error:
        complain(NAME, error)
        return 2
    if module := missing_module(settings.ric.sdk):
        problem = f"ric.sdk: the Python module {module} is not installed; {MAKE_IT}"
        complain(NAME, problem)
        return 2
    return run_service(lambda: Bridge(settings), lambda bridge: bridge.run(_announce), settings.log)


def _announce(bridge: Bridge) -> None:
    bridge.announce_ready(listen=bridge.address)


def _preflight(given: argparse.Namespace) -> int:
    say = partial(print, flush=True)
    findings = [] if given.libraries is None else list(examine(given.sdk, given.libraries))
    for finding in findings:
        say(finding.text)
    broken = any(finding.fatal for finding in findings)
    reached = preflight(given.ric, 0 if broken else given.wait_s, say)
    return 2 if broken else reached


def _budget(path: Path, *, reset: bool) -> int:
    # A running bridge would write its own count over a new one.
    held = claim(path) if reset else None
    document = read_document(path)
    if document is None:
        raise StateError(f"{path}: does not exist; expected the state file of {NAME}")
    limits = BudgetSettings()
    budget = Budget(limits.requests, limits.reserve)
    try:
        require_version(document, STATE_VERSION)
        if reset:
            document["budget"] = budget.to_json(clean=True)
            write_document(path, document)
        budget.load(document.get("budget"))
    except (OSError, ValueError) as error:
        raise StateError(f"{path}: {error}") from None
    if held is not None:
        held.release()
    print(
        f"RIC {document.get('ric')}: {budget.used} of {budget.total} requests used,"
        f" {budget.left} left, {budget.sessions} sessions"
    )
    return 0


def _host(given: str) -> str:
    try:
        return check_host(given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{given}: {error}") from None


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog=NAME,
        description=BridgeSettings.__doc__,
        example=f"{NAME} serve --help",
        version=VERSION,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    serve_parser = actions.add_parser(
        "serve",
        help="run the bridge",
        description="Serve the E2 gateway until SIGINT or SIGTERM. The first line on standard"
        " output has the address.",
        example=f"{NAME} serve --listen 127.0.0.1:36421 --ric 127.0.0.1 --state bridge.json",
    )
    add_settings_arguments(serve_parser, BridgeSettings)
    tried = actions.add_parser(
        "preflight",
        help="say what is missing, try to reach the RIC over SCTP",
        description="Say whether SDK module and service models are there and of one FlexRIC, this"
        " node has SCTP and the RIC answers. Exit status 2 if the bridge cannot work, else 0: it"
        " goes on trying to reach the RIC.",
        example=f"{NAME} preflight --ric oai-flexric --libraries /opt/flexric/lib/flexric",
    )
    tried.add_argument(
        "--libraries", type=Path, metavar="DIR", help="service models; not examined if absent"
    )
    tried.add_argument(
        "--sdk", default=RicSettings().sdk, metavar="NAME", help="class of the SDK, as of serve"
    )
    tried.add_argument("--ric", type=_host, required=True, metavar="HOST", help="its host")
    tried.add_argument(
        "--wait-s", type=float, default=0.0, metavar="NUMBER", help="longest wait, s; default 0"
    )
    budget = actions.add_parser(
        "budget",
        help="show the requests left",
        description="Print the requests left until the RIC has to be restarted.",
        example=f"{NAME} budget bridge.json --reset",
    )
    budget.add_argument("state", type=Path, metavar="FILE", help="state file of the bridge")
    budget.add_argument(
        "--reset",
        action="store_true",
        help="set the count to zero, after a restart of the RIC; the bridge must not be running",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
