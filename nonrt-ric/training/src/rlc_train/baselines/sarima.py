"""SARIMA (Box and Jenkins), one model per bearer and quantity, as in stolidis2024 §IV-C.

The coefficients are estimated once per series on the samples before its first origin; at each
origin the Kalman filter runs over the recent past and forecasts a normal distribution. An origin
takes tens of milliseconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rlc_train.errors import TrainError, need
from rlc_train.horizon import Layout
from rlc_train.splits import Part

ESTIMATION_SAMPLES: Final = 2_000
FILTER_SAMPLES: Final = 400


class Sarima:
    """SARIMA(p, d, q)×(P, D, Q)ₛ by statsmodels."""

    name = "sarima"

    def __init__(
        self,
        order: tuple[int, int, int] = (2, 0, 1),
        seasonal: tuple[int, int, int, int] = (1, 0, 0, 10),
        most_origins: int = 24,
    ) -> None:
        """A season of 10 samples matches TDD patterns of 5 and 10 ms."""
        self._order, self._seasonal = order, seasonal
        self.most_origins: int | None = most_origins
        self._layout: Layout | None = None

    def fit(self, parts: Sequence[Part], layout: Layout, seed: int) -> None:
        """Coefficients are estimated per series in `predict`."""
        del parts, seed
        need("statsmodels", "baselines")
        self._layout = layout

    def predict(self, part: Part, origins: NDArray[np.intp]) -> NDArray[np.float32]:
        """Normal quantiles around the forecast."""
        layout = self._layout
        if layout is None:
            raise TrainError(self.name, "is not fitted")
        result = np.empty((len(origins), *layout.shape), np.float32)
        for q, column in enumerate(layout.columns):
            values = part.series.features[:, column].astype(np.float64)
            known = max(int(origins[0]) + 1, 1) if len(origins) else 0
            past = values[max(0, known - ESTIMATION_SAMPLES) : known]
            spread = float(past.std()) or 1.0
            estimated = self._estimate(past / spread)
            kinds = layout.outcome_kinds
            spans = [kinds[kind][1] for kind in layout.outcome_columns[q]]
            for n, origin in enumerate(origins.tolist()):
                recent = values[max(0, origin + 1 - FILTER_SAMPLES) : origin + 1] / spread
                result[n, q] = self._forecast(recent, estimated, layout, spans) * spread
        return result

    def _model(self, values: NDArray[np.float64]) -> Any:
        sarimax = need("statsmodels.tsa.statespace.sarimax", "baselines").SARIMAX
        return sarimax(
            values,
            order=self._order,
            seasonal_order=self._seasonal,
            trend="c",
            enforce_stationarity=True,
            enforce_invertibility=True,
        )

    def _estimate(self, past: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The coefficients; None if the past is too short or constant, or the covariance of the
        model has no solution."""
        if len(past) < 10 * self._seasonal[3] or np.ptp(past) == 0:
            return None
        with warnings.catch_warnings():
            # Coefficients are used even if the search stops at its limit.
            warnings.simplefilter("ignore")
            try:
                fitted = self._model(past).fit(disp=False, maxiter=30, method="lbfgs")
            except np.linalg.LinAlgError:
                return None
        return np.asarray(fitted.params, np.float64)

    def _forecast(
        self,
        recent: NDArray[np.float64],
        params: NDArray[np.float64] | None,
        layout: Layout,
        spans: Sequence[int],
    ) -> NDArray[np.float64]:
        if params is None or len(recent) < 2:
            return np.full((layout.points, len(layout.quantiles)), recent[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ahead = self._model(recent).filter(params).get_forecast(int(layout.ahead[-1]))
        # Errors of a span are taken to go together: an upper bound of the deviation of its mean.
        step_deviation = np.sqrt(np.maximum(np.asarray(ahead.var_pred_mean), 0))
        mean, deviation = (
            np.array(
                [
                    each[max(int(last) - span, 0) : last].mean()
                    for last, span in zip(layout.ahead, spans, strict=True)
                ]
            )
            for each in (np.asarray(ahead.predicted_mean), step_deviation)
        )
        normal = np.array([NormalDist().inv_cdf(level) for level in layout.quantiles])
        forecast: NDArray[np.float64] = mean[:, None] + deviation[:, None] * normal
        return forecast
