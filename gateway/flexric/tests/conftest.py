"""Tests against a real FlexRIC: `make test-flexric` runs them, nothing else does."""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from flexric_processes import Network, make_site
from sdk_session import Session

collect_ignore_glob = [] if "SOJOURN_TEST_FLEXRIC" in os.environ else ["test_*.py"]

_numbers = itertools.count()
KINDS = ("gnb", "gnb_du")
"""Kinds of emulated nodes that run in every FlexRIC; in that of 2026 the others abort at start."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Numbers that are small by default, because all tests run with each FlexRIC."""
    parser.addoption("--kills", type=int, default=10, help="how often each part is killed")
    parser.addoption("--ues", type=int, default=60, help="UEs of the crowded cell")
    parser.addoption("--controls", type=int, default=1000, help="controls under load")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives tests of kills a minute for each."""
    for item in items:
        if item.path.name == "test_kills.py":
            item.add_marker(pytest.mark.timeout(60 * config.getoption("--kills")))


_outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Counts outcomes of tests by the matrix columns of their marker `shows`."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        for marker in item.iter_markers("shows"):
            for column in marker.args:
                _outcomes[column][report.outcome] += report.when != "teardown"
    return report


def pytest_sessionfinish() -> None:
    """Writes the counts for `with_flexric.py`."""
    if results := os.environ.get("SOJOURN_TEST_FLEXRIC"):
        Path(results).write_text(json.dumps(_outcomes))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A RIC with emulated nodes, shared by tests that do not change it."""
    made = Network(make_site(tmp_path_factory.mktemp("flexric"), next(_numbers)))
    try:
        for kind in KINDS:
            made.add(kind)
        yield made
    finally:
        made.stop()


@pytest.fixture
def own_network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A RIC without nodes, for a test that breaks it."""
    made = Network(make_site(tmp_path_factory.mktemp("flexric"), next(_numbers)))
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def sessions() -> Iterator[Callable[..., Session]]:
    """Starts processes with an SDK; they are closed at the end, before the RIC is."""
    started: list[Session] = []

    def start(**extra_environment: str) -> Session:
        started.append(Session(extra_environment))
        return started[-1]

    try:
        yield start
        for each in started:
            if each.process.poll() is None:
                each.call("close")
    finally:
        for each in started:
            each.stop()


@pytest.fixture
def session(network: Network, sessions: Callable[..., Session]) -> Session:
    """An SDK connected to the module's RIC."""
    made = sessions()
    made.open(network.site)
    return made
