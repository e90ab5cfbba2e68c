"""`tc-controller mode`: the mode of running controllers, asked for or set over HTTP."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from ric.settings import is_local, settings_from, split_address
from ric.terminal import complain, show

from tc_controller.core.mode import Mode
from tc_controller.mode_client import AskError, Target, at, context, switch
from tc_controller.settings import ControllerSettings

_LOOPBACK: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound


def targets(settings: ControllerSettings) -> Iterator[Target]:
    """The controllers of `peers`, each address of its name one of them; without it this one.

    Raises `AskError` if the name does not resolve or a certificate cannot be used.
    """
    peers = settings.peers
    if peers.address is None:
        return iter([_own(settings)])
    tls = peers.tls
    made = context(tls.ca_file, tls.certificate_file, tls.key_file) if tls.enabled else None
    return at(*split_address(peers.address), made, tls.server_name, peers.token_file)


def _own(settings: ControllerSettings) -> Target:
    own = settings.http
    host, port = split_address(own.listen)
    if host.startswith("unix:"):
        return Target(host.removeprefix("unix:"), "localhost")
    tls = None
    if own.certificate_file is not None:
        tls = context(own.client_ca_file, own.certificate_file, own.key_file)
    local = host in _LOOPBACK or is_local(own.listen)
    address = (_LOOPBACK.get(host, host), port)
    return Target(address, f"localhost:{port}", tls, "localhost" if local else host)


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
