"""Models of one series, as statsforecast has them, as forecasters.

``forecast(y, h, level)`` of such a model estimates it on the values y and forecasts h further ones
with intervals. Here y are the last values of a quantity before the origin, so that each origin
costs an estimation: they are judged on few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError
from rlc_train.estimators.spec import EstimatorSpec
from rlc_train.horizon import Layout
from rlc_train.splits import Part

PAST_SAMPLES: Final = 400
"""Values that a model is estimated on."""
JUDGED_ORIGINS: Final = 100
"""Most origins in a back-test, if the settings name none."""
MEAN: Final = "mean"


class Univariate:
    """A model of statsforecast in a back-test."""

    def __init__(self, name: str, model: Any, spec: EstimatorSpec) -> None:
        self.name = name
        self.most_origins: int | None = spec.judged_origins or JUDGED_ORIGINS
        self._model = model
        self._layout: Layout | None = None

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Does nothing: the model is estimated at each origin."""
        del parts, seed
        self._layout = layout

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """Forecasts of each quantity by itself; the drain of a span is the mean of its values."""
        layout = self._layout
        if layout is None:
            raise TrainError(self.name, "is not fitted")
        result = np.empty((len(origins), *layout.shape), np.float32)
        kinds = layout.outcome_kinds
        for q, column in enumerate(layout.columns):
            values = part.series.features[:, column].astype(np.float64)
            spans = [kinds[kind][1] for kind in layout.outcome_columns[q]]
            for n, origin in enumerate(origins.tolist()):
                past = values[max(0, origin + 1 - PAST_SAMPLES) : origin + 1]
                ahead = self._ahead(past, layout)
                for point, (last, span) in enumerate(zip(layout.ahead, spans, strict=True)):
                    # Errors of a span are taken to go together: an upper bound of its deviation.
                    result[n, q, point] = ahead[max(int(last) - span, 0) : last].mean(axis=0)
        return result

    def _ahead(self, past: NDArray[np.float64], layout: Layout) -> NDArray[np.float64]:
        """``(H, K)`` forecasts of the next H samples, up to the last point."""
        steps = int(layout.ahead[-1])
        if len(past) < 2 or np.ptp(past) == 0:
            # Nothing to estimate a model on.
            return np.full((steps, len(layout.quantiles)), past[-1])
        widths = sorted({_width(level) for level in layout.quantiles if level != 0.5})
        try:
            found = self._model.forecast(y=past, h=steps, level=widths)
        except Exception as error:
            raise TrainError(
                self.name, f"forecast fails: {type(error).__name__}: {error}"
            ) from error
        return np.stack([self._of_level(found, level, steps) for level in layout.quantiles], axis=1)

    def _of_level(self, found: Mapping[str, Any], level: float, steps: int) -> NDArray[np.float64]:
        """The forecasts at a quantile: an end of the interval whose end it is."""
        width = _width(level)
        side = "lo" if level < 0.5 else "hi"
        names = [MEAN] if level == 0.5 else [f"{side}-{width}", f"{side}-{float(width)}"]
        for name in names:
            if name in found:
                values = np.asarray(found[name], np.float64)
                if values.shape == (steps,):
                    return values
        raise TrainError(
            self.name, f"forecasts {sorted(found)}; expected {names[0]} of {steps} values"
        )


def _width(level: float) -> int | float:
    """Width in percent of the interval that ends at a quantile."""
    width = round(100 * abs(2 * level - 1), 6)
    return int(width) if width == int(width) else width
