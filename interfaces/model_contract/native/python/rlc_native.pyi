"""Per-value arithmetic of the forecaster; rlc_model defines its meaning.

Arrays are C-contiguous, except outcomes and the forecasts compared with them. Mismatched shapes and
slots or points out of range raise ValueError; the state is then unchanged.
"""

from typing import Final, final

import numpy as np
from numpy.typing import NDArray

MAX_RATE_BYTES_PER_MS: Final[float]
"""10 Gbit/s. A larger step of a counter is a restarted RLC entity, not traffic."""

@final
class Fields:
    """Byte offsets of the fields within a record."""

    def __new__(
        cls,
        *,
        record: int,
        occupancy_bytes: int,
        occupancy_packets: int,
        pdu_bytes: int,
        mean_sojourn: int,
        head_of_line_age: int,
    ) -> Fields:
        """All fields are u32, the mean sojourn f64; `record` is the length of a record."""

def samples(
    report: NDArray[np.uint8],
    fields: Fields,
    before: NDArray[np.int64],
    elapsed_ms: float | NDArray[np.float64],
    seen: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
    """Features of ``(N · record,)`` bytes of records.

    Args:
        report: The bytes.
        fields: Offsets of the fields.
        before: ``(N, 2)`` counter of drained bytes and occupancy in the previous reports.
        elapsed_ms: Time since the previous reports, one value or ``(N,)``.
        seen: ``(N,)`` whether there is a previous report; None if all have one.

    Returns:
        ``(N, 9)`` features, 0 for those of other reports; ``(N, 2)`` `before` of the next report;
        ``(N,)`` whether the counters continue.
    """

def forecasts(
    values: NDArray[np.float32],
    scale: NDArray[np.float32],
    span: NDArray[np.float32],
    base: NDArray[np.float32],
    offset: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Forecasts in units from a model's output.

    Args:
        values: ``(B, quantity, M, Q)`` output of the graph.
        scale: ``(B, quantity)``.
        span: ``(quantity,)``.
        base: ``(B, quantity)``.
        offset: As `values`, in units.

    Returns:
        ``values · scale · span + base``; the result of :func:`add_and_order` for it; whether all
        values are finite.
    """

def all_finite(values: NDArray[np.float32]) -> bool:
    """Whether all values are finite."""

def add_and_order(plain: NDArray[np.float32], offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """``plain + offset``, sorted along the last axis of `offset` and clipped at 0.

    `plain` has the shape of `offset`, or one value for several consecutive ones.
    """

def track(
    slots: slice | NDArray[np.intp],
    points: int | NDArray[np.intp],
    actual: NDArray[np.float32],
    plain: NDArray[np.float32],
    counts: NDArray[np.bool_] | None = None,
    *,
    levels: NDArray[np.float32],
    theta: NDArray[np.float32],
    size: NDArray[np.float32],
    offset: NDArray[np.float32],
    begun: NDArray[np.bool_],
) -> None:
    """Offsets of slots after outcomes, in place; see :class:`rlc_model.calibration.Offsets`."""

def forecasts_at(
    slots: slice | NDArray[np.intp],
    points: int | NDArray[np.intp],
    plain: NDArray[np.float32],
    offset: NDArray[np.float32],
) -> NDArray[np.float32]:
    """:func:`add_and_order` at points, ``(N, quantity, Q)``.

    Args:
        slots: N of them.
        points: The point, or ``(N,)``.
        plain: ``(N, quantity)``, one value for all quantiles.
        offset: ``(S, quantity, M, Q)``.
    """

@final
class Rule:
    """Averaging of losses, and the hysteresis of setting a bearer's model aside."""

    def __new__(
        cls, *, weight: float, lose_below: float, regain_above: float, least_outcomes: int
    ) -> Rule:
        """As in the forecaster's ``Hysteresis``; `weight` is that of the newest loss."""

def score(
    rule: Rule,
    slots: slice | NDArray[np.intp],
    points: int | NDArray[np.intp],
    actual: NDArray[np.float32],
    model: NDArray[np.float32],
    persistence: NDArray[np.float32],
    counts: NDArray[np.bool_] | None = None,
    *,
    levels: NDArray[np.float32],
    bearer: NDArray[np.float32],
    outcomes: NDArray[np.int64],
    set_aside: NDArray[np.bool_],
    by_point: NDArray[np.float64],
) -> tuple[int, float, float, int, int]:
    """Updates pinball losses and the choice between model and persistence.

    Args:
        rule: Averaging and hysteresis.
        slots: N of them.
        points: The point, or ``(N,)``.
        actual: ``(N, quantity)``; NaN if unknown.
        model: ``(N, quantity, Q)``.
        persistence: ``(N, quantity, Q)``.
        counts: ``(N,)`` rows to include; None for all.
        levels: ``(Q,)`` quantile levels.
        bearer: ``(S, 2)`` losses of model and persistence on the first quantity; updated.
        outcomes: ``(S,)`` outcomes since the last change; updated.
        set_aside: ``(S,)`` whether the slot's model is set aside; updated.
        by_point: ``(quantity, M, 2)`` losses over all slots; updated.

    Returns:
        Rows included; mean losses of model and persistence on the first quantity, 0 if no outcome
        is known; number of slots whose model was set aside, and whose model was restored.
    """

def cover(
    points: int | NDArray[np.intp],
    actual: NDArray[np.float32],
    persistence: NDArray[np.float32],
    model: NDArray[np.float32] | None = None,
    served: NDArray[np.bool_] | None = None,
    *,
    checked: NDArray[np.int64],
    covered: NDArray[np.int64],
) -> None:
    """Counts known outcomes and those within the outermost quantiles served, per quantity.

    Args:
        points: The point, or ``(N,)``.
        actual: ``(N, quantity)``; NaN if unknown.
        persistence: ``(N, quantity, Q)``.
        model: ``(N, quantity, Q)``.
        served: ``(N,)`` whether the model was served; None for no row.
        checked: ``(quantity, M)``; updated.
        covered: ``(quantity, M)``; updated.
    """

def update_outside_ratio(
    features: NDArray[np.float32],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    weight: float,
    outside: NDArray[np.float64],
) -> None:
    """Moves `outside` by `weight` toward the share of `features` below `low` or above `high`.

    `features` are ``(B, F)``, all others ``(F,)``.
    """
