"""What a forecast of the RLC could gain by knowing more: LightGBM with growing information.

Of the paced bearers of recorded radios in a data set (``rlc-train dataset wide --traces``), those
that the settings hold out are judged by gradient-boosted trees grown on the others, in the gate's
way: online calibration of quantiles, pinball loss over that of adaptive persistence, and the
exported model beside them. The information grows from row to row, but for the last:

own past          what the network gets: levels, moving means and the last ten samples of the
                  bearer's RLC reports, queue limit and MAC every 20 ms
MAC each ms       MCS and transport blocks of every millisecond, so also blocks without new data
                  (HARQ retransmissions)
other UEs         queues, arrivals and drains of the other bearers of the cell
sent by the CU    all that arrives until the point is known: an upper bound of what a CU gains by
                  what it has itself sent and not seen arrive
true drain        all that drains until the point is known in place of arrivals: what a perfect
                  forecast of the radio and its scheduler leaves
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from measuring import show, write
from numpy.typing import NDArray
from rlc_dataset import Dataset, DatasetError, Run, table_arrays
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_model import FEATURES, Quantity
from rlc_train import backtest, pipeline, settings
from rlc_train.baselines.base import Forecaster, training_rows
from rlc_train.baselines.naive import AdaptivePersistence
from rlc_train.corpus import run_series
from rlc_train.errors import TrainError, need
from rlc_train.horizon import Layout
from rlc_train.judging.model import JudgedModel
from rlc_train.online import track
from rlc_train.series import Series
from rlc_train.splits import Part

Values = NDArray[np.float32]

SETTINGS: Final = Path(__file__).parent.parent / "nonrt-ric/training/settings/default-model.yaml"
INFORMATION: Final = ("own past", "MAC each ms", "other UEs", "sent by the CU", "true drain")
JUDGED: Final = (Quantity.OCCUPANCY, Quantity.QUEUE_LIMIT)
HORIZONS_US: Final = (11_000, 30_000)
MEMORIES_MS: Final = (4, 32, 256, 2048)
RECENT_MS: Final = 10
UNIT_MEMORY_MS: Final = 512
LEAST_UNIT_BYTES: Final = 50.0
PIECES: Final = 3
"""Parts of a horizon for which arrivals and drains to come are given."""
OCCUPANCY, DRAINED, ARRIVED = (FEATURES.index(name) for name in FEATURES[:1] + FEATURES[1:3])
MCS, TBS = FEATURES.index("mcs"), FEATURES.index("tbs_bytes")


@dataclass(frozen=True, slots=True)
class Known:
    """What others than the RLC of the bearer know, for each row of its series.

    Attributes:
        mac: ``(T, 2)`` MCS and transport block of each millisecond.
        others: ``(T, 4)`` occupancy, drain and arrivals of the other bearers of the cell, and how
            many of them have a queue.
    """

    mac: Values
    others: Values


@dataclass(frozen=True, slots=True)
class Row:
    """Pinball loss over that of adaptive persistence, with its 95 % interval."""

    forecaster: str
    radio: str
    quantity: str
    horizon_us: int
    ratio: float
    low: float
    high: float


def exponential_mean(values: Values, memory: int) -> Values:
    """``(T, C)`` mean of each column up to and with each row."""
    out = np.empty_like(values)
    mean = values[0].astype(np.float64)
    for row, value in enumerate(values):
        mean += (value - mean) / min(memory, row + 1)
        out[row] = mean
    return out


def known_to_others(run: Run, series: Sequence[Series]) -> dict[str, Known]:
    """Knowledge of others than the bearer's RLC for each series of a simulated run, by its name."""
    arrays = table_arrays(run.table(), str(run.path), context_us=1_000)
    columns = [OCCUPANCY, DRAINED, ARRIVED]
    every = arrays.features[:, :, columns]
    busy = (every[:, :, 0] > 0).astype(np.float32)[:, :, None]
    every = np.concatenate([every, busy], axis=2)
    together = every.sum(axis=1)
    found = {}
    for at, one in enumerate(series):
        rows = np.flatnonzero(arrays.present[:, at])
        found[one.name] = Known(
            arrays.features[rows, at][:, [MCS, TBS]], (together - every[:, at])[rows]
        )
    return found


