"""`tc-controller mode`: the mode of running controllers, asked for or set over HTTP."""

from __future__ import annotations

import argparse

from ric.settings import settings_from
from ric.terminal import complain, show

from tc_controller.core.mode import Mode
from tc_controller.mode_client import switch
from tc_controller.peer_client import AskError
from tc_controller.peers import targets
from tc_controller.settings import ControllerSettings


def run(options: argparse.Namespace) -> int:
    """Ask or set; 1 if a controller did not answer, which `--configured` only says."""
    settings = settings_from(ControllerSettings, options)
    document = None
    if options.to is not None:
        document = {"configured" if options.configured else "mode": options.to}
    try:
        found = targets(settings)
    except AskError as error:
        complain("tc-controller", error)
        return int(not options.configured)
    if settings.peers.address is None:
        complain("tc-controller", "asks one controller; peers.address names all of the site")
    shown, problems = switch(found, document)
    show("".join(f"{line}\n" for line in shown))
    for problem in problems:
        complain("tc-controller", problem)
    # A controller that does not answer reads the configured mode from its file.
    return int(bool(problems) and not options.configured)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments beside those of the settings."""
    parser.add_argument(
        "to",
        metavar="MODE",
        nargs="?",
        choices=[each.value for each in Mode],
        help="off, observe or act; shown if absent",
    )
    parser.add_argument(
        "--configured",
        action="store_true",
        help="the configured mode has changed to this; without effect if it is the same as before",
    )
