"""Least backlog in the RLC by which a CU far from its DU fills a recorded radio.

In a window of 2·T_c and a TTI, from a status of the RLC to the TTI after the arrival of what the CU
sends by it, the MAC can take Y bytes: those in the RLC at the start, and those sent before anything
of the window was known. If the radio can carry D, at least (D − Y)⁺ of it is lost, and at least
(Y − D)⁺ is left in the RLC at the end. For a share of D that may be lost, the least mean of what is
left is that of a quantile of D given the past (the newsvendor's), so no pacer with this forecaster
leaves less. Over the mean rate it is the mean time of a byte in the RLC (Little's law).

A radio is a Mahimahi trace, or what drains from the bearer of a `gnb-lab run` in which it is never
empty. Prints that time for each radio and distribution: all windows alike (marginal); a mean with
the best of several memories, its errors scaled by rate, by its root or not at all, chosen in
hindsight (adaptive); LightGBM with the bytes of the last 1 to 1000 ms, fitted to the rest of the
same radio.
With the true future it is 0.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from measuring import show
from numpy.typing import NDArray
from rlc_dataset import find_recordings
from rlc_dataset.channels import load_mahimahi
from rlc_dataset.errors import DatasetError
from rlc_model import FEATURES, run_arrays

Bytes = NDArray[np.float64]

TARGETS: Final = ((10, 0.02), (40, 0.05))
"""T_c, ms, and the share of the radio that may be lost."""
LEVELS: Final = (0.5, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999)
"""Quantiles between whose losses is interpolated."""
MEMORIES_MS: Final = (5, 10, 20, 40, 80, 160, 320)
PAST_MS: Final = (1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1000)
FAMILIES: Final = ("marginal", "adaptive", "lightgbm")
FOLDS: Final = 3
ROUNDS: Final = 100
EVERY: Final = 9
"""Every which window LightGBM learns from: neighbours hardly differ."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Least mean time in the RLC, ms, of one radio."""

    radio: str
    t_c_ms: int
    lost_share: float
    marginal: float
    adaptive: float
    lightgbm: float | None


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of a radio, one per ms, and what is known before each."""

    carried: Bytes
    """Bytes that each can carry."""
    past: Bytes
    """Row per window: mean bytes per ms of the last :data:`PAST_MS`, ms since the last bytes."""
    means: Bytes
    """Row per memory: exponential mean before each window, bytes per ms."""
    length_ms: int


def windows(radio: Bytes, length_ms: int) -> Windows:
    """The windows of a radio in bytes per ms.

    Raises:
        ValueError: The radio is too short.
    """
    first = max(PAST_MS)
    count = len(radio) - length_ms - first
    if count < FOLDS * length_ms:
        raise ValueError(f"{len(radio)} ms; expected {first + (FOLDS + 1) * length_ms} or more")
    until = np.concatenate([[0.0], np.cumsum(radio)])
    at = first + np.arange(count)
    last = np.maximum.accumulate(np.where(radio > 0, np.arange(len(radio)), -1))
    past = [(until[at] - until[at - ms]) / ms for ms in PAST_MS]
    means = [exponential_mean(radio, ms)[at] for ms in MEMORIES_MS]
    return Windows(
        carried=until[at + length_ms] - until[at],
        past=np.stack([*past, (at - 1 - last[at - 1]).astype(np.float64)], axis=1),
        means=np.stack(means),
        length_ms=length_ms,
    )


def exponential_mean(radio: Bytes, memory_ms: int) -> Bytes:
    """``(N + 1,)`` exponential mean of the bytes before each ms."""
    out = np.empty(len(radio) + 1)
    mean = float(radio[:memory_ms].mean())
    for ms, value in enumerate(radio):
        out[ms] = mean
        mean += (float(value) - mean) / memory_ms
    out[-1] = mean
    return out


def left_ms(known: Windows, stock: Callable[[float], Bytes], lost_share: float) -> float:
    """Mean of what is left over the mean rate where `lost_share` is lost; `stock` gives Y at a
    quantile. Between quantiles a mixture of both policies has the mean of both."""
    carried = known.carried
    curve: list[tuple[float, float]] = []
    for level in LEVELS:
        held = stock(level)
        lost = np.maximum(carried - held, 0).sum() / carried.sum()
        left = np.maximum(held - carried, 0).mean() / carried.mean() * known.length_ms
        curve.append((float(lost), float(left)))
    curve.append((0.0, float((carried.max() - carried).mean() / carried.mean()) * known.length_ms))
    curve.sort()
    losses, lefts = zip(*curve, strict=True)
    return float(np.interp(lost_share, losses, lefts))


def marginal(known: Windows, lost_share: float) -> float:
    """All windows alike."""
    alike = np.ones_like(known.carried)
    return left_ms(known, lambda level: alike * np.quantile(known.carried, level), lost_share)


def adaptive(known: Windows, lost_share: float) -> float:
    """The best of the memories and scales of errors in hindsight."""
    return min(
        left_ms(known, _scaled(known.carried, expected, scale), lost_share)
        for expected in known.means * known.length_ms
        for scale in (np.ones_like(expected), np.sqrt(expected + 1.0), expected + 1.0)
    )


def _scaled(carried: Bytes, expected: Bytes, scale: Bytes) -> Callable[[float], Bytes]:
    errors = (carried - expected) / scale
    return lambda level: np.maximum(expected + scale * np.quantile(errors, level), 0.0)


def boosted(known: Windows, lost_share: float, lightgbm: Any) -> float:
    """LightGBM, each part of the radio by a fit to the others."""
    fold = np.arange(len(known.carried)) * FOLDS // len(known.carried)
    # A tenth of the mean of all keeps the quotients finite in an outage.
    expected = known.means[MEMORIES_MS.index(80)] * known.length_ms
    unit = expected + 0.1 * known.carried.mean()
    recent = known.past[:, :-1] * known.length_ms / unit[:, np.newaxis]
    past = np.column_stack([recent, known.past[:, -1], unit])
    target = known.carried / unit

    def stock(level: float) -> Bytes:
        held: Bytes = np.empty_like(known.carried)
        for part in range(FOLDS):
            learnt = np.flatnonzero(fold != part)[::EVERY]
            data = lightgbm.Dataset(past[learnt], target[learnt])
            settings = {
                "objective": "quantile",
                "alpha": level,
                "learning_rate": 0.08,
                "min_data_in_leaf": 50,
                "num_threads": 1,
                "verbose": -1,
            }
            model = lightgbm.train(settings, data, ROUNDS)
            held[fold == part] = model.predict(past[fold == part], num_threads=1)
        held *= unit
        return held.clip(min=0.0)

    return left_ms(known, stock, lost_share)


def bounds(name: str, radio: Bytes, lightgbm: Any | None) -> Iterator[Bound]:
    """The bounds of a radio in bytes per ms.

    Raises:
        ValueError: The radio is too short.
    """
    for t_c_ms, lost_share in TARGETS:
        known = windows(radio, 2 * t_c_ms + 1)
        yield Bound(
            name,
            t_c_ms,
            lost_share,
            marginal(known, lost_share),
            adaptive(known, lost_share),
            None if lightgbm is None else boosted(known, lost_share, lightgbm),
        )


def drained(runs: Path) -> Iterator[tuple[str, Bytes]]:
    """Bytes per ms that the MAC drains from the bearer of each run, from the first full second on.

    Raises:
        DatasetError: A run is damaged.
        ValueError: A run has several bearers, or the RLC of its bearer is empty at times.
    """
    for recording in find_recordings(runs):
        if len(recording.bearers) != 1:
            raise ValueError(f"{recording.name}: {len(recording.bearers)} bearers; expected one")
        (bearer,) = recording.bearers
        arrays = run_arrays(list(recording.pieces(bearer, recording.rows)))
        features = arrays.features[1_000:, 0].astype(np.float64)
        if not features[:, FEATURES.index("occupancy_bytes")].all():
            raise ValueError(f"{recording.name}: the RLC is empty at times; expected a full bearer")
        yield recording.name, features[:, FEATURES.index("drained_bytes_per_ms")]


def recorded(traces: Path) -> Iterator[tuple[str, Bytes]]:
    """Bytes per ms of each Mahimahi trace of a folder; names what is none."""
    for path in sorted(path for path in traces.rglob("*") if path.is_file()):
        try:
            trace = load_mahimahi(path)
        except DatasetError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        yield str(path.relative_to(traces)), trace.quantities["capacity_bytes"]


def milliseconds(value: float | None) -> str:
    """A cell of the table."""
    return "" if value is None else f"{value:.1f} ms"


def main() -> int:
    """Prints the bounds of each radio of a folder."""
    parser = argparse.ArgumentParser(description="Least time in the RLC of a CU far from its DU.")
    parser.add_argument("radios", type=Path, help="folder of recorded radios")
    parser.add_argument(
        "--runs", action="store_true", help="it is of gnb-lab run or sweep, with one full bearer"
    )
    parser.add_argument("--seconds", type=int, default=120, help="from the start of each (120)")
    parser.add_argument("--json", type=Path, help="write the bounds as a JSON array")
    given = parser.parse_args()
    lightgbm: Any = None
    if importlib.util.find_spec("lightgbm") is None:
        print("without LightGBM (pip install lightgbm) its column is empty", file=sys.stderr)
    else:
        lightgbm = importlib.import_module("lightgbm")
    found: list[Bound] = []
    try:
        for name, radio in drained(given.radios) if given.runs else recorded(given.radios):
            try:
                found.extend(bounds(name, radio[: given.seconds * 1_000], lightgbm))
            except ValueError as error:
                print(f"left out: {name}: {error}", file=sys.stderr)
    except (DatasetError, ValueError) as error:
        print(f"{given.radios}: {error}", file=sys.stderr)
        return 2
    if not found:
        print(f"{given.radios}: no radio", file=sys.stderr)
        return 2
    show(
        [
            {
                "radio": each.radio,
                "T_c": f"{each.t_c_ms} ms",
                "lost": f"{each.lost_share:.0%}",
                **{name: milliseconds(getattr(each, name)) for name in FAMILIES},
            }
            for each in found
        ]
    )
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
