"""What the bridge knows of its near-RT RIC, as one word for metrics and a sentence for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from flexric_bridge.child_process import ChildLost
from flexric_bridge.sdk import SdkError, SdkErrorKind


class RicState(StrEnum):
    """How it stands with the session."""

    STARTING = "starting"
    """Not known yet: the first session, or one in place of another, is being opened."""
    UP = "up"
    ABSENT = "absent"
    """Nobody accepts an association at the RIC's address."""
    WITHOUT_NODES = "without_nodes"
    """It answers, and no E2 node has connected to it."""
    ENDED = "ended"
    """It ended the association over our question: FlexRIC of 2023 does that without a node."""
    SILENT = "silent"
    """It accepts an association and does not answer."""
    NO_SCTP = "no_sctp"
    """The bridge's own machine: no SCTP socket can be made."""
    NO_MODULE = "no_module"
    """The native module is not there, or was built for another FlexRIC."""
    SDK_FAILED = "sdk_failed"
    """The SDK's process ended, hung or reported something else."""


_OF_KIND: Final[dict[SdkErrorKind, RicState]] = {
    "absent": RicState.ABSENT,
    "no-nodes": RicState.WITHOUT_NODES,
    "closed": RicState.ENDED,
    "timeout": RicState.SILENT,
    "no-sctp": RicState.NO_SCTP,
    "mismatch": RicState.NO_MODULE,
}

OURS: Final = frozenset({RicState.NO_SCTP, RicState.NO_MODULE, RicState.SDK_FAILED})
"""States that are not the RIC's doing: trying again soon helps nobody."""


def state_after(error: Exception, *, module_missing: bool) -> RicState:
    """The state that a session which could not be opened tells of."""
    if isinstance(error, SdkError):
        return _OF_KIND.get(error.kind, RicState.SDK_FAILED)
    if isinstance(error, ChildLost) and module_missing:
        return RicState.NO_MODULE
    return RicState.SDK_FAILED