class Trees:
    """LightGBM of the bearer's future relative to now, in units of its own recent changes."""

    most_origins: int | None = None

    def __init__(
        self,
        information: int,
        known: Mapping[str, Known],
        summaries: dict[str, Summary],
        seed: int,
    ) -> None:
        """`summaries` is shared by all."""
        self.name = INFORMATION[information]
        self._information, self._known, self._seed = information, known, seed
        self._summaries = summaries
        self._boosters: dict[tuple[int, int], list[Any]] = {}
        self._layout = Layout()

    def fit(
        self, parts: Sequence[Part], layout: Layout, seed: int, *, origins: int = 40_000
    ) -> None:
        """Grows trees for each quantity, horizon and quantile.

        The weight of an origin is its unit over the mean of its radio: the loss of each radio is
        then that in bytes, and radios have equal weight.
        """
        lightgbm = need("lightgbm", "baselines")
        self._layout = layout
        chosen = training_rows(parts, layout, origins)
        for quantity, horizon_us in pairs():
            q, point = layout.quantities.index(quantity), layout.point_at(horizon_us)
            inputs, targets, weights, radios = [], [], [], []
            for part, rows, values in chosen:
                x, unit = self._inputs(part.series, quantity, horizon_us, rows)
                now = part.series.features[rows, layout.columns[q]]
                keep = ~np.isnan(values[:, q, point])
                inputs.append(x[keep])
                targets.append(((values[:, q, point] - now) / unit)[keep])
                weights.append(unit[keep])
                radios += [part.series.radio] * int(keep.sum())
            x, y, weight = (np.concatenate(each) for each in (inputs, targets, weights))
            of = np.array(radios)
            for radio in np.unique(of):
                weight[of == radio] /= weight[of == radio].sum()
            data = lightgbm.Dataset(x, y, weight=weight * len(y), free_raw_data=False)
            self._boosters[q, point] = [
                lightgbm.train(
                    {
                        "objective": "quantile",
                        "alpha": level,
                        "num_leaves": 31,
                        "learning_rate": 0.08,
                        "min_data_in_leaf": 100,
                        "feature_fraction": 0.7,
                        "bagging_fraction": 0.7,
                        "bagging_freq": 1,
                        "num_threads": 1,
                        "seed": self._seed,
                        "deterministic": True,
                        "verbosity": -1,
                    },
                    data,
                    200,
                )
                for level in layout.quantiles
            ]

    def predict(self, part: Part, origins: NDArray[np.intp]) -> Values:
        """The boosted forecasts, calibrated online; what is not judged keeps the last value."""
        layout, series = self._layout, part.series
        last = series.features[:, layout.columns][:, :, None, None]
        forecast = np.broadcast_to(last, (len(series), *layout.shape)).copy()
        rows = np.arange(len(series), dtype=np.intp)
        for (q, point), boosters in self._boosters.items():
            quantity, horizon_us = layout.quantities[q], layout.points_us[point]
            x, unit = self._inputs(series, quantity, horizon_us, rows)
            for k, booster in enumerate(boosters):
                forecast[:, q, point, k] += unit * booster.predict(x, num_threads=1)
        return track(series, layout, np.maximum(np.sort(forecast, axis=-1), 0), origins)

    def _inputs(
        self, series: Series, quantity: Quantity, horizon_us: int, rows: NDArray[np.intp]
    ) -> tuple[Values, Values]:
        """``(N, C)`` inputs, and the ``(N,)`` unit of the target."""
        steps = horizon_us // 1_000
        column = FEATURES.index(quantity.value)
        unit = units(series.features[:, column], steps)[rows, None]
        now = series.features[rows, column, None]
        past = self._summary(f"{series.name}/past", lambda: past_of(series.features))
        groups = [np.log(unit), np.log1p(now), *past.inputs(rows, unit)]
        known = self._known[series.name]
        if self._information >= 1:
            mac = self._summary(f"{series.name}/mac", lambda: Summary.of(known.mac))
            groups += mac.inputs(rows, np.ones_like(unit))
        if self._information >= 2:
            others = self._summary(f"{series.name}/others", lambda: Summary.of(known.others))
            groups += others.inputs(rows, unit)
        if self._information >= 3:
            to_come_column = ARRIVED if self._information == 3 else DRAINED
            groups += [
                each[rows] / unit for each in to_come(series.features[:, to_come_column], steps)
            ]
        return np.concatenate(groups, axis=1).astype(np.float32), unit[:, 0]

    def _summary(self, name: str, make: Callable[[], Summary]) -> Summary:
        """Made once: it takes longer than the trees."""
        if name not in self._summaries:
            self._summaries[name] = make()
        return self._summaries[name]


