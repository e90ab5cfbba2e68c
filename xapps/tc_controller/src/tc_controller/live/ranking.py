"""The order of the bearers on the page, worst first, with hysteresis so that rows stay in place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from tc_controller.core.verify.compliance import Compliance

#: States in the order of the list; a bearer without a rule comes last.
_BANDS: Final = {
    Compliance.VIOLATED.value: 7,
    Compliance.INFEASIBLE.value: 6,
    Compliance.RADIO_STALLED.value: 5,
    Compliance.NO_DATA.value: 4,
    Compliance.AT_RISK.value: 3,
    Compliance.MET.value: 2,
    Compliance.IDLE.value: 1,
}
#: A bearer moves up with its state at once, and down when the better state has lasted this long.
_CALM_US: Final = 15_000_000
#: Time constant of the mean that orders the bearers of one state.
_MEAN_US: Final = 60_000_000
#: Bearers of one state are ordered by octaves of sojourn over bound; an octave is left when the
#: mean is this much above or below its middle.
_LEAVE_OCTAVE: Final = 0.75
_OCTAVES: Final = 10


@dataclass(slots=True)
class Rank:
    """The place of one bearer."""

    band: int = 0
    octave: int = 0
    #: Since when its state has been a better one.
    _better_since_us: int | None = None
    _mean: float = 0.0
    _at_us: int | None = None

    @property
    def value(self) -> int:
        """Larger is worse; bearers of one rank are ordered by name."""
        return self.band * 100 + self.octave + _OCTAVES

    def step(self, at_us: int, state: str, ratio: float) -> None:
        """A second passed.

        Args:
            at_us: now.
            state: of the bearer.
            ratio: sojourn over bound; NaN: not known, which changes nothing.
        """
        self._move(at_us, _BANDS.get(state, 0))
        if not math.isnan(ratio):
            weight = 1.0
            if self._at_us is not None:
                weight = -math.expm1((self._at_us - at_us) / _MEAN_US)
            self._at_us = at_us
            self._mean += weight * (ratio - self._mean)
        octave = math.log2(max(self._mean, 2.0**-_OCTAVES))
        if abs(octave - self.octave) > _LEAVE_OCTAVE:
            self.octave = max(-_OCTAVES, min(_OCTAVES, round(octave)))

    def _move(self, at_us: int, band: int) -> None:
        if band >= self.band:
            self.band, self._better_since_us = band, None
        elif self._better_since_us is None:
            self._better_since_us = at_us
        elif at_us - self._better_since_us >= _CALM_US:
            self.band, self._better_since_us = band, None
