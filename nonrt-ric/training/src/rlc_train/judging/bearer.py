"""The losses of what is forecast for one bearer, sample by sample as it is served."""

from __future__ import annotations

import numpy as np
import rlc_native
from numpy.typing import NDArray
from rlc_model.calibration import Offsets

from rlc_train.backtest import SAME_BYTES, block_edges
from rlc_train.baselines.naive import held_at_points
from rlc_train.errors import TrainError
from rlc_train.horizon import Layout
from rlc_train.judging.served import mix_of, samples_of
from rlc_train.judging.tally import FORECASTERS, WindowLosses
from rlc_train.judging.windows import Window
from rlc_train.online import Lane, checks_of
from rlc_train.series import Outcomes


class JudgedBearer:
    """What is learned of one bearer, from window to window: the mix, the model's offsets and those
    of adaptive persistence."""

    def __init__(self, layout: Layout, warm_up: int) -> None:
        """`warm_up` are the samples before the model is part of the mix."""
        self._layout, self._warm_up = layout, warm_up
        self._mix = mix_of(layout)
        self._model, self._adaptive = (
            Offsets(layout.levels, 1, *layout.shape[:2]) for _ in range(2)
        )

    def losses(self, name: str, window: Window, plain: NDArray[np.float32]) -> WindowLosses:
        """The losses on a window, which follows the one before.

        Args:
            name: Of the model, for errors.
            window: The samples.
            plain: ``(T, quantity, M, K)`` forecasts of the model from the T samples up to the last
                judged one, without calibration.

        Raises:
            TrainError: A forecast of the model is not finite.
        """
        layout, series = self._layout, window.series.cut(0, window.stop)
        # An origin in every sample, for what is served follows from all forecasts before.
        origins = np.arange(window.start, window.stop, dtype=np.intp)
        begin = window.start if window.goes_on else 0
        found = Outcomes.of(window.series, layout, np.arange(window.stop, dtype=np.intp))
        checks = checks_of(Lane(window.series, origins, begin), layout, found)
        # One call for all forecasters: their forecasts need not be kept.
        pinball, below, up_to, count, finite = rlc_native.judge(
            self._mix,
            0,
            *samples_of(series, layout),
            plain,
            held_at_points(series, layout),
            warm_up=self._warm_up,
            begin=begin,
            wanted=origins,
            checks=checks.between(begin, window.stop, 0),
            labels=(found.rows, found.known, found.ended, layout.outcome_columns),
            ends=block_edges(series.at_us[origins])[1:],
            same=SAME_BYTES,
            levels=layout.levels,
            tracks=[
                (one.theta, one.size, one.offset, one.begun)
                for one in (self._model, self._adaptive)
            ],
        )
        if not finite:
            raise TrainError(name, f"forecasts NaN on {series.name}")
        return WindowLosses(dict(zip(FORECASTERS, pinball, strict=True)), below, up_to, count)
