"""The newest decisions, in the words of ``tc-controller explain``."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tc_controller.core.inputs import BearerKey
from tc_controller.explain import effect_of, explain_record, result_of

#: Decisions kept of all bearers, and of one: each is some kB of text.
_MOST: Final = 1000
_MOST_OF_BEARER: Final = 8


@dataclass(slots=True)
class DecisionStory:
    """One decision and what became of it."""

    id: str
    bearer: BearerKey
    at_us: int
    trigger: str
    template: str
    #: Why it was taken.
    reason: str
    #: accepted, refused: …, satisfied, rolled back, …
    result: str
    #: What it changed, once it is verified.
    effect: str | None = None
    #: The explanation; one text, as a list of many would be traversed by the garbage collector.
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The decision as the page shows it, without the explanation."""
        return {
            "id": self.id,
            "bearer": str(self.bearer),
            "at_us": self.at_us,
            "trigger": self.trigger,
            "template": self.template,
            "reason": self.reason,
            "result": self.result,
            "effect": self.effect,
        }


@dataclass(slots=True)
class RecentDecisions:
    """Collects the records of the decision log."""

    _stories: dict[str, DecisionStory] = field(default_factory=dict)
    _of_bearer: dict[BearerKey, deque[DecisionStory]] = field(default_factory=dict)
    #: Those that changed since `take_changed`.
    _changed: dict[str, DecisionStory] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """A record was written; those of no decision are ignored."""
        key = record.get("id")
        if not isinstance(key, str):
            return
        record = dict(record)
        if record["event"] == "decided":
            self._begin(key, record)
        story = self._stories.get(key)
        lines = [] if story is None else explain_record(record)
        if story is None or not lines:
            return
        story.text = "\n".join((story.text, *lines) if story.text else lines)
        if record["event"] != "decided":
            story.result = result_of(record)
        if record["event"] == "verified":
            story.effect = effect_of(record)
        self._changed[key] = story

    def newest(self, count: int) -> list[DecisionStory]:
        """The newest of all bearers, newest first."""
        return list(self._stories.values())[: -count - 1 : -1]

    def of(self, bearer: BearerKey) -> list[DecisionStory]:
        """Those of a bearer, newest first."""
        return list(reversed(self._of_bearer.get(bearer, ())))

    def take_changed(self, count: int) -> list[DecisionStory]:
        """The newest of those that changed since the last call, oldest first."""
        changed, self._changed = self._changed, {}
        return list(changed.values())[-count:]

    def _begin(self, key: str, record: dict[str, Any]) -> None:
        bearer = BearerKey(*record["bearer"].values())
        story = DecisionStory(
            key,
            bearer,
            record["at_us"],
            record["trigger"],
            record["rung"]["template"],
            record["reasons"][0],
            "dry run" if record["dry_run"] else "no answer yet",
        )
        if len(self._stories) >= _MOST:
            oldest = self._stories.pop(next(iter(self._stories)))
            self._changed.pop(oldest.id, None)
            self._forget(oldest)
        self._stories[key] = story
        own = self._of_bearer.setdefault(bearer, deque())
        own.append(story)
        if len(own) > _MOST_OF_BEARER:
            self._changed.pop(own[0].id, None)
            del self._stories[own.popleft().id]

    def _forget(self, story: DecisionStory) -> None:
        own = self._of_bearer[story.bearer]
        own.remove(story)
        if not own:
            del self._of_bearer[story.bearer]
