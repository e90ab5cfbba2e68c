"""Jittered exponential back-off."""

from __future__ import annotations

import random


class Backoff:
    """Delays that grow from `initial_s` by `factor` up to `max_s`, each with jitter.

    "Equal jitter": a delay is drawn from the upper half of its step, so that many xApps do not
    return to a restarted gateway in one instant, while none hammers it with a delay near zero.
    """

    def __init__(
        self, initial_s: float, max_s: float, factor: float = 2.0, rng: random.Random | None = None
    ) -> None:
        self._initial_s = initial_s
        self._max_s = max_s
        self._factor = factor
        # Drawn from the process's generator: whoever seeds that one repeats every delay.
        self._rng = rng or random.Random(random.getrandbits(64))
        self._step_s = initial_s
        self.failures = 0
        """Failures since the last success."""

    def next_s(self) -> float:
        """The delay to wait after one more failure."""
        self.failures += 1
        step_s = self._step_s
        self._step_s = min(step_s * self._factor, self._max_s)
        return step_s * (0.5 + 0.5 * self._rng.random())

    def reset(self) -> None:
        """After a success: start again from the shortest delay."""
        self._step_s = self._initial_s
        self.failures = 0
