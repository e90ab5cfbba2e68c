"""The state of the session with the near-RT RIC, and when the next one is opened."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import Final

from ric.backoff import Backoff
from ric.clock import Clock

from flexric_bridge.absence import SHARE, SHORTEST_S
from flexric_bridge.child_process import ChildLost
from flexric_bridge.sdk import SdkError, SdkErrorKind
from flexric_bridge.settings import RicSettings


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

NOT_CAUSED_BY_RIC: Final = frozenset({RicState.NO_SCTP, RicState.NO_MODULE, RicState.SDK_FAILED})
"""An early retry does not help in these states."""

QUICK_RESTARTS: Final = 12
"""Number of sessions that the SDK's process may lose within `QUICK_WITHIN_S` before any back-off:
each new one costs two requests per subscription, of which the RIC has 64,500."""
QUICK_WITHIN_S: Final = 120.0
LONGEST_SETUP_DELAY_S: Final = 60.0
"""Longest delay of the setup request to a RIC that keeps aborting on it."""
LONGEST_WITHOUT_NODES_S: Final = 60.0
"""Longest time between two setup requests to a RIC without nodes."""
RETRY_S: Final = 0.25
"""Delay before the next child after one that waited for the RIC in vain."""
LONGEST_MODULE_S: Final = 5.0
"""Longest delay while the native module is missing or mismatched: a build may be running."""
REMIND_S: Final = 60.0
"""A persisting state is logged again after this time."""


class Retry:
    """State of the session, and the delay before the next one.

    Back-off with jitter is for faults of the SDK's process only. For a RIC that dies, however
    often, a child waits that tries to associate every 0.1 s and then gives the RIC's nodes time to
    connect. A RIC without nodes is queried again after a second, and less often the longer it has
    none: each query costs one of the 65,536 sessions that it numbers.
    """

    def __init__(self, settings: RicSettings, clock: Clock) -> None:
        self._clock = clock
        self._backoff = Backoff(settings.backoff_initial_s, settings.backoff_max_s)
        self._nodes_come_within_s = settings.nodes_come_within_s
        self._lost_ns: deque[int] = deque(maxlen=QUICK_RESTARTS)
        self._since_ns = 0
        self._logged_ns = 0
        self.state = RicState.STARTING
        self.setup_delay_s = settings.nodes_come_within_s
        """See `Connection`."""
        self.ric_was_away = False

    def enter(self, state: RicState) -> None:
        """Set the state."""
        if state is not self.state:
            self.state = state
            self._since_ns = self._clock.monotonic_ns()
            self._logged_ns = 0

    def opened(self) -> None:
        """A session is open."""
        self.ric_was_away = False
        self.setup_delay_s = self._nodes_come_within_s
        self.enter(RicState.UP)

    def failed(self, error: Exception, *, module_missing: bool) -> float:
        """A session could not be opened; returns the delay before the next attempt, s."""
        if isinstance(error, SdkError):
            self.enter(_OF_KIND.get(error.kind, RicState.SDK_FAILED))
        elif isinstance(error, ChildLost) and module_missing:
            self.enter(RicState.NO_MODULE)
        else:
            self.enter(RicState.SDK_FAILED)
        state = self.state
        if state in {RicState.ABSENT, RicState.SILENT, RicState.ENDED}:
            self.ric_was_away = True
        if state is RicState.ENDED:
            # Its nodes had not connected yet.
            longest_s = max(LONGEST_SETUP_DELAY_S, self._nodes_come_within_s)
            self.setup_delay_s = min(2 * self.setup_delay_s, longest_s)
        if state in {RicState.ABSENT, RicState.ENDED}:
            self._backoff.reset()
            return RETRY_S
        if state is RicState.WITHOUT_NODES:
            self.ric_was_away = False
            without_s = (self._clock.monotonic_ns() - self._since_ns) / 1e9
            return min(max(SHORTEST_S, SHARE * without_s), LONGEST_WITHOUT_NODES_S)
        delay_s = self._backoff.next_s()
        return min(delay_s, LONGEST_MODULE_S) if state is RicState.NO_MODULE else delay_s

    def lost(self, *, ric_disconnected: bool) -> float:
        """The session ended; returns the delay before the next attempt, s."""
        if ric_disconnected:
            self.ric_was_away = True
            self.enter(RicState.ABSENT)
            self._backoff.reset()
            return 0.0
        self.enter(RicState.SDK_FAILED)
        now_ns = self._clock.monotonic_ns()
        full = len(self._lost_ns) == QUICK_RESTARTS
        if not full or (now_ns - self._lost_ns[0]) / 1e9 > QUICK_WITHIN_S:
            self._backoff.reset()
        self._lost_ns.append(now_ns)
        return self._backoff.next_s()

    def log_is_due(self) -> bool:
        """Whether to log: a new state once, then every `REMIND_S`; else every attempt."""
        now_ns = self._clock.monotonic_ns()
        repeated = self._logged_ns and now_ns - self._logged_ns < REMIND_S * 1e9
        if repeated and self.state not in NOT_CAUSED_BY_RIC:
            return False
        self._logged_ns = now_ns
        return True
