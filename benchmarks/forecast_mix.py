"""What is served against each expert of the mix and each simple forecaster, by recording and kind.

Each recording is simulated with the pipeline of stolidis2024 (a DRQL pacer, whose limit is
forecast) and without one, or read from a data set, and given to the forecaster sample by sample,
with queue limit and MAC report every 20 ms. Losses are pinball losses of the outcomes that the
forecaster checks: one horizon point a report, queue limits at all points when they are reported.
Experts are those of the mix, each alone with its online calibration; the simple forecasters and the
best of them, chosen by its losses before, are those of :mod:`rlc_model.mix`. Columns are losses
over that of adaptive persistence, the expert, over all points and at 11 and 30 ms. `over simple` is
what is served over the best simple forecaster, `over best` over the best expert in hindsight.
Coverage is of the 80 % interval: of all outcomes within or on it, and of those that are on no end
of it (ties are differences below half a byte) those within. Beside it stands what hindsight
reaches on the same outcomes, see :mod:`interval_bound`: `hindsight` are the two shares of their own
quantiles 0.1 and 0.9, `bound untied` is the largest untied share of any constant interval with a
coverage of 78 to 82 %.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from interval_bound import SAME_BYTES, UNKNOWN, Shares, best, of_quantiles
from measuring import show, write
from numpy.typing import NDArray
from ric.sm import rlc
from rlc_dataset.reader import Dataset, table_series
from rlc_forecaster.core import Forecaster
from rlc_forecaster.core.bearers import Index
from rlc_forecaster.core.history import DueForecasts
from rlc_forecaster.onnx_step import OnnxStep
from rlc_forecaster.settings import DEFAULT_MODEL
from rlc_model import BearerSeries
from rlc_model.mix import EXPERTS, LOSSES
from rlc_train.dataset.grid import drql_pipeline
from rlc_train.dataset.plan import RunPlan
from rlc_train.dataset.simulate import simulate
from tc_evaluate.situation import Situation, find_situations

SITUATIONS = Path(__file__).parent / "situations.yaml"
SAMPLE = Path(__file__).parent.parent / "datasets" / "sample"
CONTEXT_EVERY = 20
SETTLED = 3_000
"""Samples before the first that is judged."""
HORIZONS_US = (11_000, 30_000)
"""Points with rows of their own."""
NESTED = ("losses", "hindsight", "bound")
"""Fields of a row that are several columns."""
PIPELINES: dict[str, Any] = {"unpaced": "transparent", "paced": drql_pipeline()}


@dataclass(frozen=True, slots=True)
class Row:
    """Losses on one recording, quantity and horizon, in those of persistence.

    `horizon_ms` is None over all points; `losses` are those of :data:`rlc_model.mix.LOSSES`;
    `hindsight` and `bound` are means over the points, of those that have one.
    """

    recording: str
    kind: str
    quantity: str
    horizon_ms: int | None
    pinball_persistence: float
    losses: dict[str, float]
    served: float
    over_simple: float
    coverage: float
    coverage_untied: float
    hindsight: Shares
    bound: Shares
    label_changes: int


def recordings(traces: Path | None, seconds: int) -> Iterator[tuple[str, str, BearerSeries]]:
    """Name, kind and first bearer of each recording."""
    for run in Dataset.open(SAMPLE):
        for one in run.series():
            kind = "unpaced" if np.isnan(one.limit_bytes).all() else "paced"
            yield f"sample {run.provenance.cell} {run.provenance.mobility}", kind, one
    for situation in find_situations([SITUATIONS], traces)[0] if traces else ():
        if situation.name.startswith("recorded_"):
            for kind, pipeline in PIPELINES.items():
                yield situation.name, kind, simulated(situation, kind, pipeline, seconds)


def simulated(situation: Situation, kind: str, pipeline: Any, seconds: int) -> BearerSeries:
    """The first bearer of a situation on its recorded radio, with a pipeline on each."""
    scenario = copy.deepcopy(dict(situation.scenario.content)) | {"duration_s": seconds}
    (path,) = situation.overrides.values()
    for ue in scenario["ues"]:
        ue["channel"]["mahimahi"]["path"] = path
        for drb in ue["drbs"]:
            drb["pipeline"] = pipeline
    plan = RunPlan.of("recorded", situation.name, kind, scenario, situation.seed)
    return table_series(simulate(plan))[0]


class Losses:
    """Sums of pinball losses of what was served and of the experts, over the same outcomes.

    Takes the place of a run's comparison of forecasts with outcomes, of one bearer.
    """

    def __init__(self, engine: Forecaster) -> None:
        self._run = engine.run
        layout = engine.layout
        self._levels = np.array(layout.quantiles, np.float32)
        shape = len(layout.quantities), layout.points
        self.served = np.zeros(shape)
        self.losses = np.zeros((*shape, len(LOSSES)))
        self.checked, self.covered = np.zeros(shape), np.zeros(shape)
        self.tied, self.within = np.zeros(shape), np.zeros(shape)
        self._outcomes: list[tuple[int, NDArray[np.float32]]] = []
        engine.run._learn = self.learn  # type: ignore[method-assign]

    def learn(
        self, slots: Index, due: list[DueForecasts], actual: NDArray[np.float32], at_us: int
    ) -> None:
        """Do what :func:`rlc_native.compare` does, and note the losses of each outcome."""
        run = self._run
        points = np.array([one.point for one in due], np.intp)
        served = np.concatenate([one.past.served[one.then, :, one.point] for one in due])
        model = np.concatenate(
            [
                one.past.uncalibrated[one.then, :, one.point]
                for one in due
                if one.past.uncalibrated is not None
            ]
        )
        warm = np.concatenate([one.past.warm[one.then] for one in due])
        tick = run._history.tick(at_us)
        losses = run.mix.learn(slots, points, actual, tick, model, warm)
        run.skill.note(run.skill.scores.learn(slots, points, losses, at_us))
        off = actual[..., None] - served
        loss = np.maximum(self._levels * off, (self._levels - 1) * off).mean(axis=-1)
        off = actual[..., None] - served[..., [0, -1]]
        inside = (off[..., 0] > -SAME_BYTES) & (off[..., 1] < SAME_BYTES)
        tied = (np.abs(off) <= SAME_BYTES).any(axis=-1)
        for row, point in enumerate(points.tolist()):
            self.served[:, point] += np.nan_to_num(loss[row])
            self.losses[:, point] += np.nan_to_num(losses[row])
            self.covered[:, point] += inside[row]
            self.tied[:, point] += tied[row]
            self.within[:, point] += inside[row] & ~tied[row]
            self.checked[:, point] += ~np.isnan(actual[row])
            self._outcomes.append((point, actual[row].copy()))

    def outcomes(self, quantity: int) -> list[NDArray[np.float64]]:
        """The known outcomes of each point."""
        found: list[list[float]] = [[] for _ in range(self.checked.shape[1])]
        for point, actual in self._outcomes:
            if not np.isnan(actual[quantity]):
                found[point].append(float(actual[quantity]))
        return [np.array(each) for each in found]


def replay(model: OnnxStep, one: BearerSeries) -> tuple[Losses, Forecaster]:
    """Losses after the first seconds."""
    engine = Forecaster("gnb", model)
    record = rlc.zeros(1)
    record["rnti"], record["rbid"] = 1, 1
    rnti, drb = np.array([1]), np.array([1])
    losses = None
    for k, at_us in enumerate(one.at_us.tolist()):
        if k == SETTLED:
            losses = Losses(engine)
        for name in one.report.dtype.names or ():
            record[name] = one.report[name][k]
        engine.on_report(record, at_us)
        if k % CONTEXT_EVERY == 0:
            engine.update_limits(rnti, drb, one.limit_bytes[k : k + 1], at_us)
            if not np.isnan(one.mcs[k]):
                engine.update_mac(rnti, one.mcs[k : k + 1], one.tbs_bytes[k : k + 1], at_us)
        engine.learn()
    if losses is None:
        raise RuntimeError(f"{len(one.at_us)} samples; expected {SETTLED} or more")
    return losses, engine


def over(loss: float, best: float) -> float:
    """A loss over another, which may be 0 where a value never changes; NaN then."""
    return loss / best if best > 0 else float("nan")


def rows(name: str, kind: str, model: OnnxStep, one: BearerSeries) -> Iterator[Row]:
    """Results on one recording: over all points, and at some."""
    losses, engine = replay(model, one)
    layout = engine.layout
    points: dict[int | None, slice] = {None: slice(None)}
    for horizon_us in HORIZONS_US:
        at = layout.points_us.index(horizon_us)
        points[horizon_us // 1_000] = slice(at, at + 1)
    for q, quantity in enumerate(layout.quantities):
        outcomes = losses.outcomes(q)
        for horizon_ms, at_points in points.items():

            def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
                summed: NDArray[np.float64] = values[q, at_points].sum(axis=0)  # noqa: B023
                return summed

            of, served, checked = total(losses.losses), total(losses.served), total(losses.checked)
            persistence = float(of[EXPERTS.index("persistence")])
            if not persistence > 0:
                continue
            untied = checked - total(losses.tied)
            yield Row(
                name,
                kind,
                quantity.value,
                horizon_ms,
                float(persistence / checked),
                dict(zip(LOSSES, (of / persistence).tolist(), strict=True)),
                float(served / persistence),
                over(float(served), float(of[LOSSES.index("best simple")])),
                float(total(losses.covered) / checked),
                float(total(losses.within) / untied) if untied > 0 else float("nan"),
                mean_shares([of_quantiles(each) for each in outcomes[at_points]]),
                mean_shares([best(each) for each in outcomes[at_points]]),
                engine.run.skill.fallbacks,
            )


def mean_shares(each: Sequence[Shares]) -> Shares:
    """The mean of those that are known; NaN without such."""
    known = np.array([one for one in each if not np.isnan(one.untied)]).reshape(-1, 2)
    if not len(known):
        return UNKNOWN
    closed, untied = known.mean(axis=0).tolist()
    return Shares(closed, untied)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, help="folder of the recorded radios")
    parser.add_argument("--seconds", type=int, default=40, help="virtual time of each recording")
    parser.add_argument("--model", type=Path, default=DEFAULT_MODEL, help="model directory")
    parser.add_argument("--out", type=Path, help="folder for forecast_mix.json")
    given = parser.parse_args()
    model = OnnxStep.load(given.model)
    found: list[Row] = []
    for name, kind, one in recordings(given.traces, given.seconds):
        print(name, kind, file=sys.stderr, flush=True)
        found += rows(name, kind, model, one)
    show(
        [
            {
                **{name: value for name, value in asdict(row).items() if name not in NESTED},
                "hindsight closed": row.hindsight.closed,
                "hindsight untied": row.hindsight.untied,
                "bound untied": row.bound.untied,
                "over best": over(row.served, min(row.losses[name] for name in EXPERTS)),
                **row.losses,
            }
            for row in found
        ]
    )
    write(given.out, "forecast_mix.json", found)


if __name__ == "__main__":
    main()
