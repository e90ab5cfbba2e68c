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
    context: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
    """Features of ``(N · record,)`` bytes of records.

    Args:
        report: The bytes.
        fields: Offsets of the fields.
        before: ``(N, 2)`` counter of drained bytes and occupancy in the previous reports.
        elapsed_ms: Time since the previous reports, one value or ``(N,)``.
        seen: ``(N,)`` whether there is a previous report; None if all have one.
        context: ``(N, 3)`` features of other reports; None for 0.

    Returns:
        ``(N, 9)`` features, the last three those of other reports; ``(N, 2)`` `before` of the next
        report; ``(N,)`` whether the counters continue.
    """

def scale(
    values: NDArray[np.float32],
    minimum: NDArray[np.float32],
    span: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Writes ``(values − minimum) / span`` to `out`: of ``(N, F)`` values by columns."""

def all_finite(values: NDArray[np.float32]) -> bool:
    """Whether all values are finite."""

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

Due = tuple[
    int,
    slice | NDArray[np.intp],
    NDArray[np.float32],
    NDArray[np.float32] | None,
    NDArray[np.bool_],
]
"""Forecasts made at one report, of P bearers, that are due at one point.

The point; the bearers' rows among the P; ``(P, quantity, M, Q)`` as they were served; the same of
the model without offsets, None without a model; ``(P,)`` whether the model was warmed up.
"""

def compare(
    mix: Mix,
    skill: Skill,
    slots: slice | NDArray[np.intp],
    actual: NDArray[np.float32],
    due: list[Due],
    tick: int,
    at_us: int,
    *,
    checked: NDArray[np.int64],
    covered: NDArray[np.int64],
) -> SkillUpdate:
    """Compares forecasts that are due with outcomes, in the order of both.

    Counts known outcomes and those within the outermost quantiles served, then :meth:`Mix.learn`
    and :meth:`Skill.learn`.

    Args:
        mix: The mix.
        skill: Its skill.
        slots: N of them, those of the outcomes.
        actual: ``(N, quantity)``; NaN if unknown.
        due: N forecasts.
        tick: Number of the report period of the outcomes.
        at_us: Their time.
        checked: ``(quantity, M)``; updated.
        covered: ``(quantity, M)``; updated.
    """

@final
class RecentDrain:
    """The drain of slots in the last report periods; see :func:`rlc_model.recent_drain`."""

    def __new__(cls, longest: int, column: int) -> RecentDrain:
        """Without slots; keeps what spans of up to `longest` reports need. `column` is that of the
        drain in the features."""

    def grow(self, slots: int) -> None:
        """Makes room for this many slots."""

    def add(
        self,
        slots: slice | NDArray[np.intp],
        tick: int,
        features: NDArray[np.float32],
        fresh: NDArray[np.bool_],
    ) -> None:
        """Adds the drain of a report; the slots of a span without report are unknown.

        Args:
            slots: N of them.
            tick: Number of the report period; of an earlier one, everything before is unknown.
            features: ``(N, F)``.
            fresh: ``(N,)`` whether the drain is known.
        """

    def mean(self, slots: slice | NDArray[np.intp], reports: int) -> NDArray[np.float32]:
        """``(N,)`` means of the newest `reports`; NaN if one is unknown."""

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

Checks = tuple[
    NDArray[np.intp], NDArray[np.bool_], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]
]
"""The fields of :class:`rlc_model.calibration.Checks`."""

def replay(
    mix: Mix,
    slot: int,
    ticks: NDArray[np.int64],
    features: NDArray[np.float32],
    fresh: NDArray[np.bool_],
    limited: NDArray[np.bool_],
    model: NDArray[np.float32] | None,
    *,
    warm_up: int,
    begin: int,
    wanted: NDArray[np.intp],
    checks: Checks,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Takes T samples of a slot in order of time: of each first the forecasts, as
    :meth:`Mix.forecasts` or without a model :meth:`Mix.naive_forecasts`, then :meth:`Mix.learn`.

    Releases the GIL.

    Args:
        mix: The mix; other threads must not use it meanwhile.
        slot: The slot.
        ticks: ``(T,)`` number of the report period of each sample.
        features: ``(T, F)``.
        fresh, limited: ``(T,)`` as of :meth:`Mix.add`.
        model: ``(T, quantity, M, Q)`` of the model in the quantities' units, without offsets; None
            without a model.
        warm_up: Samples before the first with a forecast of the model.
        begin: The first sample that the mix does not have.
        wanted: ``(N,)`` samples whose forecasts are wanted, none twice; increasing.
        checks: Outcomes, none of a sample before `begin`.

    Returns:
        ``(N, quantity, M, Q)`` forecasts of the mix, and of the best simple forecasters; 0 of
        samples before `begin`.
    """

def judge(
    mix: Mix,
    slot: int,
    ticks: NDArray[np.int64],
    features: NDArray[np.float32],
    fresh: NDArray[np.bool_],
    limited: NDArray[np.bool_],
    model: NDArray[np.float32],
    held: NDArray[np.float32],
    *,
    warm_up: int,
    begin: int,
    wanted: NDArray[np.intp],
    checks: Checks,
    labels: tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float32], NDArray[np.intp]],
    ends: NDArray[np.intp],
    same: float,
    levels: NDArray[np.float32],
    tracks: list[
        tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]
    ],
) -> tuple[
    list[NDArray[np.float64]],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    bool,
]:
    """Losses of what :func:`replay` and :func:`calibrate` forecast from T samples, without keeping
    the forecasts.

    Releases the GIL.

    Args:
        mix, slot, ticks, features, fresh, limited, model, warm_up, begin, wanted, checks: As of
            :func:`replay`; those wanted are judged.
        held: ``(T, quantity, M)`` what persistence forecasts.
        labels: ``(T, M)`` rows of the samples at the points and whether there is one, ``(N, C)``
            outcomes that end at each sample, and ``(quantity, M)`` their columns.
        ends: ``(B,)`` where each block of the judged samples ends, counted among these.
        same: Values closer than this are ties.
        levels: ``(Q,)`` quantile levels.
        tracks: `theta`, `size`, `offset` and `begun` as of :func:`calibrate`, of one slot: of the
            model, and of adaptive persistence.

    Returns:
        ``(B, quantity, M)`` sums of pinball losses of the model, adaptive persistence, the mix and
        the best simple forecaster; ``(quantity, M, Q)`` values below each quantile of the model,
        and at or below; ``(quantity, M)`` known values; whether the model's forecasts are finite.
    """

