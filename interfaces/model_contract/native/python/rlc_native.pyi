"""What is done to every value of every bearer each millisecond; what it means is said by rlc_model.

Arrays are C-contiguous, but for what outcomes are learned from. Shapes that do not belong together,
and slots or points that are not there, raise ValueError and are named; nothing has changed then.
"""

from typing import Final, final

import numpy as np
from numpy.typing import NDArray

MAX_RATE_BYTES_PER_MS: Final[float]
"""10 Gbit/s. A larger step of a counter is a restarted RLC entity, not traffic."""

@final
class Fields:
    """Where a record of a report has the fields that are read, bytes from its beginning."""

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
        """Offsets: u32, and f64 for the mean sojourn; `record` is the length of all."""

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
        fields: Where they have what.
        before: ``(N, 2)`` counter of drained bytes and occupancy of the reports before.
        elapsed_ms: Since those, one for all or ``(N,)``.
        seen: ``(N,)`` whether there is one before; None when there is for all.

    Returns:
        ``(N, 9)`` features, those of others than the RLC report 0; ``(N, 2)`` what the next report
        is compared with; ``(N,)`` whether the counters went on.
    """

def forecasts(
    values: NDArray[np.float32],
    scale: NDArray[np.float32],
    span: NDArray[np.float32],
    base: NDArray[np.float32],
    offset: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Forecasts in units of a model's answer.

    Args:
        values: ``(B, quantity, M, Q)`` of the graph.
        scale: ``(B, quantity)``.
        span: ``(quantity,)``.
        base: ``(B, quantity)``.
        offset: As `values`, in units.

    Returns:
        ``values · scale · span + base``; what :func:`add_and_order` makes of that; whether no value
        is NaN or infinite.
    """

def all_finite(values: NDArray[np.float32]) -> bool:
    """Whether no value is NaN or infinite."""

def add_and_order(plain: NDArray[np.float32], offset: NDArray[np.float32]) -> NDArray[np.float32]:
    """``plain + offset``, growing along the last axis of `offset` and never below 0.

    `plain` is of the shape of `offset`, or has one value for several that follow one another.
    """

def outcomes(
    levels: NDArray[np.float32],
    fresh: NDArray[np.bool_],
    limited: NDArray[np.bool_],
    rates: NDArray[np.bool_],
    limits: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """``(B, quantity)`` levels, NaN where they are not known.

    Args:
        levels: ``(B, quantity)``.
        fresh: ``(B,)`` whether a row's rates are known.
        limited: ``(B,)`` whether its queue limit is.
        rates: ``(quantity,)`` which quantities are rates.
        limits: ``(quantity,)`` which are queue limits.
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

def said_at(
    slots: slice | NDArray[np.intp],
    point: int,
    plain: NDArray[np.float32],
    offset: NDArray[np.float32],
) -> NDArray[np.float32]:
    """:func:`add_and_order` at one point, ``(N, quantity, Q)``.

    Args:
        slots: N of them.
        point: The point.
        plain: ``(N, quantity)``, one value for all quantiles.
        offset: ``(S, quantity, M, Q)``.
    """

@final
class Rule:
    """How losses are remembered, and when a bearer's model is set aside and back."""

    def __new__(
        cls, *, weight: float, lose_below: float, regain_above: float, least_outcomes: int
    ) -> Rule:
        """As in the forecaster's ``Hysteresis``; `weight` is that of the newest loss."""

def score(
    rule: Rule,
    slots: slice | NDArray[np.intp],
    point: int,
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
    """Pinball losses of forecasts for a point, and the decision who is served.

    Args:
        rule: Of remembering and deciding.
        slots: N of them.
        point: The point.
        actual: ``(N, quantity)``; NaN where it is not known.
        model: ``(N, quantity, Q)``.
        persistence: ``(N, quantity, Q)``.
        counts: ``(N,)`` rows that count; None when all do.
        levels: ``(Q,)`` quantile levels.
        bearer: ``(S, 2)`` losses of model and persistence on the first quantity; updated.
        outcomes: ``(S,)`` outcomes since the last change; updated.
        set_aside: ``(S,)`` whether the slot's model is set aside; updated.
        by_point: ``(quantity, M, 2)`` losses over all slots; updated.

    Returns:
        Rows that counted; mean losses of model and persistence on the first quantity, 0 where it
        is not known of any; slots whose model was set aside, and whose came back.
    """

def cover(
    point: int,
    actual: NDArray[np.float32],
    persistence: NDArray[np.float32],
    model: NDArray[np.float32] | None = None,
    served: NDArray[np.bool_] | None = None,
    *,
    checked: NDArray[np.int64],
    covered: NDArray[np.int64],
) -> None:
    """Counts known outcomes, and those within the outermost quantiles served, per quantity.

    Args:
        point: The point.
        actual: ``(N, quantity)``; NaN where it is not known.
        persistence: ``(N, quantity, Q)``.
        model: ``(N, quantity, Q)``.
        served: ``(N,)`` whether the model's were served; None when they never were.
        checked: ``(quantity, M)``; updated.
        covered: ``(quantity, M)``; updated.
    """

def note_outside(
    features: NDArray[np.float32],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    weight: float,
    outside: NDArray[np.float64],
) -> None:
    """Moves `outside` by `weight` toward the share of `features` below `low` or above `high`.

    `features` are ``(B, F)``, all others ``(F,)``.
    """