@dataclass(frozen=True, slots=True)
class Summary:
    """The past of some columns at each row.

    Attributes:
        in_units: ``(T, C)`` inputs that are divided by the unit.
        plain: ``(T, D)`` others.
    """

    in_units: Values
    plain: Values

    @classmethod
    def of(cls, values: Values) -> Summary:
        """The last samples and moving means of ``(T, C)`` columns."""
        recent = [before(values, back) for back in range(RECENT_MS)]
        means = [exponential_mean(values, memory) for memory in MEMORIES_MS]
        return cls(
            np.concatenate([*recent, *means], axis=1), np.empty((len(values), 0), np.float32)
        )

    def inputs(self, rows: NDArray[np.intp], unit: Values) -> list[Values]:
        """Inputs of the boosters for these rows, bytes in multiples of `unit`."""
        return [self.in_units[rows] / unit, self.plain[rows]]


def pairs() -> Iterator[tuple[Quantity, int]]:
    """The judged quantities and horizons."""
    return ((quantity, horizon) for quantity in JUDGED for horizon in HORIZONS_US)


def units(values: Values, steps: int) -> Values:
    """Mean change over `steps` samples up to each row, in bytes."""
    change = np.zeros_like(values)
    change[steps:] = np.abs(values[steps:] - values[:-steps])
    mean: Values = exponential_mean(change[:, None], UNIT_MEMORY_MS)[:, 0] + LEAST_UNIT_BYTES
    return mean


def past_of(features: Values) -> Summary:
    """What the network gets of a bearer."""
    fast = features[:, [OCCUPANCY, DRAINED, ARRIVED]]
    slow = features[:, [FEATURES.index("queue_limit_bytes"), TBS]]
    ages = features[:, [FEATURES.index("head_of_line_age_us"), FEATURES.index("mean_sojourn_us")]]
    sizes = np.concatenate([fast, slow], axis=1)
    level = fast * np.array([1, 0, 0], np.float32)
    spread = exponential_mean(np.abs(sizes - exponential_mean(sizes, 32)), 64)
    rows = np.arange(len(features))
    drained = np.maximum.accumulate(np.where(features[:, DRAINED] > 0, rows, -1))
    since = (rows - drained).astype(np.float32)[:, None]
    return Summary(
        np.concatenate(
            [
                sizes,
                *(before(fast, back) - level for back in range(1, RECENT_MS)),
                *(exponential_mean(sizes, memory) - sizes for memory in MEMORIES_MS),
                spread,
            ],
            axis=1,
        ),
        np.concatenate([np.log1p(sizes), np.log1p(ages), features[:, [MCS]], since], axis=1),
    )


