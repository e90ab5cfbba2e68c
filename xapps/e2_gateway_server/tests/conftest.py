"""Fixtures of the gateway server's tests."""

from __future__ import annotations

import pytest
from ric.settings import GatewaySettings


@pytest.fixture
def fast_gateway() -> GatewaySettings:
    """Settings with short delays."""
    return GatewaySettings(
        backoff_initial_s=0.01, backoff_max_s=0.05, reconcile_s=0.2, connect_timeout_s=1.0
    )
