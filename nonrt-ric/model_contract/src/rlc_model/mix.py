"""What is served: a mix of experts, shared by back-tests and the forecaster.

Experts are the model; persistence (the last value); seasonal (the last value a whole number of
seasons before, the season chosen among 10, 12, 20, 33 and 40 reports by the mean difference to it);
ridge, a regression of the change until the point on the bearer's last values and moving averages
over some 5, 25 and 125 reports of all its quantities, by least squares over the last 10 s, shrunk
towards persistence and fitted anew each 0.45 s, no further from the last value than the changes it
has learned from, or than the averages where the quantity is a rate; window, the quantiles of the
last 300 reports, which have the shape of a drain in bursts; they are taken anew only where they
have weight, and judged by 24 outcomes of a call, for which bearers take turns, whatever their
weight. Where a point is the mean over a span (:mod:`rlc_model.outcomes`), these are means over as
many reports. Each is calibrated by quantile tracking (:mod:`rlc_model.calibration`). Their
quantiles are averaged level by level, sorted and clipped at 0. Those of the model, which may cross,
are sorted before they are calibrated as well: crossed ones would be shifted until each covers its
share, and once sorted the outer two would cover more than theirs.

Weights are per bearer, quantity and point, by exponential weights with second-order terms
(Bernstein online aggregation, Wintenberger 2017): an outcome moves the logarithm of an expert's
weight by its regret over its typical regret of the last n = 100 outcomes, times n^−½, so that
nothing depends on units or load. A weight is the product of one of the point, and one that the M
points of a quantity share: it learns from M times as many outcomes, at a rate lower by the root of
M. A fixed share of the prior lets an expert return (Herbster and Warmuth 1998), and one without a
forecast keeps its weight (sleeping experts, Freund et al. 1997). The regret is the
mean of two, both bounds of the loss of the mix less that of the expert: that of the loss linearised
at the mix, by which experts that err differently share the weight, and that of the loss itself, by
which an expert that is much better than the others gets all of it.

What is compared with the best *simple* forecaster, wherever something is judged (skill, drift,
alerts, ``rlc-train evaluate`` and its gate), is compared with one of: persistence, whose drain is
the mean over at least 20 reports, so that it does not see a single slot of a TDD pattern; the
quantiles of the last 100, 300 and 1000 reports; an exponential mean with a memory of 25 reports;
the ridge. All but the windows have online quantiles of their errors. The best is chosen for each
bearer, quantity and point by the mean losses of the last 200 outcomes before the one that it is
judged by. Persistence as an expert has the drain of a point's own span.

Memory per bearer: at most 46 kB with three quantities and quantiles and 20 points up to 100 ms, a
quarter of it for the windows. A third, the past, is allocated for 16 bearers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import rlc_native
from numpy.typing import NDArray

from rlc_model.features import FEATURES
from rlc_model.manifest import Quantity

EXPERTS: Final = ("model", "persistence", "seasonal", "ridge", "window")
"""Axis of weights, and the first of losses."""
SIMPLE: Final = ("persistence", "window-100", "window-300", "window-1000", "ewma", "ridge")
"""The simple forecasters, the axis of their forecasts."""
LOSSES: Final = (*EXPERTS, "mix", *(f"simple {name}" for name in SIMPLE), "best simple")
"""Axis of losses: the experts, their mix, the simple forecasters and the best of these."""


def new_mix(
    quantities: Sequence[Quantity],
    levels: NDArray[np.float32],
    ahead: NDArray[np.int64],
    spans: NDArray[np.int64] | None = None,
    *,
    late: int = 0,
) -> rlc_native.Mix:
    """A mix without slots, which takes the features of :data:`rlc_model.FEATURES`.

    Args:
        quantities: The quantities.
        levels: ``(Q,)`` quantile levels.
        ahead: ``(M,)`` points, in report periods after an origin.
        spans: ``(M,)`` report periods whose mean is the drain of a point; None for one each.
        late: Report periods by which outcomes may be late.
    """
    columns = [FEATURES.index(quantity.value) for quantity in quantities]
    at = {quantity: index for index, quantity in enumerate(quantities)}
    rate, limit = at.get(Quantity.DRAIN), at.get(Quantity.QUEUE_LIMIT)
    each = np.ones_like(ahead) if spans is None else spans
    return rlc_native.Mix(columns, levels, ahead, each, rate=rate, limit=limit, late=late)
