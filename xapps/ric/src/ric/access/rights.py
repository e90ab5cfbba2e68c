"""The rights of a client."""

from __future__ import annotations

from enum import StrEnum


class Right(StrEnum):
    """What a client may do; none includes another."""

    READ = "read"
    """Node list, metrics, pages, A1 GET, `Predict`, gRPC reflection."""
    SUBSCRIBE = "subscribe"
    """Indications of E2 nodes and the forecast stream."""
    CONTROL = "control"
    """RIC controls, changes of A1 policies."""
