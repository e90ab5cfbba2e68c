"""The steps of an experiment, called by the commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rlc_model import FEATURES, ContractError, MinMaxScaler
from rlc_model.graph import check_graph

from rlc_train import backtest, conformal
from rlc_train.baselines import summary
from rlc_train.baselines.base import Forecaster, spread_origins
from rlc_train.baselines.mix import FALLBACK, MIX, served_with
from rlc_train.candidate import Candidate
from rlc_train.errors import TrainError
from rlc_train.estimators.make import Estimators, forecaster, most_origins
from rlc_train.estimators.regressor import Regressor
from rlc_train.export.check import Reference, compare
from rlc_train.export.estimators import estimator_reference, estimator_step
from rlc_train.export.runner import ServedForecaster, StepRunner, measure
from rlc_train.export.steps import network_step
from rlc_train.horizon import Layout
from rlc_train.loss_cache import LossCache
from rlc_train.lstm import custom, network
from rlc_train.lstm.shape import (
    CUSTOM,
    INPUTS,
    NetworkShape,
    head_inputs,
    recurrent_layers,
    state_size,
)
from rlc_train.series import Series, labels
from rlc_train.settings import Settings
from rlc_train.splits import Part, Split, drawn_radios, split

Origins = Sequence[tuple[Part, NDArray[np.intp]]]
"""Parts and the origins in each."""

CALIBRATION_ORIGINS = 20_000


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
    if shape.kind == CUSTOM:
        graph, size = untrained_step(shape, layout, ones)
    else:
        graph = network_step(zero_weights(shape, layout), shape, layout, ones, identity)
        size = state_size(shape)
    return measure(StepRunner(graph, size), batches=(1,))[0].median_us


def untrained_step(shape: NetworkShape, layout: Layout, scaler: MinMaxScaler) -> tuple[bytes, int]:
    """The step of an untrained network of Keras, and the size of its state."""
    model = network.build(shape, layout, scaler, 0)
    own = custom.cell_graph(model)
    identity = conformal.identity(layout.shape)
    graph = network_step(network.layer_weights(model), shape, layout, scaler, identity, own=own)
    return graph, int(model.inputs[1].shape[1])


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
    """Calibrates and exports a model and compares the export with it.

    Raises:
        TrainError: The graph has an operator that no step may have.
    """
    correction = correct(make, size, scaler, parts.validation, layout)
    graph = make(correction)
    try:
        check_graph(graph)
    except ContractError as error:
        raise TrainError(kind, f"cannot be served: {error}") from error
    runner = StepRunner(graph, size)
    # The bearer with the largest changes of its queue.
    busiest = max(parts.train, key=lambda part: float(part.series.features[:, 0].std())).series
    comparison = compare(runner, reference(correction), scaler.transform(busiest.features))
    return Candidate(kind, graph, size, warm_up, scaler, layout, comparison, measure(runner))


def export_estimator(model: Regressor, parts: Split, layout: Layout) -> Candidate:
    """A fitted estimator as a candidate.

    Raises:
        TrainError: It has no ONNX graph.
    """

    def make(correction: conformal.Correction) -> bytes:
        return estimator_step(model, correction)

    def reference(correction: conformal.Correction) -> Reference:
        return estimator_reference(model, layout, correction)

    return export(
        model.name,
        make=make,
        reference=reference,
        size=summary.STATE_SIZE,
        scaler=model.scaler,
        parts=parts,
        layout=layout,
        warm_up=summary.WARM_UP,
    )


def evaluate(
    candidates: Mapping[str, Candidate],
    names: Sequence[str],
    parts: Split,
    layout: Layout,
    *,
    origins: int,
    seed: int,
    estimators: Estimators,
    fitted: Mapping[str, Forecaster] | None = None,
    cache: LossCache | None = None,
    on_progress: backtest.OnProgress | None = None,
    log: Callable[[str], None] | None = None,
) -> dict[str, dict[str, backtest.Losses]]:
    """Back-tests candidates and baselines on the test part and the held-out series.

    A forecaster that is limited to few origins is evaluated on those, as are persistence
    (``persistence@NAME``) and the candidates. Beside what the forecaster serves without a model,
    what it serves with each candidate is evaluated (:func:`~rlc_train.baselines.mix.served_with`).
    Losses in `cache` are reused; `log` gets a line for each of the others. Those of `fitted` are
    not fitted again.

    Returns:
        Split → forecaster → losses. Splits without series are omitted.
    """
    cache = cache or LossCache()
    known: dict[str, Forecaster] = dict(fitted or {})

    def baseline(name: str) -> Forecaster:
        """A baseline, fitted on first use."""
        if name not in known:
            known[name] = forecaster(name, estimators)
            known[name].fit(parts.train, layout, seed)
        return known[name]

    found: dict[str, dict[str, backtest.Losses]] = {}
    for where, held in (("test", parts.test), ("unseen", parts.unseen)):
        if not held:
            continue
        every = backtest.origins_of(held, layout, origins)
        forecasters: list[tuple[str, Callable[[], Forecaster], Origins]] = [
            (kind, candidate.forecaster, every) for kind, candidate in candidates.items()
        ]
        if not {FALLBACK, MIX}.isdisjoint(names):
            forecasters += [
                (served_with(kind), candidate.served, every)
                for kind, candidate in candidates.items()
            ]
        for name in (name for name in names if name not in candidates):
            most = most_origins(name, estimators)
            make: Callable[[], Forecaster] = partial(baseline, name)
            if most is None or most >= origins:
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
