"""Whether nodes report in time: the RIC aborts on requests to a node that it has lost, and while
its reports lag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ric.clock import Clock

from flexric_bridge.nodes import KnownNode
from flexric_bridge.subscription import SharedSubscription

_PERIODS_TO_STALE: Final = 3
_SUSPECT_SHARE: Final = 0.25
"""A node that has been silent for this share of the stale time gets no requests."""
_BEHIND_US: Final = 1_000_000
"""A RIC whose reports lag by more than this gets no requests: answers wait in the same queue, and
it aborts on one that takes 3 s."""
_RECENT_S: Final = 0.02
_POLL_S: Final = 0.002


class Freshness:
    """Age and lag of the reports of subscribed nodes."""

    def __init__(
        self, subscribed: Mapping[int, SharedSubscription], clock: Clock, stale_after_s: float
    ) -> None:
        """`subscribed` are the subscriptions that exist, by handle; it is kept up to date."""
        self._subscribed = subscribed
        self._clock = clock
        self._stale_after_s = stale_after_s

    def silent(self, after_s: float | None = None) -> dict[KnownNode, float]:
        """The nodes that are subscribed to and have been silent for too long, and how long, s.

        Too long is `after_s`, by default the setting, or three periods where that is longer.
        """
        now_ns = self._clock.monotonic_ns()
        newest: dict[KnownNode, tuple[int, int]] = {}
        for shared in self._subscribed.values():
            known = shared.known
            if known.present and shared.periodic:
                last_report_ns, period_ms = newest.get(known, (0, 1 << 31))
                last_ns = max(last_report_ns, shared.since_ns, shared.flow.last_ns)
                newest[known] = (last_ns, min(period_ms, shared.period_ms))
        found = {}
        for known, (last_ns, period_ms) in newest.items():
            least_s = self._stale_after_s if after_s is None else after_s
            limit_s = max(least_s, _PERIODS_TO_STALE * period_ms / 1000)
            silent_s = (now_ns - last_ns) / 1e9
            if silent_s > limit_s:
                found[known] = silent_s
        return found

    def suspect_reason(self, known: KnownNode) -> str:
        """Why a node may get no request now; "" when it may.

        The RIC aborts on a request to a node that it has lost, and it does not report the loss.
        """
        if not known.present:
            return f"node {known.id} is not connected"
        silent_s = self.silent(_SUSPECT_SHARE * self._stale_after_s).get(known)
        if silent_s is not None:
            return (
                f"node {known.id} has not reported for {silent_s:.1f} s; the RIC may have lost it"
            )
        return self._lag_reason()

    def _lag_reason(self) -> str:
        """Why the RIC counts as lagging: it has one queue for the reports of all nodes."""
        oldest_ns = self._clock.monotonic_ns() - int(self._stale_after_s * 1e9)
        for shared in self._subscribed.values():
            lag_us = shared.flow.lag.us
            if lag_us > _BEHIND_US and shared.flow.last_ns > oldest_ns:
                return (
                    f"reports of node {shared.known.id} come {lag_us / 1e6:.1f} s late; the RIC is"
                    " behind and would abort on a request"
                )
        return ""

    async def await_recent_report(self, known: KnownNode) -> str:
        """Wait for a report of a node whose reports are overdue; returns as `suspect_reason`.

        A node that has just died has been silent for only a few periods, and its RIC would abort on
        a control; reports of a busy node come within milliseconds.
        """
        while not (suspect_reason := self.suspect_reason(known)) and known in self.silent(
            _RECENT_S
        ):
            await self._clock.sleep(_POLL_S)
        return suspect_reason
