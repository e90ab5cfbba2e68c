"""States in which bearers miss their objective, and since when; restarts do not end them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tc_controller.core.inputs import BearerKey

#: A restart ends no state, unless nobody knows of the bearer for longer than this.
_AWAY_US: Final = 600_000_000
#: Between two saves because of states alone, where one changed and where none did.
_CHANGED_US: Final = 10_000_000
_SAME_US: Final = 60_000_000
_KINDS: Final = {
    "node": (str, "a string"),
    "rnti": (int, "an integer"),
    "drb": (int, "an integer"),
    "state": (str, "a string"),
    "since_us": (int, "an integer"),
    "seen_us": (int, "an integer"),
}


class StateError(ValueError):
    """A state document that cannot be used; the message names the place."""


@dataclass(frozen=True, slots=True)
class _Kept:
    state: str
    since_us: int
    #: When it was last found.
    seen_us: int


class KeptStates:
    """The states of bearers that are not as they should be, by the word of each."""

    def __init__(self) -> None:
        self._states: dict[BearerKey, _Kept] = {}
        self._changed = False
        self._saved_at_us = 0

    def note(self, bearer: BearerKey, state: str, since_us: int, now_us: int) -> None:
        """Keep the state in which a bearer was found."""
        former = self._states.get(bearer)
        self._states[bearer] = _Kept(state, since_us, now_us)
        self._changed |= former is None or former.state != state

    def forget(self, bearer: BearerKey) -> None:
        """The bearer is as it should be, or gone."""
        self._changed |= self._states.pop(bearer, None) is not None

    def before(self, bearer: BearerKey, now_us: int) -> tuple[str, int] | None:
        """State and its begin before the controller's start; ``None``: none was kept, or too long
        ago."""
        kept = self._states.get(bearer)
        if kept is None or now_us - kept.seen_us > _AWAY_US:
            return None
        return kept.state, kept.since_us

    def due(self, now_us: int) -> bool:
        """Whether the states are to be saved now."""
        least_us = _CHANGED_US if self._changed else _SAME_US
        if not (self._changed or self._states) or now_us - self._saved_at_us < least_us:
            return False
        self._changed, self._saved_at_us = False, now_us
        # Bearers that have gone without a word, as while the controller was away.
        self._states = {
            bearer: kept
            for bearer, kept in self._states.items()
            if now_us - kept.seen_us <= _AWAY_US
        }
        return True

    def entries(self) -> list[dict[str, Any]]:
        """The states in a state document."""
        return [
            {
                **bearer.as_dict(),
                "state": kept.state,
                "since_us": kept.since_us,
                "seen_us": kept.seen_us,
            }
            for bearer, kept in sorted(self._states.items())
        ]

    def load(self, entries: Iterable[object]) -> None:
        """Load the states of a document.

        Raises:
            StateError: one has another shape; nothing is loaded.
        """
        self._states = dict(_entry(f"states[{i}]", entry) for i, entry in enumerate(entries))


def _entry(place: str, entry: object) -> tuple[BearerKey, _Kept]:
    if not isinstance(entry, Mapping):
        raise StateError(f"{place}: expected an object")
    for name, (kind, wanted) in _KINDS.items():
        if not isinstance(entry.get(name), kind):
            raise StateError(f"{place}.{name}: {entry.get(name)!r}; expected {wanted}")
    kept = _Kept(entry["state"], entry["since_us"], entry["seen_us"])
    return BearerKey(entry["node"], entry["rnti"], entry["drb"]), kept
