"""A result: of a recording, radio, bearer kind, quantity and horizon."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """What a model is worth at one horizon; None where it cannot be said.

    Attributes:
        model: ``name:version``.
        recording: Name of the recording.
        radio: The recorded radio that was replayed, else the cell, or the recording's name.
        bearer_kind: ``paced`` or ``unpaced``: as the data set notes it, else by whether the
            recording has a limit of the pacer.
        quantity: Forecast quantity.
        horizon_us: From the newest sample.
        samples: Judged values.
        pinball: Mean pinball loss of the model, in the quantity's unit.
        pinball_simple: That of the best simple forecaster, see :mod:`rlc_model.mix`.
        ratio: `pinball` over `pinball_simple`; None if the latter is 0.
        ratio_low, ratio_high: 95 % interval of the ratio, by a bootstrap over blocks of a second;
            None with a single block. Where few blocks have a loss of the simple forecaster, the
            upper end or both are infinite and None.
        coverage_80: Share of values within or on the quantiles 0.1 and 0.9 of the model.
        coverage_80_strict: Share strictly within: lower where value and quantile are often equal.
        served_ratio: As `ratio`, of what the forecaster serves.
        adaptive_ratio: `pinball` over that of adaptive persistence; None if that is 0 or unknown.
    """

    model: str
    recording: str
    radio: str
    bearer_kind: str
    quantity: str
    horizon_us: int
    samples: int
    pinball: float
    pinball_simple: float
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    coverage_80: float | None
    coverage_80_strict: float | None
    served_ratio: float | None
    adaptive_ratio: float | None = None

    def interval(self) -> str:
        """The ratio and its interval, as text."""
        if self.ratio is None:
            return "unknown"
        if self.ratio_low is None:
            return f"{self.ratio:.3f} (no interval)"
        high = "∞" if self.ratio_high is None else f"{self.ratio_high:.3f}"
        return f"{self.ratio:.3f} ({self.ratio_low:.3f}…{high})"