def to_come(per_ms: Values, steps: int) -> list[Values]:
    """``(T, 1)`` bytes of the next milliseconds, up to parts of the horizon."""
    until = np.concatenate([[0.0], np.cumsum(per_ms, dtype=np.float64)])
    rows = np.arange(len(per_ms))
    ends = [round(steps * (part + 1) / PIECES) for part in range(PIECES)]
    return [
        (until[np.minimum(rows + 1 + end, len(per_ms))] - until[rows + 1])[:, None] for end in ends
    ]


def before(values: Values, back: int) -> Values:
    """The values `back` rows before; the first one stands for what was before it."""
    return values if not back else np.concatenate([np.repeat(values[:1], back, 0), values[:-back]])


def rows_of(
    name: str, ours: backtest.Losses, theirs: backtest.Losses, layout: Layout, seed: int
) -> Iterator[Row]:
    """Result rows of all judged radios together, weighted by bytes, and of each radio."""
    for radio in ("all", *sorted(set(theirs.radio))):
        pair = (ours, theirs) if radio == "all" else (ours.of(radio=radio), theirs.of(radio=radio))
        versus = backtest.Versus(*pair)
        for quantity, horizon_us in pairs():
            skill = versus.skill(
                layout.quantities.index(quantity), layout.point_at(horizon_us), seed
            )
            yield Row(
                name,
                radio,
                quantity.value,
                horizon_us,
                1 - skill.value,
                1 - skill.high,
                1 - skill.low,
            )


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="data set with recorded radios")
    parser.add_argument("--settings", type=Path, default=SETTINGS, help="which radios are held out")
    parser.add_argument("--model", type=Path, default=DEFAULT_MODEL, help="model directory")
    parser.add_argument("--origins", type=int, default=20_000, help="judged origins (20000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder for forecast_information.json")
    given = parser.parse_args()
    try:
        found = measure(given)
    except (DatasetError, TrainError) as error:
        print(error, file=sys.stderr)
        return 2
    show(found)
    write(given.out, "forecast_information.json", found)
    return 0


def measure(given: argparse.Namespace) -> list[Row]:
    """Grows and judges the trees.

    Raises:
        DatasetError: The data set is invalid.
        TrainError: It has no paced bearer of a recorded radio to judge or to learn from.
    """
    chosen = settings.load(given.settings)
    model = JudgedModel.load(given.model)
    known: dict[str, Known] = {}
    corpus: list[Series] = []
    for run in Dataset.open(given.data):
        if run.provenance.mobility != "recorded":
            continue
        series = run_series(run, model.context_us)
        if all(one.bearer_kind == "paced" for one in series):
            corpus += series
            known |= known_to_others(run, series)
    radios = chosen.model_copy(
        update={
            "split": chosen.split.model_copy(update={"held_out_cells": [], "held_out_mobility": []})
        }
    )
    parts = pipeline.split_corpus(corpus, radios, model.layout)
    origins = backtest.origins_of(parts.unseen, model.layout, given.origins)
    adaptive = AdaptivePersistence()
    adaptive.fit([], model.layout, given.seed)
    reference = backtest.run(adaptive, origins, model.layout)
    print(
        f"learned from {len(parts.train)} bearers; judged: {len(parts.unseen)} of"
        f" {', '.join(sorted(set(reference.radio)))}"
    )
    found: list[Row] = []
    summaries: dict[str, Summary] = {}
    sets = range(len(INFORMATION))
    trees = [Trees(information, known, summaries, given.seed) for information in sets]
    forecasters: list[Forecaster] = [model.forecaster, *trees]
    for forecaster in forecasters:
        if isinstance(forecaster, Trees):
            forecaster.fit([*parts.train, *parts.test], model.layout, given.seed)
        losses = backtest.run(forecaster, origins, model.layout)
        found += rows_of(forecaster.name, losses, reference, model.layout, given.seed)
        print(forecaster.name, file=sys.stderr, flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
