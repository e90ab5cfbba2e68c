"""Property tests of settings from flags and from the environment."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from parser_peers import Peer, each, hold
from ric.errors import SettingsError
from ric.flags import ProgramParser, settings_of
from ric.settings_sources import printable, settings_from
from test_parsers_files import PROGRAMS, NotJsonError, json_of, parser_of, same_again


class RefusedError(Exception):
    """The program ended with usage and a message, or with its help."""


def from_flags(schema: Any, parser: ProgramParser, data: bytes, _: Path) -> Any:
    """Settings of a command line: a JSON list of words."""
    words = json_of(data)
    if not isinstance(words, list):
        raise NotJsonError("not JSON of a list")
    shown = io.StringIO()
    try:
        with redirect_stderr(shown), redirect_stdout(shown):
            given = parser.parse_args([str(word) for word in words])
    except SystemExit as stop:
        assert stop.code in (0, 2)
        raise RefusedError(shown.getvalue()) from None
    return settings_from(schema, given, environment={})


def from_environment(schema: Any, parser: ProgramParser, data: bytes, _: Path) -> Any:
    """Settings of variables: a JSON object."""
    variables = json_of(data)
    if not isinstance(variables, dict):
        raise NotJsonError("not JSON of an object")
    environment = {name: str(value) for name, value in variables.items()}
    return settings_from(schema, parser.parse_args([]), environment=environment)


def defaults(schema: Any) -> Mapping[str, str]:
    """The variables that say what is the default anyway."""
    found = {}
    for setting in settings_of(schema):
        value: Any = printable(schema())
        for step in setting.path:
            value = value[step]
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            found[f"SOJOURN_{'__'.join(setting.path).upper()}"] = text
    return found


FLAGS = [
    Peer(
        "ric.flags:ProgramParser.parse_args",
        partial(from_flags, schema, parser_of(schema)),
        (SettingsError, RefusedError, NotJsonError),
        "^usage: .*error: |^usage: .*options:|^[^ ]+: |^not JSON|^--",
        [["--log-level", "debug"], ["--metrics-listen=127.0.0.1:0", "--log-format", "json"]],
        check=same_again,
        words=[json.dumps(flag).encode() for flag in parser_of(schema).flags().values()],
    )
    for schema in PROGRAMS.values()
]
ENVIRONMENT = [
    Peer(
        "ric.settings_sources:settings_from",
        partial(from_environment, schema, parser_of(schema)),
        (SettingsError, NotJsonError),
        "^SOJOURN_[A-Z0-9_]+|^settings: |^not JSON|^/|: ",
        [defaults(schema), {"PATH": "/", "SOJOURN_OTHER__X": "1"}],
        check=same_again,
    )
    for schema in PROGRAMS.values()
]


@each([*FLAGS, *ENVIRONMENT])
def test_any_settings_are_accepted_or_refused_with_their_place(peer: Peer, tmp_path: Path) -> None:
    hold(peer, tmp_path)


def test_a_variable_is_named_in_its_error() -> None:
    peer = ENVIRONMENT[0]
    with pytest.raises(SettingsError, match=r"^SOJOURN_LOG__LEVEL: "):
        peer.parse(b'{"SOJOURN_LOG__LEVEL": "loud"}', Path())
