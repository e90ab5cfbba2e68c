"""What the controller has done so far, for the metrics to read at scrape time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Monotonic counts; keys are label values."""

    #: Violations that began, by rule.
    violations: Counter[str] = field(default_factory=Counter)
    #: Decisions by (trigger, template, result).
    decisions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    #: Verdicts of verifications.
    verdicts: Counter[str] = field(default_factory=Counter)
    #: Controls by (purpose, result); result is accepted, unanswered or the cause of a refusal.
    controls: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Reconciliations by what was done: adopted, reapplied, foreign.
    reconciliations: Counter[str] = field(default_factory=Counter)
    #: Bearers that went away.
    bearers_gone: int = 0
    #: Reports or answers that belonged to nothing known.
    ignored: Counter[str] = field(default_factory=Counter)
