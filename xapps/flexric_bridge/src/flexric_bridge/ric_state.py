"""The state of the session with the near-RT RIC, one word each, for metrics and health."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from flexric_bridge.child_process import ChildLost
from flexric_bridge.sdk import SdkError, SdkErrorKind


class RicState(StrEnum):
    """State of the session."""

    STARTING = "starting"
    """The first session, or one that replaces another, is being opened."""
    UP = "up"
    ABSENT = "absent"
    """Nothing accepts an association at the RIC's address."""
    WITHOUT_NODES = "without_nodes"
    """It answers and has no E2 node."""
    ENDED = "ended"
    """It ended the association on our setup request: FlexRIC of 2023 aborts without a node."""
    SILENT = "silent"
    """It accepts an association and does not answer."""
    NO_SCTP = "no_sctp"
    """No SCTP socket can be created on the bridge's own machine."""
    NO_MODULE = "no_module"
    """The native module is missing, or was built for another FlexRIC."""
    SDK_FAILED = "sdk_failed"
    """The SDK's process ended, hung or reported another error."""


_OF_KIND: Final[dict[SdkErrorKind, RicState]] = {
    "absent": RicState.ABSENT,
    "no-nodes": RicState.WITHOUT_NODES,
    "closed": RicState.ENDED,
    "timeout": RicState.SILENT,
    "no-sctp": RicState.NO_SCTP,
    "mismatch": RicState.NO_MODULE,
}

OURS: Final = frozenset({RicState.NO_SCTP, RicState.NO_MODULE, RicState.SDK_FAILED})
"""States that the RIC does not cause: an early retry does not help."""


def state_after(error: Exception, *, module_missing: bool) -> RicState:
    """The state after a session could not be opened."""
    if isinstance(error, SdkError):
        return _OF_KIND.get(error.kind, RicState.SDK_FAILED)
    if isinstance(error, ChildLost) and module_missing:
        return RicState.NO_MODULE
    return RicState.SDK_FAILED
