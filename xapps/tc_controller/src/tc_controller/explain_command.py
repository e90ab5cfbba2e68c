"""`tc-controller explain`: from a decision log, or from those of all running controllers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from ric.settings import settings_from
from ric.terminal import complain, show

from tc_controller.decision_log import MAX_LINE, read_log, record_of
from tc_controller.explain import Record, decision_lines, decision_rows, explain
from tc_controller.explain_state import State, joined
from tc_controller.log_server import IDENTITY, PATH
from tc_controller.peer_client import AskError, Target, asked
from tc_controller.peers import targets
from tc_controller.settings import ControllerSettings

T = TypeVar("T")
#: Name and records of a log, while it is open.
Source = Callable[[], AbstractContextManager[tuple[str, Iterable[Record]]]]

#: Longest a controller may send its log, and most that it may send.
_LOG_S: Final = 120.0
_MAX_BYTES: Final = 1 << 29


def run(options: argparse.Namespace) -> int:
    """Explain; 1 if something is not found or a controller did not answer, 2 for a wrong use.

    Raises `SettingsError`.
    """
    wrong = _wrong_use(options)
    if wrong is not None:
        complain("tc-controller", wrong)
        return 2
    try:
        return _explained(options)
    except AskError as error:
        complain("tc-controller", error)
        return 1
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        complain("tc-controller", f"{options.log}: {error.strerror}; expected a decision log")
        return 2


def _wrong_use(options: argparse.Namespace) -> str | None:
    if not (options.list or options.state_of_nodes) and options.id is None:
        return "explain: expected the id of a decision, --list or --state"
    if options.log is not None and not options.log.exists():
        return f"{options.log}: no such decision log"
    return None


def _explained(options: argparse.Namespace) -> int:
    sources = _sources(options)
    if options.list:
        return _list(*_each(sources, decision_rows))
    if options.state_of_nodes:
        states, problems = _each(sources, _state)
        if states:
            show(f"{joined(each for _, each in states)}\n")
        return problems
    return _story(options.id, *_each(sources, partial(explain, wanted=options.id)))


def _state(records: Iterable[Record]) -> State:
    state = State.of(records)
    # A record that lacks something is one of this log.
    str(state)
    return state


def _list(logs: list[tuple[str, list[list[str]]]], problems: int) -> int:
    several = len(logs) > 1
    rows = [[*row, *([name] if several else [])] for name, found in logs for row in found]
    if not rows and not problems:
        complain("tc-controller", f"{', '.join(name for name, _ in logs)}: has no decision")
    # Then by time.
    for line in decision_lines(sorted(rows, key=lambda row: row[1])):
        show(line + "\n")
    return problems


def _story(wanted: str, logs: list[tuple[str, str | None]], problems: int) -> int:
    found = [(name, story) for name, story in logs if story is not None]
    for name, story in found:
        show(f"{story}\n" if len(logs) == 1 else f"{name}:\n{story}\n")
    if not found and logs:
        names = ", ".join(name for name, _ in logs)
        complain("tc-controller", f"{names}: no decision {wanted}; --list shows those it has")
    return int(not found)


def _each(
    sources: Iterable[Source], read: Callable[[Iterable[Record]], T]
) -> tuple[list[tuple[str, T]], int]:
    """What is read of each log, with its name; and whether one could not be read."""
    found, problems = [], 0
    for source in sources:
        try:
            with source() as (name, records):
                found.append((name, read(records)))
        except AskError as error:
            complain("tc-controller", error)
            problems = 1
    if not found:
        complain("tc-controller", "no log was read; --log FILE reads one that is a file here")
    return found, problems


def _sources(options: argparse.Namespace) -> Iterator[Source]:
    if options.log is not None:
        return iter([partial(_file, options.log)])
    settings = settings_from(ControllerSettings, options)
    return (partial(_running, target) for target in targets(settings))


@contextmanager
def _file(path: Path) -> Iterator[tuple[str, Iterable[Record]]]:
    with _records_expected(str(path)):
        yield str(path), read_log(path)


@contextmanager
def _running(target: Target) -> Iterator[tuple[str, Iterable[Record]]]:
    with asked(target, PATH, body_s=_LOG_S) as answer:
        name = answer.headers.get(IDENTITY, target.name)
        with _records_expected(name):
            yield name, _records(name, partial(answer.readline, MAX_LINE))


@contextmanager
def _records_expected(name: str) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        why = f"records without what they should have: {error!r}"
        raise AskError(f"{name}: {why}; expected a decision log of this version") from None


def _records(name: str, line: Callable[[], bytes]) -> Iterator[Record]:
    length = 0
    while text := line():
        length += len(text)
        if length > _MAX_BYTES:
            raise AskError(f"{name}: more than {_MAX_BYTES} bytes; read the log there with --log")
        record = record_of(text.decode(errors="replace"))
        if record is not None:
            yield record


def add_arguments(parser: argparse.ArgumentParser, declare_settings: Callable[[], None]) -> None:
    """Declare the arguments; where a setting has the flag too, it is that of the command."""
    parser.add_argument("id", nargs="?", help="id of the decision or trial")
    declare_settings()
    parser.add_argument("--list", action="store_true", help="list the decisions")
    parser.add_argument(
        "--state",
        dest="state_of_nodes",
        action="store_true",
        help="the newest state of each node and bearer: faults, compliance, what to do",
    )
    parser.add_argument(
        "--log",
        type=Path,
        help="a decision log; those of the controller of these settings and its peers if absent",
    )