def calibrate(
    slot: int,
    plain: NDArray[np.float32],
    *,
    begin: int,
    wanted: NDArray[np.intp],
    checks: Checks,
    levels: NDArray[np.float32],
    theta: NDArray[np.float32],
    size: NDArray[np.float32],
    offset: NDArray[np.float32],
    begun: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """Forecasts of samples calibrated in order of time; see
    :meth:`rlc_model.calibration.Offsets.calibrate`. Releases the GIL."""

def loss_sums(
    actual: NDArray[np.float32],
    forecast: NDArray[np.float32],
    blocks: NDArray[np.intp],
    levels: NDArray[np.float32],
    same: float,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
]:
    """Sums of losses by block, quantity and point. Releases the GIL.

    Args:
        actual: ``(N, quantity, M)``; NaN if unknown.
        forecast: ``(N, quantity, M, Q)``, sorted.
        blocks: ``(N,)`` number of the block of each sample, from 0 and not decreasing.
        levels: ``(Q,)``.
        same: Values closer than this are ties.

    Returns:
        Of B blocks ``(B, quantity, M)`` mean pinball losses over the quantiles, ``(B, quantity,
        M)`` errors of the quantile next to the median, ``(B, quantity, M, Q)`` values below each
        quantile, and at or below it, ``(B, quantity, M)`` known values.
    """

def in_units(
    values: NDArray[np.float32],
    scale: NDArray[np.float32] | None,
    span: NDArray[np.float32],
    base: NDArray[np.float32],
    out: NDArray[np.float32],
    *,
    bearer: int,
) -> None:
    """Writes the forecasts of one of B bearers, ``values · scale · span + base``.

    Releases the GIL.

    Args:
        values: ``(N, B, quantity, M, Q)`` outputs of a model in N steps.
        scale: ``(N, B, quantity, M)``; None for 1.
        span: ``(quantity,)``.
        base: ``(N, quantity)``.
        out: ``(N, quantity, M, Q)``.
        bearer: Which of the B.
    """

def sort_last(values: NDArray[np.float32]) -> None:
    """Sorts the values along the last axis, in place. NaN stays in place."""

@final
class Mix:
    """A mix of experts per slot, quantity and point; see :mod:`rlc_model.mix`."""

    def __new__(
        cls,
        columns: list[int],
        levels: NDArray[np.float32],
        ahead: NDArray[np.int64],
        spans: NDArray[np.int64],
        *,
        rate: int | None,
        limit: int | None,
        late: int,
    ) -> Mix:
        """Without slots.

        Args:
            columns: Those of the quantities in the features.
            levels: ``(Q,)`` quantile levels, 1 to 32 of them.
            ahead: ``(M,)`` points, in report periods after an origin.
            spans: ``(M,)`` report periods before a point whose mean is the rate at it, 1 to 1000.
            rate: The quantity that is a rate; None if there is none.
            limit: The quantity that is the queue limit; None if there is none.
            late: Report periods by which outcomes may be learned from late.
        """

    def with_new_model(self) -> Mix:
        """A copy that has learned nothing about a model, and has no past."""

    @property
    def slots(self) -> int:
        """Number of slots S."""

    def grow(self, slots: int) -> None:
        """Makes room for this many slots."""

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots; unknown slots are ignored."""

    def add(
        self,
        slots: slice | NDArray[np.intp],
        tick: int,
        features: NDArray[np.float32],
        fresh: NDArray[np.bool_] | None = None,
        limited: NDArray[np.bool_] | None = None,
    ) -> None:
        """Adds the values of a report to the past of its bearers.

        Args:
            slots: N of them.
            tick: Number of the report period.
            features: ``(N, F)``; NaN if unknown.
            fresh: ``(N,)`` whether rates are known; None if NaN alone says so.
            limited: ``(N,)`` whether the queue limit is known; None if NaN alone says so.
        """

    def forecasts(
        self,
        slots: slice | NDArray[np.intp],
        tick: int,
        features: NDArray[np.float32],
        fresh: NDArray[np.bool_] | None,
        limited: NDArray[np.bool_] | None,
        values: NDArray[np.float32],
        scale: NDArray[np.float32],
        span: NDArray[np.float32],
        base: NDArray[np.float32],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
        """:meth:`add`, then forecasts from a model's output.

        Args:
            slots: N of them.
            tick: Number of the report period.
            features: ``(N, F)``.
            fresh, limited: As of :meth:`add`.
            values: ``(N, quantity, M, Q)`` output of the graph.
            scale: ``(N, quantity, point)``.
            span: ``(quantity,)``.
            base: ``(N, quantity)``.

        Returns:
            The model's, ``values · scale · span + base``; the mix, sorted and clipped at 0; whether
            all of the model's are finite.
        """

    def naive_forecasts(self, slots: slice | NDArray[np.intp], tick: int) -> NDArray[np.float32]:
        """``(N, quantity, M, Q)`` mix without the model, from the report added at `tick`."""

    def learn(
        self,
        slots: slice | NDArray[np.intp],
        points: int | NDArray[np.intp],
        actual: NDArray[np.float32],
        tick: int,
        model: NDArray[np.float32] | None = None,
        warm: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float32]:
        """Updates offsets and weights by outcomes.

        Args:
            slots: N of them.
            points: The point, or ``(N,)``.
            actual: ``(N, quantity)``; NaN if unknown.
            tick: Number of the report period of the outcomes; naive forecasts are those from the
                report added `ahead` before.
            model: ``(N, quantity, Q)`` of the model without offsets; None without a model.
            warm: ``(N,)`` rows that have a forecast of the model.

        Returns:
            ``(N, quantity, 13)`` pinball losses before the update, :data:`rlc_model.mix.LOSSES`;
            NaN if the outcome is unknown, or no value of the quantity was known at the origin;
            those of the simple forecasters also but for 24 rows, which take turns.
        """

    def simple_forecasts(
        self, slot: int, tick: int
    ) -> tuple[NDArray[np.float32], NDArray[np.uintp]]:
        """Forecasts of the simple forecasters from the report added at `tick`.

        Returns:
            ``(6, quantity, M, Q)`` of :data:`rlc_model.mix.SIMPLE`, calibrated; ``(quantity, M)``
            numbers of the best by their losses until now.

        Raises:
            ValueError: The slot is unknown.
        """

    def weights(self, slot: int) -> NDArray[np.float32]:
        """``(quantity, M, 5)`` weights of the experts; empty for an unknown slot."""

@final
class Cumulated:
    """Quantiles of the summed drain per slot; see :mod:`rlc_model.cumulated`."""

    def __new__(cls, levels: NDArray[np.float32], ahead: NDArray[np.int64]) -> Cumulated:
        """Without slots.

        Args:
            levels: ``(L,)`` quantile levels, 1 to 32 of them, increasing.
            ahead: ``(M,)`` points, in report periods after an origin; increasing.
        """

    def grow(self, slots: int) -> None:
        """Makes room for this many slots."""

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots; unknown slots are ignored."""

    def add(
        self,
        slots: slice | NDArray[np.intp],
        tick: int,
        drain: NDArray[np.float32],
        occupancy: NDArray[np.float32],
    ) -> None:
        """Adds a report and learns from the sums that end with it.

        Args:
            slots: N of them.
            tick: Number of the report period.
            drain: ``(N,)`` bytes per report period since the report before; NaN if unknown.
            occupancy: ``(N,)`` bytes left in the buffer; at 0 the radio could have carried more.
        """

    def forecasts(self, slots: slice | NDArray[np.intp]) -> NDArray[np.float32]:
        """``(N, M, L)`` bytes that drain until each point after the newest report.

        They increase along points and levels.
        """

SkillUpdate = tuple[int, float, float, int, int]
"""Outcomes with a forecast of the model; mean losses of the model and of the best simple forecaster
on the first quantity, 0 if none is judged; slots whose model was found worse than persistence, and
better again."""

@final
class Skill:
    """Skill per point against the best simple forecaster, and for each slot whether the model is
    better than persistence."""

    def __new__(cls, quantities: int, points: int) -> Skill:
        """Without slots."""

    def grow(self, slots: int) -> None:
        """Makes room for this many slots."""

    def reset(self, slots: NDArray[np.intp]) -> None:
        """New bearers in these slots; unknown slots are ignored."""

    def learn(
        self,
        slots: slice | NDArray[np.intp],
        points: int | NDArray[np.intp],
        losses: NDArray[np.float32],
        at_us: int,
    ) -> SkillUpdate:
        """Adds ``(N, quantity, 13)`` losses from :meth:`Mix.learn`, of outcomes at a time."""

    def worse(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether the slots' models are worse than persistence."""

    def by_point(self) -> NDArray[np.float64]:
        """``(quantity, M, 2)`` mean losses of mix and best simple forecaster over all slots."""
