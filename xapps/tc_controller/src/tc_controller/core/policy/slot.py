"""Which of a rule's pipelines: one of its base, a rung of its ladder, or what a trial compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class OfBase:
    """One of the pipelines of the base, by its place."""

    index: int = 0


@dataclass(frozen=True, slots=True)
class OfLadder:
    """One of the rungs of the ladder, by its place."""

    index: int


@dataclass(frozen=True, slots=True)
class OfTrial:
    """What the trial compares the base with."""


Slot: TypeAlias = OfBase | OfLadder | OfTrial
