"""Asks running controllers for their mode over HTTP, or sets it; needs the standard library alone.

`python3 -m tc_controller.mode_client --help` is for where seconds count, as at an upgrade of the
chart: `tc-controller mode` loads the settings of the controller first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tc_controller.peer_client import AskError, Target, asked, at, body_of, context

PATH: Final = "/mode"
_MAX_BYTES: Final = 1 << 16
_AT_ONCE: Final = 16


def answer_of(text: str) -> dict[str, str]:
    """What a controller says of its mode; raises `ValueError` for another text."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None
    keys = ("mode", "by", "meaning")
    if not isinstance(document, dict) or not all(isinstance(document.get(k), str) for k in keys):
        raise ValueError(f"no answer of a controller; expected the texts {', '.join(keys)}")
    return {key: document[key] for key in keys}


def ask(target: Target, document: dict[str, str] | None = None) -> dict[str, str]:
    """The mode of a controller, after it was set if a document is given; raises `AskError`."""
    with asked(target, PATH, document) as answer:
        return answer_of(body_of(answer, _MAX_BYTES).decode(errors="replace"))


def switch(
    targets: Iterable[Target], document: dict[str, str] | None
) -> tuple[list[str], list[str]]:
    """Ask each target, or set its mode; returns what was answered, and problems.

    All at once: one that hangs does not make the others wait.
    """
    found: list[Target] = []
    problems: list[str] = []
    try:
        found.extend(targets)
    except AskError as error:
        problems.append(str(error))
    shown = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for target, answer in [(each, pool.submit(ask, each, document)) for each in found]:
            try:
                said = answer.result()
            except AskError as error:
                problems.append(str(error))
            else:
                shown.append(f"{target.name}: {said['mode']} (by {said['by']}): {said['meaning']}")
    return shown, problems


def main() -> int:
    """Announce the configured mode; 0 also without an answer, for the file says it soon."""
    parser = argparse.ArgumentParser(prog="tc_controller.mode_client", description=__doc__)
    parser.add_argument("mode", help="off, observe or act: the configured mode from now on")
    parser.add_argument("--at", required=True, metavar="HOST:PORT", help="all controllers")
    parser.add_argument("--ca-file", type=Path, help="CA of the controllers, PEM; else plain text")
    parser.add_argument("--certificate-file", type=Path, help="client certificate, PEM")
    parser.add_argument("--key-file", type=Path, help="its private key, PEM")
    parser.add_argument("--server-name", help="name in the certificates of the controllers")
    given = parser.parse_args()
    host, _, port = given.at.rpartition(":")
    try:
        tls = None
        if given.ca_file is not None:
            tls = context(given.ca_file, given.certificate_file, given.key_file)
        found = at(host, int(port), tls, given.server_name)
    except (AskError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 0
    shown, problems = switch(found, {"configured": given.mode})
    sys.stdout.write("".join(f"{line}\n" for line in shown))
    sys.stderr.write("".join(f"{line}\n" for line in problems))
    return 0


if __name__ == "__main__":
    sys.exit(main())
