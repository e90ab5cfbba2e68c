"""`flexric-bridge`: serves the E2 gateway from FlexRIC, and looks after its request budget.

`serve` is the sidecar. `budget` prints what is left of the RIC's requests by the state file, and
with `--reset` begins to count anew, after the RIC was restarted without the sidecar noticing.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog
from ric import logs
from ric.errors import SettingsError
from ric.lifecycle import prompt_runner
from ric.settings_sources import add_settings_arguments, settings_from

from flexric_bridge.app import serve
from flexric_bridge.budget import Budget
from flexric_bridge.session import MAKE_IT, missing_module
from flexric_bridge.settings import SHORT, BridgeSettings, BudgetSettings, spell_out
from flexric_bridge.state_file import StateError, read_state, write_state

NAME = "flexric-bridge"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; 2 for what the user can mend."""
    given = _parser().parse_args(spell_out(sys.argv[1:] if arguments is None else arguments))
    try:
        if given.action == "budget":
            return _budget(given.state, reset=given.reset)
        settings = settings_from(BridgeSettings, given)
        settings.door.credentials()
    except (SettingsError, StateError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 2
    if module := missing_module(settings.ric.sdk):
        problem = f"ric.sdk: the Python module {module} is not installed; {MAKE_IT}"
        print(f"{NAME}: {problem}", file=sys.stderr)
        return 2
    return _serve(settings)


def _serve(settings: BridgeSettings) -> int:
    logs.configure(settings.log)
    log = structlog.get_logger()
    try:
        with prompt_runner() as runner:
            runner.run(serve(settings))
    except (KeyboardInterrupt, asyncio.CancelledError):
        log.warning("stopped at once")
        return 1
    except (OSError, RuntimeError, SettingsError) as error:
        log.critical("failed", error=str(error))
        return 1
    return 0


def _budget(path: Path, *, reset: bool) -> int:
    document = read_state(path)
    if document is None:
        raise StateError(f"{path}: not there; expected the state file of a {NAME}")
    limits = BudgetSettings()
    budget = Budget(limits.requests, limits.reserve)
    try:
        if reset:
            document["budget"] = budget.to_json(clean=True)
            write_state(path, {k: v for k, v in document.items() if k != "version"})
        budget.load(document.get("budget"))
    except (OSError, ValueError) as error:
        raise StateError(f"{path}: {error}") from None
    print(
        f"RIC {document.get('ric')}: {budget.used} of {budget.total} requests used,"
        f" {budget.left} left, {budget.sessions} sessions"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=NAME, description=BridgeSettings.__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    short = ", ".join(f"{name} is {stands_for}" for name, stands_for in SHORT.items())
    sidecar = actions.add_parser(
        "serve",
        help="run the sidecar",
        description="Serve the E2 gateway until SIGINT or SIGTERM. The first line on standard"
        f" output says where. Short spellings: {short}.",
        allow_abbrev=False,
    )
    add_settings_arguments(sidecar, BridgeSettings)
    budget = actions.add_parser(
        "budget",
        help="requests left in the RIC's life",
        description="Print what is left of the RIC's requests, as the sidecar counted it.",
    )
    budget.add_argument("state", type=Path, metavar="FILE", help="the sidecar's state file")
    budget.add_argument(
        "--reset",
        action="store_true",
        help="count anew: the RIC was restarted. Only while no sidecar runs on the file",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
