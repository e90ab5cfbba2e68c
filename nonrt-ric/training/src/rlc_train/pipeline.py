"""The steps of an experiment, without command line: what each command calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, MinMaxScaler

from rlc_train import backtest, conformal
from rlc_train.baselines import BASELINES, summary
from rlc_train.baselines.base import Forecaster, spread_origins
from rlc_train.baselines.linear import LinearQuantile
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError
from rlc_train.export.check import Reference, compare
from rlc_train.export.runner import ServedForecaster, StepRunner, measure
from rlc_train.export.steps import linear_step, lstm_step
from rlc_train.horizon import Layout
from rlc_train.judged import Judged
from rlc_train.lstm.shape import INSIDE, NetworkShape, state_size
from rlc_train.series import Series, labels
from rlc_train.settings import Settings
from rlc_train.splits import Part, Split, split

Origins = Sequence[tuple[Part, NDArray[np.intp]]]
"""Parts, and the rows of each from which is forecast."""

CALIBRATION_ORIGINS = 20_000
COMPARED = "linear-quantile"
"""The baseline that the contract carries as it is."""


def split_corpus(corpus: Sequence[Series], settings: Settings, layout: Layout) -> Split:
    """The corpus split as the settings say."""
    s = settings.split
    return split(
        corpus,
        layout,
        held_out_cells=s.held_out_cells,
        held_out_mobility=s.held_out_mobility,
        shares=s.shares,
    )


def measured_t_m_us(settings: Settings) -> float:
    """T_m: as told, or the median step of a network of this shape, exported, on this machine.

    Weights do not matter for time, so it is known before training and can set the labels.
    """
    if settings.horizon.t_m_us is not None:
        return settings.horizon.t_m_us
    shape = settings.network
    quantities, points = len(settings.quantities), settings.horizon.points
    layout = Layout(tuple(settings.quantities), 1_000, 1_000, points, tuple(settings.quantiles))
    outputs = quantities * points * len(settings.quantiles)
    ones = MinMaxScaler.of([0.0] * len(FEATURES), [1.0] * len(FEATURES))
    none = conformal.none(layout.shape)
    graph = lstm_step(no_weights(shape, outputs), shape, layout, ones, none)
    return measure(StepRunner(graph, state_size(shape)), batches=(1,))[0].median_us


def no_weights(shape: NetworkShape, outputs: int) -> dict[str, list[NDArray[np.float32]]]:
    """Weights of zero, in the shapes of a network: enough to measure its time."""
    weights, width = {}, INSIDE
    for layer in range(shape.layers):
        weights[f"lstm_{layer}"] = [
            np.zeros((width, 4 * shape.units), np.float32),
            np.zeros((shape.units, 4 * shape.units), np.float32),
            np.zeros(4 * shape.units, np.float32),
        ]
        width = shape.units
    narrow = np.zeros((width + INSIDE, shape.rank), np.float32)
    head = [np.zeros((shape.rank, outputs), np.float32), np.zeros(outputs, np.float32)]
    return weights | {"narrow": [narrow], "head": head}


def correct(
    make: Callable[[conformal.Correction], bytes],
    size: int,
    scaler: MinMaxScaler,
    validation: Sequence[Part],
    layout: Layout,
) -> conformal.Correction:
    """Learns the conformal correction of an exported model on the validation part."""
    if len(layout.quantiles) < 2:
        return conformal.none(layout.shape)
    runner = StepRunner(make(conformal.none(layout.shape)), size)
    plain = ServedForecaster("plain", runner, scaler, layout, tracked=False)
    total = sum(len(part) for part in validation)
    chosen = []
    for part in validation:
        share = max(1, round(CALIBRATION_ORIGINS * len(part) / max(total, 1)))
        origins = spread_origins(part, layout, share)
        if len(origins):
            chosen.append((part, origins))
    forecasts = plain.predict_all(chosen)
    actual = [labels(part.series, layout, origins, part.stop) for part, origins in chosen]
    if not forecasts:
        raise TrainError("split.validation", "holds no sample to calibrate on")
    return conformal.fit(np.concatenate(actual), np.concatenate(forecasts), layout.levels)


def export(
    kind: str,
    *,
    make: Callable[[conformal.Correction], bytes],
    reference: Callable[[conformal.Correction], Reference],
    size: int,
    scaler: MinMaxScaler,
    parts: Split,
    layout: Layout,
    warm_up: int,
) -> Candidate:
    """Calibrates, exports and compares a model."""
    correction = correct(make, size, scaler, parts.validation, layout)
    graph = make(correction)
    runner = StepRunner(graph, size)
    # An idle bearer would exercise nothing: the one whose queue moves most.
    busiest = max(parts.train, key=lambda part: float(part.series.features[:, 0].std())).series
    comparison = compare(runner, reference(correction), scaler.transform(busiest.features))
    return Candidate(kind, graph, size, warm_up, scaler, layout, comparison, measure(runner))


def export_linear(model: LinearQuantile, parts: Split, layout: Layout) -> Candidate:
    """The linear quantile baseline as a candidate."""

    def make(correction: conformal.Correction) -> bytes:
        return linear_step(model.weights, model.bias, layout, correction)

    def reference(correction: conformal.Correction) -> Reference:
        return linear_reference(model, layout, correction)

    # The slowest mean has forgotten all but a hundredth of zero after five of its memories.
    warm_up = round(5 / min(summary.WEIGHTS))
    return export(
        model.name,
        make=make,
        reference=reference,
        size=summary.STATE_SIZE,
        scaler=model.scaler,
        parts=parts,
        layout=layout,
        warm_up=warm_up,
    )


def linear_reference(
    model: LinearQuantile, layout: Layout, correction: conformal.Correction
) -> Reference:
    """The linear baseline in NumPy, with its state in the open."""
    weights = np.array(summary.WEIGHTS, np.float32)[:, None]
    columns = len(FEATURES)

    def answer(
        samples: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        means = state[: weights.size * columns].reshape(weights.size, columns).copy()
        deviation = state[weights.size * columns :].copy()
        kept = np.empty((len(samples), summary.SIZE), np.float32)
        for row, sample in enumerate(samples):
            means += weights * (sample - means)
            off = np.abs(sample - means[summary.DEVIATION_MEAN])
            deviation += np.float32(summary.DEVIATION_WEIGHT) * (off - deviation)
            kept[row] = np.concatenate([sample, means.ravel(), deviation])
        answers = (kept @ model.weights + model.bias).reshape(len(samples), *layout.shape)
        return correction.apply(answers), np.concatenate([means.ravel(), deviation])

    return answer


def evaluate(
    candidates: Mapping[str, Candidate],
    names: Sequence[str],
    parts: Split,
    layout: Layout,
    *,
    origins: int,
    seed: int,
    judged: Judged | None = None,
    ticked: backtest.Ticked | None = None,
    told: Callable[[str], None] | None = None,
) -> dict[str, dict[str, backtest.Losses]]:
    """Back-tests candidates and baselines on the test part and on what was held out.

    A forecaster that can afford few origins is judged on those, beside persistence on the same
    (``persistence@NAME``). What `judged` has already is not judged again; `told` hears of the rest.

    Returns:
        Split → forecaster → losses. A split without any series is left out.
    """
    judged = judged or Judged()
    fitted: dict[str, Forecaster] = {}

    def baseline(name: str) -> Forecaster:
        """Fitted when it is first asked to speak."""
        if name not in fitted:
            fitted[name] = BASELINES[name]()
            fitted[name].fit(parts.train, layout, seed)
        return fitted[name]

    found: dict[str, dict[str, backtest.Losses]] = {}
    for where, held in (("test", parts.test), ("unseen", parts.unseen)):
        if not held:
            continue
        every = backtest.origins_of(held, layout, origins)
        speakers: list[tuple[str, Callable[[], Forecaster], Origins]] = [
            (kind, candidate.forecaster, every) for kind, candidate in candidates.items()
        ]
        for name in (name for name in names if name not in candidates):
            most = BASELINES[name]().most_origins
            speaks: Callable[[], Forecaster] = partial(baseline, name)
            if most is None or most >= sum(len(rows) for _, rows in every):
                speakers.append((name, speaks, every))
                continue
            few = backtest.origins_of(held, layout, most)
            speakers.append((name, speaks, few))
            speakers.append((f"persistence@{name}", partial(baseline, "persistence"), few))
            speakers += [
                (f"{kind}@{name}", candidate.forecaster, few)
                for kind, candidate in candidates.items()
            ]
        found[where] = {}
        for name, speaks, chosen in speakers:
            losses = judged.get(where, name)
            if losses is None:
                losses = backtest.run(speaks(), chosen, layout, ticked)
                judged.keep(where, name, losses)
                if told is not None:
                    told(f"{where}: judged {name} on {len(chosen)} series")
            found[where][name] = losses
    return found
