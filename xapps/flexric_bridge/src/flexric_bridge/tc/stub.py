"""Tells a TC function that makes its reports up from one that does what it is asked.

OAI's E2 agent has the RAN function, acknowledges every control and fills its reports with random
numbers, drawn anew once a second (`fill_tc_ind_data`, seeded with `time(0)`); FlexRIC's emulators
do so too. A report of a real pipeline is possible in itself and follows from the one before, but
for a restart of the node and for controls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from e2sm_tc import v0

WINDOW: Final = 8
"""Reports with news that are looked at together."""
EVIDENCE: Final = 3
"""So many impossible values in them are a verdict; a restart of the node makes one."""
UNSHOWN: Final = 3
"""Pipelines in a row that were acknowledged and that no report ever showed."""
SETTLE_US: Final = 1_000_000
"""After a control, so long a report need not follow from the one before."""

_U32: Final = 1 << 32
_BACK: Final = 1 << 31
"""A counter that seems to have grown by more than this went back."""

_Kinds = tuple[object, ...]


class StubWatch:
    """The reports of one node, and what became of pipelines that it acknowledged."""

    def __init__(self) -> None:
        self._found: deque[list[str]] = deque(maxlen=WINDOW)
        self._last: Mapping[str, Any] = {}
        """Told again, it is no news, whatever was asked of the node meanwhile."""
        self._before: Mapping[str, Any] | None = None
        self._kinds: deque[_Kinds] = deque(maxlen=2)
        self._settling = False
        self._settled_at_us = 0
        self._unshown = 0
        self.verdict = ""
        """Why this is no TC function; "" while it may be one."""

    def controlled(self) -> None:
        """A control was sent: reports of the next second need not follow from those before."""
        self._forget()
        self._settling = True

    def shown(self, *, as_asked: bool) -> None:
        """Whether reports came to show a pipeline that the node had acknowledged."""
        self._unshown = 0 if as_asked else self._unshown + 1
        if self._unshown >= UNSHOWN and not self.verdict:
            self.verdict = (
                f"its TC function acknowledges controls and does not carry them out: {UNSHOWN}"
                " pipelines in a row were never seen in its reports"
            )

    def take(self, indication: Mapping[str, Any]) -> None:
        """The next v0 report, decoded, in the order of their time stamps."""
        if _without_time(self._last) == _without_time(indication):
            return
        self._last = indication
        self._found.append([*_impossible(indication), *self._unexplained(indication)])
        found = [what for of_report in self._found for what in of_report]
        if len(found) >= EVIDENCE and not self.verdict:
            examples = "; ".join(found[:EVIDENCE])
            self.verdict = (
                f"its TC function makes its reports up: the last {len(self._found)} that differ"
                f" hold {len(found)} impossible values ({examples})"
            )

    def _unexplained(self, now: Mapping[str, Any]) -> list[str]:
        """What does not follow from the reports before, though nothing was asked of the node."""
        if self._settling:
            self._settling = False
            self._settled_at_us = now["tstamp"] + SETTLE_US
        if 0 < self._settled_at_us - now["tstamp"] <= SETTLE_US:
            self._forget()
            return []
        kinds = _kinds_of(now)
        found = [] if self._before is None else [*_gone_back(self._before, now)]
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
    """Queues with more packets than bytes. One packet is allowed for: a queue may be read while it
    enters, counted and its bytes not yet."""
    return [
        f"queue {number} holds {queue['pkts']} packets in {queue['bytes']} bytes"
        for number, item in _queues(now).items()
        if (queue := item["queue"])["bytes"] < queue["pkts"] - 1
    ]


def _gone_back(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What only queues that began anew could report; once a report, as a restart does it to all."""
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
    """What changed and changed back at once, though nobody asked for it. That something changed is
    no contradiction: another xApp may be building a pipeline."""
    if len(last) < 2:
        return []
    for name, first, second, third in zip(_NAMES, last[0], last[1], now, strict=True):
        if first == third != second:
            return [f"the {name} changes and changes back"]
    return []
