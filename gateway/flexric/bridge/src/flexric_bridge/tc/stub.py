"""Detects TC functions that are stubs: they acknowledge controls and invent their reports.

OAI's E2 agent has the RAN function, acknowledges every control and fills its reports with random
numbers, drawn once a second (`fill_tc_ind_data`, seeded with `time(0)`); so do FlexRIC's emulators.
A report of a real pipeline is consistent in itself and with the previous one, except after a
restart of the node and after controls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from e2sm_tc import v0

WINDOW: Final = 8
"""Reports that differ and are evaluated together."""
EVIDENCE: Final = 3
"""Number of impossible values in them for a verdict; a restart of the node causes one."""
UNREPORTED: Final = 3
"""Number of consecutive pipelines acknowledged and never reported for a verdict."""
SETTLE_US: Final = 1_000_000
"""After a control a report may be inconsistent with the previous one for this long."""

_U32: Final = 1 << 32
_BACK: Final = 1 << 31
"""A counter that seems to have grown by at least this much went back."""

_Kinds = tuple[object, ...]


class StubWatch:
    """Evaluates the reports of one node, and whether they contain acknowledged pipelines."""

    def __init__(self) -> None:
        self._found: deque[list[str]] = deque(maxlen=WINDOW)
        self._last: Mapping[str, Any] = {}
        """A report with the same content is one piece of evidence, whatever was sent meanwhile."""
        self._before: Mapping[str, Any] | None = None
        self._kinds: deque[_Kinds] = deque(maxlen=2)
        self._settling = False
        self._settled_at_us = 0
        self._unreported = 0
        self.verdict = ""
        """Why this is a stub; "" while it may be a TC function."""

    def controlled(self) -> None:
        """A control was sent: reports of the next second may be inconsistent with those before."""
        self._forget()
        self._settling = True

    def reported(self, *, as_requested: bool) -> None:
        """Record whether a pipeline that the node acknowledged appeared in its reports."""
        self._unreported = 0 if as_requested else self._unreported + 1
        if self._unreported >= UNREPORTED and not self.verdict:
            self.verdict = (
                f"its TC function acknowledges controls and does not carry them out: {UNREPORTED}"
                " consecutive pipelines never appeared in its reports"
            )

    def take(self, indication: Mapping[str, Any]) -> None:
        """The next v0 report, decoded, in the order of their time stamps."""
        if _without_time(self._last) == _without_time(indication):
            return
        self._last = indication
        self._found.append([*_impossible(indication), *self._unexplained(indication)])
        found = [finding for of_report in self._found for finding in of_report]
        if len(found) >= EVIDENCE and not self.verdict:
            examples = "; ".join(found[:EVIDENCE])
            self.verdict = (
                f"its TC function invents its reports: the last {len(self._found)} that differ"
                f" hold {len(found)} impossible values ({examples})"
            )

    def _unexplained(self, now: Mapping[str, Any]) -> list[str]:
        """What is inconsistent with the previous reports although nothing was sent to the node."""
        if self._settling:
            self._settling = False
            self._settled_at_us = now["tstamp"] + SETTLE_US
        if 0 < self._settled_at_us - now["tstamp"] <= SETTLE_US:
            self._forget()
            return []
        kinds = _kinds_of(now)
        found = [] if self._before is None else [*_decreased(self._before, now)]
        found += _changed_and_back(self._kinds, kinds)
        self._before = now
        self._kinds.append(kinds)
        return found

    def _forget(self) -> None:
        self._before = None
        self._kinds.clear()


def _without_time(indication: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in indication.items() if name != "tstamp"}


def _queues(indication: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    return dict(zip(v0.queue_numbers(indication), indication["q"], strict=True))


def _kinds_of(indication: Mapping[str, Any]) -> _Kinds:
    return (
        indication["sch"]["type"],
        indication["pcr"]["type"],
        indication["cls"]["type"],
        len(indication["q"]),
    )


_NAMES: Final = ("scheduler", "pacer", "classifier", "number of queues")


def _impossible(now: Mapping[str, Any]) -> list[str]:
    """Queues with more packets than bytes. One packet is allowed for: a queue may be read after a
    packet is counted and before its bytes are."""
    return [
        f"queue {number} holds {queue['pkts']} packets in {queue['bytes']} bytes"
        for number, item in _queues(now).items()
        if (queue := item["queue"])["bytes"] < queue["pkts"] - 1
    ]


def _decreased(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What only restarted queues could report; once per report, as a restart affects all."""
    old, new = _queues(before), _queues(now)
    if old and new and not old.keys() & new.keys():
        return ["no queue is the same"]
    for number in old.keys() & new.keys():
        was, is_now = old[number]["queue"], new[number]["queue"]
        for name in ("bytes_fwd", "pkts_fwd"):
            if (is_now[name] - was[name]) % _U32 >= _BACK:
                return [f"{name} of queue {number} goes back from {was[name]} to {is_now[name]}"]
    return []


def _changed_and_back(last: deque[_Kinds], now: _Kinds) -> list[str]:
    """What changed and changed back at once without a control. A change alone is no evidence:
    another xApp may be building a pipeline."""
    if len(last) < 2:
        return []
    for name, first, second, third in zip(_NAMES, last[0], last[1], now, strict=True):
        if first == third != second:
            return [f"the {name} changes and changes back"]
    return []
