"""What is wrong with what the user gave."""

from __future__ import annotations


class EvaluationError(ValueError):
    """A situation, policy or result file that cannot be used; the message names it and says why."""
