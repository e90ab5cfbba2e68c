"""Jittered exponential back-off."""

from __future__ import annotations

import random


class Backoff:
    """Delays that grow from `initial_s` by `factor` up to `max_s`, each with jitter.

    "Equal jitter": a delay is drawn from the upper half of its step, so that many xApps do not
    reconnect to a restarted gateway at once, and none retries with a delay near zero.
    """

    def __init__(
        self, initial_s: float, max_s: float, factor: float = 2.0, rng: random.Random | None = None
    ) -> None:
        self._initial_s = initial_s
        self._max_s = max_s
        self._factor = factor
        # Seeded from the process's generator: a seeded process repeats every delay.
        self._rng = rng or random.Random(random.getrandbits(64))
        self._step_s = initial_s
        self.failures = 0
        """Failures since the last success."""

    def next_s(self) -> float:
        """The delay after one more failure, s."""
        self.failures += 1
        step_s = self._step_s
        self._step_s = min(step_s * self._factor, self._max_s)
        return step_s * (0.5 + 0.5 * self._rng.random())

    def reset(self) -> None:
        """Return to the shortest delay, after a success."""
        self._step_s = self._initial_s
        self.failures = 0
