"""Settings of all Python tests, and fixtures of several distributions."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings
from pki import Authority
from ric.settings import GatewaySettings

# Without a deadline for an example: no test asserts on time. The same examples in every run, so
# that failures repeat; HYPOTHESIS_PROFILE=long draws many and other ones.
settings.register_profile(
    "sojourn",
    deadline=None,
    derandomize=True,
    # Drawing takes longer than it allows where the machine is busy.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=20_000,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sojourn"))

LONGEST = (
    "test_tutorial",
    "test_tutorial_own_data",
    "test_tutorial_search",
    "test_alerts_live",
    "test_live_browser",
    "test_documented_commands",
    "test_dashboards_live",
)
"""Files that take a minute and more, mostly of waiting. Files are shared among processes in this
order; one of these last would run alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, otherwise in order."""
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONGEST)))


@pytest.fixture(autouse=True)
def _same_jitter() -> None:
    """The same back-off delays in every run, so that failures repeat."""
    random.seed(20)


@pytest.fixture(autouse=True)
def _logs_of_one_test() -> Iterator[None]:
    """A program sets up logs to the standard error of its test, which is closed with it."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def fast_gateway() -> GatewaySettings:
    """Settings with short delays, for tests with a real network."""
    return GatewaySettings(
        backoff_initial_s=0.01, backoff_max_s=0.05, reconcile_s=0.2, connect_timeout_s=1.0
    )


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, and certificates of a server named "gateway" and of a client named "xapp"."""
    where = tmp_path_factory.mktemp("tls")
    authority = Authority(where)
    for name in ("gateway", "xapp"):
        authority.issue(name, dns=(name,))
    return where
