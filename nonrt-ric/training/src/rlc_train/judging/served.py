"""What the forecaster serves, the mix of the model's forecast and naive ones, and the best simple
forecast beside it, with which both are compared."""

from __future__ import annotations

from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model import Quantity
from rlc_model.calibration import Checks
from rlc_model.mix import new_mix

from rlc_train.horizon import Layout
from rlc_train.online import Lane, checks_of
from rlc_train.series import Series

_LIMIT: Final = list(Quantity).index(Quantity.QUEUE_LIMIT)


def mix_of(layout: Layout) -> rlc_native.Mix:
    """A mix for one bearer, with nothing learned."""
    spans = np.array(layout.spans, np.int64)
    mix = new_mix(layout.quantities, layout.levels, layout.ahead, spans)
    mix.grow(1)
    return mix


_Samples = tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]


def samples_of(series: Series, layout: Layout) -> _Samples:
    """`ticks`, `features`, `fresh` and `limited` of ``rlc_native.replay`` and ``judge``."""
    limited = ~np.isnan(series.targets[:, _LIMIT])
    return series.at_us // layout.period_us, series.features, series.fresh, limited


class Served:
    """The mix of one bearer, from window to window."""

    def __init__(self, layout: Layout, warm_up: int) -> None:
        """`warm_up` are the samples before the model is part of the mix."""
        self._layout, self._warm_up = layout, warm_up
        self._mix = mix_of(layout)

    def forecasts(
        self,
        lane: Lane,
        model: NDArray[np.float32] | None,
        checks: Checks | None = None,
        begun: int = 0,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The forecasts that are served, from those of the model, and the best simple ones.

        Outcomes are those that are reported to the forecaster, see :mod:`rlc_train.online`.

        Args:
            lane: The N samples of its series; those before `learns_from` were given before.
            model: ``(N, quantity, M, K)`` from the N samples, without calibration; None without a
                model.
            checks: The outcomes, if they are known already.
            begun: Samples that the model had before those of the lane.

        Returns:
            The same axes, of each origin of the lane; 0 before `learns_from`.
        """
        layout, series = self._layout, lane.series
        return rlc_native.replay(
            self._mix,
            0,
            *samples_of(series, layout),
            model,
            warm_up=max(self._warm_up - begun, 0),
            begin=lane.learns_from,
            wanted=lane.origins,
            checks=checks_of(lane, layout) if checks is None else checks,
        )
