"""The steps of an experiment, called by the commands."""

from __future__ import annotations

import math
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
from rlc_train.export.steps import linear_step, network_step
from rlc_train.horizon import Layout
from rlc_train.loss_cache import LossCache
from rlc_train.lstm.shape import INPUTS, NetworkShape, head_inputs, recurrent_layers, state_size
from rlc_train.series import Series, labels
from rlc_train.settings import Settings
from rlc_train.splits import Part, Split, drawn_radios, split

Origins = Sequence[tuple[Part, NDArray[np.intp]]]
"""Parts and the origins in each."""

CALIBRATION_ORIGINS = 20_000
COMPARED = "linear-quantile"
"""The baseline that can be exported as a model."""


def split_corpus(corpus: Sequence[Series], settings: Settings, layout: Layout) -> Split:
    """Splits the corpus by the settings."""
    s = settings.split
    shares = s.held_out_radio_share, s.validation_radio_share
    held_out, validation = drawn_radios(corpus, shares, s.seed)
    return split(
        corpus,
        layout,
        held_out_cells=s.held_out_cells,
        held_out_mobility=s.held_out_mobility,
        held_out_radios=sorted({*s.held_out_radios, *held_out}),
        validation_radios=sorted({*s.validation_radios, *validation}),
        shares=s.shares,
    )


def measured_t_m_us(settings: Settings) -> float:
    """T_m from the settings, or the measured median step of an exported network of this shape.

    The time does not depend on the weights, so it is known before training and sets the labels.
    """
    if settings.horizon.t_m_us is not None:
        return settings.horizon.t_m_us
    shape = settings.network
    # As if T_m was small: where the points are has no influence on the time.
    points = settings.horizon.points(1.0, 1_000)
    layout = Layout(tuple(settings.quantities), points, tuple(settings.quantiles))
    ones = MinMaxScaler.of([0.0] * len(FEATURES), [1.0] * len(FEATURES))
    identity = conformal.identity(layout.shape)
    graph = network_step(zero_weights(shape, layout), shape, layout, ones, identity)
    return measure(StepRunner(graph, state_size(shape)), batches=(1,))[0].median_us


def zero_weights(shape: NetworkShape, layout: Layout) -> dict[str, list[NDArray[np.float32]]]:
    """Zero weights for a network, to measure its time."""
    outputs = math.prod(layout.shape)
    weights, width, units = {}, INPUTS, shape.units
    for name in recurrent_layers(shape):
        sizes: list[tuple[int, ...]] = [(width, 3 * units), (3 * units,)]
        if shape.kind == "lstm":
            sizes = [(width, 4 * units), (units, 4 * units), (4 * units,)]
        weights[name] = [np.zeros(size, np.float32) for size in sizes]
        width = units
    narrow = np.zeros((head_inputs(shape), shape.rank), np.float32)
    head = [np.zeros((shape.rank, outputs), np.float32), np.zeros(outputs, np.float32)]
    unit = np.zeros((2, *layout.shape[:2]), np.float32)
    return weights | {"narrow": [narrow], "head": head, "unit": [unit]}


def correct(
    make: Callable[[conformal.Correction], bytes],
    size: int,
    scaler: MinMaxScaler,
    validation: Sequence[Part],
    layout: Layout,
) -> conformal.Correction:
    """Fits the conformal correction of an exported model on the validation part."""
    if len(layout.quantiles) < 2:
        return conformal.identity(layout.shape)
    runner = StepRunner(make(conformal.identity(layout.shape)), size)
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
        raise TrainError("split.validation", "has no sample to calibrate on")
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
    """Calibrates and exports a model and compares the export with it."""
    correction = correct(make, size, scaler, parts.validation, layout)
    graph = make(correction)
    runner = StepRunner(graph, size)
    # The bearer with the largest changes of its queue.
    busiest = max(parts.train, key=lambda part: float(part.series.features[:, 0].std())).series
    comparison = compare(runner, reference(correction), scaler.transform(busiest.features))
    return Candidate(kind, graph, size, warm_up, scaler, layout, comparison, measure(runner))


def export_linear(model: LinearQuantile, parts: Split, layout: Layout) -> Candidate:
    """The linear quantile baseline as a candidate."""

    def make(correction: conformal.Correction) -> bytes:
        return linear_step(model.weights, model.bias, layout, correction)

    def reference(correction: conformal.Correction) -> Reference:
        return linear_reference(model, layout, correction)

    # The slowest mean retains below 1 % of its initial zero after five time constants.
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
    """The linear baseline in NumPy, with explicit state."""
    weights = np.array(summary.WEIGHTS, np.float32)[:, None]
    columns = len(FEATURES)

    def answer(
        samples: NDArray[np.float32], state: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        means = state[: weights.size * columns].reshape(weights.size, columns).copy()
        deviation = state[weights.size * columns :].copy()
        summaries = np.empty((len(samples), summary.SIZE), np.float32)
        for row, sample in enumerate(samples):
            means += weights * (sample - means)
            off = np.abs(sample - means[summary.DEVIATION_MEAN])
            deviation += np.float32(summary.DEVIATION_WEIGHT) * (off - deviation)
            summaries[row] = np.concatenate([sample, means.ravel(), deviation])
        answers = (summaries @ model.weights + model.bias).reshape(len(samples), *layout.shape)
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
    cache: LossCache | None = None,
    on_progress: backtest.OnProgress | None = None,
    log: Callable[[str], None] | None = None,
) -> dict[str, dict[str, backtest.Losses]]:
    """Back-tests candidates and baselines on the test part and the held-out series.

    A forecaster that is limited to few origins is evaluated on those, as are persistence
    (``persistence@NAME``) and the candidates. Losses in `cache` are reused; `log` gets a line for
    each of the others.

    Returns:
        Split → forecaster → losses. Splits without series are omitted.
    """
    cache = cache or LossCache()
    fitted: dict[str, Forecaster] = {}

    def baseline(name: str) -> Forecaster:
        """A baseline, fitted on first use."""
        if name not in fitted:
            fitted[name] = BASELINES[name]()
            fitted[name].fit(parts.train, layout, seed)
        return fitted[name]

    found: dict[str, dict[str, backtest.Losses]] = {}
    for where, held in (("test", parts.test), ("unseen", parts.unseen)):
        if not held:
            continue
        every = backtest.origins_of(held, layout, origins)
        forecasters: list[tuple[str, Callable[[], Forecaster], Origins]] = [
            (kind, candidate.forecaster, every) for kind, candidate in candidates.items()
        ]
        for name in (name for name in names if name not in candidates):
            most = BASELINES[name]().most_origins
            make: Callable[[], Forecaster] = partial(baseline, name)
            if most is None or most >= sum(len(rows) for _, rows in every):
                forecasters.append((name, make, every))
                continue
            few = backtest.origins_of(held, layout, most)
            forecasters.append((name, make, few))
            forecasters.append((f"persistence@{name}", partial(baseline, "persistence"), few))
            forecasters += [
                (f"{kind}@{name}", candidate.forecaster, few)
                for kind, candidate in candidates.items()
            ]
        found[where] = {}
        for name, make, chosen in forecasters:
            losses = cache.get(where, name)
            if losses is None:
                losses = backtest.run(make(), chosen, layout, on_progress)
                cache.put(where, name, losses)
                if log is not None:
                    log(f"{where}: evaluated {name} on {len(chosen)} series")
            found[where][name] = losses
    return found
